/* Begins and ends snapshots, and copies plainly where one is not possible or does not pay. */
#include "lib/data/saver.h"

#include "base/file/copy.h"
#include "base/log.h"
#include "base/host/headroom.h"
#include "capture/cow/cow.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Less is copied at once: a snapshot has a price of its own. */
#define LEAST_BYTES ((size_t)4 << 20)
/* Checkpoints by plain copies after a snapshot that failed. */
#define AVOID_FOR 8

struct sk_saver {
    int off, trust_pages, huge_pages;
    uint64_t pool_bytes;
    struct sk_snapshot *snapshot; /* NULL: none was wanted yet */
    uint8_t **to;                 /* of the pieces under way, by their ids */
    struct sk_memory_extent *extent;
    size_t cap;
    int avoid; /* checkpoints */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int busy; /* between begin and finish */
};

static int open_snapshot(struct sk_saver *sv, const char *form, struct saikai_error *err)
{
    struct sk_snapshot_options o = {.form = form, .pool_bytes = sv->pool_bytes, .sink_is_copy = 1,
                                    .trust_pages = sv->trust_pages, .huge_pages = sv->huge_pages};
    static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER; /* trials of several sessions at once would meet */
    pthread_mutex_lock(&alone);
    int rc = sk_snapshot_open(&o, &sv->snapshot, err);
    pthread_mutex_unlock(&alone);
    return rc;
}

int sk_saver_open(const struct sk_config *c, struct sk_saver **out, struct saikai_error *err)
{
    struct sk_saver *sv = calloc(1, sizeof *sv);
    const char *form = sk_config_text(c, "capture.snapshot");
    if (!sv)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to save without a stop");
    sv->off = sk_snapshot_waits(form);
    sv->trust_pages = sk_config_bool(c, "capture.trust_pages");
    sv->huge_pages = sk_config_bool(c, "capture.huge_pages");
    sv->pool_bytes = sk_config_size(c, "capture.pool");
    pthread_mutex_init(&sv->lock, NULL);
    pthread_cond_init(&sv->ended, NULL);
    /* "auto" tries forms on scratch memory: only when there is something to save */
    int rc = sv->off || sk_is_auto(form) ? 0 : open_snapshot(sv, form, err);
    if (rc) {
        sk_error_prefix(err, "capture.snapshot");
        sk_saver_close(sv);
        return rc;
    }
    *out = sv;
    return 0;
}

void sk_saver_close(struct sk_saver *sv)
{
    if (!sv)
        return;
    sk_snapshot_close(sv->snapshot);
    pthread_cond_destroy(&sv->ended);
    pthread_mutex_destroy(&sv->lock);
    free(sv->to);
    free(sv->extent);
    free(sv);
}

static int put(void *arg, uint32_t id, uint64_t offset, const void *data, size_t n, struct saikai_error *err)
{
    struct sk_saver *sv = arg;
    (void)err;
    sk_copy_past_cache(sv->to[id] + offset, data, n);
    return 0;
}

static int make_room(struct sk_saver *sv, size_t n)
{
    if (n <= sv->cap)
        return 0;
    uint8_t **to = realloc(sv->to, n * sizeof *to);
    if (to)
        sv->to = to;
    struct sk_memory_extent *v = realloc(sv->extent, n * sizeof *v);
    if (v)
        sv->extent = v;
    if (to && v)
        sv->cap = n;
    return to && v ? 0 : -1;
}

/* 1: there is memory for what the program may overwrite meanwhile. */
static int may_keep(const struct sk_saver *sv, uint64_t bytes)
{
    struct sk_headroom room;
    sk_headroom_look(&room);
    return room.bytes >= (sv->pool_bytes && sv->pool_bytes < bytes ? sv->pool_bytes : bytes);
}

/* 1: a snapshot may be made of so many bytes now. */
static int may_begin(struct sk_saver *sv, uint64_t bytes)
{
    struct saikai_error why = {0};
    if (sv->off || bytes < LEAST_BYTES || !may_keep(sv, bytes))
        return 0;
    if (!sv->snapshot && open_snapshot(sv, NULL, &why)) {
        sk_log(SK_LOG_INFO, "checkpoints are copied: %s", why.text);
        sv->off = 1;
        return 0;
    }
    pthread_mutex_lock(&sv->lock);
    int may = !sv->busy && !sv->avoid;
    sv->busy |= may;
    sv->avoid -= sv->avoid > 0;
    pthread_mutex_unlock(&sv->lock);
    return may;
}

static void end(struct sk_saver *sv)
{
    pthread_mutex_lock(&sv->lock);
    sv->busy = 0;
    pthread_cond_broadcast(&sv->ended);
    pthread_mutex_unlock(&sv->lock);
}

int sk_saver_begin(struct sk_saver *sv, const struct sk_saving *v, size_t n)
{
    uint64_t bytes = 0;
    size_t count = 0;
    struct saikai_error why = {0};
    for (size_t i = 0; i < n; i++)
        bytes += v[i].stays ? v[i].bytes : 0;
    int begun = may_begin(sv, bytes);
    if (begun && make_room(sv, n)) {
        end(sv);
        begun = 0;
    }
    for (size_t i = 0; begun && i < n; i++)
        if (v[i].stays && v[i].bytes) {
            sv->to[count] = v[i].to;
            sv->extent[count] = (struct sk_memory_extent){(uint8_t *)v[i].from, v[i].bytes, (uint32_t)count, 0};
            count++;
        }
    if (begun && sk_snapshot_begin(sv->snapshot, sv->extent, count, put, sv, &why)) {
        sk_log(SK_LOG_INFO, "this checkpoint is copied: %s", why.text);
        end(sv);
        begun = 0;
    }
    for (size_t i = 0; i < n; i++)
        if (v[i].bytes && !(begun && v[i].stays))
            memcpy(v[i].to, v[i].from, v[i].bytes);
    return begun;
}

int sk_saver_finish(struct sk_saver *sv, struct saikai_error *err)
{
    struct sk_snapshot_stats st;
    int rc = sk_snapshot_finish(sv->snapshot, &st, err);
    pthread_mutex_lock(&sv->lock);
    if (rc)
        sv->avoid = AVOID_FOR;
    pthread_mutex_unlock(&sv->lock);
    if (!rc)
        sk_log(SK_LOG_DEBUG, "saved %llu bytes by %s: blocked %.2g s, saving took %.2g s, %llu copied first, %llu touched",
               (unsigned long long)st.bytes, st.form, st.blocked_seconds, st.saving_seconds,
               (unsigned long long)st.copied_bytes, (unsigned long long)st.touched_bytes);
    end(sv);
    return rc;
}

void sk_saver_wait(struct sk_saver *sv)
{
    if (!sv)
        return;
    pthread_mutex_lock(&sv->lock);
    while (sv->busy)
        pthread_cond_wait(&sv->ended, &sv->lock);
    pthread_mutex_unlock(&sv->lock);
}
