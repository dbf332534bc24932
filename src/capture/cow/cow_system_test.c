/* Snapshots and the rest of the system: memory that goes away, trackers, shared memory, programs
 * that fork, no privileges, increments. */
#include "capture/cow/cow_testing.h"
#include "capture/delta.h"
#include "capture/dirty.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>

/* Memory that goes away while it is saved: right data or an error, never wrong data, never a crash.
 */
static void test_memory_that_vanishes(void **state)
{
    if (sk_snapshot_uffd.probe(NULL))
        skip();
    size_t n = (size_t)24 << 20;
    int failed = 0;
    for (int how = 0; how < 4; how++) {
        uint8_t *area = map_pages(n, MADV_NOHUGEPAGE);
        memset(area, 5, n);
        struct saved s = {.delay = 0.005, .calls_left = -1};
        struct saikai_error err = {0};
        add_piece(&s, area, n);
        struct sk_snapshot *snap = open_form("uffd", 0, 0);
        assert_int_equal(sk_snapshot_begin(snap, s.piece, 1, sink, &s, &err), 0);
        uint8_t *end = area + n - ((size_t)4 << 20), *moved = MAP_FAILED;
        size_t m = (size_t)4 << 20;
        if (how == 0)
            munmap(end, m);
        else if (how == 1)
            assert_true(mmap(end, m, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == end);
        else if (how == 2)
            madvise(end, m, MADV_DONTNEED);
        else
            moved = mremap(end, m, 2 * m, MREMAP_MAYMOVE);
        if (moved != MAP_FAILED)
            memset(moved, 1, 2 * m);
        int rc = sk_snapshot_finish(snap, NULL, &err);
        failed += rc == SAIKAI_ECHANGED;
        if (!rc)
            check_saved(&s);
        else
            assert_int_equal(rc, SAIKAI_ECHANGED);
        sk_snapshot_close(snap);
        free_saved(&s);
        munmap(area, n);
        if (moved != MAP_FAILED)
            munmap(moved, 2 * m);
    }
    assert_true(failed > 0);
}

/* Tracked memory cannot be protected twice, so uffd copies it; fork and copy leave it alone. The
 * tracker loses nothing. */
static void together_with_a_tracker(const char *form)
{
    size_t n = (size_t)4 << 20;
    uint8_t *area = map_pages(n, MADV_NOHUGEPAGE);
    memset(area, 9, n);
    struct sk_dirty *d;
    struct sk_ranges r = {0};
    assert_int_equal(sk_dirty_open(NULL, &d, NULL), 0);
    assert_int_equal(sk_dirty_add(d, 1, area + 3, n / 2, 0, NULL), 0);
    assert_int_equal(sk_dirty_collect(d, &r, NULL), 0);
    struct saved s = {.calls_left = -1, .delay = 0.005};
    add_piece(&s, area, n);
    struct sk_snapshot *snap = open_form(form, 0, 0);
    struct saikai_error err = {0};
    if (sk_snapshot_begin(snap, s.piece, 1, sink, &s, &err))
        fail_msg("%s", err.text);
    area[5000] = 1;
    area[n - 5000] = 1;
    assert_int_equal(sk_snapshot_finish(snap, NULL, NULL), 0);
    check_saved(&s);
    assert_int_equal(sk_dirty_collect(d, &r, NULL), 0);
    assert_int_equal(r.n, 1);
    assert_true(r.v[0].offset <= 4997 && r.v[0].offset + r.v[0].size_bytes > 4997);
    assert_true(sk_ranges_bytes(&r) <= sk_page_size());
    sk_dirty_close(d);
    sk_ranges_free(&r);
    sk_snapshot_close(snap);
    free_saved(&s);
    munmap(area, n);
}

static void test_together_with_a_tracker(void **state)
{
    static const char *const names[] = {"uffd", "fork", "copy"};
    for (int k = 0; k < 3; k++)
        if (!sk_snapshot_find(names[k])->probe(NULL))
            together_with_a_tracker(names[k]);
}

static void test_shared_memory_and_holes(void **state)
{
    size_t n = (size_t)1 << 20;
    uint8_t *shared = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint8_t *fresh = map_pages(n, MADV_NOHUGEPAGE); /* never touched before */
    assert_true(shared != MAP_FAILED);
    memset(shared, 4, n);
    static const char *const names[] = {"uffd", "fork", "copy"};
    for (int k = 0; k < 3; k++) {
        if (sk_snapshot_find(names[k])->probe(NULL))
            continue;
        struct saved s = {.calls_left = -1, .delay = 0.01};
        s.piece[0] = (struct sk_memory_extent){fresh, n, 0, 1000}; /* add_piece would read it */
        s.then[0] = calloc(n, 1);
        s.got[0] = calloc(n, 1);
        s.times[0] = calloc(n, 1);
        s.n = 1;
        add_piece(&s, shared, n);
        struct sk_snapshot *snap = open_form(names[k], 0, 0);
        assert_int_equal(sk_snapshot_begin(snap, s.piece, 2, sink, &s, NULL), 0);
        memset(shared, 5, n);
        memset(fresh, 5, n);
        assert_int_equal(sk_snapshot_finish(snap, NULL, NULL), 0);
        check_saved(&s);
        sk_snapshot_close(snap);
        free_saved(&s);
        madvise(fresh, n, MADV_DONTNEED);
    }
    munmap(shared, n);
    munmap(fresh, n);
}

static volatile sig_atomic_t children_ended;

static void count_child(int sig)
{
    children_ended++;
}

/* The program forks while its memory is saved, and hears nothing of our own child. Not under the address sanitizer: whose lock a thread
 * holds at that moment, unlike the C library's, nobody gives back in the child, which then waits for it without end. */
static void test_program_that_forks(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    size_t n = (size_t)8 << 20;
    uint8_t *area = map_pages(n, MADV_NOHUGEPAGE);
    memset(area, 6, n);
    signal(SIGCHLD, count_child);
    static const char *const names[] = {"uffd", "fork"};
    for (int k = 0; k < 2; k++) {
        if (sk_snapshot_find(names[k])->probe(NULL))
            continue;
        struct saved s = {.calls_left = -1, .delay = 0.002};
        add_piece(&s, area, n);
        struct sk_snapshot *snap = open_form(names[k], 0, 0);
        children_ended = 0;
        assert_int_equal(sk_snapshot_begin(snap, s.piece, 1, sink, &s, NULL), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (!pid) {
            memset(area, 7, n); /* no protection in the child */
            int ok = sk_snapshot_finish(snap, NULL, NULL) == SAIKAI_ESTATE;
            s.delay = 0;
            remember(&s);
            ok = ok && !sk_snapshot_begin(snap, s.piece, 1, sink, &s, NULL);
            memset(area, 8, n);
            ok = ok && !sk_snapshot_finish(snap, NULL, NULL) && s.got[0][n / 2] == 7;
            sk_snapshot_close(snap);
            _exit(ok ? 0 : 1);
        }
        memset(area, 9, n);
        int status = -1;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        assert_int_equal(status, 0);
        assert_int_equal(sk_snapshot_finish(snap, NULL, NULL), 0);
        check_saved(&s);
        sk_snapshot_close(snap);
        assert_int_equal(children_ended, 1);
        memset(area, 6, n);
        free_saved(&s);
    }
    signal(SIGCHLD, SIG_DFL);
    munmap(area, n);
}

/* Without any privilege: the tracker still looks at pages, snapshots are made by fork, and when the
 * program writes all its memory meanwhile, the next ones are copies. */
static int as_nobody(void)
{
    size_t n = (size_t)64 << 20;
    struct sk_dirty *d = NULL;
    struct sk_ranges r = {0};
    struct sk_snapshot *s = NULL;
    struct sk_snapshot_stats stats = {0};
    struct saved saved = {.calls_left = -1};
    if (setgid(65534) || setuid(65534) || prctl(PR_SET_DUMPABLE, 1))
        return 2;
    uint8_t *area = map_pages(n, MADV_NOHUGEPAGE);
    memset(area, 1, n);
    int seen_by_pages = !sk_dirty_uffd.probe(NULL);
    if (sk_dirty_open(NULL, &d, NULL) || sk_dirty_add(d, 0, area, n, 0, NULL) ||
        sk_dirty_collect(d, &r, NULL) ||
        strcmp(sk_dirty_form(d, 0), seen_by_pages ? "uffd" : "hash"))
        return 3;
    sk_dirty_close(d);
    sk_ranges_free(&r);
    add_piece(&saved, area, n);
    if (sk_snapshot_uffd.probe(NULL) == 0 || sk_snapshot_fork.probe(NULL))
        return 2; /* this machine gives more or less than usual */
    if (sk_snapshot_open(&(struct sk_snapshot_options){.trust_pages = 1}, &s, NULL))
        return 4;
    int learnt = 0, dear = 0;
    for (int i = 0; i < 12 && !learnt; i++) { /* a snapshot that happened to be cheap teaches nothing … */
        remember(&saved);
        saved.delay = 0.02;
        if (sk_snapshot_begin(s, saved.piece, 1, sink, &saved, NULL))
            return 5;
        memset(area, 2 + i, n);
        if (sk_snapshot_finish(s, &stats, NULL))
            return 6;
        check_saved(&saved);
        learnt = !strcmp(stats.form, "copy");
        if ((!i && learnt) || (!learnt && strcmp(stats.form, "fork")))
            return 7;
        if (dear && !learnt)
            return 8;
        /* … nor one whose beginning took long on a machine that is busy */
        double writes = (double)stats.faults * sk_snapshot_fork.fault_seconds;
        dear = writes > (double)n / SK_COPY_RATE && writes > stats.blocked_seconds;
    }
    if (!learnt)
        return 2;
    sk_snapshot_close(s);
    free_saved(&saved);
    munmap(area, n);
    return 0;
}

static void test_without_privileges(void **state)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid)
        _exit(geteuid() ? 2 : as_nobody());
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int to_payload(void *arg, uint32_t id, uint64_t offset, const void *data, size_t n,
                      struct saikai_error *err)
{
    memcpy((uint8_t *)arg + offset, data, n);
    return 0;
}

/* The whole way: what changed, saved as deltas by snapshots while threads write, put on the base:
 * the memory as it was at each snapshot. */
static void increments_under_fire(const char *tracker)
{
    size_t n = (size_t)6 << 20;
    uint8_t *area = map_pages(n, MADV_NOHUGEPAGE);
    struct sk_memory now[2] = {{3, area + 17, n / 2}, {9, area + n / 2 + 100, n / 2 - 100}},
                     base[2];
    struct sk_dirty *d;
    struct sk_dirty_options opt = {.form = tracker, .trust_pages = 1};
    struct saikai_error err = {0};
    if (sk_dirty_open(&opt, &d, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 2; i++) {
        base[i] = now[i];
        base[i].addr = calloc(1, now[i].size_bytes);
        assert_int_equal(sk_dirty_add(d, now[i].id, now[i].addr, now[i].size_bytes, 0, NULL), 0);
    }
    struct sk_snapshot *s = open_form(NULL, 0, 0);
    uint64_t at = 5;
    for (int round = 0; round < 8; round++) {
        memset(area + next() % (n - 700000), round, 700000);
        area[next() % n]++;
        struct sk_ranges changed = {0};
        assert_int_equal(sk_dirty_collect(d, &changed, NULL), 0);
        size_t size = sk_delta_size(2, &changed);
        uint8_t *out = malloc(size), *payload, *then = malloc(n);
        struct sk_memory_extent *v;
        assert_true(out && then);
        memcpy(then, area, n);
        assert_int_equal(sk_delta_start(at, now, 2, &changed, out, size, &payload, NULL), 0);
        assert_int_equal(sk_delta_pieces(now, 2, &changed, &v, NULL), 0);
        assert_int_equal(sk_snapshot_begin(s, v, changed.n, to_payload, payload, NULL), 0);
        struct writer w = {.p = area, .n = n, .x = next()};
        pthread_t t;
        assert_int_equal(pthread_create(&t, NULL, write_on, &w), 0);
        assert_int_equal(sk_snapshot_finish(s, NULL, NULL), 0);
        uint64_t to = sk_delta_seal(out), got;
        struct sk_delta delta;
        if (sk_delta_open(out, size, &delta, &err) ||
            sk_delta_apply(&delta, 1, at, base, 2, base, 2, &got, &err))
            fail_msg("%s", err.text);
        assert_true(got == to);
        for (int i = 0; i < 2; i++)
            assert_memory_equal(base[i].addr, then + (now[i].addr - area), now[i].size_bytes);
        atomic_store(&w.stop, 1);
        pthread_join(t, NULL);
        at = to;
        free(v);
        free(out);
        free(then);
        sk_ranges_free(&changed);
    }
    sk_snapshot_close(s);
    sk_dirty_close(d);
    free(base[0].addr);
    free(base[1].addr);
    munmap(area, n);
}

static void test_increments_by_snapshots(void **state)
{
    increments_under_fire("hash"); /* untracked by pages: protected */
    increments_under_fire("full");
    increments_under_fire("auto");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_that_vanishes),
        cmocka_unit_test(test_together_with_a_tracker),
        cmocka_unit_test(test_shared_memory_and_holes),
        cmocka_unit_test(test_program_that_forks),
        cmocka_unit_test(test_increments_by_snapshots),
        cmocka_unit_test(test_without_privileges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
