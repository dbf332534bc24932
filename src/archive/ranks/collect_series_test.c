/* Sets of archives that build on those of the set before, made by several ranks. */
#include "archive/ranks/collect.h"
#include "base/host/fork_testing.h"
#include "archive/ranks/deliver.h"
#include "archive/read/extract.h"
#include "archive/write/testing.h"
#include "base/sweep.h"
#include "group/loop.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/host/open_files_testing.h"

enum { RANKS = 4, BYTES = 200000, CHAIN = 3 };

/* What rank r has at set s: bytes that no compressor shrinks, of which a few change. */
static void make_state(int s, int r)
{
    static uint8_t file[BYTES];
    lcg = 17 + (uint32_t)r;
    for (size_t i = 0; i < BYTES; i++)
        file[i] = (uint8_t)(noise() * 2654435761u >> 13);
    for (size_t i = 0; i < BYTES; i += 5000)
        file[i] = (uint8_t)(i / 5000 * 7 + (size_t)s);
    put_file(at("in/%d/r%d", s, r), file, BYTES);
}

/* Bytes that all ranks have sent. */
static uint64_t sent;
static const struct sk_group_ops *real_ops;
static struct sk_group_ops counting_ops;

static int counting_isend(struct sk_group *g, const void *data, size_t n, int to, int tag, struct sk_request **req)
{
    __atomic_add_fetch(&sent, n, __ATOMIC_RELAXED);
    return real_ops->isend(g, data, n, to, tag, req);
}

static int counting_split(struct sk_group *g, int colour, int key, struct sk_group **out)
{
    int rc = real_ops->split(g, colour, key, out);
    if (!rc && *out)
        (*out)->ops = &counting_ops;
    return rc;
}

struct job {
    const char *dir; /* below base */
    int state, writers, previous;
    int rc[RANKS];
    struct saikai_error err[RANKS];
    struct sk_archive_stats st;
    struct sk_ska_set set;
};

static int create_rank(struct sk_group *g, void *arg)
{
    struct job *j = arg;
    char path[512], name[16];
    int r = g->rank;
    if (real_ops)
        g->ops = &counting_ops;
    struct sk_collect_options o = {.writers = j->writers, .previous = j->previous};
    struct sk_archive_input in = {.path = path, .name = name};
    struct sk_archive_stats st = {0};
    struct sk_ska_set set = {0};
    snprintf(path, sizeof path, "%s", at("in/%d/r%d", j->state, r));
    snprintf(name, sizeof name, "r%d", r);
    o.archive.no_sync = 1;
    o.archive.threads = 2;
    o.archive.chain = CHAIN;
    j->rc[r] = sk_collect_create(g, at("%s", j->dir), &in, 1, &o, &st, &set, &j->err[r]);
    if (!r) {
        j->st = st;
        j->set = set;
    }
    return 0;
}

static struct job create(const char *dir, int state, int writers, int previous)
{
    struct job j = {.dir = dir, .state = state, .writers = writers, .previous = previous};
    for (int r = 0; r < RANKS; r++)
        if (access(at("in/%d/r%d", state, r), F_OK))
            make_state(state, r);
    assert_int_equal(sk_loop_run(RANKS, create_rank, &j), 0);
    return j;
}

static void expect_made(const struct job *j)
{
    for (int r = 0; r < RANKS; r++)
        if (j->rc[r])
            fail_msg("rank %d: %s", r, j->err[r].text);
}

static int learn_ops(struct sk_group *g, void *arg)
{
    (void)arg;
    real_ops = g->ops;
    return 0;
}

struct back {
    const char *dir;
    int rc[16];
    struct saikai_error err[16];
};

static int extract_rank(struct sk_group *g, void *arg)
{
    struct back *b = arg;
    struct sk_deliver_options o = {.extract = {.no_sync = 1, .threads = 2}};
    b->rc[g->rank] =
        sk_collect_extract(g, at("%s", b->dir), at("back"), &o, NULL, &b->err[g->rank]);
    return 0;
}

static struct back extract(const char *dir, int ranks)
{
    struct back b = {.dir = dir};
    sk_io_rmtree(at("back"), NULL);
    assert_int_equal(sk_loop_run(ranks, extract_rank, &b), 0);
    return b;
}

/* 1: what was restored is this state. */
static int restored(int state)
{
    int same = 0;
    for (int r = 0; r < RANKS; r++)
        same += same_file(at("in/%d/r%d", state, r), at("back/r%d", r));
    return same == RANKS;
}

