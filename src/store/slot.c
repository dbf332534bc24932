/* Makes slots with their pages, resizes them, and turns them into generations' files and back. */
#include "store/slot.h"

#include "base/host/guard.h"
#include "base/own/own.h"
#include "base/file/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static void touch(uint8_t *map, size_t n)
{
    if (!n || !madvise(map, n, MADV_POPULATE_WRITE))
        return;
    long page = sysconf(_SC_PAGESIZE); /* before Linux 5.14 */
    for (size_t i = 0; i < n; i += (size_t)page)
        *(volatile uint8_t *)(map + i) = map[i];
}

/* Make it as large as n, which is more than it was: the pages that were there keep their places in memory, and only the
 * others are touched. */
static int map_slot(struct sk_slot *s, size_t n, struct saikai_error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), had = s->map ? (s->size_bytes + page - 1) / page * page : 0;
    void *map = NULL;
    int rc = sk_io_reserve(s->fd, s->tmp_path, (off_t)n, err);
    if (!rc && had) {
        map = mremap(s->map, had, n, MREMAP_MAYMOVE);
        if (map == MAP_FAILED)
            rc = sk_fail_errno(err, errno, "cannot map %s", s->tmp_path);
    } else if (!rc) {
        rc = sk_io_map(s->fd, s->tmp_path, n, 1, &map, err);
    }
    if (rc)
        return rc;
    if (had)
        sk_guard_change(s->map, map, n);
    else
        sk_guard_add(map, n);
    if (n > had)
        touch((uint8_t *)map + had, n - had);
    s->map = map;
    s->size_bytes = n;
    return 0;
}

static int make_file(const char *path, struct saikai_error *err)
{
    return sk_own(sk_io_open(path, O_RDWR | O_CREAT | O_TRUNC, 0600, err), SK_OWN_GOES);
}

/* 1: fd is the slot's file. The program may have closed it; while the file has the slot's own name it is found by that. */
static int regain(struct sk_slot *s)
{
    struct stat st;
    if (sk_own_is(s->fd))
        return 1;
    int fd = sk_own(sk_io_open(s->tmp_path, O_RDWR | O_NOFOLLOW, 0, NULL), SK_OWN_GOES);
    if (fd < 0 || fstat(fd, &st) || st.st_dev != s->device || st.st_ino != s->inode) {
        sk_own_close(fd);
        return 0;
    }
    sk_own_close(s->fd);
    s->fd = fd;
    return 1;
}

int sk_slot_new(const char *root, uint32_t incarnation, int rank, int number, size_t size_bytes,
                struct sk_slot **out, struct saikai_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    int rc = sk_io_path(path, sizeof path, err, "%s/slot-%04u-%06d-%d.tmp", root, incarnation, rank, number);
    struct sk_slot *s = rc ? NULL : calloc(1, sizeof *s);
    if (rc)
        return rc;
    if (!s || !(s->tmp_path = strdup(path))) {
        free(s);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for %s", path);
    }
    s->fd = make_file(path, err);
    if (s->fd == SAIKAI_ENOENT) { /* somebody tidied up: the directory comes back, as private as it was */
        rc = sk_io_mkdirs(root, err);
        s->fd = rc ? rc : make_file(path, err);
    }
    rc = s->fd < 0 ? s->fd : map_slot(s, size_bytes, err);
    if (!rc && !fstat(s->fd, &st)) {
        s->device = st.st_dev;
        s->inode = st.st_ino;
    }
    if (rc)
        sk_slot_free(s, s->fd >= 0);
    else
        *out = s;
    return rc;
}

/* The pages that stay are there already. */
static int shrink(struct sk_slot *s, size_t n, struct saikai_error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), keep = (n + page - 1) / page * page;
    int rc = sk_io_truncate(s->fd, s->tmp_path, (off_t)n, err);
    if (rc)
        return rc;
    sk_guard_change(s->map, s->map, n);
    if (keep < s->size_bytes)
        munmap(s->map + keep, s->size_bytes - keep);
    s->size_bytes = n;
    if (!n)
        s->map = NULL;
    return 0;
}

int sk_slot_resize(struct sk_slot *s, size_t size_bytes, struct saikai_error *err)
{
    if (size_bytes == s->size_bytes)
        return 0;
    regain(s); /* else the error that follows says so */
    if (size_bytes < s->size_bytes)
        return shrink(s, size_bytes, err);
    size_t old = s->size_bytes;
    int rc = map_slot(s, size_bytes, err);
    if (rc && sk_io_reserve(s->fd, s->tmp_path, (off_t)old, NULL))
        rc = sk_fail(err, SAIKAI_EIO, "%s lost its space while it was resized", s->tmp_path);
    return rc;
}

int sk_slot_commit(struct sk_slot *s, const char *root, struct sk_gen g, int rank, int sync,
                   struct saikai_error *err)
{
    int rc = sync && s->size_bytes ? sk_io_msync(s->map, s->size_bytes, s->tmp_path, err) : 0;
    return rc ? rc : sk_gen_commit(root, g, rank, s->tmp_path, sync, err);
}

int sk_slot_is_whole(struct sk_slot *s)
{
    struct stat sb;
    return regain(s) && !fstat(s->fd, &sb) && sb.st_nlink > 0 && (size_t)sb.st_size == s->size_bytes && !sk_guard_lost(s->map);
}

int sk_slot_is_named(const struct sk_slot *s, const char *path)
{
    struct stat other;
    return !stat(path, &other) && s->device == other.st_dev && s->inode == other.st_ino;
}

int sk_slot_retire(struct sk_slot *s, const char *root, struct sk_gen g, int rank,
                   struct saikai_error *err)
{
    char path[PATH_MAX];
    int rc = sk_gen_file(root, g, rank, path, sizeof path, err);
    if (!rc)
        rc = sk_io_rename(path, s->tmp_path, err);
    if (!rc && !sk_gen_dir(root, g, path, sizeof path, NULL))
        sk_io_rmdir(path, NULL); /* stays while other ranks of this node have files in it */
    return rc;
}

void sk_slot_free(struct sk_slot *s, int remove)
{
    if (!s)
        return;
    sk_guard_remove(s->map);
    if (s->map)
        munmap(s->map, s->size_bytes);
    sk_own_close(s->fd);
    if (remove)
        sk_io_unlink(s->tmp_path, NULL);
    free(s->tmp_path);
    free(s);
}

/* The name of a slot, of a copy on its way to the prefix, or of a directory of the program's files: whose it is. */
static int is_temporary(const char *name, unsigned *incarnation, int *rank)
{
    int number, end = 0;
    if ((sscanf(name, "work-%u-%d%n", incarnation, rank, &end) == 2 ||
         sscanf(name, "restored-%u-%d%n", incarnation, rank, &end) == 2) && end && !name[end])
        return 1;
    if (sscanf(name, "slot-%u-%d-%d.tmp%n", incarnation, rank, &number, &end) == 3 && end && !name[end])
        return 1;
    return sscanf(name, "copy-%u-%d.tmp%n", incarnation, rank, &end) == 2 && end && !name[end];
}

void sk_slot_clean(const char *root, uint32_t incarnation, int rank, int nranks)
{
    DIR *d = opendir(root);
    for (struct dirent *e; d && (e = readdir(d));) {
        int r;
        unsigned i;
        char path[PATH_MAX];
        if (is_temporary(e->d_name, &i, &r) && (r == rank || r >= nranks) && i < incarnation &&
            !sk_io_path(path, sizeof path, NULL, "%s/%s", root, e->d_name))
            sk_io_rmtree(path, NULL);
    }
    if (d)
        closedir(d);
}
