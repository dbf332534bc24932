/* Damage in the local directory while the program runs: it is noticed, said and healed, and a restart goes back at most one
 * interval. Ranks are threads; what they save are mostly deltas. */
#include "lib/whole/session_testing.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "lib/engine/engine_parts.h"
#include "store/form/lineage.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { N = 2, CELLS = 40000, EVERY = 10, LONGEST_WAIT = 100 };

/* EVERY iterations. */
#define SETTINGS                                                                                                                 \
    "store.prefix=none; schedule.every=10; schedule.first=no; capture.tracker=hash; capture.max_deltas=4; store.scrub=0; "        \
    "restart.tries=1000; "

struct run {
    const char *config;
    int64_t until, from; /* iterations to reach; the restart's, at least (-1: a fresh start) */
    int (*body)(struct sk_session *s, int64_t it);
    int may_fail; /* a checkpoint here and there */
};

/* Few values change in an iteration. */
static void step(double *u, int rank, int64_t it)
{
    for (int i = 0; i < 5; i++)
        u[(it * 7919 + i * 31 + rank) % CELLS] += (double)(it + i);
}

static void start_values(double *u, int rank)
{
    for (int i = 0; i < CELLS; i++)
        u[i] = rank + i * 0.5;
}

static int iterate(struct sk_session *s, const struct run *r, double *u, int64_t from)
{
    struct saikai_error err = {0};
    for (int64_t it = from + 1; it <= r->until; it++) {
        step(u, s->g->rank, it);
        int rc = sk_session_candidate(s, 0, it, &err);
        CHECK(rc >= 0 || r->may_fail);
        if (rc == 1)
            sk_session_wait(s, &err);
        sk_engine_drain(s->levels.engine);
        CHECK(!r->body || !(rc = r->body(s, it)));
    }
    return 0;
}

static int program(struct sk_group *g, void *arg)
{
    const struct run *r = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double *u = malloc(CELLS * sizeof *u), *expect = malloc(CELLS * sizeof *u);
    int restored = 0;
    int64_t from = 0;
    CHECK(u && expect && !world_session(g, world_config(SETTINGS "%s", r->config), &s, &err));
    start_values(u, g->rank);
    start_values(expect, g->rank);
    CHECK(!world_protect(s, u, CELLS, &err));
    CHECK(!sk_session_restart(s, &restored, &from, &err));
    CHECK(restored == (r->from >= 0) && from >= (r->from < 0 ? 0 : r->from));
    for (int64_t it = 1; it <= from; it++)
        step(expect, g->rank, it);
    CHECK(!memcmp(u, expect, CELLS * sizeof *u));
    free(expect);
    int rc = world_leave(s, iterate(s, r, u, from), 0);
    free(u);
    return rc;
}

static void run(struct run r)
{
    world_start(N, program, &r);
}

static int make_dir(void **state)
{
    (void)state;
    return world_begin("/dev/shm/saikai-heal-XXXXXX", SK_LOG_INFO);
}

static int remove_dir(void **state)
{
    (void)state;
    return world_end();
}

static void path_of(char path[256], int64_t it, int rank)
{
    world_path(path, world_local(), 1, it, rank);
}

static int flip(const char *path, off_t at)
{
    uint8_t byte;
    int fd = open(path, O_RDWR), good = fd >= 0 && pread(fd, &byte, 1, at) == 1;
    byte ^= 0x10;
    good = good && pwrite(fd, &byte, 1, at) == 1;
    if (fd >= 0)
        close(fd);
    return good;
}

/* The engine's newest generation of this rank builds on nothing. */
static int is_full(struct sk_session *s)
{
    struct sk_gen base = {0};
    struct sk_ledger_entry e;
    return !sk_ledger_find(s->levels.ledger, sk_ledger_count(s->levels.ledger), &e, NULL) &&
           !sk_lineage_base(s->place.local_root, e.gen, s->g->rank, &base, NULL) && !base.incarnation;
}

/* ---- without a scrub: found when the lineage is folded ---- */

static _Atomic int64_t full_at;

static int flip_the_base(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    char path[256];
    path_of(path, EVERY, 1);
    if (it == 2 * EVERY + 5 && s->g->rank == 1)
        CHECK(!is_full(s) && flip(path, 1000));
    if (it > 2 * EVERY + 5 && s->g->rank == 1 && !full_at && is_full(s)) /* it may come before the next one that is due */
        full_at = it;
    return 0;
}

