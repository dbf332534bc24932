/* Checkpoints that save only what changed: whatever the program does to its memory between them, a restart gives the bytes
 * that were there, to the bit. Several ranks in one process, each with a mind of its own. */
#include "lib/session/session.h"

#include "base/hash.h"
#include "base/file/io.h"
#include "base/log.h"
#include "capture/cow/cow.h"
#include "store/form/lineage.h"
#include "group/loop.h"
#include "lib/restart/restart.h"
#include "lib/run/candidate.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { RANKS = 2, FIXED = 300000, SMALL = 40, MOST = 200000, BULK = 6 << 20, ROUNDS = 40 };

static char dir[64];

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, err.text);                          \
            return -1000 - __LINE__;                                                               \
        }                                                                                          \
    } while (0)

/* What a rank protects. */
struct memory {
    uint8_t *fixed;  /* FIXED bytes, at no page's begin */
    uint8_t *mapped; /* FIXED bytes of pages of its own */
    double few[SMALL];
    int32_t *grows; /* moves, grows, shrinks */
    size_t count;
    uint8_t *second; /* the second half of `fixed`, protected by itself, too, some of the time */
    int text;        /* a stream */
    uint8_t *bulk;   /* BULK bytes, enough for a snapshot */
};

static int write_text(FILE *f, void *arg)
{
    const int *text = arg;
    return fprintf(f, "%d %*d", *text, *text % 50, 1) < 0;
}

static int read_text(FILE *f, void *arg)
{
    return fscanf(f, "%d", (int *)arg) != 1;
}

static int memory_new(struct memory *m)
{
    *m = (struct memory){.count = 1000};
    uint8_t *p = malloc(FIXED + 4096);
    m->bulk = mmap(NULL, BULK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    m->grows = calloc(m->count, sizeof *m->grows);
    m->mapped = mmap(NULL, FIXED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!p || !m->grows || m->mapped == MAP_FAILED || m->bulk == MAP_FAILED)
        return -1;
    m->fixed = p + 24;
    memset(m->fixed, 1, FIXED);
    return 0;
}

static void memory_free(struct memory *m)
{
    free(m->fixed - 24);
    free(m->grows);
    munmap(m->mapped, FIXED);
    munmap(m->bulk, BULK);
}

static int protect(struct sk_session *s, struct memory *m, struct saikai_error *err)
{
    struct sk_var v[] = {
        {.name = "fixed", .type = SAIKAI_U8, .ndims = 1, .dims = {FIXED}, .data = m->fixed},
        {.name = "few", .type = SAIKAI_F64, .ndims = 1, .dims = {SMALL}, .data = m->few},
        {.name = "grows", .form = SK_VAR_ARRAY, .type = SAIKAI_I32, .ndims = 1, .array.pdata = (void **)&m->grows,
         .array.pcount = &m->count},
        {.name = "mapped", .type = SAIKAI_U8, .ndims = 1, .dims = {FIXED}, .data = m->mapped},
        {.name = "bulk", .type = SAIKAI_U8, .ndims = 1, .dims = {BULK}, .data = m->bulk},
        {.name = "text", .form = SK_VAR_STREAM, .type = SAIKAI_U8, .ndims = 1, .stream.write = write_text, .stream.read = read_text,
         .arg = &m->text},
    };
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof v / sizeof *v; i++)
        rc = sk_vars_put(&s->vars, &v[i], err);
    return rc;
}

static uint64_t digest(const struct memory *m)
{
    uint64_t h = 0;
    const void *part[] = {m->fixed, m->few, m->grows, m->mapped, &m->text, m->bulk};
    size_t n[] = {FIXED, sizeof m->few, m->count * sizeof *m->grows, FIXED, sizeof m->text, BULK};
    for (size_t i = 0; i < 6; i++)
        h = (h ^ sk_hash64(part[i], n[i])) * 1099511628211u;
    return h;
}

/* ---- what programs do to their memory ---- */

static int read_into(uint8_t *p, size_t n)
{
    int fd = open("/dev/urandom", O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, p, n);
    int ok = got == (ssize_t)n;
    if (fd >= 0)
        close(fd);
    return ok ? 0 : -1;
}

