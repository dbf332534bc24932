/* Restoring files from an archive, and checking one: blocks are read ahead, decoded by several
 * threads, each segment is compared with its hash and written to its place in the file. */
#include "archive/read/extract.h"
#include "archive/read/preread.h"
#include "archive/file/names.h"
#include "archive/file/sink.h"
#include "archive/coding/unpack.h"

#include "base/clock.h"
#include "base/file/io.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 64 };

struct job {
    const char *path;
    int fd;
    struct sk_ska a;
    struct sk_opened opened;
    uint8_t *wanted;  /* per file */
    uint8_t *entries; /* per directory or link: 1: wanted */
    uint8_t *damaged; /* per file: 1: some of its bytes did not come back */
    const struct sk_extract_options *o;
    size_t damaged_blocks;
    uint64_t done_bytes, all_bytes;
    uint8_t *classes; /* per class, NULL: all */
    struct sk_sink sink;
    size_t *order; /* blocks that are wanted, as they are read */
    size_t count;
    struct sk_preread *reading;
    pthread_mutex_t lock;
    int rc, failed; /* the first damage or failure; nothing more can be done */
    struct saikai_error err;
};

static int wants(const struct job *j, const struct sk_ska_block *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        const struct sk_ska_part *p = &j->a.parts[b->first + i];
        if (j->classes && !j->classes[p->class])
            continue;
        for (uint32_t s = 0; s < p->count; s++)
            if (j->wanted[j->a.segments[p->first + s].file])
                return 1;
    }
    return 0;
}

struct worker {
    struct job *j;
    struct sk_unpacker unpacker;
    struct sk_unpacked block;
    struct sk_sink_file out;
};

static int put(void *arg, const struct sk_ska_segment *s, const uint8_t *data, size_t n,
               struct saikai_error *err)
{
    struct worker *w = arg;
    return sk_sink_put(&w->j->sink, &w->out, s->file, s->offset, data, n, err);
}

static int restore_block(struct worker *w, const struct sk_preread_block *b,
                         struct saikai_error *err)
{
    struct job *j = w->j;
    int rc = sk_unpack_ready(&w->unpacker, &w->block, &j->opened, b->block, &b->bytes, err);
    sk_preread_done(b);
    return rc ? rc
              : sk_unpack_each(&w->block, j->path, &j->a, b->block, j->wanted, j->classes, put, w,
                               err);
}

/* Damage of one block costs the files in it; the others go on. */
static int is_damage(int rc)
{
    return rc == SAIKAI_EDAMAGED || rc == SAIKAI_ENOTSUP;
}

static void note_damage(struct job *j, size_t block, int rc, const struct saikai_error *err)
{
    const struct sk_ska_block *b = &j->a.blocks[block];
    pthread_mutex_lock(&j->lock);
    if (!j->rc) {
        j->rc = rc;
        j->err = *err;
    }
    if (j->o->damaged)
        j->o->damaged(j->o->arg, NULL, err->text);
    j->damaged_blocks++;
    for (uint32_t i = 0; i < b->count; i++) {
        const struct sk_ska_part *p = &j->a.parts[b->first + i];
        for (uint32_t s = 0; s < p->count && (!j->classes || j->classes[p->class]); s++)
            j->damaged[j->a.segments[p->first + s].file] = 1;
    }
    pthread_mutex_unlock(&j->lock);
}

static void count_done(struct job *j, size_t block)
{
    if (!j->o->progress)
        return;
    pthread_mutex_lock(&j->lock);
    j->done_bytes += j->a.blocks[block].size_bytes;
    j->o->progress(j->o->progress_arg, j->done_bytes, j->all_bytes);
    pthread_mutex_unlock(&j->lock);
}