static void test_a_base_that_cannot_be_folded_is_replaced(void **state)
{
    (void)state;
    full_at = 0;
    run((struct run){.until = 30 * EVERY + 3, .from = -1, .config = "", .body = flip_the_base});
    world_expect("rank 1: generation gen-0001-000000000010-0 is damaged in memory: ", 1);
    world_expect("rank-000001.skc: chunk 0 (variable 'u'", 1);
    world_expect("the next checkpoint is made soon and in full", 1);
    assert_true(full_at > 0 && full_at <= 8 * EVERY);
    run((struct run){.until = 0, .from = 30 * EVERY, .config = ""});
}

/* ---- with a scrub: found although nobody reads it ---- */

#define SCRUB "store.scrub=20ms; store.scrub_share=1; "

/* Candidates at which nothing is due, until the log says it: collective. */
static int wait_until(struct sk_session *s, int64_t it, const char *text)
{
    struct saikai_error err = {0};
    double begun = sk_now();
    for (int64_t seen = 0; !seen;) {
        seen = world_says(text);
        CHECK(!sk_group_allreduce(s->g, &seen, 1, SK_OP_MIN));
        CHECK(sk_now() - begun < LONGEST_WAIT);
        int due = sk_session_due(s, 1, it, &err);
        CHECK(due >= 0);
        if (due) {
            CHECK(!sk_session_capture(s, 1, it, &err));
            CHECK(!sk_session_wait(s, &err));
        }
        sk_sleep(0.002);
    }
    return 0;
}

/* More candidates, until one more generation was captured and is complete. */
static int wait_for_capture(struct sk_session *s, int64_t it, int64_t seq)
{
    struct saikai_error err = {0};
    double begun = sk_now();
    while (sk_ledger_count(s->levels.ledger) == seq) {
        int due = sk_session_due(s, 2, it, &err);
        CHECK(due >= 0);
        CHECK(sk_now() - begun < LONGEST_WAIT);
        if (due)
            CHECK(!sk_session_capture(s, 2, it, &err));
        sk_sleep(0.001);
    }
    CHECK(!sk_session_wait(s, &err));
    CHECK(sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE) == sk_ledger_count(s->levels.ledger));
    return 0;
}

static int damage_and_wait_for_a_full_one(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    char path[256];
    if (it != 2 * EVERY + 5)
        return 0;
    CHECK(!sk_group_barrier(s->g));
    int64_t seq = sk_ledger_count(s->levels.ledger);
    path_of(path, EVERY, 1);
    if (s->g->rank == 1)
        CHECK(flip(path, 1000));
    CHECK(!wait_until(s, it, "the next checkpoint is made soon and in full"));
    CHECK(!wait_for_capture(s, it, seq));
    CHECK(s->g->rank != 1 || is_full(s));
    return 0;
}

static void test_a_flipped_byte_is_found_while_nobody_reads(void **state)
{
    (void)state;
    run((struct run){.until = 2 * EVERY + 6, .from = -1, .config = SCRUB, .body = damage_and_wait_for_a_full_one});
    run((struct run){.until = 0, .from = 2 * EVERY + 5, .config = ""}); /* nothing is lost */
}

static int cut_and_wait(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    char path[256];
    if (it != 2 * EVERY + 5)
        return 0;
    CHECK(!sk_group_barrier(s->g));
    int64_t seq = sk_ledger_count(s->levels.ledger);
    path_of(path, EVERY, 0);
    if (s->g->rank == 0)
        CHECK(!truncate(path, 5000));
    CHECK(!wait_until(s, it, "the next checkpoint is made soon and in full"));
    CHECK(!wait_for_capture(s, it, seq));
    return 0;
}

static void test_a_file_that_was_cut_is_replaced(void **state)
{
    (void)state; /* and its slot is not written to any more: that would be a signal */
    run((struct run){.until = 12 * EVERY + 6, .from = -1, .config = SCRUB, .body = cut_and_wait});
    run((struct run){.until = 0, .from = 12 * EVERY, .config = ""});
}

