/* Containers that lie somewhere else than in a file of their own, sealing into too much or too little room, and what a container that was opened
 * says of damage. */
#include "store/form/coded.h"
#include "store/form/container.h"
#include "store/form/container_parts.h"

#include "base/file/io.h"
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

static char dir[64], path[96];

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-container-XXXXXX");
    snprintf(path, sizeof path, "%s/c.skc", mkdtemp(dir) ? dir : "/nowhere");
    return access(dir, W_OK);
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

enum { CELLS = 200000 };
static double values[CELLS];
static int32_t few[10];
static const struct sk_skc_header header = {.run_id = 5, .iteration = 3, .incarnation = 1, .rank = 0, .nranks = 1};

static void pieces(struct sk_piece p[3])
{
    for (int i = 0; i < CELLS; i++)
        values[i] = i * 0.25;
    for (int i = 0; i < 10; i++)
        few[i] = 100 - i;
    memset(p, 0, 3 * sizeof *p);
    p[0] = (struct sk_piece){.name = "few", .type = SAIKAI_I32, .ndims = 1, .dims = {10}, .data = few, .size_bytes = sizeof few};
    p[1] = (struct sk_piece){.name = "values", .type = SAIKAI_F64, .ndims = 1, .dims = {CELLS}, .data = values, .size_bytes = sizeof values};
    p[2] = (struct sk_piece){.name = "empty", .type = SAIKAI_F64, .ndims = 1, .dims = {0}, .data = values, .size_bytes = 0};
}

/* The bytes of a container, sealed in memory with so many bytes too many; the code of sealing. */
static int seal(int spare, uint8_t **bytes, uint64_t *n, uint64_t *hash, struct saikai_error *err)
{
    struct sk_piece p[3];
    struct sk_skc_index *x = NULL;
    pieces(p);
    assert_int_equal(sk_container_layout(p, 3, &x, n, NULL), 0);
    *bytes = malloc(*n + 64);
    memset(*bytes, 0xee, *n + 64);
    for (int i = 0; i < 2; i++)
        memcpy(*bytes + x->chunks[x->vars[i].first_chunk].offset, p[i].data, p[i].size_bytes);
    int rc = sk_container_seal(*bytes, *n + (uint64_t)spare, &header, x, hash, err);
    sk_skc_index_free(x);
    return rc;
}

static void it_has_its_length(void **state)
{
    (void)state;
    uint8_t *bytes;
    uint64_t n, hash = 0;
    struct saikai_error err = {0};
    assert_int_equal(seal(0, &bytes, &n, &hash, &err), 0);
    assert_true(hash == sk_hash64(bytes, n));
    assert_int_equal(bytes[n], 0xee);
    free(bytes);
    for (int spare = -1; spare < 2; spare += 2) {
        hash = 77;
        assert_int_equal(seal(spare, &bytes, &n, &hash, &err), SAIKAI_EINTERNAL);
        assert_non_null(strstr(err.text, "does not have the length"));
        assert_true(hash == 77 && bytes[n] == 0xee);
        free(bytes);
    }
}

/* ---- not in a file ---- */

static struct {
    const uint8_t *bytes;
    uint64_t n;
    int closed, reads, fails; /* the number of the reading that fails, 0: none */
} lies;

static int read_there(void *arg, uint64_t at, void *data, size_t n, struct saikai_error *err)
{
    assert_ptr_equal(arg, &lies);
    assert_true(at <= lies.n && n <= lies.n - at);
    if (++lies.reads == lies.fails)
        return sk_fail(err, SAIKAI_EIO, "cannot read it there");
    memcpy(data, lies.bytes + at, n);
    return 0;
}

static void close_there(void *arg)
{
    assert_ptr_equal(arg, &lies);
    lies.closed++;
}

static int read_all(struct sk_container *c, struct saikai_error *err)
{
    static double back[CELLS];
    int32_t back_few[10];
    int rc = sk_container_read(c, &c->index->vars[1], back, err);
    if (!rc)
        rc = sk_container_read(c, &c->index->vars[0], back_few, err);
    if (!rc)
        rc = sk_container_read(c, &c->index->vars[2], NULL, err);
    if (!rc)
        assert_true(!memcmp(back, values, sizeof back) && !memcmp(back_few, few, sizeof few));
    if (!rc)
        rc = sk_container_verify(c, err);
    return rc ? rc : sk_container_copy(c, path, 0, err);
}

