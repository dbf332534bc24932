/* The thread: reads generations and parity files block by block at a bounded pace, and tells what
 * has a wrong checksum. */
#include "lib/engine/heal/scrub.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/file/io.h"
#include "redundancy/set/parity.h"
#include "store/form/container.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Read in one go: small enough that nobody notices it, large enough that waking up costs little beside it. */
enum { SLICE_BYTES = 512 << 10 };
/* Seconds: from the begin of a pass to that of the next at least; until the next look when there was nothing to read; from one look to
 * the next while it is paused. */
static const double shortest_pass = 0.05, idle_pass = 1, busy_wait = 0.005;

struct sk_scrub {
    struct sk_scrub_config c;
    char *root;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int stopping;
    struct sk_gen *gen;
    size_t count;
    struct sk_parity_set *set;
    size_t sets;
    int64_t passes;
    uint64_t bytes;
    double cpu;
    _Atomic int paused;

    /* the thread's own */
    uint8_t *buf;
    struct sk_hasher *hasher;
    double pass_begun, cpu_begun;
    uint64_t pass_bytes, done; /* of this pass */
};

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Sleep until then, or until the end; 1: the end. */
static int sleep_until(struct sk_scrub *s, double when)
{
    pthread_mutex_lock(&s->lock);
    for (double left = when - sk_now(); !s->stopping && left > 0; left = when - sk_now()) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        int64_t ns = t.tv_nsec + (int64_t)(left * 1e9);
        t.tv_sec += ns / 1000000000;
        t.tv_nsec = ns % 1000000000;
        pthread_cond_timedwait(&s->wake, &s->lock, &t);
    }
    s->cpu = cpu_now();
    s->bytes += s->done;
    int stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    s->pass_bytes += s->done;
    s->done = 0;
    return stopping;
}

/* n bytes were read: wait as long as the period and the share want; 1: the end. */
static int paced(struct sk_scrub *s, uint64_t n, uint64_t all)
{
    s->done += n;
    double by_share = (cpu_now() - s->cpu_begun) / s->c.share;
    double by_period = all ? s->c.period * (double)(s->pass_bytes + s->done) / (double)all : 0;
    int end = sleep_until(s, s->pass_begun + (by_share > by_period ? by_share : by_period));
    while (!end && atomic_load(&s->paused))
        end = sleep_until(s, sk_now() + busy_wait);
    return end;
}

static int is_listed(struct sk_scrub *s, struct sk_gen g)
{
    int found = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->count; i++)
        found |= sk_gen_key(s->gen[i]) == sk_gen_key(g);
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* ---- one file; each returns 1 at the end, 0 to go on ---- */

static int check_chunk(struct sk_scrub *s, struct sk_container *c, uint64_t i, uint64_t all, struct saikai_error *err)
{
    const struct sk_skc_chunk *k = &c->index->chunks[i];
    sk_hasher_reset(s->hasher);
    for (uint64_t at = 0, n; at < k->stored_bytes; at += n) {
        n = k->stored_bytes - at < SLICE_BYTES ? k->stored_bytes - at : SLICE_BYTES;
        if (sk_io_pread(c->fd, c->path, s->buf, n, (off_t)(k->offset + at), err))
            return 0;
        sk_hasher_add(s->hasher, s->buf, n);
        if (paced(s, n, all))
            return 1;
    }
    if (sk_hasher_value(s->hasher) != k->hash)
        sk_fail(err, SAIKAI_EDAMAGED, "%s: chunk %llu (offset %llu) is damaged", c->path, (unsigned long long)i,
                (unsigned long long)k->offset);
    return 0;
}

static int check_generation(struct sk_scrub *s, struct sk_gen g, uint64_t all)
{
    char path[PATH_MAX];
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    int end = 0;
    if (sk_gen_file(s->root, g, s->c.rank, path, sizeof path, NULL))
        return 0;
    sk_container_open(path, &c, &err);
    for (uint64_t i = 0; !end && !err.code && i < c->index->chunk_count; i++)
        end = check_chunk(s, c, i, all, &err);
    sk_container_close(c);
    if (!end && err.code && err.code != SAIKAI_ENOMEM && is_listed(s, g))
        s->c.suspect(s->c.arg, g, 0, err.text);
    return end;
}