static int remove_and_wait(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    char path[256];
    if (it != 2 * EVERY + 5)
        return 0;
    CHECK(!sk_group_barrier(s->g));
    path_of(path, EVERY, 0);
    if (s->g->rank == 0)
        CHECK(!unlink(path));
    CHECK(!wait_until(s, it, "it is written anew from memory"));
    CHECK(!access(path, F_OK));
    return 0;
}

static void test_a_file_that_was_removed_is_written_anew(void **state)
{
    (void)state;
    run((struct run){.until = 2 * EVERY + 6, .from = -1, .config = SCRUB, .body = remove_and_wait});
    run((struct run){.until = 0, .from = 2 * EVERY, .config = ""});
}

static int flip_and_wait_for_the_prefix(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    char path[256];
    if (it != EVERY + 5)
        return 0;
    double begun = sk_now();
    while (sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED) < 1) { /* at the same candidate on all ranks */
        sk_engine_drain(s->levels.engine);
        CHECK(!sk_session_due(s, 1, it, &err));
        CHECK(sk_now() - begun < LONGEST_WAIT);
        sk_sleep(0.001);
    }
    CHECK(!sk_group_barrier(s->g));
    path_of(path, EVERY, 1);
    if (s->g->rank == 1)
        CHECK(flip(path, 3000));
    CHECK(!wait_until(s, it, "it is written anew from the copy in the prefix"));
    CHECK(sk_ledger_count(s->levels.ledger) == 1); /* no other was needed */
    return 0;
}

static void test_a_copy_in_the_prefix_heals(void **state)
{
    (void)state;
    char prefix[128];
    snprintf(prefix, sizeof prefix, SCRUB "store.prefix=%s/prefix", world.dir);
    run((struct run){.until = 5 * EVERY + 6, .from = -1, .config = prefix, .body = flip_and_wait_for_the_prefix});
    snprintf(prefix, sizeof prefix, "store.prefix=%s/prefix", world.dir);
    run((struct run){.until = 0, .from = 5 * EVERY, .config = prefix});
    world_expect("(node-local copy)", 1);
}

/* The prefix answers no more: the file is not healed from there, and nothing waits for it. */
static atomic_int hanging;
static char hangs_in[128];

static int hang(const char *op, const char *path)
{
    (void)op;
    while (atomic_load(&hanging) && !strncmp(path, hangs_in, strlen(hangs_in)))
        sk_sleep(0.002);
    return 0;
}

static int flip_while_it_hangs(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    char path[256];
    if (it != EVERY + 5)
        return 0;
    double begun = sk_now();
    while (sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED) < 1) {
        sk_engine_drain(s->levels.engine);
        CHECK(!sk_session_due(s, 1, it, &err));
        CHECK(sk_now() - begun < LONGEST_WAIT);
        sk_sleep(0.001);
    }
    CHECK(!sk_group_barrier(s->g));
    atomic_store(&hanging, 1);
    path_of(path, EVERY, 1);
    if (s->g->rank == 1)
        CHECK(flip(path, 3000));
    CHECK(!wait_until(s, it, "the next checkpoint is made soon and in full"));
    return 0;
}

static void test_a_prefix_that_hangs_heals_nothing(void **state)
{
    (void)state;
    char config[256];
    snprintf(hangs_in, sizeof hangs_in, "%s/prefix", world.dir);
    snprintf(config, sizeof config, SCRUB "store.prefix=%s; store.prefix_timeout=50ms; store.final_wait=100ms", hangs_in);
    sk_io_hook = hang;
    run((struct run){.until = 3 * EVERY + 1, .from = -1, .config = config, .body = flip_while_it_hangs});
    atomic_store(&hanging, 0);
    run((struct run){.until = 0, .from = 3 * EVERY, .config = config});
    double begun = sk_now();
    while (sk_io_rmtree(hangs_in, NULL) && sk_now() - begun < LONGEST_WAIT) /* what hung ends there */
        sk_sleep(0.01);
    /* the hook stays: a thread that hung may look at it once more, and nothing hangs by it now */
}

static int remove_it;

static int wait_until_protected(struct sk_session *s, int64_t it, int64_t seq)
{
    struct saikai_error err = {0};
    double begun = sk_now();
    while (sk_ledger_newest(s->levels.ledger, SK_LEDGER_PROTECTED) < seq) { /* learnt at the same candidate by all ranks */
        CHECK(!sk_session_due(s, 3, it, &err));
        CHECK(sk_now() - begun < LONGEST_WAIT);
        sk_sleep(0.001);
    }
    return 0;
}

