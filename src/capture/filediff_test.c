/* Differences of edited, equal, tiny and real files give the new file back. Damage is noticed, and
 * failing input or output leaves nothing half done. */
#include "base/io.h"
#include "capture/filediff.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static uint64_t seed = 521288629u;
static char dir[64];

static uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

struct bytes {
    uint8_t *p;
    size_t n, cap;
};

static int put(void *arg, const void *data, size_t n, struct saikai_error *err)
{
    struct bytes *b = arg;
    if (b->n + n > b->cap) {
        b->cap = 2 * (b->n + n);
        b->p = realloc(b->p, b->cap);
        assert_non_null(b->p);
    }
    memcpy(b->p + b->n, data, n);
    b->n += n;
    return 0;
}

static struct sk_filediff_stats round_trip(const uint8_t *old, size_t old_n, const uint8_t *fresh,
                                           size_t new_n, const struct sk_filediff_options *opt)
{
    struct sk_bytes a = {old, old_n}, b = {fresh, new_n};
    struct sk_source from = sk_source_memory(&a), to = sk_source_memory(&b);
    struct bytes diff = {0}, got = {0};
    struct sk_filediff_stats stats = {0};
    struct saikai_error err = {0};
    if (sk_filediff_encode(&from, &to, opt, put, &diff, &stats, &err))
        fail_msg("%s", err.text);
    assert_int_equal(stats.diff_bytes, diff.n);
    struct sk_bytes d = {diff.p, diff.n};
    struct sk_source by = sk_source_memory(&d);
    if (sk_filediff_decode(&from, &by, put, &got, &err))
        fail_msg("%s", err.text);
    assert_int_equal(got.n, new_n);
    if (new_n)
        assert_memory_equal(got.p, fresh, new_n);
    free(diff.p);
    free(got.p);
    return stats;
}

static uint8_t *noise(size_t n)
{
    uint8_t *p = malloc(n + 1);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(next() >> 17);
    return p;
}

/* Edit as a program does between two checkpoints: changed values, insertions, removals, moved and
 * repeated parts. */
static uint8_t *edited(const uint8_t *old, size_t n, size_t *new_n)
{
    struct bytes b = {0};
    size_t at = 0;
    while (at < n) {
        size_t part = 1 + next() % (n / 8 + 1);
        part = part < n - at ? part : n - at;
        uint8_t *fresh = noise(200);
        switch (next() % 6) {
        case 0:
            put(&b, fresh, next() % 200, NULL);
            break;
        case 1:
            at += part / 4;
            break;
        case 2:
            put(&b, old + next() % (n - part + 1), part, NULL);
            break;
        default:
            put(&b, old + at, part, NULL);
            at += part;
            if (b.n > 300)
                memcpy(b.p + next() % (b.n - 200), fresh, next() % 100);
        }
        free(fresh);
    }
    put(&b, old, 1, NULL);
    *new_n = b.n;
    return b.p;
}

static void test_edited_files(void **state)
{
    for (int round = 0; round < 60; round++) {
        size_t n = 1 + next() % (round % 10 ? 20000 : 9000000), m;
        uint8_t *old = noise(n), *fresh = edited(old, n, &m);
        struct sk_filediff_options opt = {.block_bytes = (size_t)16 << next() % 6,
                                          .index_bytes = (size_t)65536 << next() % 8};
        round_trip(old, n, fresh, m, &opt);
        round_trip(fresh, m, old, n, NULL);
        free(old);
        free(fresh);
    }
}

static void test_small_and_equal_files(void **state)
{
    size_t n = 3000000;
    uint8_t *p = noise(n);
    for (size_t k = 0; k < 40; k++) {
        round_trip(p, k, p + 100, 40 - k, NULL);
        round_trip(p, k, p, k, NULL);
    }
    struct sk_filediff_stats s = round_trip(p, n, p, n, NULL);
    assert_int_equal(s.copies, 1);
    assert_true(s.diff_bytes < 64);
    s = round_trip(p, n, p + 1000, n - 1000, NULL); /* shifted */
    assert_true(s.diff_bytes < 100);
    uint8_t *q = malloc(n + 1); /* one byte more in the middle */
    assert_non_null(q);
    memcpy(q, p, n / 2);
    q[n / 2] = 7;
    memcpy(q + n / 2 + 1, p + n / 2, n - n / 2);
    s = round_trip(p, n, q, n + 1, NULL);
    assert_true(s.diff_bytes < 100);
    free(q);
    memset(p, 0, n);
    s = round_trip(p, n, p, n / 2, NULL);
    assert_true(s.diff_bytes < 64);
    free(p);
}