static int is_copied(const uint8_t *bytes, uint64_t n)
{
    void *there;
    size_t m;
    if (sk_io_slurp(path, 1 << 24, &there, &m, NULL))
        return 0;
    int same = m == n && !memcmp(there, bytes, n);
    free(there);
    return same;
}

/* It is read as from a file, closed once, also when it is none, and each reading that fails is told. */
static void it_lies_somewhere_else(void **state)
{
    (void)state;
    uint8_t *bytes;
    uint64_t n;
    struct saikai_error err = {0};
    assert_int_equal(seal(0, &bytes, &n, NULL, &err), 0);
    const struct sk_container_source from = {read_there, close_there, &lies, n};
    int reads = 1;
    for (int fails = 0; fails <= reads; fails++) {
        struct sk_container *c = NULL;
        lies.bytes = bytes;
        lies.n = n;
        lies.closed = lies.reads = 0;
        lies.fails = fails;
        memset(&err, 0, sizeof err);
        int rc = sk_container_open_from("there", &from, &c, &err);
        if (rc)
            assert_true(!c && lies.closed == 1 && !strncmp(err.text, "there: ", 7));
        int opened = !rc;
        if (opened) {
            assert_true(c->fd == -1 && lies.closed == 0);
            rc = read_all(c, &err);
            sk_container_close(c);
            assert_int_equal(lies.closed, 1);
        }
        assert_int_equal(rc, fails ? SAIKAI_EIO : 0);
        assert_int_equal(err.code, rc);
        if (fails)
            assert_int_equal(access(path, F_OK), -1);
        else
            assert_true(is_copied(bytes, n) && !unlink(path));
        reads = fails ? reads : lies.reads;
    }
    assert_true(reads > 8);
    for (uint64_t cut = 0; cut < n; cut += cut < 200 ? 1 : 100003) {
        struct sk_container *c = NULL;
        struct sk_container_source shorter = from;
        shorter.size_bytes = lies.n = cut;
        lies.closed = lies.fails = 0;
        assert_int_equal(sk_container_open_from("there", &shorter, &c, &err), SAIKAI_EDAMAGED);
        assert_true(!c && lies.closed == 1);
    }
    free(bytes);
}

/* ---- damage ---- */

static void write_there(const uint8_t *bytes, uint64_t n)
{
    assert_int_equal(sk_io_replace(path, bytes, n, NULL), 0);
}

/* Which chunk, of which variable, and where. */
static void damage_is_placed(void **state)
{
    (void)state;
    uint8_t *bytes;
    uint64_t n;
    struct saikai_error err = {0};
    struct sk_container *c = NULL;
    char says[300];
    static double back[CELLS];
    assert_int_equal(seal(0, &bytes, &n, NULL, &err), 0);
    write_there(bytes, n);
    assert_int_equal(sk_container_open(path, &c, NULL), 0);
    const struct sk_skc_var *v = sk_skc_find(c->index, "values");
    assert_int_equal(v->chunk_count, 2);
    for (uint64_t i = 0; i < c->index->chunk_count; i++) {
        const struct sk_skc_chunk *k = &c->index->chunks[i];
        uint64_t bad[2] = {k->offset, k->offset + k->stored_bytes - 1};
        for (int b = 0; b < 2; b++) {
            bytes[bad[b]] ^= 0x10;
            write_there(bytes, n);
            bytes[bad[b]] ^= 0x10;
            struct sk_container *d = NULL;
            assert_int_equal(sk_container_open(path, &d, NULL), 0);
            snprintf(says, sizeof says, "%s: chunk %d (variable '%s', offset %llu) is damaged", path, (int)i, i ? "values" : "few",
                     (unsigned long long)k->offset);
            assert_int_equal(sk_container_read(d, &d->index->vars[i > 0], back, &err), SAIKAI_EDAMAGED);
            assert_string_equal(err.text, says);
            memset(&err, 0, sizeof err);
            assert_int_equal(sk_container_verify(d, &err), SAIKAI_EDAMAGED);
            assert_string_equal(err.text, says);
            assert_int_equal(sk_container_verify_var(d, &d->index->vars[i == 0], NULL, NULL, &err), 0);
            sk_container_close(d);
        }
    }
    /* a plain chunk that is said to have another length */
    c->index->chunks[0].raw_bytes++;
    write_there(bytes, n);
    assert_int_equal(sk_container_read(c, &c->index->vars[0], back, &err), SAIKAI_EDAMAGED);
    sk_container_close(c);
    free(bytes);
}

