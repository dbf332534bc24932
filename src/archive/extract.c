/* Restoring files from an archive, and checking one: blocks are decoded by several threads, each
 * segment is compared with its hash and written to its place in the file. */
#include "archive/archive.h"
#include "archive/part.h"
#include "archive/residual.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64 };

struct job {
    const char *path;
    const char *dir; /* NULL: check only */
    int fd;
    struct sk_ska a;
    uint8_t *wanted; /* per file */
    pthread_mutex_t lock;
    size_t next;
    int rc;
    struct saikai_error err;
};

int sk_archive_open(const char *path, struct sk_ska *a, struct saikai_error *err)
{
    int fd = sk_io_open(path, O_RDONLY, 0, err);
    if (fd < 0)
        return fd;
    int rc = sk_ska_read(fd, path, a, err);
    close(fd);
    return rc;
}

/* The name under which a file is written until it is complete. */
static int tmp_name(const struct job *j, uint32_t file, char *out, size_t cap,
                    struct saikai_error *err)
{
    return sk_io_path(out, cap, err, "%s/%s.saikai-part", j->dir, j->a.files[file].name);
}

static int wants(const struct job *j, const struct sk_ska_block *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        const struct sk_ska_part *p = &j->a.parts[b->first + i];
        for (uint32_t s = 0; s < p->count; s++)
            if (j->wanted[j->a.segments[p->first + s].file])
                return 1;
    }
    return 0;
}

struct output {
    int fd;
    uint32_t file;
};

static int put_segment(struct job *j, struct output *o, const struct sk_ska_segment *s,
                       const void *data, size_t n, struct saikai_error *err)
{
    char path[4096];
    if (!j->dir)
        return 0;
    int rc = tmp_name(j, s->file, path, sizeof path, err);
    if (!rc && (o->fd < 0 || o->file != s->file)) {
        if (o->fd >= 0)
            close(o->fd);
        o->fd = sk_io_open(path, O_WRONLY, 0, err);
        o->file = s->file;
        rc = o->fd < 0 ? o->fd : 0;
    }
    return rc ? rc : sk_io_pwrite(o->fd, path, data, n, (off_t)s->offset, err);
}

static size_t aligned(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

struct worker {
    struct sk_coder coder;
    struct sk_buf stored, raw;
    struct sk_part *parts;
    struct output out;
};

static int fill_parts(struct job *j, struct worker *w, const struct sk_ska_block *b,
                      struct saikai_error *err)
{
    size_t room = 0;
    for (uint32_t i = 0; i < b->count; i++)
        room += aligned(j->a.parts[b->first + i].size_bytes);
    struct sk_part *more = realloc(w->parts, (b->count + 1) * sizeof *more);
    if (more)
        w->parts = more;
    uint8_t *at = more ? sk_coder_room(&w->raw, room) : NULL;
    if (!at)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a block of %llu bytes",
                       (unsigned long long)b->size_bytes);
    for (uint32_t i = 0; i < b->count; i++) {
        const struct sk_ska_part *p = &j->a.parts[b->first + i];
        const struct sk_ska_class *c = &j->a.classes[p->class];
        w->parts[i] =
            (struct sk_part){c->type, c->big_endian, c->fields, &j->a.segments[p->first], p->count,
                             at,      p->size_bytes, 0};
        at += aligned(p->size_bytes);
    }
    return 0;
}

static int check_and_put(struct job *j, struct worker *w, const struct sk_ska_block *b,
                         struct saikai_error *err)
{
    for (uint32_t i = 0; i < b->count; i++) {
        const struct sk_ska_part *p = &j->a.parts[b->first + i];
        const uint8_t *at = w->parts[i].raw;
        for (uint32_t s = 0; s < p->count; s++) {
            const struct sk_ska_segment *seg = &j->a.segments[p->first + s];
            size_t n = (size_t)sk_ska_segment_bytes(&j->a, p, seg);
            if (j->wanted[seg->file]) {
                if (sk_hash64(at, n) != seg->hash)
                    return sk_fail(err, SAIKAI_EDAMAGED,
                                   "%s: bytes %llu to %llu of %s are not what was archived",
                                   j->path, (unsigned long long)seg->offset,
                                   (unsigned long long)(seg->offset + n),
                                   j->a.files[seg->file].name);
                int rc = put_segment(j, &w->out, seg, at, n, err);
                if (rc)
                    return rc;
            }
            at += n;
        }
    }
    return 0;
}

