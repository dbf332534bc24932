/* A base and its chain of deltas give the memory back at every length. Wrong chains, flipped bits
 * and bad input are refused, and tightened ranges leave out nothing. */
#include "base/file/io.h"
#include "capture/delta.h"
#include "capture/dirty.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t seed = 362436069u;

static uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

#define REGIONS 4
#define MOST    40000

/* The program's side: memory and a tracker. */
struct program {
    struct sk_memory v[REGIONS];
    struct sk_dirty *d;
};

static void resize(struct program *p, int i, size_t n)
{
    sk_dirty_remove(p->d, p->v[i].id);
    p->v[i].addr = realloc(p->v[i].addr, n);
    assert_non_null(p->v[i].addr);
    p->v[i].size_bytes = n;
    memset(p->v[i].addr, (int)next(), n);
    assert_int_equal(sk_dirty_add(p->d, p->v[i].id, p->v[i].addr, n, 0, NULL), 0);
}

static void start(struct program *p)
{
    memset(p, 0, sizeof *p);
    struct sk_dirty_options opt = {.form = "hash", .block_bytes = 64};
    assert_int_equal(sk_dirty_open(&opt, &p->d, NULL), 0);
    for (int i = 0; i < REGIONS; i++) {
        p->v[i].id = (uint32_t)(10 * i + 1);
        resize(p, i, 1 + next() % MOST);
    }
}

static void end(struct program *p)
{
    sk_dirty_close(p->d);
    for (int i = 0; i < REGIONS; i++)
        free(p->v[i].addr);
}

static void change(struct program *p)
{
    for (uint64_t k = next() % 20; k--;) {
        struct sk_memory *m = &p->v[next() % REGIONS];
        size_t at = next() % m->size_bytes, n = 1 + next() % 300;
        memset(m->addr + at, (int)next(), n < m->size_bytes - at ? n : m->size_bytes - at);
    }
    if (next() % 8 == 0)
        resize(p, (int)(next() % REGIONS), 1 + next() % MOST);
}

struct block {
    void *data;
    size_t size;
    struct sk_delta d;
};

static struct block save(struct program *p, uint64_t *state)
{
    struct sk_ranges r = {0};
    struct saikai_error err = {0};
    struct block b = {0};
    assert_int_equal(sk_dirty_collect(p->d, &r, &err), 0);
    b.size = sk_delta_size(REGIONS, &r);
    b.data = malloc(b.size);
    assert_non_null(b.data);
    if (sk_delta_encode(*state, p->v, REGIONS, &r, b.data, b.size, state, &err))
        fail_msg("%s", err.text);
    if (sk_delta_open(b.data, b.size, &b.d, &err))
        fail_msg("%s", err.text);
    assert_true(b.d.to == *state);
    assert_true(b.d.size_bytes == b.size);
    sk_ranges_free(&r);
    return b;
}

/* Copies of the base's regions, enlarged or shrunk to what the program has now, as a restart has
 * them. */
static void restore_and_compare(const struct program *p, const struct program *base,
                                const struct sk_delta *chain, size_t n, uint64_t base_state)
{
    struct sk_memory v[REGIONS];
    for (int i = 0; i < REGIONS; i++) {
        v[i] = p->v[i];
        v[i].addr = malloc(v[i].size_bytes);
        assert_non_null(v[i].addr);
        memset(v[i].addr, 0xee, v[i].size_bytes);
        if (base->v[i].size_bytes == v[i].size_bytes)
            memcpy(v[i].addr, base->v[i].addr, v[i].size_bytes);
    }
    struct saikai_error err = {0};
    uint64_t to = 0;
    if (sk_delta_apply(chain, n, base_state, base->v, REGIONS, v, REGIONS, &to, &err))
        fail_msg("%s", err.text);
    assert_true(to == chain[n - 1].to);
    for (int i = 0; i < REGIONS; i++) {
        assert_memory_equal(v[i].addr, p->v[i].addr, v[i].size_bytes);
        free(v[i].addr);
    }
}