static int read_parity_header(int fd, const char *path, off_t size, struct sk_parity_header *h, struct saikai_error *err)
{
    for (size_t need = 4096;;) {
        size_t n = need < (size_t)size ? need : (size_t)size;
        uint8_t *head = malloc(n + 1);
        int rc = head ? sk_io_pread(fd, path, head, n, 0, err) : sk_fail(err, SAIKAI_ENOMEM, "no memory to read %s", path);
        if (!rc)
            rc = sk_parity_decode(head, n, (uint64_t)size, h, &need, err);
        free(head);
        if (!rc)
            return 0;
        if (need <= n || n == (size_t)size) { /* else it is longer */
            sk_error_prefix(err, "%s", path);
            return rc;
        }
    }
}

/* The blocks, against the table behind them. */
static int check_blocks(struct sk_scrub *s, int fd, const char *path, const struct sk_parity_header *h, uint64_t all,
                        struct saikai_error *err)
{
    size_t block = h->record.block, table_bytes = (size_t)h->blocks * 8;
    uint64_t *table = malloc(table_bytes + 1);
    uint8_t *buf = malloc(block);
    int end = 0, rc = table && buf ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to read %s", path);
    if (!rc)
        rc = sk_io_pread(fd, path, table, table_bytes, (off_t)(h->header_bytes + h->blocks * block), err);
    if (!rc && sk_hash64(table, table_bytes) != h->table_hash)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "%s: its table is damaged", path);
    for (uint64_t i = 0; !rc && !end && i < h->blocks; i++) {
        rc = sk_io_pread(fd, path, buf, block, (off_t)(h->header_bytes + i * block), err);
        if (!rc && sk_hash64(buf, block) != table[i])
            rc = sk_fail(err, SAIKAI_EDAMAGED, "%s: parity block %llu is damaged", path, (unsigned long long)i);
        end = paced(s, block, all);
    }
    free(table);
    free(buf);
    return end;
}

static int check_parity(struct sk_scrub *s, struct sk_parity_set set, uint64_t all)
{
    char path[PATH_MAX];
    struct sk_parity_header h = {0};
    struct saikai_error err = {0};
    off_t size = 0;
    int end = 0;
    if (sk_parity_set_path(s->root, set, s->c.rank, path, sizeof path, NULL))
        return 0;
    int fd = sk_io_open(path, O_RDONLY, 0, &err);
    if (fd >= 0 && !sk_io_size(fd, path, &size, &err) && !read_parity_header(fd, path, size, &h, &err))
        end = check_blocks(s, fd, path, &h, all, &err);
    if (fd >= 0)
        close(fd);
    sk_parity_header_free(&h);
    if (!end && err.code && err.code != SAIKAI_ENOMEM)
        s->c.suspect(s->c.arg, set.gen, 1, err.text);
    return end;
}

/* ---- all of them ---- */

static uint64_t size_of(const char *path)
{
    struct stat sb;
    return stat(path, &sb) ? 0 : (uint64_t)sb.st_size;
}

/* What is to be read in one round; a copy. */
struct list {
    struct sk_gen *gen;
    struct sk_parity_set *set;
    size_t count, sets;
};

static uint64_t size_of_all(struct sk_scrub *s, const struct list *l)
{
    char path[PATH_MAX];
    uint64_t all = 0;
    for (size_t i = 0; i < l->count; i++)
        if (!sk_gen_file(s->root, l->gen[i], s->c.rank, path, sizeof path, NULL))
            all += size_of(path);
    for (size_t i = 0; i < l->sets; i++)
        if (!sk_parity_set_path(s->root, l->set[i], s->c.rank, path, sizeof path, NULL))
            all += size_of(path);
    return all;
}

static void copy_list(struct sk_scrub *s, struct list *l)
{
    pthread_mutex_lock(&s->lock);
    l->gen = malloc((s->count + 1) * sizeof *l->gen);
    l->set = malloc((s->sets + 1) * sizeof *l->set);
    l->count = l->gen ? s->count : 0;
    l->sets = l->set ? s->sets : 0;
    if (l->count)
        memcpy(l->gen, s->gen, l->count * sizeof *l->gen);
    if (l->sets)
        memcpy(l->set, s->set, l->sets * sizeof *l->set);
    pthread_mutex_unlock(&s->lock);
}