/* A header that says an older version than what its index needs. */
static void versions_fit(void **state)
{
    (void)state;
    struct sk_piece p[3];
    struct sk_skc_index *x = NULL;
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    struct sk_skc_header h = header;
    uint64_t n;
    pieces(p);
    p[0].scope = SK_SKC_REPLICATED;
    assert_int_equal(sk_container_layout(p, 3, &x, &n, NULL), 0);
    uint8_t *bytes = calloc(1, n);
    assert_int_equal(sk_container_seal(bytes, n, &h, x, NULL, NULL), 0);
    write_there(bytes, n);
    assert_int_equal(sk_container_open(path, &c, &err), 0);
    assert_int_equal(c->header.version, SK_SKC_VERSION_SCOPE);
    sk_container_close(c);
    h.version = SK_SKC_VERSION;
    sk_skc_encode_header(&h, bytes);
    write_there(bytes, n);
    c = NULL;
    assert_int_equal(sk_container_open(path, &c, &err), SAIKAI_EDAMAGED);
    assert_true(!c && strstr(err.text, "the index is of a later version than the header") && strstr(err.text, path));
    sk_skc_index_free(x);
    free(bytes);
}

/* A frame gives what is in it and no more. */
static void a_frame_has_its_end(void **state)
{
    (void)state;
    uint8_t *bytes, got[64];
    uint64_t n;
    struct saikai_error err = {0};
    struct sk_container *c = NULL;
    struct sk_container_frame f;
    assert_int_equal(seal(0, &bytes, &n, NULL, &err), 0);
    write_there(bytes, n);
    assert_int_equal(sk_container_open(path, &c, NULL), 0);
    assert_int_equal(sk_container_frame(c, sk_skc_find(c->index, "few"), &f, &err), 0);
    assert_true(f.array.type == SAIKAI_I32 && f.array.ndims == 1 && f.array.dims[0] == 10);
    assert_int_equal(sk_container_from_frame(&f, 0, got, sizeof few, &err), 0);
    assert_memory_equal(got, few, sizeof few);
    assert_int_equal(sk_container_from_frame(&f, 8, got, sizeof few - 8, &err), 0);
    assert_memory_equal(got, few + 2, sizeof few - 8);
    assert_int_equal(sk_container_from_frame(&f, sizeof few, got, 0, &err), 0);
    static const uint64_t beyond[][2] = {{0, sizeof few + 1}, {8, sizeof few - 7}, {sizeof few, 1}, {sizeof few + 1, 0}, {UINT64_MAX, 2}};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        assert_int_equal(sk_container_from_frame(&f, beyond[i][0], got, (size_t)beyond[i][1], &err), SAIKAI_EDAMAGED);
        assert_string_equal(err.text, "the frame ends early");
    }
    assert_int_equal(sk_container_frame(c, sk_skc_find(c->index, "values"), &f, &err), SAIKAI_EDAMAGED);
    assert_int_equal(sk_container_frame(c, sk_skc_find(c->index, "empty"), &f, &err), SAIKAI_EDAMAGED);
    /* what may pass stays what it is; all else is damage */
    static const int codes[][2] = {{SAIKAI_ENOMEM, SAIKAI_ENOMEM}, {SAIKAI_ENOTSUP, SAIKAI_ENOTSUP}, {SAIKAI_EIO, SAIKAI_EIO},
                                   {SAIKAI_EFORMAT, SAIKAI_EDAMAGED}, {SAIKAI_EINVAL, SAIKAI_EDAMAGED}, {SAIKAI_EDAMAGED, SAIKAI_EDAMAGED}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct saikai_error why = {.code = codes[i][0], .text = "why"};
        assert_int_equal(sk_container_frame_error(c, codes[i][0], &why, &err), codes[i][1]);
        assert_true(err.code == codes[i][1] && strstr(err.text, path) == err.text && strstr(err.text, ": why"));
        assert_int_equal(sk_container_frame_error(c, codes[i][0], &why, NULL), codes[i][1]);
    }
    sk_container_close(c);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        cmocka_unit_test(remember_open_files),
        TEST(it_has_its_length),
        TEST(it_lies_somewhere_else),
        TEST(damage_is_placed),
        TEST(versions_fit),
        TEST(a_frame_has_its_end),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
