/* Maps ranges of a file to blocks, decodes these and keeps the ones used last while there is
 * room. */
#include "archive/read/inside.h"

#include "archive/file/ska.h"
#include "archive/coding/unpack.h"
#include "base/file/io.h"
#include "base/order.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where a run of a file's bytes is: it ends where the next one begins. */
struct place {
    uint64_t offset; /* in the file */
    uint32_t block;
    uint32_t within; /* the decoded block */
    uint32_t file;
};

/* A decoded block, in a list from the one used last to the one used longest ago. */
struct kept {
    struct kept *newer, *older;
    uint32_t archive, block;
    uint8_t *bytes;
};

struct archive {
    char *path;
    dev_t device;
    ino_t inode;
    struct sk_ska a;
    struct place *place; /* by file, then by offset */
    size_t *first;       /* of each file's places, and one more */
    struct kept **kept;  /* per block, NULL: not decoded now */
    uint8_t *seen;       /* per block: somebody asked for it */
};

struct sk_inside {
    pthread_mutex_t lock;
    int users;
    struct archive *archive;
    size_t count, files;
    struct kept *newest, *oldest;
    uint64_t bytes, limit;
    /* a set may have more archives than there are descriptors: one is open at a time */
    struct archive *open;
    struct sk_opened opened;
    struct sk_unpacker work; /* for this one */
    struct sk_unpacked block;
};

int sk_inside_new(uint64_t memory_bytes, struct sk_inside **out, struct saikai_error *err)
{
    struct sk_inside *s = calloc(1, sizeof *s);
    if (!s)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to read archives");
    pthread_mutex_init(&s->lock, NULL);
    s->limit = memory_bytes ? memory_bytes : (uint64_t)256 << 20;
    s->users = 1;
    *out = s;
    return 0;
}

void sk_inside_share(struct sk_inside *s)
{
    pthread_mutex_lock(&s->lock);
    s->users++;
    pthread_mutex_unlock(&s->lock);
}

static void archive_free(struct archive *x)
{
    sk_ska_free(&x->a);
    free(x->path);
    free(x->place);
    free(x->first);
    free(x->kept);
    free(x->seen);
}

static void close_archive(struct sk_inside *s)
{
    if (!s->open)
        return;
    sk_unpacker_free(&s->work);
    close(s->opened.fd);
    sk_opened_done(&s->opened);
    s->open = NULL;
}

static int open_archive(struct sk_inside *s, struct archive *x, struct saikai_error *err)
{
    struct stat st;
    if (s->open == x)
        return 0;
    close_archive(s);
    int fd = sk_io_open(x->path, O_RDONLY, 0, err);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) || st.st_ino != x->inode || st.st_dev != x->device) {
        close(fd);
        return sk_fail(err, SAIKAI_EDAMAGED, "%s was replaced while it was read", x->path);
    }
    sk_opened_init(&s->opened, fd, x->path, &x->a);
    s->open = x;
    return 0;
}