static int resize(struct memory *m, size_t count, unsigned *seed)
{
    int moved = rand_r(seed) % 2;
    int32_t *p = moved ? malloc(count * sizeof *p) : realloc(m->grows, count * sizeof *p);
    if (!p)
        return -1;
    for (size_t i = moved ? 0 : m->count; i < count; i++)
        p[i] = (int32_t)rand_r(seed);
    if (moved)
        free(m->grows);
    m->grows = p;
    m->count = count;
    return 0;
}

static int touch(struct memory *m, unsigned *seed)
{
    size_t at = rand_r(seed) % (FIXED - 9000), n = 1 + rand_r(seed) % 8000;
    switch (rand_r(seed) % 9) {
    case 0:
        memset(m->fixed + at, (int)rand_r(seed), n);
        return 0;
    case 1:
        return read_into(m->mapped + at, n); /* written by the kernel */
    case 2:
        m->fixed[at] ^= 1;
        m->fixed[FIXED - 1] ^= 3; /* in a page that belongs to others, too */
        m->fixed[0] ^= 5;
        return 0;
    case 3: /* zeros without a write */
        return madvise(m->mapped + at / 4096 * 4096, 8192, MADV_DONTNEED);
    case 4: /* another mapping at the same place */
        return mmap(m->mapped, FIXED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
               MAP_FAILED;
    case 5:
        return resize(m, 1000 + rand_r(seed) % MOST, seed);
    case 6:
        m->grows[rand_r(seed) % m->count]++;
        return 0;
    case 7:
        m->few[rand_r(seed) % SMALL] += 1;
        m->text++;
        return 0;
    default:
        return 0; /* nothing at all */
    }
}

/* Right after a checkpoint, while it is perhaps being saved. */
static void scribble(struct memory *m, unsigned *seed, int how)
{
    for (int k = 0; k < 60; k++)
        m->bulk[rand_r(seed) % BULK]++;
    if (how > 1)
        memset(m->bulk + rand_r(seed) % (BULK / 2), (int)rand_r(seed), BULK / 2);
    m->fixed[rand_r(seed) % FIXED]++;
    m->grows[0]++;
    m->mapped[rand_r(seed) % FIXED]++;
}

/* Variables come and go, and overlap. */
static int rearrange(struct sk_session *s, struct memory *m, unsigned *seed, struct saikai_error *err)
{
    struct sk_var half = {.name = "second", .type = SAIKAI_U8, .ndims = 1, .dims = {FIXED / 2},
                          .data = m->fixed + FIXED / 2};
    if (rand_r(seed) % 5)
        return 0;
    m->second = m->second ? NULL : half.data;
    return m->second ? sk_vars_put(&s->vars, &half, err) : sk_vars_remove(&s->vars, "second", err);
}

/* ---- the program ---- */

struct run {
    const char *config;
    unsigned seed;
    int crash_after; /* rounds; each rank continues where the run before was */
    uint64_t digest[RANKS][ROUNDS + 1]; /* of what was there at each checkpoint */
    int64_t found;                      /* iteration that was restored */
    int deltas, longest;                /* generations seen */
    int scribble; /* 1: a little, 2: much */
    int failures_at;                    /* round whose commit is to fail, 0: none */
};

static atomic_int fail_now;

static int hook(const char *op, const char *path)
{
    return atomic_load(&fail_now) && !strcmp(op, "rename") && strstr(path, "/rank-") ? EIO : 0;
}

/* What the newest generation of this rank is. */
static void look(struct run *r, struct sk_session *s, int64_t it)
{
    struct sk_container *c = NULL;
    struct sk_gen g = {s->who.incarnation, it, 0};
    if (sk_lineage_open(s->place.local_root, g, s->g->rank, &c, NULL))
        return;
    int n = (int)sk_lineage_length(c);
    r->deltas += n > 0;
    r->longest = n > r->longest ? n : r->longest;
    sk_container_close(c);
}

static int program(struct sk_group *g, void *arg)
{
    struct run *r = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct sk_config *c = sk_config_new();
    struct sk_group *own;
    struct memory m;
    char text[512];
    snprintf(text, sizeof text,
             "store.prefix=%s/prefix; store.local=%s/local; schedule.poll=1ms; schedule.signals=; job.name=test; "
             "store.fsync=no; schedule.every=1; restart.tries=1000; %s",
             dir, dir, r->config);
    CHECK(!memory_new(&m) && !sk_group_dup(g, &own) && !sk_config_set_all(c, text, SK_FROM_API, &err));
    CHECK(!sk_session_new(own, c, "program", &s, &err));
    CHECK(!protect(s, &m, &err));
    unsigned seed = r->seed * 2 + (unsigned)g->rank;
    int restored = 0;
    int64_t from = 0;
    CHECK(!sk_session_restart(s, &restored, &from, &err));
    if (g->rank == 0)
        r->found = from;
    if (restored)
        CHECK(digest(&m) == r->digest[g->rank][from]);
    for (int64_t it = from + 1; it <= from + r->crash_after; it++) {
        for (int k = 0; k < 3; k++)
            CHECK(!touch(&m, &seed));
        CHECK(!rearrange(s, &m, &seed, &err));
        r->digest[g->rank][it] = digest(&m);
        if (r->failures_at) {
            sk_group_barrier(g);
            atomic_store(&fail_now, it == r->failures_at);
            sk_group_barrier(g);
        }
        CHECK(sk_session_candidate(s, 0, it, &err) == 1);
        if (r->scribble)
            scribble(&m, &seed, r->scribble);
        int rc = sk_session_wait(s, &err);
        CHECK(!rc == (it != r->failures_at));
        if (g->rank == 0)
            look(r, s, it);
    }
    atomic_store(&fail_now, 0);
    sk_session_abandon(s);
    memory_free(&m);
    return 0;
}

static void run(struct run *r)
{
    int rc = sk_loop_run(RANKS, program, r);
    if (rc)
        fail_msg("run ended with %d (line %d)", rc, -1000 - rc);
}

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/dev/shm/saikai-changes-XXXXXX");
    if (!mkdtemp(dir)) {
        strcpy(dir, "/tmp/saikai-changes-XXXXXX");
        return mkdtemp(dir) ? 0 : -1;
    }
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    sk_io_hook = NULL;
    return sk_io_rmtree(dir, NULL);
}