static void *worker(void *arg)
{
    struct job *j = arg;
    struct worker w = {.j = j, .out = {-1, 0}};
    struct sk_preread_block b;
    struct saikai_error err = {0};
    int rc = 0;
    while (!rc && (rc = sk_preread_next(j->reading, &b, &err)) > 0) {
        rc = restore_block(&w, &b, &err);
        count_done(j, b.block);
        if (is_damage(rc)) {
            note_damage(j, b.block, rc, &err);
            rc = 0;
        }
    }
    if (rc) {
        sk_preread_give_up(j->reading);
        pthread_mutex_lock(&j->lock);
        if (!j->failed) {
            j->failed = j->rc = rc;
            j->err = err;
        }
        pthread_mutex_unlock(&j->lock);
    }
    sk_sink_close(&w.out);
    sk_unpacked_free(&w.block);
    sk_unpacker_free(&w.unpacker);
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

/* Names in an archive are relative and say nothing twice; a pattern may be as its files were named once: ./d/x, or /home/d/x. */
static const char *plain(const char *pattern)
{
    while (*pattern == '/' || !strncmp(pattern, "./", 2))
        pattern += *pattern == '/' ? 1 : 2;
    return pattern;
}

/* The name itself, a pattern of it, or a directory above it. */
static int matches(const char *pattern, const char *name)
{
    pattern = plain(pattern);
    size_t n = strlen(pattern);
    while (n && pattern[n - 1] == '/')
        n--;
    return !fnmatch(pattern, name, 0) ||
           (n && !strncmp(pattern, name, n) && (!name[n] || name[n] == '/'));
}

/* What matches, and all below a directory that does: by the name, or by the last part of it. */
static int is_left_out(const char *pattern, const char *name)
{
    char what[4096], path[4096];
    const char *end = name;
    pattern = plain(pattern);
    size_t n = strlen(pattern);
    while (n && pattern[n - 1] == '/')
        n--;
    if (sk_io_path(what, sizeof what, NULL, "%.*s", (int)n, pattern) || sk_io_path(path, sizeof path, NULL, "%s", name))
        return 0;
    for (; *end; end += *end != 0) {
        end += strcspn(end, "/");
        path[end - name] = 0;
        const char *slash = strrchr(path, '/');
        if (!fnmatch(what, path, 0) || !fnmatch(what, slash ? slash + 1 : path, 0))
            return 1;
        path[end - name] = *end;
    }
    return 0;
}

static int is_wanted(const struct sk_extract_options *o, const char *name, uint8_t *met)
{
    int wanted = !o->only || !fnmatch(plain(o->only), name, 0), member = !o->member_count;
    for (int i = 0; i < o->member_count; i++)
        if (matches(o->members[i], name))
            member = met[i] = 1;
    for (int i = 0; i < o->exclude_count && wanted; i++)
        wanted = !is_left_out(o->exclude[i], name);
    return wanted && member;
}

/* Directories and links, too; a hard link brings the file that it is another name of. */
static int choose_entries(struct job *j, uint8_t *met)
{
    struct sk_names names = {0};
    int rc = 0;
    for (size_t i = 0; i < j->a.entry_count && !rc; i++) {
        const struct sk_ska_entry *e = &j->a.entries[i];
        j->entries[i] = (uint8_t)is_wanted(j->o, e->name, met);
        if (e->kind != SK_ENTRY_HARD_LINK || !j->entries[i])
            continue;
        rc = names.list ? 0 : sk_names_init(&names, &j->a);
        int64_t f = rc ? -1 : sk_names_find(&names, e->target);
        if (f >= 0)
            j->wanted[f] = 1;
    }
    sk_names_free(&names);
    return rc;
}

static int choose_files(struct job *j, const struct sk_extract_options *o, struct saikai_error *err)
{
    size_t n = 0;
    uint8_t *met = calloc((size_t)o->member_count, 1);
    j->entries = calloc(j->a.entry_count, 1);
    j->wanted = calloc(j->a.file_count, 1);
    j->damaged = calloc(j->a.file_count, 1);
    int rc = j->wanted && j->damaged && j->entries && met
                 ? 0
                 : sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    for (size_t i = 0; i < j->a.file_count && !rc; i++)
        n += j->wanted[i] = (uint8_t)is_wanted(o, j->a.files[i].name, met);
    if (!rc && choose_entries(j, met))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    if (!rc && !n && o->only)
        rc = sk_fail(err, SAIKAI_ENOENT, "%s holds no file '%s'; `saikai archive ls` lists them",
                     j->path, o->only);
    for (int i = 0; i < o->member_count && !rc; i++)
        if (!met[i])
            rc =
                sk_fail(err, SAIKAI_ENOENT, "%s holds no file '%s'; `saikai archive ls` lists them",
                        j->path, o->members[i]);
    free(met);
    return rc;
}

static int choose_classes(struct job *j, const struct sk_extract_options *o,
                          struct saikai_error *err)
{
    if (!o->wants_class)
        return 0;
    j->classes = calloc(j->a.class_count, 1);
    if (!j->classes)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of variables");
    for (size_t i = 0; i < j->a.class_count; i++)
        j->classes[i] = o->wants_class(o->arg, &j->a.classes[i]) != 0;
    return 0;
}

static int choose_blocks(struct job *j, struct saikai_error *err)
{
    j->order = calloc(j->a.block_count, sizeof *j->order);
    if (!j->order)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of blocks");
    for (size_t i = 0; i < j->a.block_count; i++)
        if (wants(j, &j->a.blocks[i]))
            j->order[j->count++] = i, j->all_bytes += j->a.blocks[i].size_bytes;
    sk_preread_order(&j->a, j->order, j->count);
    return 0;
}

/* As many threads as the memory allows: each holds one block, packed and unpacked, its working
 * memory, and what the block builds on. What is left is for blocks that are read ahead. */
static int choose_threads(struct job *j, const struct sk_extract_options *o, int *out,
                          size_t *ahead, struct saikai_error *err)
{
    struct sk_unpack_need most = {0, 0};
    uint64_t packed = 0, memory = o->memory_bytes ? o->memory_bytes : (uint64_t)1 << 30;
    for (size_t i = 0; i < j->count; i++) {
        struct sk_unpack_need need;
        uint64_t stored = j->a.blocks[j->order[i]].stored_bytes;
        int rc = sk_unpack_need(&j->opened, j->order[i], &need, err);
        if (rc)
            return rc;
        sk_unpack_most(&most, &need);
        packed = stored > packed ? stored : packed;
    }
    *out = sk_unpack_threads(o->threads, MAX_THREADS, &most, memory);
    *ahead = sk_preread_ahead(memory, (uint64_t)*out * (most.work_bytes + most.raw_bytes), packed);
    return 0;
}

/* After damage: the whole files get their names, of the others nothing is left. The damage stays
 * the result. */
static int finish_whole(struct job *j, int rc, int sync, struct saikai_error *err)
{
    struct sk_sink bad = j->sink;
    size_t lost = 0, all = 0;
    for (size_t i = 0; i < j->a.file_count; i++) {
        all += j->wanted[i];
        j->damaged[i] &= j->wanted[i];
        lost += j->damaged[i];
        j->wanted[i] = j->wanted[i] && !j->damaged[i];
        if (j->damaged[i] && j->o->damaged)
            j->o->damaged(j->o->arg, j->a.files[i].name, NULL);
    }
    bad.wanted = j->damaged;
    *bad.note = 0; /* the others are unfinished still */
    sk_sink_drop(&bad);
    struct saikai_error first = j->err;
    int failed = sk_sink_finish(&j->sink, sync, err);
    if (failed)
        return failed;
    return sk_fail(err, rc, "%zu of %zu files are damaged%s; %s", lost, all,
                   j->sink.dir ? " and were left out" : "", first.text);
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
    int threads = 1;
    struct job j = {.path = path, .o = o};
    j.fd = sk_io_open(path, O_RDONLY, 0, err);
    if (j.fd < 0)
        return j.fd;
    size_t ahead = 0;
    int rc = sk_ska_read(j.fd, path, &j.a, err);
    if (!rc)
        rc = sk_ska_check_store(&j.a, path, o->stores, o->store_count, err);
    sk_opened_init(&j.opened, j.fd, path, &j.a);
    if (!rc)
        rc = choose_files(&j, o, err);
    if (!rc)
        rc = choose_classes(&j, o, err);
    if (!rc)
        rc = choose_blocks(&j, err);
    if (!rc)
        rc = choose_threads(&j, o, &threads, &ahead, err);
    if (!rc)
        rc = sk_preread_new(j.fd, path, &j.a, j.order, j.count, (size_t)threads + ahead, &j.reading,
                            err);
    j.sink = (struct sk_sink){.dir = dir, .a = &j.a, .wanted = j.wanted, .entries = j.entries, .sweeps = o->sweeps};
    if (!rc)
        rc = sk_sink_make(&j.sink, err);
    if (!rc)
        rc = run_workers(&j, threads, err);
    if (!rc && !dir)
        rc = sk_ska_check_ends(j.fd, path, &j.a, err);
    sk_preread_free(j.reading);
    int partial = rc && j.damaged_blocks && !j.failed;
    if (!rc)
        rc = sk_sink_finish(&j.sink, !o->no_sync, err);
    else if (partial)
        rc = finish_whole(&j, rc, !o->no_sync, err);
    if (rc)
        sk_sink_drop(&j.sink);
    if ((!rc || partial) && stats)
        count(&j, t0, stats);
    sk_opened_done(&j.opened);
    close(j.fd);
    free(j.order);
    free(j.wanted);
    free(j.entries);
    free(j.damaged);
    free(j.classes);
    sk_ska_free(&j.a);
    return rc;
}
