/* Snapshots against what the memory held when they began, while threads write, by stores and by
 * read(2). */
#include "capture/cow/cow_huge.h"
#include "capture/cow/cow_pages.h"
#include "capture/cow/cow_testing.h"

static void under_fire(const char *form, int advice, uint64_t pool, int sink_is_copy, double delay)
{
    size_t n = (size_t)9 << 20;
    uint8_t *area = map_pages(n, advice);
    for (size_t i = 0; i < n; i++)
        area[i] = (uint8_t)(next() >> 8);
    struct saved s = {.delay = delay, .calls_left = -1};
    add_piece(&s, area + 5, 3000001);
    add_piece(&s, area + 3000001, (size_t)2 << 20); /* overlaps and shares pages */
    add_piece(&s, area + ((size_t)6 << 20), 100);
    add_piece(&s, area + ((size_t)6 << 20) + 100, (size_t)3 << 20 >> 1);
    add_piece(&s, area + ((size_t)8 << 20) - 3, 300000);
    struct sk_snapshot *snap = open_form(form, pool, sink_is_copy);
    for (int round = 0; round < 4; round++) {
        remember(&s);
        struct saikai_error err = {0};
        if (sk_snapshot_begin(snap, s.piece, s.n, sink, &s, &err))
            fail_msg("%s", err.text);
        struct writer w[2] = {{.p = area, .n = n, .x = next(), .turn = round & 1},
                              {.p = area, .n = n, .x = next(), .turn = !(round & 1), .by_kernel = 1}};
        pthread_t t[2];
        if (round == 2)
            memset(area, round, n); /* a sweep, too */
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&t[i], NULL, write_on, &w[i]), 0);
        while (!sk_snapshot_done(snap))
            sk_sleep(0.001);
        struct sk_snapshot_stats stats = {0};
        if (sk_snapshot_finish(snap, &stats, &err))
            fail_msg("%s", err.text);
        for (int i = 0; i < 2; i++) {
            atomic_store(&w[i].stop, 1);
            pthread_join(t[i], NULL);
        }
        check_saved(&s);
        if (form)
            assert_string_equal(stats.form, form);
        assert_true(stats.bytes <= n && stats.copied_bytes <= stats.bytes);
    }
    sk_snapshot_close(snap);
    free_saved(&s);
    munmap(area, n);
}

static void all_ways(const char *form)
{
    struct saikai_error err = {0};
#ifdef __SANITIZE_THREAD__ /* the kernel lets a writer wait until its page is copied: the sanitizer cannot know */
    if (!form || !strcmp(form, "uffd"))
        skip();
#endif
    if (form && sk_snapshot_find(form)->probe(&err)) {
        print_message("%s\n", err.text);
        skip();
    }
    under_fire(form, MADV_NOHUGEPAGE, 0, 0, 0);
    under_fire(form, MADV_HUGEPAGE, 0, 0, 0);
    under_fire(form, MADV_NOHUGEPAGE, 0, 1, 0.003);
    under_fire(form, MADV_HUGEPAGE, 0, 0, 0.003);
    if (form && !strcmp(form, "copy"))
        return;
    under_fire(form, MADV_NOHUGEPAGE, (size_t)8 << 20, 0, 0.003);
}

static void test_uffd(void **state)
{
    all_ways("uffd");
}

static void test_fork(void **state)
{
    all_ways("fork");
}

static void test_copy(void **state)
{
    all_ways("copy");
}

static void test_auto(void **state)
{
    all_ways(NULL);
}

/* A full pool makes writers wait, and nothing is lost. */
static void test_full_pool(void **state)
{
    if (sk_snapshot_uffd.probe(NULL))
        skip();
    size_t n = (size_t)40 << 20;
    uint8_t *area = map_pages(n, MADV_NOHUGEPAGE);
    memset(area, 1, n);
    struct saved s = {.delay = 0.002, .calls_left = -1};
    add_piece(&s, area, n);
    struct sk_snapshot *snap = open_form("uffd", (size_t)8 << 20, 0);
    assert_int_equal(sk_snapshot_begin(snap, s.piece, 1, sink, &s, NULL), 0);
    for (size_t i = n; i > 4096; i -= 4096)
        area[i - 1]++;
    struct sk_snapshot_stats stats;
    struct saikai_error err = {0};
    if (sk_snapshot_finish(snap, &stats, &err))
        fail_msg("%s", err.text);
    check_saved(&s);
    assert_true(stats.faults > 0);
    assert_true(stats.touched_bytes <= n);
    sk_snapshot_close(snap);
    /* copying all at once into a pool that is too small: the sink gets it at once instead */
    snap = open_form(NULL, (size_t)8 << 20, 0);
    remember(&s);
    s.delay = 0;
    assert_int_equal(sk_snapshot_begin(snap, s.piece, 1, sink, &s, NULL), 0);
    assert_int_equal(sk_snapshot_finish(snap, &stats, NULL), 0);
    check_saved(&s);
    sk_snapshot_close(snap);
    free_saved(&s);
    munmap(area, n);
}