static void copy_program(struct program *to, const struct program *p)
{
    memset(to, 0, sizeof *to);
    for (int i = 0; i < REGIONS; i++) {
        to->v[i] = p->v[i];
        to->v[i].addr = malloc(p->v[i].size_bytes);
        assert_non_null(to->v[i].addr);
        memcpy(to->v[i].addr, p->v[i].addr, p->v[i].size_bytes);
    }
}

/* base + chain is the memory, at every length of the chain, folded in the middle or whole. */
static void test_chains_give_the_memory_back(void **state)
{
    for (int round = 0; round < 30; round++) {
        struct program p, base;
        struct block chain[12];
        struct sk_delta views[12];
        struct sk_ranges all = {0};
        uint64_t at = 4711;
        start(&p);
        assert_int_equal(sk_dirty_collect(p.d, &all, NULL), 0);
        copy_program(&base, &p);
        size_t n = 1 + next() % 12;
        for (size_t i = 0; i < n; i++) {
            change(&p);
            chain[i] = save(&p, &at);
            views[i] = chain[i].d;
            restore_and_compare(&p, &base, views, i + 1, 4711);
        }
        size_t from = next() % n, count = 1 + next() % (n - from);
        void *folded;
        size_t size;
        struct saikai_error err = {0};
        if (sk_delta_fold(views + from, count, &folded, &size, &err))
            fail_msg("%s", err.text);
        struct sk_delta f;
        assert_int_equal(sk_delta_open(folded, size, &f, &err), 0);
        assert_true(f.from == views[from].from && f.to == views[from + count - 1].to);
        views[from] = f;
        memmove(views + from + 1, views + from + count, (n - from - count) * sizeof *views);
        restore_and_compare(&p, &base, views, n - count + 1, 4711);
        free(folded);
        for (size_t i = 0; i < n; i++)
            free(chain[i].data);
        sk_ranges_free(&all);
        end(&base);
        end(&p);
    }
}

static void test_wrong_chains_are_refused(void **state)
{
    struct program p, base;
    uint64_t at = 1, to = 99;
    start(&p);
    struct block first = save(&p, &at);
    copy_program(&base, &p);
    p.v[0].addr[0] ^= 1;
    struct block b = save(&p, &at);
    p.v[1].addr[0] ^= 1;
    struct block c = save(&p, &at);
    struct saikai_error err = {0};
    struct sk_delta swapped[2] = {c.d, b.d};
    assert_int_equal(
        sk_delta_apply(swapped, 2, first.d.to, base.v, REGIONS, base.v, REGIONS, &to, &err),
        SAIKAI_EINVAL);
    assert_int_equal(sk_delta_apply(&b.d, 1, 5, base.v, REGIONS, base.v, REGIONS, &to, &err),
                     SAIKAI_EINVAL);
    assert_int_equal(
        sk_delta_apply(&b.d, 1, first.d.to, base.v, REGIONS, base.v, REGIONS - 1, &to, &err),
        SAIKAI_ECHANGED);
    /* a base that lacks a region: the delta does not hold all of it */
    assert_int_equal(
        sk_delta_apply(&b.d, 1, first.d.to, base.v, REGIONS - 1, base.v, REGIONS, &to, &err),
        SAIKAI_EDAMAGED);
    assert_int_equal(sk_delta_fold(swapped, 2, &first.data, &first.size, &err), SAIKAI_EINVAL);
    assert_int_equal(to, 99);
    assert_int_equal(base.v[0].addr[0] ^ 1, p.v[0].addr[0]); /* nothing was changed */
    free(first.data);
    free(b.data);
    free(c.data);
    end(&base);
    end(&p);
}