/* The newest set gives a state back to some ranks, and to one process archive by archive. */
static void expect_state(const char *dir, int state, int ranks)
{
    struct sk_ska_set s;
    struct back b = extract(dir, ranks);
    for (int r = 0; r < ranks; r++)
        if (b.rc[r])
            fail_msg("rank %d: %s", r, b.err[r].text);
    assert_true(restored(state));
    sk_io_rmtree(at("back"), NULL);
    assert_int_equal(sk_ska_set_newest(at("%s", dir), &s, NULL), 0);
    for (int k = 1; k <= s.parts; k++) {
        char path[512];
        assert_int_equal(sk_ska_set_path(&s, at("%s", dir), k, path, sizeof path, NULL), 0);
        assert_int_equal(sk_archive_extract(path, at("back"), NULL, NULL, NULL), 0);
    }
    assert_true(restored(state));
}

static void sets_build_on_each_other(void **state)
{
    (void)state;
    uint64_t alone = 0;
    for (int s = 0; s < 10; s++) {
        struct job j = create("row", s, 2, 1);
        expect_made(&j);
        if (!s)
            alone = j.st.stored_bytes;
        if (s % (CHAIN + 1))
            assert_true(j.st.stored_bytes < alone / 20);
        else /* enough in a row */
            assert_true(j.st.stored_bytes > alone / 2);
        /* what it builds on is there, and no more */
        assert_int_equal(count_files(at("row")), 2 * (s % (CHAIN + 1) + 1));
        expect_state("row", s, s % 3 + 2);
    }
    struct job last = create("row", 10, 2, 0);
    expect_made(&last);
    assert_int_equal(count_files(at("row")), 2);
}

static void other_numbers_of_writers(void **state)
{
    (void)state;
    static const int writers[] = {2, 4, 1, 3};
    uint64_t alone = 0;
    for (int s = 0; s < 4; s++) {
        struct job j = create("others", s, writers[s], 1);
        expect_made(&j);
        /* of two each has what two of four need, of one what three do; of four the first has a quarter of what one needs */
        alone = s ? alone : j.st.stored_bytes;
        if (s && (s % 2 ? j.st.stored_bytes > alone / 10 : j.st.stored_bytes < alone / 2 || j.st.stored_bytes > alone / 10 * 9))
            fail_msg("%d writers: %llu bytes, alone %llu", writers[s], (unsigned long long)j.st.stored_bytes, (unsigned long long)alone);
        expect_state("others", s, 3);
    }
}

/* Whether a file is what it was is found where it is: its bytes travel once, to be compared with what is stored. */
static void what_did_not_change_travels_once(void **state)
{
    (void)state;
    int none;
    struct job first = create("still", 0, 1, 0);
    expect_made(&first);
    real_ops = NULL;
    sk_loop_run(1, learn_ops, &none);
    counting_ops = *real_ops;
    counting_ops.isend = counting_isend;
    counting_ops.split = counting_split;
    sent = 0;
    struct job j = create("still", 0, 1, 1);
    real_ops = NULL;
    expect_made(&j);
    assert_true(j.st.stored_bytes < first.st.stored_bytes / 50);
    assert_true(sent >= (RANKS - 1) * BYTES);
    assert_true(sent < (RANKS - 1) * BYTES * 5 / 4);
    expect_state("still", 0, 3);
}

/* Three sets in a row, of the states 0 to 2. */
static void make_row(const char *dir)
{
    sk_io_rmtree(at("%s", dir), NULL);
    for (int s = 0; s < 3; s++) {
        struct job j = create(dir, s, 2, 1);
        expect_made(&j);
    }
    assert_int_equal(count_files(at("%s", dir)), 6);
}

