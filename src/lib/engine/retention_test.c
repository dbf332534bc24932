/* What stays in the prefix, whichever form generations have there, and that nothing is lost when a job dies while older
 * ones are removed. */
#define TESTING_CELLS 3000
#include "archive/write/create.h"
#include "base/host/fork_testing.h"
#include "archive/read/content.h"
#include "lib/engine/engine.h"
#include "store/form/lineage_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { RANKS = 2, MOST = 8, DIED = 42 };

/* One letter for each generation, the oldest first.
 * forms: F files, A archives, B both, D files that hold what changed since the one before, P one of two archives,
 *        T the beginning of an archive, E an empty directory
 * marks: k stays as it did so far, n is the one that has just arrived
 * stays: w is whole afterwards, - nothing is left of it */
struct prefix {
    const char *forms, *marks, *stays;
    int keep;
};

static const struct prefix prefixes[] = {
    {"FFFF", ".kkn", "--ww", 2},  {"AAAA", ".kkn", "--ww", 2},  /* one form */
    {"FFFA", ".kkn", "--ww", 2},  {"AAAF", ".kkn", "--ww", 2},  /* the form changes */
    {"FAFA", "kkkn", "-www", 3},  {"AFAF", "kkkn", "---w", 1},  /* and again */
    {"AAFF", ".kkn", "--ww", 2},  {"FFAA", "..kn", "--ww", 2},
    {"ABBF", ".kkn", "--ww", 2},                                /* put back for another number of ranks */
    {"FDDA", "..kn", "wwww", 2},  {"FDDF", "..kn", "wwww", 2},  /* needed by what stays */
    {"FDDFA", "..kkn", "---ww", 2}, {"AFDDA", "...kn", "-wwww", 2},
    {"EFEA", ".k.n", "-w-w", 2},  {"EAEF", ".k.n", "-w-w", 2},
    {"PTPF", "...n", "---w", 2},  {"PTFA", "..kn", "--ww", 2},  /* of jobs that died */
};

static char dir[64], prefix_root[80];
static struct testing_state *state_of[MOST];

static struct sk_gen gen_of(size_t i)
{
    return (struct sk_gen){1, 10 * ((int64_t)i + 1), 0};
}

static void put_files(size_t i, int is_delta)
{
    for (int rank = 0; rank < RANKS; rank++) {
        struct testing_generation g = {.root = prefix_root, .gen = gen_of(i), .base = is_delta ? gen_of(i - 1) : (struct sk_gen){0}, .rank = rank, .nranks = RANKS};
        assert_int_equal(testing_write(&g, is_delta ? state_of[i - 1] : NULL, state_of[i], (int)i), 0);
    }
}

/* Of the files of generation i, the first `parts` of one archive for each rank. */
static void put_archives(size_t i, int parts, int keep_files)
{
    char path[128], out[128], name[32];
    const struct sk_archive_options o = {.threads = 1, .no_sync = 1};
    for (int rank = 0; rank < RANKS; rank++) {
        assert_int_equal(sk_gen_file(prefix_root, gen_of(i), rank, path, sizeof path, NULL), 0);
        snprintf(name, sizeof name, "rank-%06d.skc", rank);
        assert_int_equal(sk_gen_dir(prefix_root, gen_of(i), out, sizeof out, NULL), 0);
        snprintf(out + strlen(out), sizeof out - strlen(out), "/set-000001.%d-of-%d.ska", rank + 1, RANKS);
        struct sk_archive_input in = {.path = path, .name = name};
        if (rank < parts)
            assert_int_equal(sk_archive_create(out, &in, 1, &o, NULL, NULL), 0);
        if (!keep_files)
            assert_int_equal(unlink(path), 0);
    }
}

static void put_beginning(size_t i, int is_empty)
{
    char path[128];
    assert_int_equal(sk_gen_dir(prefix_root, gen_of(i), path, sizeof path, NULL), 0);
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    if (is_empty)
        return;
    strcat(path, "/set-000001.1-of-2.ska.4711.tmp");
    assert_int_equal(sk_io_replace(path, "x", 1, NULL), 0);
}