/* Parity of the full generation, which the deltas after it build on: they have sets of their own, and need it. */
static int spoil_parity(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    struct sk_ledger_entry e;
    char path[PATH_MAX];
    if (it == EVERY + 5)
        CHECK(!wait_until_protected(s, it, 1));
    if (it != 2 * EVERY + 5)
        return 0;
    CHECK(!wait_until_protected(s, it, 2));
    CHECK(!sk_group_barrier(s->g));
    CHECK(!sk_ledger_find(s->levels.ledger, 1, &e, &err));
    CHECK(!sk_parity_set_path(s->place.local_root, (struct sk_parity_set){e.gen, s->who.incarnation}, s->g->rank, path, sizeof path, &err));
    CHECK(!access(path, F_OK) && !is_full(s));
    if (s->g->rank == 1)
        CHECK(remove_it ? !unlink(path) : flip(path, 4096 + 100));
    CHECK(!wait_until(s, it, "and protected anew"));
    if (sk_ledger_count(s->levels.ledger) == 2)
        CHECK(!wait_for_capture(s, it, 2));
    CHECK(!wait_until_protected(s, it, 3));
    CHECK(!is_full(s) && access(path, F_OK)); /* nothing depends on it any more */
    return 0;
}

static void test_parity_that_flipped_or_went_is_made_again(void **state)
{
    struct run r = {.until = 2 * EVERY + 6, .from = -1, .body = spoil_parity,
                    .config = SCRUB "redundancy.domain=process; redundancy.scheme=xor; redundancy.interval=1ms"};
    run(r);
    world_expect("parity-000001-0001.skp: parity block 0 is damaged", 1);
    remove_dir(state);
    make_dir(state);
    remove_it = 1;
    run(r);
    world_expect("parity-000001-0001.skp", 1);
    remove_it = 0;
}

/* Slots that wait for the next checkpoint. */
static int break_slots(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    int n = 0;
    if (it % EVERY != 5 || s->g->rank)
        return 0;
    DIR *d = opendir(s->place.local_root);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[PATH_MAX];
        if (strncmp(e->d_name, "slot-", 5) || strncmp(e->d_name + 10, "000000", 6))
            continue;
        CHECK(!sk_io_path(path, sizeof path, &err, "%s/%s", s->place.local_root, e->d_name));
        CHECK(it % (2 * EVERY) == 5 ? !truncate(path, 10) : !unlink(path));
        n++;
    }
    if (d)
        closedir(d);
    CHECK(it < 3 * EVERY || n);
    return 0;
}

static void test_slots_that_were_cut_or_removed(void **state)
{
    (void)state;
    run((struct run){.until = 8 * EVERY + 1, .from = -1, .config = "capture.tracker=full", .body = break_slots});
    run((struct run){.until = 0, .from = 8 * EVERY, .config = ""});
}

/* ---- cut in the very moment ---- */

static _Atomic int64_t cuts;
static atomic_int cutting;

/* Another thread cuts slots and generations of all kinds all the time, while they are written to and read. */
static void *cut_all_the_time(void *arg)
{
    char path[PATH_MAX];
    unsigned random = 5;
    for (const char *root = arg; atomic_load(&cutting);) {
        DIR *d = opendir(root);
        for (struct dirent *e; d && (e = readdir(d));)
            if (!strncmp(e->d_name, "slot-", 5) && snprintf(path, sizeof path, "%s/%s", root, e->d_name) > 0 &&
                !truncate(path, rand_r(&random) % 100000))
                cuts++;
        if (d)
            closedir(d);
        sk_sleep(0.0005);
    }
    return NULL;
}

static int go_on_meanwhile(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    static pthread_t thread;
    if (it == EVERY + 5 && s->g->rank == 0) {
        atomic_store(&cutting, 1);
        CHECK(!pthread_create(&thread, NULL, cut_all_the_time, s->place.local_root));
    }
    if (it == 30 * EVERY + 5 && s->g->rank == 0) {
        print_message("%lld cuts\n", (long long)cuts);
        CHECK(cuts > 0);
        atomic_store(&cutting, 0);
        CHECK(!pthread_join(thread, NULL));
    }
    return 0;
}