static int restore_block(struct job *j, struct worker *w, size_t i, struct saikai_error *err)
{
    const struct sk_ska_block *b = &j->a.blocks[i];
    if (!wants(j, b))
        return 0;
    uint8_t *stored = sk_coder_room(&w->stored, b->stored_bytes + SK_BITS_SLACK);
    if (!stored)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a block of %llu bytes",
                       (unsigned long long)b->stored_bytes);
    memset(stored + b->stored_bytes, 0, SK_BITS_SLACK);
    int rc = sk_io_pread(j->fd, j->path, stored, b->stored_bytes, (off_t)b->offset, err);
    if (!rc && sk_hash64(stored, b->stored_bytes) != b->hash)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "%s: the checksum of block %zu (with %s) is wrong",
                     j->path, i, j->a.files[j->a.segments[j->a.parts[b->first].first].file].name);
    if (!rc)
        rc = fill_parts(j, w, b, err);
    if (!rc) {
        rc = sk_block_decode(&w->coder, stored, b->stored_bytes, w->parts, (int)b->count, err);
        if (rc)
            sk_error_prefix(err, "%s: block %zu", j->path, i);
    }
    return rc ? rc : check_and_put(j, w, b, err);
}

static void *worker(void *arg)
{
    struct job *j = arg;
    struct worker w = {.out = {-1, 0}};
    for (;;) {
        struct saikai_error err = {0};
        pthread_mutex_lock(&j->lock);
        size_t i = j->rc ? j->a.block_count : j->next++;
        pthread_mutex_unlock(&j->lock);
        if (i >= j->a.block_count)
            break;
        int rc = restore_block(j, &w, i, &err);
        if (rc) {
            pthread_mutex_lock(&j->lock);
            if (!j->rc) {
                j->rc = rc;
                j->err = err;
            }
            pthread_mutex_unlock(&j->lock);
        }
    }
    if (w.out.fd >= 0)
        close(w.out.fd);
    sk_coder_free(&w.coder);
    sk_buf_free(&w.stored);
    sk_buf_free(&w.raw);
    free(w.parts);
    return NULL;
}

static int run_workers(struct job *j, int threads, struct saikai_error *err)
{
    pthread_t t[MAX_THREADS];
    int n = 0;
    pthread_mutex_init(&j->lock, NULL);
    while (n < threads - 1 && !pthread_create(&t[n], NULL, worker, j))
        n++;
    worker(j); /* this thread works too: fewer threads than asked for is no error */
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    pthread_mutex_destroy(&j->lock);
    if (j->rc && err)
        *err = j->err;
    return j->rc;
}

/* ---- files ---- */

static int make_files(struct job *j, struct saikai_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < j->a.file_count && !rc; i++) {
        char path[4096];
        if (!j->wanted[i])
            continue;
        rc = tmp_name(j, i, path, sizeof path, err);
        char *slash = rc ? NULL : strrchr(path, '/');
        if (slash) {
            *slash = 0;
            rc = sk_io_mkdirs(path, err);
            *slash = '/';
        }
        if (rc)
            break;
        int fd = sk_io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600, err);
        if (fd < 0)
            return fd;
        if (ftruncate(fd, (off_t)j->a.files[i].size_bytes))
            rc = sk_fail_errno(err, errno, "cannot make %s", path);
        close(fd);
    }
    return rc;
}

static int finish_file(struct job *j, uint32_t i, int sync, struct saikai_error *err)
{
    char tmp[4096], path[4096];
    const struct sk_ska_file *f = &j->a.files[i];
    int rc = tmp_name(j, i, tmp, sizeof tmp, err);
    if (!rc)
        rc = sk_io_path(path, sizeof path, err, "%s/%s", j->dir, f->name);
    int fd = rc ? rc : sk_io_open(tmp, O_WRONLY, 0, err);
    if (fd < 0)
        return fd;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {0}};
    times[1].tv_sec = (time_t)(f->mtime_ns / 1000000000);
    times[1].tv_nsec = (long)(f->mtime_ns % 1000000000);
    if (times[1].tv_nsec < 0)
        times[1].tv_nsec = UTIME_OMIT;
    if (fchmod(fd, f->mode & 0777) || futimens(fd, times))
        rc = sk_fail_errno(err, errno, "cannot set mode and time of %s", tmp);
    if (!rc && sync)
        rc = sk_io_fsync(fd, tmp, err);
    close(fd);
    return rc ? rc : sk_io_rename(tmp, path, err);
}

