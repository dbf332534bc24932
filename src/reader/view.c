/* A file as memory for readers. Its pieces are read, not mapped, when they are first looked at: of
 * a file that is cut meanwhile this makes an error instead of a signal. */
#include "reader/view.h"
#include "reader/reader.h"

#include "base/file/io.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Room for the whole file, of which pieces are filled when they are first asked for. */
enum { PIECE = 16 << 10 };

struct sk_view_pages {
    int fd, rc;
    uint64_t size;
    uint8_t *room, *have; /* have: a byte per piece */
    struct saikai_error err;
};

/* Fill a piece; 0, or what was wrong the first time. */
static int fill(const struct sk_view *v, uint64_t piece)
{
    struct sk_view_pages *p = v->pages;
    uint64_t at = piece * PIECE, n = p->size - at < PIECE ? p->size - at : PIECE;
    if (!p->rc)
        p->rc = sk_io_pread(p->fd, v->path, p->room + at, n, (off_t)at, &p->err);
    p->have[piece] = !p->rc;
    return p->rc;
}

const uint8_t *sk_view_at(const struct sk_view *v, uint64_t offset, uint64_t n)
{
    if (offset > v->size || n > v->size - offset)
        return NULL;
    if (v->data)
        return v->data + offset;
    if (!v->pages)
        return NULL;
    offset += v->start;
    for (uint64_t k = offset / PIECE; n && k <= (offset + n - 1) / PIECE; k++)
        if (!v->pages->have[k] && fill(v, k))
            return NULL;
    return v->pages->room + offset;
}

struct sk_view sk_view_part(const struct sk_view *v, const char *path, uint64_t offset,
                            uint64_t size)
{
    struct sk_view part = *v;
    part.path = path;
    part.size = size;
    if (v->data)
        part.data = v->data + offset;
    else
        part.start = v->start + offset;
    return part;
}

int sk_view_open(struct sk_view *v, const char *path, struct saikai_error *err)
{
    off_t size = 0;
    *v = (struct sk_view){.path = path};
    int fd = sk_io_open(path, O_RDONLY, 0, err);
    if (fd < 0)
        return fd;
    int rc = sk_io_size(fd, path, &size, err);
    if (rc) {
        close(fd);
        return rc;
    }
    v->size = (uint64_t)size;
    struct sk_view_pages *p = calloc(1, sizeof *p);
    void *room = mmap(NULL, (size_t)size + 1, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint8_t *have = calloc(v->size / PIECE + 1, 1);
    if (!p || room == MAP_FAILED || !have) {
        if (room != MAP_FAILED)
            munmap(room, (size_t)size + 1);
        free(p);
        free(have);
        close(fd);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to look into %s", path);
    }
    p->fd = fd;
    p->size = v->size;
    p->room = room;
    p->have = have;
    v->pages = p;
    return 0;
}

int sk_view_close(struct sk_view *v, struct saikai_error *err)
{
    struct sk_view_pages *p = v->pages;
    if (!p)
        return 0;
    int rc = p->rc;
    if (rc && err)
        *err = p->err;
    munmap(p->room, (size_t)v->size + 1);
    close(p->fd);
    free(p->have);
    free(p);
    v->pages = NULL;
    return rc;
}
