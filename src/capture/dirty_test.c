/* Trackers against a shadow: after each collect the shadow is brought up to date with the reported
 * ranges only; when nothing was missed it equals the memory. */
#include "capture/dirty.h"
#include "capture/kernel.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static uint64_t seed = 88172645463325252u;

static uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

#define MAX_REGIONS 8

struct world {
    struct sk_dirty *d;
    struct sk_ranges changed;
    uint8_t *addr[MAX_REGIONS], *shadow[MAX_REGIONS];
    size_t size[MAX_REGIONS];
};

static uint8_t *map_pages(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static int have_form(const char *form)
{
    return !sk_dirty_find(form)->probe(NULL);
}

static void open_world(struct world *w, const char *form)
{
    memset(w, 0, sizeof *w);
    struct saikai_error err = {0};
    struct sk_dirty_options opt = {.form = form, .trust_pages = 1};
    if (sk_dirty_open(&opt, &w->d, &err))
        fail_msg("%s", err.text);
}

static void set_region(struct world *w, uint32_t id, uint8_t *addr, size_t size)
{
    struct saikai_error err = {0};
    if (sk_dirty_add(w->d, id, addr, size, 0, &err))
        fail_msg("%s", err.text);
    w->addr[id] = addr;
    w->size[id] = size;
    free(w->shadow[id]);
    w->shadow[id] = malloc(size);
    assert_non_null(w->shadow[id]);
    memset(w->shadow[id], 0x5a, size);
}

static void drop_region(struct world *w, uint32_t id)
{
    sk_dirty_remove(w->d, id);
    free(w->shadow[id]);
    w->shadow[id] = NULL;
}

static void collect(struct world *w)
{
    struct saikai_error err = {0};
    if (sk_dirty_collect(w->d, &w->changed, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < w->changed.n; i++) {
        const struct sk_range *x = &w->changed.v[i];
        assert_true(x->offset + x->size_bytes <= w->size[x->region]);
        memcpy(w->shadow[x->region] + x->offset, w->addr[x->region] + x->offset, x->size_bytes);
    }
}

static void check_equal(const struct world *w)
{
    for (int i = 0; i < MAX_REGIONS; i++)
        if (w->shadow[i])
            assert_memory_equal(w->shadow[i], w->addr[i], w->size[i]);
}

static void close_world(struct world *w)
{
    sk_dirty_close(w->d);
    sk_ranges_free(&w->changed);
    for (int i = 0; i < MAX_REGIONS; i++)
        free(w->shadow[i]);
}

/* Write n random bytes by read(2): the kernel does the store. */
static void kernel_write(uint8_t *to, size_t n)
{
    int fd[2];
    uint8_t noise[4096];
    n = n < sizeof noise ? n : sizeof noise;
    for (size_t i = 0; i < n; i++)
        noise[i] = (uint8_t)next();
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(write(fd[1], noise, n), n);
    assert_int_equal(read(fd[0], to, n), n);
    close(fd[0]);
    close(fd[1]);
}

static void random_change(uint8_t *base, size_t size)
{
    size_t page = sk_page_size(), at = next() % size;
    size_t n = 1 + next() % (next() % 4 ? 64 : 5 * page);
    n = n < size - at ? n : size - at;
    uint8_t *p;
    switch (next() % 8) {
    case 0:
        kernel_write(base + at, n);
        break;
    case 1:
        p = (uint8_t *)sk_page_floor((uintptr_t)base + at, page);
        assert_int_equal(madvise(p, page, MADV_DONTNEED), 0);
        break;
    case 2: /* vanishes and comes back at the same address */
        p = (uint8_t *)sk_page_floor((uintptr_t)base + at, page);
        if (next() % 4 == 0)
            assert_true(mmap(p, page, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
        break;
    default:
        memset(base + at, (int)next(), n);
    }
}

/* Regions in one area: not aligned, overlapping, sharing pages, one inside the other. */
static void differential(const char *form)
{
    size_t size = (size_t)4 << 20;
    uint8_t *area = map_pages(size);
    struct world w;
    open_world(&w, form);
    set_region(&w, 0, area + 100, 700001);
    set_region(&w, 1, area + 500000, 900000);
    set_region(&w, 2, area + 700101, 3);
    set_region(&w, 3, area + 1400000, 2500000);
    set_region(&w, 4, area + 2000000, 50);
    set_region(&w, 5, area + size - 4097, 4097);
    collect(&w);
    assert_int_equal(w.changed.n, 6); /* the first report is everything */
    for (int round = 0; round < 120; round++) {
        for (uint64_t k = next() % 12; k--;)
            random_change(area, size);
        if (round % 16 == 7)
            drop_region(&w, 4);
        if (round % 16 == 9)
            set_region(&w, 4, area + 2000000, 50);
        if (round % 16 == 11)
            set_region(&w, 1, area + 500001, 900000 - (size_t)round);
        collect(&w);
        check_equal(&w);
    }
    collect(&w);
    assert_int_equal(w.changed.n, strcmp(form, "full") ? 0 : 5); /* region 4 is away */
    close_world(&w);
    munmap(area, size);
}

static void test_differential_uffd(void **state)
{
    if (!have_form("uffd"))
        skip();
    differential("uffd");
}

static void test_differential_hash(void **state)
{
    differential("hash");
}

static void test_differential_full(void **state)
{
    differential("full");
}

struct writer {
    uint8_t *p;
    size_t n;
    atomic_int stop;
    uint64_t x;
};

static void *write_on(void *arg)
{
    struct writer *w = arg;
    while (!atomic_load(&w->stop)) {
        w->x = w->x * 6364136223846793005u + 1442695040888963407u;
        size_t at = (w->x >> 20) % (w->n - 64);
        memset(w->p + at, (int)(w->x >> 56), 64);
    }
    return NULL;
}

/* Collects race with writers; a last one after they have ended must leave nothing out. */
static void race(const char *form, int advice)
{
    size_t size = (size_t)6 << 20;
    uint8_t *area = map_pages(size);
    madvise(area, size, advice);
    memset(area, 3, size);
    struct world w;
    open_world(&w, form);
    set_region(&w, 0, area + 11, size / 2);
    set_region(&w, 1, area + size / 2 + 11, size / 2 - 11);
    for (int round = 0; round < 8; round++) {
        struct writer writer = {.p = area, .n = size, .x = next()};
        pthread_t t;
        assert_int_equal(pthread_create(&t, NULL, write_on, &writer), 0);
        for (int i = 0; i < 15; i++)
            collect(&w);
        atomic_store(&writer.stop, 1);
        pthread_join(t, NULL);
        collect(&w);
        check_equal(&w);
    }
    close_world(&w);
    munmap(area, size);
}

static void test_writers_race_with_collects(void **state)
{
    race("hash", MADV_NOHUGEPAGE);
    if (!have_form("uffd"))
        skip();
    race("uffd", MADV_NOHUGEPAGE);
    race("uffd", MADV_HUGEPAGE);
}

static void test_realloc_and_mremap(void **state)
{
    struct world w;
    open_world(&w, NULL);
    size_t n = (size_t)3 << 20;
    uint8_t *p = malloc(n);
    assert_non_null(p);
    memset(p, 1, n);
    set_region(&w, 0, p, n);
    collect(&w);
    for (int i = 0; i < 6; i++) {
        size_t m = i % 2 ? n / 3 : 2 * n + (size_t)i * 5000;
        sk_dirty_remove(w.d, 0);
        uint8_t *q = realloc(p, m);
        assert_non_null(q);
        p = q;
        memset(p + m / 2, i, m / 2);
        set_region(&w, 0, p, m);
        collect(&w);
        check_equal(&w);
        p[m - 1] ^= 1;
        collect(&w);
        assert_true(sk_ranges_bytes(&w.changed) <= 2 * sk_page_size());
        check_equal(&w);
    }
    drop_region(&w, 0);
    free(p);
    /* moved behind the tracker's back, and something else put in its place */
    uint8_t *a = map_pages(n), *there = map_pages(n);
    memset(a, 7, n);
    set_region(&w, 1, a, n);
    collect(&w);
    assert_true(mremap(a, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, there) == there);
    assert_true(
        mmap(a, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == a);
    collect(&w);
    check_equal(&w);
    a[5] = 1;
    collect(&w);
    check_equal(&w);
    set_region(&w, 1, there, n);
    collect(&w);
    check_equal(&w);
    close_world(&w);
    munmap(a, n);
    munmap(there, n);
}

static void test_vanished_region_is_named(void **state)
{
    struct world w;
    open_world(&w, NULL);
    size_t n = 1 << 20;
    uint8_t *a = map_pages(n), *b = map_pages(n);
    set_region(&w, 1, a, n);
    set_region(&w, 2, b, n);
    collect(&w);
    a[0] = 1;
    munmap(b, n);
    struct saikai_error err = {0};
    assert_int_equal(sk_dirty_collect(w.d, &w.changed, &err), SAIKAI_ECHANGED);
    assert_non_null(strstr(err.text, "region 2"));
    drop_region(&w, 2);
    collect(&w); /* the change to region 1 is not lost */
    check_equal(&w);
    close_world(&w);
    munmap(a, n);
}

static void test_forked_child_tracks_for_itself(void **state)
{
    struct world w;
    open_world(&w, NULL);
    size_t n = 1 << 20;
    uint8_t *a = map_pages(n);
    set_region(&w, 0, a + 1, n - 1);
    collect(&w);
    a[5000] = 1; /* pending in the parent while the child collects */
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        struct sk_ranges r = {0};
        int ok = !sk_dirty_collect(w.d, &r, NULL) && sk_ranges_bytes(&r) == n - 1;
        a[9000] = 2;
        ok = ok && !sk_dirty_collect(w.d, &r, NULL) && r.n == 1 && r.v[0].offset <= 8999 &&
             sk_ranges_bytes(&r) <= sk_page_size();
        sk_ranges_free(&r);
        sk_dirty_close(w.d);
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    collect(&w);
    assert_int_equal(w.changed.n, 1);
    assert_true(w.changed.v[0].offset <= 4999 && sk_ranges_bytes(&w.changed) <= sk_page_size());
    check_equal(&w);
    memset(a + 20000, 3, 50); /* copy-on-write after the fork is seen */
    collect(&w);
    check_equal(&w);
    close_world(&w);
    munmap(a, n);
}

static void test_shared_memory_is_hashed(void **state)
{
    struct world w;
    open_world(&w, NULL);
    size_t n = 1 << 16;
    int fd = memfd_create("saikai-test", MFD_CLOEXEC);
    assert_true(fd >= 0 && !ftruncate(fd, (off_t)n));
    uint8_t *a = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint8_t *other = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(a != MAP_FAILED && other != MAP_FAILED);
    set_region(&w, 0, a, n);
    assert_string_equal(sk_dirty_form(w.d, 0), "hash");
    collect(&w);
    other[777] = 1; /* not through the region's own pages */
    collect(&w);
    assert_int_equal(w.changed.n, 1);
    check_equal(&w);
    struct saikai_error err = {0};
    uint8_t *b = map_pages(n);
    assert_int_equal(sk_dirty_add(w.d, 1, b, n, SK_DIRTY_HASH, &err), 0);
    assert_string_equal(sk_dirty_form(w.d, 1), "hash");
    assert_null(sk_dirty_form(w.d, 2));
    sk_dirty_remove(w.d, 1);
    munmap(b, n);
    close_world(&w);
    munmap(a, n);
    munmap(other, n);
    close(fd);
}

static uint8_t initialised[100000] = {1};
static uint8_t zeroed[100000];

static void test_static_arrays(void **state)
{
    struct world w;
    open_world(&w, NULL);
    set_region(&w, 0, initialised, sizeof initialised);
    set_region(&w, 1, zeroed, sizeof zeroed);
    collect(&w);
    check_equal(&w);
    for (int i = 0; i < 30; i++) {
        initialised[next() % sizeof initialised]++;
        zeroed[next() % sizeof zeroed]++;
        collect(&w);
        check_equal(&w);
    }
    close_world(&w);
}

static void test_unsaved_ranges_come_back(void **state)
{
    struct world w;
    open_world(&w, NULL);
    size_t n = 1 << 20;
    uint8_t *a = map_pages(n);
    set_region(&w, 0, a, n);
    collect(&w);
    a[70000] = 1;
    struct sk_ranges lost = {0};
    assert_int_equal(sk_dirty_collect(w.d, &lost, NULL), 0);
    assert_int_equal(lost.n, 1);
    sk_dirty_return(w.d, &lost);
    a[200000] = 1;
    collect(&w);
    assert_int_equal(w.changed.n, 2);
    check_equal(&w);
    collect(&w);
    assert_int_equal(w.changed.n, 0);
    sk_dirty_forget(w.d, UINT32_MAX);
    collect(&w);
    assert_int_equal(sk_ranges_bytes(&w.changed), n);
    sk_ranges_free(&lost);
    close_world(&w);
    munmap(a, n);
}

static void test_bad_arguments(void **state)
{
    struct sk_dirty *d = NULL;
    struct saikai_error err = {0};
    assert_int_equal(sk_dirty_open(&(struct sk_dirty_options){.form = "guess"}, &d, &err),
                     SAIKAI_EINVAL);
    assert_int_equal(sk_dirty_open(&(struct sk_dirty_options){.block_bytes = 100}, &d, &err),
                     SAIKAI_EINVAL);
    assert_null(d);
    assert_int_equal(sk_dirty_open(NULL, &d, &err), 0);
    assert_int_equal(sk_dirty_add(d, 0, NULL, 5, 0, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_dirty_add(d, 0, &err, 0, 0, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_dirty_add(d, 0, &err, SIZE_MAX, 0, &err), SAIKAI_EINVAL);
    sk_dirty_close(d);
    sk_dirty_close(NULL);
}

static void test_ranges(void **state)
{
    struct sk_ranges r = {0};
    sk_ranges_add(&r, 2, 10, 5);
    sk_ranges_add(&r, 1, 100, 10);
    sk_ranges_add(&r, 1, 90, 10);
    sk_ranges_add(&r, 1, 105, 100);
    sk_ranges_add(&r, 2, 40, 1);
    sk_ranges_add(&r, 2, 12, 5);
    sk_ranges_add(&r, 3, 0, 0);
    sk_ranges_normalise(&r);
    assert_int_equal(r.n, 3);
    assert_int_equal(r.v[0].offset, 90);
    assert_int_equal(r.v[0].size_bytes, 115);
    assert_int_equal(r.v[1].size_bytes, 7);
    assert_int_equal(sk_ranges_bytes(&r), 123);
    sk_ranges_join(&r, 23);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.v[1].size_bytes, 31);
    sk_ranges_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_differential_full),
        cmocka_unit_test(test_differential_hash),
        cmocka_unit_test(test_differential_uffd),
        cmocka_unit_test(test_writers_race_with_collects),
        cmocka_unit_test(test_realloc_and_mremap),
        cmocka_unit_test(test_vanished_region_is_named),
        cmocka_unit_test(test_forked_child_tracks_for_itself),
        cmocka_unit_test(test_shared_memory_is_hashed),
        cmocka_unit_test(test_static_arrays),
        cmocka_unit_test(test_unsaved_ranges_come_back),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