/* Killed again and again, each time after some checkpoints. */
static struct run kill_and_restart_while(const char *config, unsigned seed, int how, int times)
{
    static struct run r;
    r = (struct run){.config = config, .scribble = how};
    for (int k = 0, done = 0; k < times; k++) {
        r.seed = seed * 10 + (unsigned)k;
        r.crash_after = 4 + k * 3;
        run(&r);
        assert_int_equal(r.found, done);
        done += r.crash_after;
    }
    return r;
}

static struct run kill_and_restart(const char *config, unsigned seed)
{
    return kill_and_restart_while(config, seed, 0, 4);
}

/* ---- tests ---- */

static void test_changes_only(void **state)
{
    (void)state;
    struct run r = kill_and_restart("", 1);
    print_message("%d deltas, the longest lineage has %d\n", r.deltas, r.longest);
    assert_true(r.deltas > 12 && r.longest > 4);
}

static void test_without_a_prefix(void **state)
{
    (void)state;
    struct run r = kill_and_restart("store.prefix=none; store.keep_prefix=3", 2);
    assert_true(r.deltas > 12);
}

static void test_straight_to_the_prefix(void **state)
{
    (void)state;
    struct run r = kill_and_restart("store.local=none", 3);
    assert_true(r.deltas > 12);
}

static void test_by_hashes(void **state)
{
    (void)state;
    struct run r = kill_and_restart("capture.tracker=hash", 4);
    assert_true(r.deltas > 12);
}

static void test_everything_each_time(void **state)
{
    (void)state;
    struct run r = kill_and_restart("capture.tracker=full", 5);
    assert_int_equal(r.deltas, 0);
}

static void test_lineages_stay_short(void **state)
{
    (void)state;
    struct run r = kill_and_restart("capture.max_deltas=3", 6);
    assert_true(r.deltas > 8 && r.longest == 3);
}

static void test_lineages_stay_small(void **state)
{
    (void)state;
    struct run r = kill_and_restart("capture.max_ratio=0.2", 7);
    assert_true(r.deltas > 4 && r.longest < 10);
}

static void test_with_coded_variables(void **state)
{
    (void)state;
    struct run r = kill_and_restart("codec.chains=few=zstd,mapped=lz4; capture.max_deltas=4", 8);
    assert_true(r.deltas > 5);
}