static void test_every_flipped_bit_is_noticed(void **state)
{
    struct program p;
    uint64_t at = 1;
    start(&p);
    free(save(&p, &at).data);
    memset(p.v[0].addr, 1, 1);
    memset(p.v[2].addr + p.v[2].size_bytes - 1, 0x77, 1);
    struct block b = save(&p, &at);
    uint8_t *bytes = b.data;
    for (size_t i = 0; i < b.size; i++)
        for (int bit = 0; bit < 8; bit++) {
            struct sk_delta d;
            struct saikai_error err = {0};
            bytes[i] ^= (uint8_t)(1 << bit);
            assert_true(sk_delta_open(bytes, b.size, &d, &err) || sk_delta_check_payload(&d, &err));
            assert_true(err.code == SAIKAI_EDAMAGED || err.code == SAIKAI_EFORMAT);
            bytes[i] ^= (uint8_t)(1 << bit);
        }
    for (size_t n = 0; n < b.size; n++) {
        struct sk_delta d;
        assert_true(sk_delta_open(bytes, n, &d, NULL) < 0);
    }
    free(b.data);
    end(&p);
}

/* For a container, whose chunks have checksums: the tables are sealed, and nobody takes the payload for checked. */
static void test_tables_sealed_alone(void **state)
{
    uint8_t memory[1000], out[2000], *payload;
    struct sk_memory m = {3, memory, sizeof memory};
    struct sk_ranges r = {0};
    struct sk_delta d;
    memset(memory, 5, sizeof memory);
    sk_ranges_add(&r, 3, 100, 200);
    assert_int_equal(sk_delta_start(0, &m, 1, &r, out, sizeof out, &payload, NULL), 0);
    memcpy(payload, memory + 100, 200);
    sk_delta_set_from(out, 77);
    sk_delta_seal_tables(out);
    size_t n = sk_delta_size(1, &r);
    assert_int_equal(sk_delta_open(out, n, &d, NULL), 0);
    assert_true(d.from == 77 && d.payload_bytes == 200 && !memcmp(d.payload, memory + 100, 200));
    assert_int_equal(sk_delta_check_payload(&d, NULL), SAIKAI_EDAMAGED);
    out[60] ^= 1;
    assert_int_equal(sk_delta_open(out, n, &d, NULL), SAIKAI_EDAMAGED);
    sk_ranges_free(&r);
}

static void test_bad_input(void **state)
{
    uint8_t bytes[100] = {0}, out[1000];
    uint64_t to = 0;
    struct saikai_error err = {0};
    struct sk_memory v[] = {{1, bytes, 100}, {2, bytes, 50}}, unsorted[] = {v[1], v[0]};
    struct sk_range outside[] = {{1, 90, 11}}, twice[] = {{1, 0, 10}, {1, 9, 10}},
                    alien[] = {{3, 0, 1}};
    struct sk_ranges r = {outside, 1, 1, 0};
    assert_int_equal(sk_delta_encode(1, v, 2, &r, out, sizeof out, &to, &err), SAIKAI_EINVAL);
    r = (struct sk_ranges){twice, 2, 2, 0};
    assert_int_equal(sk_delta_encode(1, v, 2, &r, out, sizeof out, &to, &err), SAIKAI_EINVAL);
    r = (struct sk_ranges){alien, 1, 1, 0};
    assert_int_equal(sk_delta_encode(1, v, 2, &r, out, sizeof out, &to, &err), SAIKAI_EINVAL);
    r.n = 0;
    assert_int_equal(sk_delta_encode(1, unsorted, 2, &r, out, sizeof out, &to, &err),
                     SAIKAI_EINVAL);
    assert_int_equal(sk_delta_encode(1, v, 2, &r, out, sk_delta_size(2, &r) - 1, &to, &err),
                     SAIKAI_ENOSPC);
    struct sk_range huge[] = {{1, 0, UINT64_MAX}, {2, 0, UINT64_MAX}};
    r = (struct sk_ranges){huge, 2, 2, 0};
    assert_true(sk_delta_size(2, &r) == SIZE_MAX);
    assert_int_equal(to, 0);
}

/* What is left out is equal, what is named includes every difference, and gaps are at least as long
 * as asked for. */