/* ---- programs that write everything ---- */

enum order { FORWARD, BACKWARD, STRIDED, BY_THREADS };

static void *fill_half(void *arg)
{
    struct writer *w = arg;
    memset(w->p, (int)w->x, w->n);
    return NULL;
}

static void write_all(uint8_t *p, size_t n, enum order o, int value)
{
    struct writer half = {.p = p, .n = n / 2, .x = (uint64_t)value};
    pthread_t t;
    switch (o) {
    case FORWARD:
        memset(p, value, n);
        break;
    case BACKWARD:
        for (size_t i = n; i--;)
            p[i] = (uint8_t)value;
        break;
    case STRIDED:
        for (size_t first = 0; first < 8; first++)
            for (size_t i = first * 4096; i < n; i += 8 * 4096)
                p[i] = (uint8_t)value;
        break;
    case BY_THREADS:
        assert_int_equal(pthread_create(&t, NULL, fill_half, &half), 0);
        memset(p + n / 2, value, n - n / 2);
        pthread_join(t, NULL);
        break;
    }
}

/* Bytes that were copied aside ahead of the writes. */
static uint64_t rewrite_all(enum order o, int advice, uint64_t pool, int sink_is_copy)
{
    size_t n = (size_t)48 << 20;
    uint8_t *area = map_pages(n, advice);
    memset(area, 1, n);
    struct saved s = {.calls_left = -1};
    add_piece(&s, area + 100, n / 3);
    add_piece(&s, area + n / 2 + 5000, n / 2 - 5000);
    struct sk_snapshot *snap = open_form("uffd", pool, sink_is_copy);
    uint64_t ahead = 0;
    for (int round = 0; round < 3; round++) {
        remember(&s);
        struct sk_snapshot_stats stats = {0};
        assert_int_equal(sk_snapshot_begin(snap, s.piece, s.n, sink, &s, NULL), 0);
        write_all(area, n, o, 10 + round);
        assert_int_equal(sk_snapshot_finish(snap, &stats, NULL), 0);
        check_saved(&s);
        ahead += stats.ahead_bytes;
        assert_true(stats.touched_bytes + stats.ahead_bytes + stats.copied_bytes <= stats.bytes);
        assert_true(stats.stalled_seconds >= 0 && (stats.faults || stats.stalled_seconds == 0));
        for (size_t i = 0; i < n; i += 4096) /* no write was lost */
            assert_int_equal(area[i], 10 + round);
    }
    sk_snapshot_close(snap);
    free_saved(&s);
    munmap(area, n);
    return ahead;
}

static void test_rewriting_everything(void **state)
{
    if (sk_snapshot_uffd.probe(NULL))
        skip();
    uint64_t ahead = 0;
    for (enum order o = FORWARD; o <= BY_THREADS; o++) {
        ahead += rewrite_all(o, MADV_NOHUGEPAGE, 0, 0);
        ahead += rewrite_all(o, MADV_HUGEPAGE, 0, 1);
        ahead += rewrite_all(o, MADV_NOHUGEPAGE, (size_t)8 << 20, 0);
        ahead += rewrite_all(o, MADV_HUGEPAGE, (size_t)16 << 20, 0);
    }
    assert_true(ahead > 0); /* in one way or another: whether the helper comes before a write is a race, each time */
}