static void make(const struct prefix *p)
{
    strcpy(dir, "/dev/shm/saikai-retention-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(prefix_root, sizeof prefix_root, "%s/prefix", dir);
    for (size_t i = 0; p->forms[i]; i++) {
        if (strchr("TE", p->forms[i])) {
            put_beginning(i, p->forms[i] == 'E');
            continue;
        }
        put_files(i, p->forms[i] == 'D');
        if (strchr("ABP", p->forms[i]))
            put_archives(i, p->forms[i] == 'P' ? 1 : RANKS, p->forms[i] == 'B');
    }
}

/* Tell the engines of all ranks, as a session does, what stays so far and what has arrived. */
static void retain(const struct prefix *p)
{
    char local[80];
    struct sk_gen kept[MOST], arrived = {0};
    size_t count = 0;
    snprintf(local, sizeof local, "%s/local", dir);
    for (size_t i = 0; p->marks[i]; i++) {
        if (p->marks[i] == 'k')
            kept[count++] = gen_of(i);
        if (p->marks[i] == 'n')
            arrived = gen_of(i);
    }
    for (int rank = RANKS - 1; rank >= 0; rank--) {
        struct sk_engine *e = NULL;
        struct sk_ledger *l = NULL;
        int64_t seq;
        assert_int_equal(sk_ledger_new(2, &l, NULL), 0);
        assert_int_equal(sk_ledger_adopt(l, kept, count, NULL), 0);
        assert_int_equal(sk_ledger_add(l, arrived, 0, &seq, NULL), 0);
        struct sk_engine_config c = {.local_root = local,
                                     .prefix_root = prefix_root,
                                     .incarnation = 1,
                                     .rank = rank,
                                     .nranks = RANKS,
                                     .ledger = l,
                                     .keep_local = 1,
                                     .keep_prefix = p->keep};
        assert_int_equal(sk_engine_new(&c, &e, NULL), 0);
        sk_engine_note_archived(e, seq);
        sk_engine_archived(e, 1);
        sk_engine_drain(e);
        sk_engine_free(e);
        sk_ledger_free(l);
    }
}

/* Every rank's container is what was written. */
static int is_whole(size_t i)
{
    struct sk_content *c = NULL;
    assert_int_equal(sk_content_load(prefix_root, gen_of(i), 0, &c, NULL), 0);
    int whole = c->complete;
    for (size_t k = 0; whole && k < c->count; k++) {
        struct sk_container *x = NULL;
        whole = !sk_content_open(c, k, &x, NULL) && testing_compare(x, state_of[i]) == 1;
        sk_container_close(x);
    }
    sk_content_free(c);
    return whole;
}

static void check(const struct prefix *p, int finished, long died_at)
{
    char path[128];
    for (size_t i = 0; p->stays[i]; i++) {
        assert_int_equal(sk_gen_dir(prefix_root, gen_of(i), path, sizeof path, NULL), 0);
        if (p->stays[i] == 'w' && !is_whole(i))
            fail_msg("%s %s: generation %zu is gone (died at %ld)", p->forms, p->marks, i, died_at);
        if (p->stays[i] == '-' && finished && !access(path, F_OK))
            fail_msg("%s %s: generation %zu is still there", p->forms, p->marks, i);
    }
}

static void end(void)
{
    assert_int_equal(sk_io_rmtree(dir, NULL), 0);
}

static void test_what_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        make(&prefixes[i]);
        check(&(struct prefix){prefixes[i].forms, prefixes[i].marks, "", 0}, 0, -1);
        retain(&prefixes[i]);
        check(&prefixes[i], 1, -1);
        end();
    }
}

static atomic_long operations;
static long die_at;

static int hook(const char *op, const char *path)
{
    (void)op;
    (void)path;
    if (atomic_fetch_add(&operations, 1) == die_at)
        _exit(DIED);
    return 0;
}

/* 1: it died. */
static int retain_and_die(const struct prefix *p, long at)
{
    int status = 0;
    pid_t pid = sk_testing_fork();
    if (!pid) {
        alarm(120);
        die_at = at;
        sk_io_hook = hook;
        retain(p);
        _exit(0);
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == DIED);
    return WEXITSTATUS(status) == DIED;
}

static void test_dying_while_older_ones_are_removed(void **state)
{
    (void)state;
    long deaths = 0;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        for (long at = 0, died = 1; died; at++) {
            make(&prefixes[i]);
            died = retain_and_die(&prefixes[i], at);
            deaths += died;
            check(&prefixes[i], !died, at);
            retain(&prefixes[i]); /* the next one takes away what is left */
            check(&prefixes[i], 1, at);
            end();
        }
    printf("died %ld times\n", deaths);
    assert_true(deaths > 40);
}

/* What is being written while older ones are removed. */
static void test_newer_ones_are_left_alone(void **state)
{
    (void)state;
    struct prefix p = {"FATP", ".n..", "-x", 1};
    char path[128];
    make(&p);
    retain(&p);
    check(&p, 1, -1);
    assert_int_equal(sk_gen_dir(prefix_root, gen_of(2), path, sizeof path, NULL), 0);
    assert_true(sk_ska_set_traces(path));
    assert_int_equal(sk_gen_dir(prefix_root, gen_of(3), path, sizeof path, NULL), 0);
    assert_true(sk_ska_set_traces(path));
    end();
}

static int make_states(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++) {
        state_of[i] = testing_state_new();
        if (i)
            testing_state_copy(state_of[i], state_of[i - 1]);
        testing_state_step(state_of[i], i + 1);
    }
    return 0;
}

static int free_states(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++)
        testing_state_free(state_of[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(test_what_stays),
        cmocka_unit_test(test_dying_while_older_ones_are_removed),
        cmocka_unit_test(test_newer_ones_are_left_alone),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, make_states, free_states);
}