static int pass(struct sk_scrub *s)
{
    struct list l;
    int end = 0;
    copy_list(s, &l);
    s->pass_begun = sk_now();
    s->cpu_begun = cpu_now();
    s->pass_bytes = s->done = 0;
    uint64_t all = size_of_all(s, &l);
    for (size_t i = 0; !end && i < l.count; i++)
        end = check_generation(s, l.gen[i], all);
    for (size_t i = 0; !end && i < l.sets; i++)
        if (l.set[i].coder == s->c.incarnation)
            end = check_parity(s, l.set[i], all);
    free(l.gen);
    free(l.set);
    if (!end)
        end = paced(s, 0, 0); /* what looking at directories took */
    double rest = all || s->c.period < idle_pass ? s->c.period : idle_pass, least = rest < shortest_pass ? shortest_pass : rest;
    return end ? end : sleep_until(s, s->pass_begun + least);
}

static void *scrub(void *arg)
{
    struct sk_scrub *s = arg;
    sk_io_do_not_count(); /* who waits for a prefix that hangs must see that nothing moves there */
    /* A little after everybody else, and not more: its pace bounds what it takes, and when the process is killed this thread must run
     * to die, before memory and the lock on the directory are free. On a busy machine that took 5 to 25 s at SCHED_IDLE and at nice 19. */
    setpriority(PRIO_PROCESS, (id_t)gettid(), 5);
    while (!pass(s)) {
        pthread_mutex_lock(&s->lock);
        s->passes++;
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

/* ---- interface ---- */

static void free_scrub(struct sk_scrub *s)
{
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    sk_hasher_free(s->hasher);
    free(s->buf);
    free(s->gen);
    free(s->set);
    free(s->root);
    free(s);
}

int sk_scrub_start(const struct sk_scrub_config *c, struct sk_scrub **out, struct saikai_error *err)
{
    *out = NULL;
    if (c->period <= 0 || c->share <= 0)
        return 0;
    struct sk_scrub *s = calloc(1, sizeof *s);
    if (!s)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to scrub checkpoints");
    pthread_condattr_t by_clock;
    pthread_condattr_init(&by_clock);
    pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, &by_clock);
    pthread_condattr_destroy(&by_clock);
    s->c = *c;
    s->root = strdup(c->root);
    s->buf = malloc(SLICE_BYTES);
    s->hasher = sk_hasher_new();
    sigset_t all, old; /* signals of the program stay with its own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = !s->root || !s->buf || !s->hasher || pthread_create(&s->thread, NULL, scrub, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc) {
        free_scrub(s);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory or no thread to scrub checkpoints");
    }
    *out = s;
    return 0;
}

void sk_scrub_stop(struct sk_scrub *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stopping = 1;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
}

void sk_scrub_free(struct sk_scrub *s)
{
    if (s)
        free_scrub(s);
}

void sk_scrub_set(struct sk_scrub *s, const struct sk_gen *gen, size_t count, const struct sk_parity_set *set, size_t sets)
{
    struct sk_gen *gens = s ? malloc((count + 1) * sizeof *gens) : NULL;
    struct sk_parity_set *copy = s ? malloc((sets + 1) * sizeof *copy) : NULL;
    if (!gens || !copy) {
        free(gens);
        free(copy);
        return;
    }
    if (count)
        memcpy(gens, gen, count * sizeof *gens);
    if (sets)
        memcpy(copy, set, sets * sizeof *copy);
    pthread_mutex_lock(&s->lock);
    free(s->gen);
    free(s->set);
    s->gen = gens;
    s->count = count;
    s->set = copy;
    s->sets = sets;
    pthread_mutex_unlock(&s->lock);
}

void sk_scrub_pause(struct sk_scrub *s, int on)
{
    if (s)
        atomic_store(&s->paused, on);
}

void sk_scrub_figures(struct sk_scrub *s, int64_t *passes, uint64_t *bytes, double *cpu_seconds)
{
    *passes = 0;
    *bytes = 0;
    *cpu_seconds = 0;
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    *passes = s->passes;
    *bytes = s->bytes;
    *cpu_seconds = s->cpu;
    pthread_mutex_unlock(&s->lock);
}