static void test_changed_values_keep_their_place(void **state)
{
    /* one value of 8 bytes in each 64: too dense for blocks, found by going on in place */
    size_t n = 640000;
    uint8_t *a = noise(n), *b = malloc(n);
    assert_non_null(b);
    memcpy(b, a, n);
    for (size_t i = 0; i < n; i += 64)
        for (int k = 0; k < 8; k++)
            b[i + (size_t)k] = (uint8_t)~a[i + (size_t)k];
    struct sk_filediff_stats s = round_trip(a, n, b, n, NULL);
    assert_int_equal(s.copied_bytes, n / 64 * 56);
    free(a);
    free(b);
}

static void test_damage_is_noticed(void **state)
{
    size_t n = 2000, m;
    uint8_t *old = noise(n), *fresh = edited(old, n, &m);
    struct sk_bytes a = {old, n}, b = {fresh, m};
    struct sk_source from = sk_source_memory(&a), to = sk_source_memory(&b);
    struct bytes diff = {0}, got = {0};
    assert_int_equal(sk_filediff_encode(&from, &to, NULL, put, &diff, NULL, NULL), 0);
    for (size_t i = 0; i < diff.n; i++) {
        struct sk_bytes d = {diff.p, diff.n};
        struct sk_source by = sk_source_memory(&d);
        struct saikai_error err = {0};
        diff.p[i] ^= (uint8_t)(1 << next() % 8);
        got.n = 0;
        int rc = sk_filediff_decode(&from, &by, put, &got, &err);
        assert_true(rc == SAIKAI_EDAMAGED || rc == SAIKAI_EFORMAT);
        free(diff.p);
        diff = (struct bytes){0};
        assert_int_equal(sk_filediff_encode(&from, &to, NULL, put, &diff, NULL, NULL), 0);
        d = (struct sk_bytes){diff.p, i};
        by = sk_source_memory(&d);
        assert_true(sk_filediff_decode(&from, &by, put, &got, &err) < 0);
    }
    struct sk_bytes d = {diff.p, diff.n};
    struct sk_source by = sk_source_memory(&d);
    struct saikai_error err = {0};
    old[7] ^= 1;
    assert_int_equal(sk_filediff_decode(&from, &by, put, &got, &err), SAIKAI_EINVAL);
    a.n--;
    from = sk_source_memory(&a);
    assert_int_equal(sk_filediff_decode(&from, &by, put, &got, &err), SAIKAI_EINVAL);
    free(old);
    free(fresh);
    free(diff.p);
    free(got.p);
}