static int finish_files(struct job *j, int sync, struct saikai_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < j->a.file_count && !rc; i++)
        if (j->wanted[i])
            rc = finish_file(j, i, sync, err);
    for (uint32_t i = 0; i < j->a.file_count && !rc && sync; i++) {
        char path[4096];
        if (j->wanted[i] &&
            !(rc = sk_io_path(path, sizeof path, err, "%s/%s", j->dir, j->a.files[i].name)))
            rc = sk_io_fsync_parent(path, err);
    }
    return rc;
}

static void remove_parts(struct job *j)
{
    char path[4096];
    for (uint32_t i = 0; i < j->a.file_count; i++)
        if (j->wanted[i] && !tmp_name(j, i, path, sizeof path, NULL))
            sk_io_unlink(path, NULL);
}

static int choose_files(struct job *j, const char *only, struct saikai_error *err)
{
    size_t n = 0;
    j->wanted = calloc(j->a.file_count + 1, 1);
    if (!j->wanted)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    for (size_t i = 0; i < j->a.file_count; i++)
        n += j->wanted[i] = !only || !fnmatch(only, j->a.files[i].name, 0);
    if (!n && only)
        return sk_fail(err, SAIKAI_ENOENT, "%s holds no file '%s'; `saikai archive ls` lists them",
                       j->path, only);
    return 0;
}

/* As many threads as the memory allows: each holds one block, packed and unpacked, and its working
 * memory. */
static int choose_threads(const struct job *j, const struct sk_extract_options *o)
{
    uint64_t largest = 1, memory = o->memory_bytes ? o->memory_bytes : (uint64_t)1 << 30;
    for (size_t i = 0; i < j->a.block_count; i++) {
        const struct sk_ska_block *b = &j->a.blocks[i];
        uint64_t need = b->stored_bytes + 2 * b->size_bytes;
        largest = need > largest ? need : largest;
    }
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = o->threads > 0 ? o->threads : cpus > 0 ? (int)cpus : 1;
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    if ((uint64_t)threads > memory / largest)
        threads = (int)(memory / largest);
    return threads < 1 ? 1 : threads;
}

static void count(const struct job *j, double t0, struct sk_archive_stats *st)
{
    *st = (struct sk_archive_stats){.classes = j->a.class_count};
    for (size_t i = 0; i < j->a.file_count; i++)
        if (j->wanted[i]) {
            st->files++;
            st->raw_bytes += j->a.files[i].size_bytes;
        }
    for (size_t i = 0; i < j->a.block_count; i++)
        st->stored_bytes += j->a.blocks[i].stored_bytes;
    st->seconds = sk_now() - t0;
}

int sk_archive_extract(const char *path, const char *dir, const struct sk_extract_options *opt,
                       struct sk_archive_stats *stats, struct saikai_error *err)
{
    static const struct sk_extract_options defaults;
    const struct sk_extract_options *o = opt ? opt : &defaults;
    double t0 = sk_now();
    struct job j = {.path = path, .dir = dir};
    j.fd = sk_io_open(path, O_RDONLY, 0, err);
    if (j.fd < 0)
        return j.fd;
    int rc = sk_ska_read(j.fd, path, &j.a, err), made = 0;
    if (!rc)
        rc = choose_files(&j, o->only, err);
    if (!rc && dir)
        rc = sk_io_mkdirs(dir, err);
    if (!rc && dir) {
        made = 1;
        rc = make_files(&j, err);
    }
    if (!rc)
        rc = run_workers(&j, choose_threads(&j, o), err);
    if (!rc && dir)
        rc = finish_files(&j, !o->no_sync, err);
    if (rc && made)
        remove_parts(&j);
    if (!rc && stats)
        count(&j, t0, stats);
    close(j.fd);
    free(j.wanted);
    sk_ska_free(&j.a);
    return rc;
}