static void test_order_of_pages(void **state)
{
    const size_t page = 4096, chunk = SK_CHUNK_BYTES;
    /* three chunks, the first and the last one in part; one within a chunk */
    struct sk_interval v[2] = {{10 * chunk + 3 * page, 12 * chunk + page},
                               {20 * chunk + page, 20 * chunk + 5 * page}},
                       run[SK_CHUNK_RUNS], b;
    struct sk_intervals in = {v, 2};
    struct sk_pages p;
    size_t i, seen = 0;
    uintptr_t a, end;
    assert_int_equal(sk_pages_init(&p, &in, page, NULL), 0);
    assert_int_equal(sk_pages_interval(&p, v[1].from), 1);
    assert_int_equal(sk_pages_interval(&p, v[1].to), 2);
    assert_int_equal(sk_pages_interval(&p, v[0].to), 2);
    /* a middle chunk in pieces: what is claimed is not claimed again */
    b = (struct sk_interval){11 * chunk + 8 * page, 11 * chunk + 10 * page};
    assert_int_equal(sk_pages_claim(&p, 0, b, run), 1);
    sk_pages_finish(&p, 0, run[0]);
    assert_int_equal(sk_pages_claim(&p, 0, b, run), 0);
    b = sk_pages_block(&p, 0, 11 * chunk, chunk);
    assert_int_equal(sk_pages_claim(&p, 0, b, run), 2);
    assert_int_equal(run[1].from, 11 * chunk + 10 * page);
    sk_pages_finish(&p, 0, run[0]);
    sk_pages_return(&p, 0, run[1]);
    a = b.from;
    assert_int_equal(sk_pages_run(&p, 0, &a, b.to, SK_PAGE_DONE, &end), 1);
    assert_true(a == b.from && end == 11 * chunk + 10 * page);
    /* backwards from the middle and around */
    static const uintptr_t order[] = {10, 20, 12, 11};
    sk_pages_aim(&p, 0, 11 * chunk, 1);
    while (sk_pages_next(&p, &i, &b)) {
        size_t n = sk_pages_claim(&p, i, b, run);
        assert_int_equal(n, 1);
        assert_int_equal(b.from / chunk, order[seen++]);
        sk_pages_finish(&p, i, run[0]);
    }
    assert_int_equal(seen, 4);
    for (i = 0; i < 2; i++)
        for (a = v[i].from; a < v[i].to; a += page)
            assert_int_equal(sk_pages_state(&p, i, a), SK_PAGE_DONE);
    sk_pages_free(&p);
    in.n = 0;
    assert_int_equal(sk_pages_init(&p, &in, page, NULL), 0);
    assert_int_equal(sk_pages_next(&p, &i, &b), 0);
    sk_pages_free(&p);
}

/* Blocks that are there in full come to huge pages, others stay as they are; no byte changes. */
static void test_huge_pages(void **state)
{
    const size_t blocks = 6, n = blocks * SK_CHUNK_BYTES;
    uint8_t *area = map_pages(n + 2 * SK_CHUNK_BYTES, MADV_NORMAL), *copy = malloc(n);
    uintptr_t from = sk_page_ceil((uintptr_t)area, SK_CHUNK_BYTES);
    uint8_t *p = (uint8_t *)from;
    struct sk_interval in[] = {{from + 4096, from + n}};
    struct sk_intervals v = {in, 1};
    atomic_int stop = 1;
    madvise(area, n + 2 * SK_CHUNK_BYTES, MADV_NOHUGEPAGE); /* small pages whatever the system's default is */
    for (size_t i = 0; i < n; i++)
        if (i / SK_CHUNK_BYTES != 2 || i % SK_CHUNK_BYTES < 4096) /* the third has a single page */
            p[i] = (uint8_t)(i * 7 + i / 4096);
    assert_non_null(copy);
    memcpy(copy, p, n); /* reads the pages that are not there */
    long got = sk_huge_collapse(&v, &stop);
    assert_true(got <= 0); /* stopped */
    stop = 0;
    assert_true(sk_huge_collapse(&v, &stop) <= 0); /* the program wants small pages */
    if (got == 0 && !madvise(area, n + 2 * SK_CHUNK_BYTES, MADV_HUGEPAGE)) {
        got = sk_huge_collapse(&v, &stop);
        print_message("%ld blocks in huge pages\n", got);
        assert_true(got <= 4); /* not the first, which begins before `in`, nor the third; fewer where memory is fragmented */
        assert_true(got < 4 || sk_huge_collapse(&v, &stop) == 0); /* they are there */
    }
    assert_memory_equal(p, copy, n);
    struct sk_interval gone[] = {{16 * SK_CHUNK_BYTES, 18 * SK_CHUNK_BYTES}}; /* nothing is mapped there */
    assert_true(sk_huge_collapse(&(struct sk_intervals){gone, 1}, &stop) <= 0);
    free(copy);
    munmap(area, n + 2 * SK_CHUNK_BYTES);
}

/* The thread that does it, when snapshots take long: it is stopped, or ends by itself, and the memory is the same. */
static void test_huge_thread(void **state)
{
    const size_t n = 8 * SK_CHUNK_BYTES;
    uint8_t *area = map_pages(n, MADV_NORMAL);
    struct sk_huge h = {0};
    memset(area, 3, n);
    for (int i = 0; i < 40; i++) {
        struct sk_intervals v = {malloc(sizeof *v.v), 1};
        assert_non_null(v.v);
        v.v[0] = (struct sk_interval){(uintptr_t)area, (uintptr_t)area + n};
        sk_huge_after(&h, v, i % 3 ? 1 : 1e-6);
        assert_true(i != 0 || !h.running); /* the first did not take long */
        if (i == 20)
            sk_huge_end(&h, 0);
    }
    assert_true(h.off || h.need > 2);
    sk_huge_end(&h, 0);
    assert_true(!h.running && !h.v.v);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(area[i], 3);
    munmap(area, n);
}