void sk_inside_release(struct sk_inside *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    int left = --s->users;
    pthread_mutex_unlock(&s->lock);
    if (left)
        return;
    for (struct kept *k = s->newest, *next; k; k = next) {
        next = k->older;
        free(k->bytes);
        free(k);
    }
    close_archive(s);
    sk_unpacked_free(&s->block);
    for (size_t i = 0; i < s->count; i++)
        archive_free(&s->archive[i]);
    free(s->archive);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- opening ---- */

static int by_place(const void *x, const void *y)
{
    const struct place *a = x, *b = y;
    return SK_ORDER_BY(a->file, b->file, a->offset, b->offset);
}

/* Where everything is; segments tile the files (the reader of the index has seen to that). */
static int find_places(struct archive *x, struct saikai_error *err)
{
    const struct sk_ska *a = &x->a;
    size_t n = 0;
    x->place = calloc(a->segment_count, sizeof *x->place);
    x->first = calloc(a->file_count + 1, sizeof *x->first);
    x->kept = calloc(a->block_count, sizeof *x->kept);
    x->seen = calloc(a->block_count, 1);
    if (!x->place || !x->first || !x->kept || !x->seen)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the index of %s", x->path);
    for (uint32_t b = 0; b < a->block_count; b++) {
        uint32_t within = 0;
        for (uint32_t k = 0; k < a->blocks[b].count; k++) {
            const struct sk_ska_part *p = &a->parts[a->blocks[b].first + k];
            for (uint32_t s = 0; s < p->count; s++) {
                const struct sk_ska_segment *g = &a->segments[p->first + s];
                uint64_t bytes = sk_ska_segment_bytes(a, p, g);
                if (bytes)
                    x->place[n++] = (struct place){g->offset, b, within, g->file};
                within += (uint32_t)bytes;
            }
        }
    }
    if (n)
        qsort(x->place, n, sizeof *x->place, by_place);
    for (size_t f = 0, i = 0; f <= a->file_count; f++) {
        while (i < n && x->place[i].file < f)
            i++;
        x->first[f] = i;
    }
    return 0;
}

static int read_index(struct archive *x, struct saikai_error *err)
{
    struct stat st;
    int fd = sk_io_open(x->path, O_RDONLY, 0, err);
    if (fd < 0)
        return fd;
    int rc = fstat(fd, &st) ? sk_fail_errno(err, errno, "cannot look at %s", x->path)
                            : sk_ska_read(fd, x->path, &x->a, err);
    close(fd);
    x->device = st.st_dev;
    x->inode = st.st_ino;
    return rc ? rc : find_places(x, err);
}

int sk_inside_add(struct sk_inside *s, const char *path, struct saikai_error *err)
{
    struct archive x = {.path = strdup(path)},
                   *more = realloc(s->archive, (s->count + 1) * sizeof *more);
    if (more)
        s->archive = more;
    int rc = x.path && more ? read_index(&x, err)
                            : sk_fail(err, SAIKAI_ENOMEM, "no memory to open %s", path);
    if (rc) {
        archive_free(&x);
        return rc;
    }
    s->archive[s->count++] = x;
    s->files += x.a.file_count;
    return 0;
}

size_t sk_inside_count(const struct sk_inside *s)
{
    return s->files;
}

/* The archive of a file, whose number becomes the one there. */
static struct archive *archive_of(const struct sk_inside *s, size_t *file)
{
    struct archive *x = s->archive;
    while (*file >= x->a.file_count)
        *file -= x++->a.file_count;
    return x;
}

const char *sk_inside_name(const struct sk_inside *s, size_t file)
{
    const struct archive *x = archive_of(s, &file);
    return x->a.files[file].name;
}

uint64_t sk_inside_size(const struct sk_inside *s, size_t file)
{
    const struct archive *x = archive_of(s, &file);
    return x->a.files[file].size_bytes;
}

const char *sk_inside_archive(const struct sk_inside *s, size_t file)
{
    return archive_of(s, &file)->path;
}

/* ---- blocks ---- */

static void unlink_kept(struct sk_inside *s, struct kept *k)
{
    *(k->newer ? &k->newer->older : &s->newest) = k->older;
    *(k->older ? &k->older->newer : &s->oldest) = k->newer;
}

static void put_first(struct sk_inside *s, struct kept *k)
{
    k->newer = NULL;
    k->older = s->newest;
    *(s->newest ? &s->newest->newer : &s->oldest) = k;
    s->newest = k;
}

static void forget_oldest(struct sk_inside *s)
{
    struct kept *k = s->oldest;
    struct archive *x = &s->archive[k->archive];
    unlink_kept(s, k);
    s->bytes -= x->a.blocks[k->block].size_bytes;
    x->kept[k->block] = NULL;
    free(k->bytes);
    free(k);
}

static int nothing(void *arg, const struct sk_ska_segment *s, const uint8_t *data, size_t n,
                   struct saikai_error *err)
{
    (void)arg;
    (void)s;
    (void)data;
    (void)n;
    (void)err;
    return 0;
}

/* Decode a block and check all of it. */
static int decode(struct sk_inside *s, struct archive *x, uint32_t block, struct saikai_error *err)
{
    x->seen[block] = 1;
    int rc = open_archive(s, x, err);
    if (!rc)
        rc = sk_unpack_block(&s->work, &s->block, &s->opened, block, err);
    return rc ? rc
              : sk_unpack_each(&s->block, x->path, &x->a, block, NULL, NULL, nothing, NULL, err);
}

/* With the lock: the bytes of a block, valid until the next call. */
static int get_block(struct sk_inside *s, struct archive *x, uint32_t block, const uint8_t **bytes,
                     struct saikai_error *err)
{
    const struct sk_ska_block *b = &x->a.blocks[block];
    struct kept *k = x->kept[block];
    if (k) {
        unlink_kept(s, k);
        put_first(s, k);
        *bytes = k->bytes;
        return 0;
    }
    int rc = decode(s, x, block, err);
    if (rc)
        return rc;
    while (s->oldest && s->bytes + b->size_bytes > s->limit)
        forget_oldest(s);
    k = calloc(1, sizeof *k);
    if (!k || !(k->bytes = malloc(b->size_bytes ? b->size_bytes : 1))) {
        free(k);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a block of %llu bytes of %s",
                       (unsigned long long)b->size_bytes, x->path);
    }
    uint8_t *to = k->bytes;
    for (uint32_t i = 0; i < b->count; to += s->block.parts[i++].size_bytes)
        memcpy(to, s->block.parts[i].raw, s->block.parts[i].size_bytes);
    k->archive = (uint32_t)(x - s->archive);
    k->block = block;
    x->kept[block] = k;
    s->bytes += b->size_bytes;
    put_first(s, k);
    *bytes = k->bytes;
    return 0;
}