static void test_many_seeds(void **state)
{
    (void)state;
    for (unsigned seed = 20; seed < 26; seed++) {
        kill_and_restart(seed % 2 ? "capture.max_deltas=2" : "store.keep_local=2", seed);
        remove_dir(NULL);
        make_dir(NULL);
    }
}

/* The program goes on while its memory is saved. */
static void test_without_a_stop(void **state)
{
    (void)state;
    static const char *const forms[] = {"auto", "uffd", "fork", "copy"};
    for (unsigned i = 0; i < 4; i++)
        for (int how = 1; how <= 2; how++) {
            char config[128];
            struct sk_snapshot *works = NULL;
            if (sk_snapshot_open(&(struct sk_snapshot_options){.form = forms[i]}, &works, NULL)) {
                print_message("snapshots by %s do not work here\n", forms[i]);
                continue;
            }
            sk_snapshot_close(works);
            snprintf(config, sizeof config, "capture.snapshot=%s%s", forms[i],
                     how > 1 ? "; capture.tracker=full" : "; capture.max_deltas=3");
            struct run r = kill_and_restart_while(config, 30 + i, how, 2);
            assert_true(how > 1 ? !r.deltas : r.deltas > 1);
            remove_dir(NULL);
            make_dir(NULL);
        }
}

static int unmap(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct sk_config *c = sk_config_new();
    struct sk_group *own;
    char text[512];
    (void)arg;
    snprintf(text, sizeof text,
             "store.prefix=none; store.local=%s/local; schedule.poll=1ms; schedule.signals=; job.name=test; "
             "schedule.every=1; capture.tracker=full",
             dir);
    CHECK(!sk_group_dup(g, &own) && !sk_config_set_all(c, text, SK_FROM_API, &err));
    CHECK(!sk_session_new(own, c, "program", &s, &err));
    for (int64_t it = 1; it <= 12; it++) {
        uint8_t *p = mmap(NULL, BULK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(p != MAP_FAILED);
        struct sk_var v = {.name = "v", .type = SAIKAI_U8, .ndims = 1, .dims = {BULK}, .data = p};
        memset(p, (int)it, BULK);
        CHECK(!sk_vars_put(&s->vars, &v, &err));
        s->vars.v[0].moves = 0; /* as if it had never been put elsewhere */
        CHECK(sk_session_candidate(s, 0, it, &err) == 1);
        munmap(p, BULK); /* against the rules */
        sk_session_wait(s, &err);
    }
    /* once it has failed, copies are made: then all is well */
    CHECK(sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE) >= 3);
    sk_session_abandon(s);
    return 0;
}

static void test_memory_that_goes_too_early(void **state)
{
    (void)state;
    assert_int_equal(sk_loop_run(1, unmap, NULL), 0);
}