static void test_cut_while_it_is_used(void **state)
{
    (void)state;
    const char *const config[] = {"capture.tracker=full", SCRUB, "capture.tracker=full; codec.chains=*=zstd"};
    for (int i = 0; i < 3; i++) {
        if (i) {
            remove_dir(state);
            make_dir(state);
        }
        cuts = 0;
        run((struct run){.until = 40 * EVERY + 1, .from = -1, .config = config[i], .body = go_on_meanwhile, .may_fail = 1});
        run((struct run){.until = 0, .from = 40 * EVERY, .config = ""});
    }
}

/* Without a prefix nothing else says whose the directory is but its generations. */
static void test_the_name_of_the_store_is_lost(void **state)
{
    (void)state;
    char path[256];
    for (int how = 0; how < 3; how++) {
        int64_t before = how * EVERY, until = before + EVERY;
        run((struct run){.until = until + 1, .from = how ? before : -1, .config = ""});
        snprintf(path, sizeof path, "%s/%s/job", world.dir, world_local());
        assert_true(how == 0 ? !unlink(path) : how == 1 ? !truncate(path, 20) : flip(path, 40));
    }
    run((struct run){.until = 0, .from = 3 * EVERY, .config = ""});
}

/* ---- what it costs ---- */

static void ignore(void *arg, struct sk_gen gen, int parity, const char *why)
{
    (void)gen;
    (void)parity;
    snprintf(arg, 256, "%s", why);
}

static void write_generation(const char *root, struct sk_gen g, size_t bytes)
{
    struct sk_piece p = {.name = "u", .type = SAIKAI_U8, .ndims = 1, .dims = {bytes}, .size_bytes = bytes};
    struct sk_skc_header h = {.iteration = g.iteration, .incarnation = g.incarnation, .nranks = 1};
    struct sk_skc_index *index;
    struct sk_slot *slot;
    uint64_t size;
    assert_int_equal(sk_container_layout(&p, 1, &index, &size, NULL), 0);
    assert_int_equal(sk_slot_new(root, 1, 0, 0, size, &slot, NULL), 0);
    memset(slot->map + index->chunks[0].offset, 7, bytes);
    assert_int_equal(sk_container_seal(slot->map, size, &h, index, NULL, NULL), 0);
    assert_int_equal(sk_slot_commit(slot, root, g, 0, 0, NULL), 0);
    sk_slot_free(slot, 0);
    sk_skc_index_free(index);
}

/* The share is kept to however much there is to read. SAIKAI_TEST_SCRUB_MIB=1024 measures a whole round of as much, by default
 * settings. */
static void test_it_takes_its_share_and_no_more(void **state)
{
    (void)state;
    const char *text = getenv("SAIKAI_TEST_SCRUB_MIB");
    size_t mib = text ? (size_t)atol(text) : 64;
    struct sk_gen g = {1, 1, 0};
    char found[256] = "";
    struct sk_scrub_config c = {.root = world.dir, .incarnation = 1, .period = text ? 120 : 0.01, .share = 0.01,
                                .suspect = ignore, .arg = found};
    struct sk_scrub *s = NULL;
    int64_t passes = 0;
    uint64_t bytes = 0;
    double cpu = 0, begun = sk_now();
    write_generation(world.dir, g, mib << 20);
    assert_int_equal(sk_scrub_start(&c, &s, NULL), 0);
    sk_scrub_set(s, &g, 1, NULL, 0);
    /* a busy machine gives nothing for a while to whoever takes only what is left */
    while ((sk_now() - begun < (text ? 600 : 1.5) && !(text && bytes >= mib << 20)) || (!bytes && sk_now() - begun < 200)) {
        sk_sleep(0.1);
        sk_scrub_figures(s, &passes, &bytes, &cpu);
    }
    double wall = sk_now() - begun;
    sk_scrub_stop(s);
    sk_scrub_free(s);
    print_message("%.0f MiB read in %.1f s with %.3f s of a processor: %.2f %%\n", (double)bytes / 1048576, wall, cpu,
                  100 * cpu / wall);
    assert_string_equal(found, "");
    assert_true(bytes > 0);
    assert_true(cpu <= 0.01 * wall + 0.005); /* and the slice that it was at */
}