static void test_tightened_ranges(void **state)
{
    for (int round = 0; round < 300; round++) {
        uint8_t a[3000], b[3000], image[3000];
        size_t n = 1 + next() % sizeof a;
        for (size_t i = 0; i < n; i++)
            a[i] = b[i] = (uint8_t)next();
        for (uint64_t k = next() % 30; k--;)
            b[next() % n] ^= (uint8_t)(1 + next() % 255);
        struct sk_range v[] = {{7, 0, n / 3}, {7, n / 2, n - n / 2}};
        struct sk_ranges in = {v, 2, 2, 0}, out = {0};
        struct sk_memory now = {7, b, n}, before = {7, a, n}, other = {7, a, n + 1};
        if (!v[0].size_bytes)
            in = (struct sk_ranges){v + 1, 1, 1, 0};
        assert_int_equal(sk_delta_tighten(&now, 1, &before, 1, &in, &out, NULL), 0);
        memcpy(image, a, n);
        for (size_t i = 0; i < out.n; i++) {
            uint64_t at = out.v[i].offset, end = at + out.v[i].size_bytes;
            assert_true(end <= n && a[at] != b[at] && a[end - 1] != b[end - 1]);
            uint64_t equal = 0; /* a run of 63 equal bytes has a whole cell in it */
            for (uint64_t k = at; k < end; k++) {
                equal = a[k] == b[k] ? equal + 1 : 0;
                assert_true(equal < 63);
            }
            memcpy(image + at, b + at, (size_t)(end - at));
        }
        for (size_t i = 0; i < in.n; i++)
            assert_memory_equal(image + in.v[i].offset, b + in.v[i].offset, in.v[i].size_bytes);
        assert_int_equal(sk_delta_tighten(&now, 1, &other, 1, &in, &out, NULL), 0);
        assert_int_equal(sk_ranges_bytes(&out), sk_ranges_bytes(&in));
        v[1].size_bytes++;
        assert_int_equal(sk_delta_tighten(&now, 1, &before, 1, &in, &out, NULL), SAIKAI_EINVAL);
        sk_ranges_free(&out);
    }
}

static void test_chains_are_bounded(void **state)
{
    assert_false(sk_delta_base_is_due(NULL, 15, 10, 10, 100));
    assert_true(sk_delta_base_is_due(NULL, 16, 10, 10, 100));
    assert_true(sk_delta_base_is_due(NULL, 2, 60, 41, 100));
    struct sk_delta_limits limits = {.max_deltas = 3, .max_ratio = 0.5};
    assert_true(sk_delta_base_is_due(&limits, 1, 30, 30, 100));
    assert_true(sk_delta_base_is_due(&limits, 3, 0, 0, 100));
    assert_false(sk_delta_base_is_due(&limits, 2, 25, 25, 100));
}

static int write_corpus(const char *dir)
{
    struct program p;
    uint64_t at = 1;
    start(&p);
    for (int i = 0; i < REGIONS; i++)
        resize(&p, i, 200 + 90 * (size_t)i);
    int rc = 0;
    for (int i = 0; !rc && i < 4; i++) {
        struct block b = save(&p, &at);
        char path[4096];
        rc = sk_io_path(path, sizeof path, NULL, "%s/delta%d", dir, i);
        if (!rc)
            rc = sk_io_replace(path, b.data, b.size, NULL);
        free(b.data);
        change(&p);
    }
    end(&p);
    return rc ? 1 : 0;
}

int main(void)
{
    const char *corpus = getenv("SAIKAI_WRITE_CORPUS");
    if (corpus)
        return write_corpus(corpus);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains_give_the_memory_back),
        cmocka_unit_test(test_wrong_chains_are_refused),
        cmocka_unit_test(test_every_flipped_bit_is_noticed),
        cmocka_unit_test(test_tables_sealed_alone),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_tightened_ranges),
        cmocka_unit_test(test_chains_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