/* More variables than most programs have, and one of them changes. */
static int many(struct sk_group *g, void *arg)
{
    enum { VARS = 70, EACH = 64 << 10 };
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct sk_config *c = sk_config_new();
    struct sk_group *own;
    struct sk_container *file = NULL;
    char text[512], path[256];
    uint8_t *p = mmap(NULL, (size_t)VARS * EACH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct stat sb;
    (void)arg;
    snprintf(text, sizeof text, "store.prefix=none; store.local=%s/local; schedule.poll=1ms; schedule.signals=; job.name=test; schedule.every=1", dir);
    CHECK(p != MAP_FAILED && !sk_group_dup(g, &own) && !sk_config_set_all(c, text, SK_FROM_API, &err));
    CHECK(!sk_session_new(own, c, "program", &s, &err));
    for (int k = 0; k < VARS; k++) {
        struct sk_var v = {.type = SAIKAI_U8, .ndims = 1, .dims = {EACH}, .data = p + (size_t)k * EACH};
        snprintf(v.name, sizeof v.name, "v%d", k);
        memset(v.data, k + 1, EACH);
        CHECK(!sk_vars_put(&s->vars, &v, &err));
    }
    for (int64_t it = 1; it <= 3; it++) {
        p[(size_t)(VARS - 1) * EACH + 5] = (uint8_t)it;
        CHECK(sk_session_candidate(s, 0, it, &err) == 1);
        CHECK(!sk_session_wait(s, &err));
    }
    snprintf(text, sizeof text, "%s/local/saikai-%ld/test-alone", dir, (long)getuid());
    CHECK(!sk_gen_file(text, (struct sk_gen){1, 3, 0}, 0, path, sizeof path, &err) && !stat(path, &sb));
    CHECK(sb.st_size < EACH); /* a page, and what is said of each variable */
    CHECK(!sk_lineage_open(text, (struct sk_gen){1, 3, 0}, 0, &file, &err) && !sk_container_verify(file, &err));
    sk_container_close(file);
    sk_session_abandon(s);
    munmap(p, (size_t)VARS * EACH);
    return 0;
}

static void test_many_variables(void **state)
{
    (void)state;
    assert_int_equal(sk_loop_run(1, many, NULL), 0);
}

/* Retention: nothing stays that no kept generation needs. */
static void test_what_stays(void **state)
{
    (void)state;
    char root[256];
    struct sk_gen_list l;
    struct run r = {.config = "capture.max_deltas=4; store.prefix=none", .seed = 9, .crash_after = 23};
    run(&r);
    snprintf(root, sizeof root, "%s/local/saikai-%ld/test-alone", dir, (long)getuid());
    assert_int_equal(sk_gen_scan(root, 0, &l, NULL), 0);
    assert_true(l.count >= 1 && l.count <= 6);
    for (size_t i = 0; i < l.count; i++) { /* and whatever is there can be read */
        struct sk_container *c = NULL;
        assert_int_equal(sk_lineage_open(root, l.gen[i], 0, &c, NULL), 0);
        assert_int_equal(sk_container_verify(c, NULL), 0);
        sk_container_close(c);
    }
    sk_gen_list_free(&l);
}

static void test_after_a_commit_that_failed(void **state)
{
    (void)state;
    sk_io_hook = hook;
    struct run r = {.config = "", .seed = 10, .crash_after = 12, .failures_at = 6};
    run(&r);
    assert_true(r.deltas > 2);
    r.failures_at = 0;
    r.crash_after = 1;
    run(&r);
    assert_int_equal(r.found, 12);
}

static void flip(const char *root, int64_t it, int rank)
{
    char path[256];
    struct stat sb;
    uint8_t byte;
    assert_int_equal(sk_gen_file(root, (struct sk_gen){1, it, 0}, rank, path, sizeof path, NULL), 0);
    assert_int_equal(stat(path, &sb), 0);
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, sb.st_size / 3), 1);
    byte ^= 16;
    assert_int_equal(pwrite(fd, &byte, 1, sb.st_size / 3), 1);
    close(fd);
}

static int is_good(const char *root, int64_t it, int rank)
{
    struct sk_container *c = NULL;
    int rc = sk_lineage_open(root, (struct sk_gen){1, it, 0}, rank, &c, NULL);
    if (!rc)
        rc = sk_container_verify(c, NULL);
    sk_container_close(c);
    return !rc;
}

/* Files of one rank are damaged, one after the other: the ranks agree on the newest generation
 * that needs nothing of what is damaged. */
static void test_damage(void **state)
{
    (void)state;
    char root[256];
    int fell_back = 0;
    struct run r = {.config = "store.prefix=none; store.keep_prefix=20", .seed = 11, .crash_after = 10};
    run(&r);
    assert_true(r.deltas > 5);
    snprintf(root, sizeof root, "%s/local/saikai-%ld/test-alone", dir, (long)getuid());
    for (int64_t it = 9; it > 3; it -= 2) {
        int64_t good = 10;
        flip(root, it, it % 4 == 1);
        while (good && !(is_good(root, good, 0) && is_good(root, good, 1)))
            good--;
        r.crash_after = 0;
        run(&r);
        assert_true(r.found >= good); /* the data is compared where it is restored */
        fell_back += r.found < 10;
    }
    assert_true(fell_back);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        TEST(test_changes_only),        TEST(test_without_a_prefix),   TEST(test_straight_to_the_prefix),
        cmocka_unit_test(remember_open_files), /* the first session leaves open what all share */
        TEST(test_by_hashes),           TEST(test_everything_each_time), TEST(test_lineages_stay_short),
        TEST(test_lineages_stay_small),
        TEST(test_with_coded_variables), TEST(test_many_seeds),
        TEST(test_without_a_stop),      TEST(test_memory_that_goes_too_early),
        TEST(test_many_variables),      TEST(test_what_stays),
        TEST(test_after_a_commit_that_failed), TEST(test_damage),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