static void a_missing_or_other_archive_is_told(void **state)
{
    (void)state;
    make_row("gap");
    assert_int_equal(rename(at("gap/set-000001.2-of-2.ska"), at("gone")), 0);
    struct back b = extract("gap", 3);
    for (int r = 0; r < 3; r++) {
        assert_int_not_equal(b.rc[r], 0);
        assert_non_null(strstr(b.err[r].text, "set-000001.2-of-2.ska"));
    }
    for (int r = 0; r < RANKS; r++)
        assert_int_not_equal(access(at("back/r%d", r), F_OK), 0);
    struct job j = create("gap", 3, 2, 1);
    for (int r = 0; r < RANKS; r++) {
        assert_int_not_equal(j.rc[r], 0);
        assert_non_null(strstr(j.err[r].text, "set-000001.2-of-2.ska"));
    }
    /* the other writer's archive in its place */
    assert_int_equal(link(at("gap/set-000001.1-of-2.ska"), at("gap/set-000001.2-of-2.ska")), 0);
    b = extract("gap", 2);
    for (int r = 0; r < 2; r++)
        assert_non_null(strstr(b.err[r].text, "set-000001.2-of-2.ska"));
    sk_io_unlink(at("gap/set-000001.2-of-2.ska"), NULL);
    assert_int_equal(rename(at("gone"), at("gap/set-000001.2-of-2.ska")), 0);
    expect_state("gap", 2, 3);
    /* one that stands alone needs none of them */
    assert_int_equal(unlink(at("gap/set-000001.2-of-2.ska")), 0);
    j = create("gap", 3, 2, 0);
    expect_made(&j);
    expect_state("gap", 3, 3);
    assert_int_equal(count_files(at("gap")), 2);
}

static void damage_below_gives_no_wrong_data(void **state)
{
    (void)state;
    int errors = 0;
    make_row("flip");
    for (int i = 0; i < 24; i++) {
        char path[512];
        void *data = NULL;
        size_t n = 0;
        snprintf(path, sizeof path, "%s",
                 at("flip/set-%06d.%d-of-2.ska", i / 2 % 2 + 1, i % 2 + 1));
        assert_int_equal(sk_io_slurp(path, 1 << 28, &data, &n, NULL), 0);
        size_t where = 100 + (n - 200) / 6 * (size_t)(i / 4);
        ((uint8_t *)data)[where] ^= 2;
        put_file(path, data, n);
        struct back b = extract("flip", i % 4 + 1);
        for (int r = 0; r < i % 4 + 1; r++) {
            errors += b.rc[r] != 0;
            if (b.rc[r])
                assert_non_null(strstr(b.err[r].text, ".ska"));
        }
        if (!b.rc[0] && !restored(2))
            fail_msg("wrong data: byte %zu of %s", where, path);
        ((uint8_t *)data)[where] ^= 2;
        put_file(path, data, n);
        free(data);
    }
    assert_true(errors > 12);
    expect_state("flip", 2, 2);
}

static void a_full_disk_leaves_the_row(void **state)
{
    (void)state;
    int failures = 0;
    long stride = sk_sweep_stride(5, 11);
    make_row("full");
    for (int i = 1, done = 0; !done; i += (int)stride) {
        assert_true(i < 1000);
        bad_io_at("/full", i, ENOSPC);
        struct job j = create("full", 3, 2, 1);
        done = bad_io.left > 0;
        sk_io_hook = NULL;
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(!j.rc[r], !j.rc[0]);
        failures += j.rc[0] != 0;
        expect_state("full", j.rc[0] ? 2 : 3, 2);
        if (!j.rc[0])
            make_row("full");
    }
    assert_true(failures > 25 / stride);
    sk_sweep_report(stride);
}

static void a_crash_leaves_a_readable_set(void **state)
{
    (void)state;
    int died = 0;
    long stride = sk_sweep_stride(5, 11);
    make_row("crash");
    for (int i = 1, done = 0; !done; i += (int)stride) {
        int status;
        struct sk_ska_set s;
        pid_t pid = sk_testing_fork();
        assert_true(pid >= 0);
        if (!pid) {
            bad_io_at("/crash", i, 0);
            struct job j = create("crash", 3, 2, 1);
            _exit(j.rc[0] != 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        done = WEXITSTATUS(status) == 0;
        assert_true(done || WEXITSTATUS(status) == 42);
        died += !done;
        assert_int_equal(sk_ska_set_newest(at("crash"), &s, NULL), 0);
        struct back b = extract("crash", 2);
        if (b.rc[0])
            fail_msg("operation %d: %s", i, b.err[0].text);
        if (!restored(2) && !restored(3))
            fail_msg("operation %d: wrong data", i);
        if (restored(3))
            make_row("crash");
        assert_true(i < 1000);
    }
    assert_true(died > (stride > 5 ? 3 : 10));
    sk_sweep_report(stride);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(sets_build_on_each_other),
        cmocka_unit_test(other_numbers_of_writers),
        cmocka_unit_test(what_did_not_change_travels_once),
        cmocka_unit_test(a_missing_or_other_archive_is_told),
        cmocka_unit_test(damage_below_gives_no_wrong_data),
        cmocka_unit_test(a_full_disk_leaves_the_row),
        cmocka_unit_test(a_crash_leaves_a_readable_set),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