/* The place that holds byte `at` of a file. */
static size_t find(const struct archive *x, size_t file, uint64_t at)
{
    size_t first = x->first[file], last = x->first[file + 1]; /* it is in [first, last) */
    while (last - first > 1) {
        size_t mid = first + (last - first) / 2;
        if (x->place[mid].offset <= at)
            first = mid;
        else
            last = mid;
    }
    return first;
}

int sk_inside_read(struct sk_inside *s, size_t file, uint64_t at, void *data, size_t n,
                   struct saikai_error *err)
{
    struct archive *x = archive_of(s, &file);
    const struct sk_ska_file *f = &x->a.files[file];
    uint8_t *to = data;
    int rc = 0;
    if (at > f->size_bytes || n > f->size_bytes - at)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s: %s is truncated", x->path, f->name);
    pthread_mutex_lock(&s->lock);
    for (size_t i = n ? find(x, file, at) : 0; !rc && n; i++) {
        const struct place *p = &x->place[i];
        uint64_t end = i + 1 < x->first[file + 1] ? p[1].offset : f->size_bytes;
        size_t part = end - at < n ? (size_t)(end - at) : n;
        const uint8_t *from = NULL;
        if (!(rc = get_block(s, x, p->block, &from, err)))
            memcpy(to, from + p->within + (at - p->offset), part);
        to += part;
        at += part;
        n -= part;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* What of an archive no file's bytes tell of: its header and both copies of its index. */
static int check_ends(const struct archive *x, struct saikai_error *why)
{
    int fd = sk_io_open(x->path, O_RDONLY, 0, why);
    if (fd < 0)
        return fd;
    int rc = sk_ska_check_ends(fd, x->path, &x->a, why);
    close(fd);
    return rc;
}

int sk_inside_check_rest(struct sk_inside *s,
                         int (*fault)(void *arg, const char *archive,
                                      const struct saikai_error *why),
                         void (*progress)(void *arg, uint64_t more_bytes), void *arg,
                         struct saikai_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct archive *x = &s->archive[i];
        struct saikai_error ends = {0};
        if (!rc && check_ends(x, &ends))
            rc = fault(arg, x->path, &ends);
        for (uint32_t b = 0; !rc && b < x->a.block_count; b++) {
            struct saikai_error why = {0};
            if (x->seen[b])
                continue;
            pthread_mutex_lock(&s->lock);
            int bad = decode(s, x, b, &why);
            pthread_mutex_unlock(&s->lock);
            if (bad == SAIKAI_ENOMEM) {
                rc = bad;
                if (err)
                    *err = why;
            } else if (bad) {
                rc = fault(arg, x->path, &why);
            }
            if (progress)
                progress(arg, x->a.blocks[b].stored_bytes);
        }
    }
    return rc;
}

int sk_inside_is_there(const struct sk_inside *s)
{
    int there = 1;
    for (size_t i = 0; i < s->count; i++) {
        const struct archive *x = &s->archive[i];
        struct stat st;
        there &= !stat(x->path, &st) && st.st_ino == x->inode && st.st_dev == x->device;
    }
    return there;
}