static int make_dir(void **state)
{
    strcpy(dir, "/tmp/saikai-filediff-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    return sk_io_rmtree(dir, NULL);
}

static int fail_at;
static int failing_hook(const char *op, const char *path)
{
    return fail_at-- == 0 ? 5 : 0;
}

static void test_files_fail_at_every_step(void **state)
{
    char old[128], fresh[128], diff[128], back[128];
    snprintf(old, sizeof old, "%s/old", dir);
    snprintf(fresh, sizeof fresh, "%s/new", dir);
    snprintf(diff, sizeof diff, "%s/diff", dir);
    snprintf(back, sizeof back, "%s/back", dir);
    size_t n = 300000, m;
    uint8_t *p = noise(n), *q = edited(p, n, &m);
    assert_int_equal(sk_io_replace(old, p, n, NULL), 0);
    assert_int_equal(sk_io_replace(fresh, q, m, NULL), 0);
    sk_io_hook = failing_hook;
    int rc, steps = 0;
    do {
        struct saikai_error err = {0};
        fail_at = steps++;
        rc = sk_filediff_create(old, fresh, diff, NULL, NULL, &err);
        assert_true(!rc || err.text[0]);
        assert_true(steps < 1000);
    } while (rc);
    assert_true(steps > 6);
    steps = 0;
    do {
        fail_at = steps++;
        rc = sk_filediff_apply(old, diff, back, NULL);
        fail_at = -1;
        void *data = NULL;
        size_t got;
        if (!sk_io_slurp(back, (size_t)1 << 30, &data, &got, NULL)) {
            assert_int_equal(got, m); /* complete or not there */
            assert_memory_equal(data, q, m);
        } else {
            assert_int_not_equal(rc, 0);
        }
        free(data);
        assert_true(steps < 1000);
    } while (rc);
    sk_io_hook = NULL;
    struct saikai_error err = {0};
    assert_int_equal(sk_filediff_apply(fresh, diff, back, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, diff));
    free(p);
    free(q);
}

/* Consecutive checkpoints of real programs. */
static void real_pair(const char *old, const char *fresh, struct sk_filediff_stats *sum)
{
    char diff[128], back[128];
    struct sk_filediff_stats s;
    struct saikai_error err = {0};
    snprintf(diff, sizeof diff, "%s/diff", dir);
    snprintf(back, sizeof back, "%s/back", dir);
    if (sk_filediff_create(old, fresh, diff, NULL, &s, &err) ||
        sk_filediff_apply(old, diff, back, &err))
        fail_msg("%s", err.text);
    void *a = NULL, *b = NULL;
    size_t n, m;
    assert_int_equal(sk_io_slurp(fresh, (size_t)1 << 30, &a, &n, NULL), 0);
    assert_int_equal(sk_io_slurp(back, (size_t)1 << 30, &b, &m, NULL), 0);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    assert_true(s.diff_bytes <= n + n / 1000 + 64);
    free(a);
    free(b);
    sum->new_bytes += s.new_bytes;
    sum->diff_bytes += s.diff_bytes;
}

static void test_real_checkpoints(void **state)
{
    static const struct {
        const char *name, *old, *fresh; /* folders; or prefixes of the last part of the name */
    } sets[] = {
        {"lammps_lj_np4_mpich", "50", "100"},
        {"mitgcm_cs32_np12", "step10", "step20"},
        {"nicam_gl05", "step24", "step36"},
        {"ramses_sedov3d_np16", "output_00002", "output_00003"},
    };
    const char *data = getenv("SAIKAI_DATA");
    int seen = 0;
    for (size_t i = 0; data && *data && i < sizeof sets / sizeof *sets; i++) {
        char old[1024], fresh[1024], sub[700];
        int folders = i > 0;
        snprintf(sub, sizeof sub, "%s/checkpoints/%s%s%s", data, sets[i].name, folders ? "/" : "",
                 folders ? sets[i].old : "");
        DIR *d = opendir(sub);
        struct sk_filediff_stats sum = {0};
        for (struct dirent *e; d && (e = readdir(d));) {
            char name[256];
            snprintf(name, sizeof name, "%s", e->d_name);
            char *at = strstr(name, folders ? "0000000010" : ".50");
            snprintf(old, sizeof old, "%s/%s", sub, e->d_name);
            if (*name == '.' || (!folders && !at))
                continue;
            if (folders) {
                if (at)
                    at[8] = '2';
                else if ((at = strstr(name, "_00002")))
                    at[5] = '3';
                else if ((at = strstr(name, ".pe")))
                    snprintf(name, sizeof name, "restart_b%s", strstr(e->d_name, ".pe"));
                snprintf(fresh, sizeof fresh, "%s/checkpoints/%s/%s/%s", data, sets[i].name,
                         sets[i].fresh, name);
                if (access(fresh, R_OK))
                    continue;
            } else {
                snprintf(fresh, sizeof fresh, "%s/%.*s.100", sub, (int)(at - name), name);
            }
            real_pair(old, fresh, &sum);
        }
        if (d)
            closedir(d);
        if (!sum.new_bytes)
            continue;
        seen = 1;
        print_message("%-22s %9llu bytes, difference %9llu: %.1f %% less\n", sets[i].name,
                      (unsigned long long)sum.new_bytes, (unsigned long long)sum.diff_bytes,
                      100 - 100 * (double)sum.diff_bytes / (double)sum.new_bytes);
    }
    if (!seen)
        skip();
}

static int write_corpus(const char *path)
{
    uint8_t old[5000];
    uint64_t x = 1;
    for (size_t i = 0; i < sizeof old; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        old[i] = (uint8_t)(x >> 56);
    }
    for (int k = 0; k < 4; k++) {
        size_t m;
        uint8_t *fresh = edited(old, sizeof old, &m);
        struct sk_bytes a = {old, sizeof old}, b = {fresh, k ? m : 0};
        struct sk_source from = sk_source_memory(&a), to = sk_source_memory(&b);
        struct bytes diff = {0};
        char name[4096];
        if (sk_filediff_encode(&from, &to, NULL, put, &diff, NULL, NULL) ||
            sk_io_path(name, sizeof name, NULL, "%s/diff%d", path, k) ||
            sk_io_replace(name, diff.p, diff.n, NULL))
            return 1;
        free(diff.p);
        free(fresh);
    }
    return 0;
}

int main(void)
{
    const char *corpus = getenv("SAIKAI_WRITE_CORPUS");
    if (corpus)
        return write_corpus(corpus);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edited_files),
        cmocka_unit_test(test_small_and_equal_files),
        cmocka_unit_test(test_changed_values_keep_their_place),
        cmocka_unit_test(test_damage_is_noticed),
        cmocka_unit_test(test_files_fail_at_every_step),
        cmocka_unit_test(test_real_checkpoints),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