static void test_abort_and_errors(void **state)
{
    static const char *const names[] = {"uffd", "fork", "copy"};
    size_t n = (size_t)16 << 20;
    uint8_t *area = map_pages(n, MADV_NOHUGEPAGE);
    memset(area, 1, n);
    for (int k = 0; k < 3; k++) {
        if (sk_snapshot_find(names[k])->probe(NULL))
            continue;
        struct saved s = {.delay = 0.01, .calls_left = -1};
        struct saikai_error err = {0};
        add_piece(&s, area + 7, n - 7);
        struct sk_snapshot *snap = open_form(names[k], 0, 0);
        assert_int_equal(sk_snapshot_finish(snap, NULL, &err), SAIKAI_ESTATE);
        assert_int_equal(sk_snapshot_begin(snap, s.piece, 1, sink, &s, &err), 0);
        assert_int_equal(sk_snapshot_begin(snap, s.piece, 1, sink, &s, &err), SAIKAI_ESTATE);
        sk_snapshot_abort(snap);
        memset(area, k, n); /* no protection is left that nobody serves */
        s.delay = 0;
        s.calls_left = 2;
        assert_int_equal(sk_snapshot_begin(snap, s.piece, 1, sink, &s, &err), 0);
        assert_int_equal(sk_snapshot_finish(snap, NULL, &err), SAIKAI_ENOSPC);
        assert_string_equal(err.text, "the disk is full");
        s.calls_left = -1;
        remember(&s);
        assert_int_equal(sk_snapshot_begin(snap, s.piece, 1, sink, &s, &err), 0);
        memset(area, 77, n);
        assert_int_equal(sk_snapshot_finish(snap, NULL, &err), 0);
        check_saved(&s);
        s.delay = 0.01;
        assert_int_equal(sk_snapshot_begin(snap, s.piece, 1, sink, &s, &err), 0);
        sk_snapshot_close(snap); /* while it runs */
        memset(area, 78, n);
        assert_int_equal(waitpid(-1, NULL, __WALL), -1); /* no child is left */
        free_saved(&s);
    }
    munmap(area, n);
    assert_int_equal(sk_snapshot_open(&(struct sk_snapshot_options){.form = "magic"}, NULL, NULL),
                     SAIKAI_EINVAL);
    assert_int_equal(sk_snapshot_open(&(struct sk_snapshot_options){.pool_bytes = 1}, NULL, NULL),
                     SAIKAI_EINVAL);
    sk_snapshot_close(NULL);
}

static void test_pool_ring(void **state)
{
    uint8_t mem[100];
    struct sk_aside v[8];
    struct sk_pool p = {.mem = mem, .cap = sizeof mem, .v = v, .slots = 8};
    assert_ptr_equal(sk_pool_put(&p, 1, 40), mem);
    assert_ptr_equal(sk_pool_put(&p, 2, 40), mem + 40);
    assert_null(sk_pool_put(&p, 3, 30)); /* 20 are left at the end, none at the start */
    assert_ptr_equal(sk_pool_put(&p, 3, 10), mem + 80);
    sk_pool_drop_first(&p);
    assert_ptr_equal(sk_pool_put(&p, 4, 30), mem); /* wastes 10 at the end */
    assert_null(sk_pool_put(&p, 5, 11));
    for (uintptr_t k = 2; k <= 4; k++) {
        assert_int_equal(sk_pool_first(&p)->addr, k);
        sk_pool_drop_first(&p);
    }
    assert_null(sk_pool_first(&p));
    assert_ptr_equal(sk_pool_put(&p, 6, 100), mem);
    sk_pool_clear(&p);
    assert_ptr_equal(sk_pool_put(&p, 8, 50), mem);
    assert_ptr_equal(sk_pool_put(&p, 9, 50), mem + 50); /* to the very end */
    sk_pool_drop_first(&p);
    assert_ptr_equal(sk_pool_put(&p, 10, 50), mem);
    sk_pool_clear(&p);
    for (int i = 0; i < 8; i++)
        assert_non_null(sk_pool_put(&p, 7, 1));
    assert_null(sk_pool_put(&p, 7, 1)); /* no slot */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_ring),
        cmocka_unit_test(test_order_of_pages),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_uffd),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_rewriting_everything),
        cmocka_unit_test(test_full_pool),
        cmocka_unit_test(test_huge_pages),
        cmocka_unit_test(test_huge_thread),
        cmocka_unit_test(test_abort_and_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