/* ---- anywhere ---- */

static unsigned seed;

/* One of the files below the local directory: which, is up to chance. */
static int pick_file(const char *root, char out[PATH_MAX])
{
    int seen = 0;
    DIR *d = opendir(root);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[PATH_MAX], deeper[PATH_MAX];
        struct stat sb;
        if (e->d_name[0] == '.' || snprintf(path, sizeof path, "%s/%s", root, e->d_name) >= PATH_MAX || stat(path, &sb))
            continue;
        int is_dir = S_ISDIR(sb.st_mode);
        if (is_dir && !pick_file(path, deeper))
            continue;
        if (!is_dir && (!S_ISREG(sb.st_mode) || !sb.st_size || !strcmp(e->d_name, "state")))
            continue;
        if (!(rand_r(&seed) % ++seen))
            strcpy(out, is_dir ? deeper : path);
    }
    if (d)
        closedir(d);
    return seen > 0;
}

static void damage_something(const char *root)
{
    char path[PATH_MAX];
    struct stat sb;
    if (!pick_file(root, path) || stat(path, &sb))
        return;
    int how = rand_r(&seed) % 4;
    off_t at = (off_t)((uint64_t)rand_r(&seed) % (uint64_t)(sb.st_size ? sb.st_size : 1));
    if (how == 0)
        unlink(path);
    else if (how == 1 && !truncate(path, at))
        return;
    else
        flip(path, at);
}

static _Atomic int64_t hit_at;

/* Damage at a random place; then what is promised: one interval, and the time of two scrubs. */
static int damage_anything(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    if (it < hit_at || it > hit_at)
        return 0;
    CHECK(!sk_group_barrier(s->g));
    if (s->g->rank == 0)
        damage_something(s->place.local_root);
    CHECK(!sk_group_barrier(s->g));
    for (int64_t passes = 0, begun = -1; begun < 0 || passes < begun + 2;) { /* two whole ones, on all ranks */
        uint64_t bytes;
        double cpu;
        sk_scrub_figures(s->levels.engine->healing.scrub, &passes, &bytes, &cpu);
        begun = begun < 0 ? passes : begun;
        int64_t v[2] = {passes, begun};
        CHECK(!sk_group_allreduce(s->g, v, 1, SK_OP_MIN));
        CHECK(!sk_group_allreduce(s->g, &v[1], 1, SK_OP_MAX));
        passes = v[0];
        begun = v[1];
        int due = sk_session_due(s, 1, it, &err);
        CHECK(due >= 0);
        if (due) {
            CHECK(sk_session_capture(s, 1, it, &err) <= 0);
            sk_session_wait(s, &err);
        }
        sk_sleep(0.002);
    }
    return 0;
}

static void test_damage_anywhere(void **state)
{
    const char *text = getenv("SAIKAI_TEST_TRIALS");
    int trials = text ? atoi(text) : 8;
    for (int k = 0; k < trials; k++) {
        if (k) {
            remove_dir(state);
            make_dir(state);
        }
        seed = 1000u + (unsigned)k;
        hit_at = EVERY + 1 + rand_r(&seed) % (6 * EVERY);
        int64_t until = hit_at + EVERY + rand_r(&seed) % EVERY; /* one interval later the program dies */
        run((struct run){.until = until, .from = -1, .config = SCRUB, .body = damage_anything});
        print_message("trial %d: damage at %lld, death at %lld\n", k, (long long)hit_at, (long long)until);
        run((struct run){.until = 0, .from = until - EVERY, .config = ""});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
        TEST(test_a_base_that_cannot_be_folded_is_replaced),
        TEST(test_a_flipped_byte_is_found_while_nobody_reads),
        TEST(test_a_file_that_was_cut_is_replaced),
        TEST(test_a_file_that_was_removed_is_written_anew),
        TEST(test_a_copy_in_the_prefix_heals),
        TEST(test_a_prefix_that_hangs_heals_nothing),
        TEST(test_parity_that_flipped_or_went_is_made_again),
        TEST(test_slots_that_were_cut_or_removed),
        TEST(test_cut_while_it_is_used),
        TEST(test_the_name_of_the_store_is_lost),
        TEST(test_it_takes_its_share_and_no_more),
        TEST(test_damage_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
