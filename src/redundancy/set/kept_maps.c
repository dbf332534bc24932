/* Mappings of the last parity files, each found again by its inode, so that a recycled file is not
 * mapped anew. */
#include "redundancy/set/kept_maps.h"

#include "base/host/guard.h"
#include "base/own/own.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The parity file in use, the spare one, and one between. */
enum { KEPT = 3 };

/* The open file keeps its inode's number from being given to another one. */
struct kept_map {
    uint8_t *map; /* NULL: none */
    uint64_t bytes;
    int fd;
    dev_t device;
    ino_t inode;
};

struct sk_kept_maps {
    struct kept_map entry[KEPT]; /* the one kept longest first */
};

struct sk_kept_maps *sk_kept_maps_new(void)
{
    return calloc(1, sizeof(struct sk_kept_maps));
}

/* Entry i leaves; the others close ranks. */
static struct kept_map take_out(struct sk_kept_maps *k, int i)
{
    struct kept_map out = k->entry[i];
    for (; i + 1 < KEPT; i++)
        k->entry[i] = k->entry[i + 1];
    k->entry[KEPT - 1] = (struct kept_map){0};
    return out;
}

static void let_go(struct sk_kept_maps *k, int i)
{
    struct kept_map m = take_out(k, i);
    sk_guard_remove(m.map);
    munmap(m.map, m.bytes);
    sk_own_close(m.fd);
}

void sk_kept_maps_trim(struct sk_kept_maps *k)
{
    struct stat st;
    for (int i = 0; k && i < KEPT && k->entry[i].map;)
        if (!sk_own_is(k->entry[i].fd) || fstat(k->entry[i].fd, &st) || !st.st_nlink)
            let_go(k, i);
        else
            i++;
}

void sk_kept_maps_free(struct sk_kept_maps *k)
{
    while (k && k->entry[0].map)
        let_go(k, 0);
    free(k);
}

uint8_t *sk_take_map(struct sk_kept_maps *k, int fd, uint64_t least_bytes, uint64_t *bytes)
{
    struct stat st;
    sk_kept_maps_trim(k);
    if (!k || !sk_own_is(fd) || fstat(fd, &st))
        return NULL;
    for (int i = 0; i < KEPT && k->entry[i].map; i++) {
        if (k->entry[i].device != st.st_dev || k->entry[i].inode != st.st_ino)
            continue;
        if (k->entry[i].bytes < least_bytes || sk_guard_lost(k->entry[i].map)) {
            let_go(k, i);
            return NULL;
        }
        struct kept_map m = take_out(k, i);
        sk_own_close(m.fd);
        *bytes = m.bytes;
        return m.map;
    }
    return NULL;
}

void sk_keep_map(struct sk_kept_maps *k, int *fd, uint8_t **map, uint64_t bytes)
{
    struct stat st;
    if (!sk_own_is(*fd) || fstat(*fd, &st))
        return;
    if (k->entry[KEPT - 1].map)
        let_go(k, 0);
    int i = 0;
    while (k->entry[i].map)
        i++;
    k->entry[i] = (struct kept_map){*map, bytes, *fd, st.st_dev, st.st_ino};
    *fd = -1;
    *map = NULL;
}
