/* What ranks tell each other, byte by byte and at every bound; who gives a file that several have; and which rank gets which. */
#include "archive/plan/listing.h"
#include "archive/ranks/collect.h"
#include "archive/ranks/deliver.h"
#include "archive/ranks/deliver_run.h"
#include "archive/ranks/wire/messages.h"
#include "archive/ranks/owners.h"
#include "archive/ranks/wire/wire.h"

#include "base/hash.h"
#include "base/types.h"
#include "group/loop.h"
#include "reader/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- lists ---- */

static int listed(struct sk_listed *l, size_t n, struct sk_listed **back)
{
    struct sk_buf b = {0};
    size_t count = 0;
    sk_wire_put_list(&b, l, n);
    int rc = sk_wire_get_list(b.data, b.len, back, &count);
    if (!rc)
        assert_int_equal(count, n);
    sk_buf_free(&b);
    return rc;
}

static void drop(struct sk_listed *l, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sk_listed_free(&l[i]);
    free(l);
}

static void a_list_has_its_bounds(void **state)
{
    (void)state;
    static const struct {
        struct sk_extent e[2];
        int n, rc;
        uint64_t size;
    } cases[] = {{{{.offset = 4, .length = 96, .type = SAIKAI_F64, .ndims = 2, .dims = {3, 4}}}, 1, 0, 100},
                 {{{.offset = 5, .length = 96, .type = SAIKAI_F64, .ndims = 2, .dims = {3, 4}}}, 1, SAIKAI_EDAMAGED, 100},
                 {{{.offset = 0, .length = 101, .type = SAIKAI_U8, .ndims = 1, .dims = {101}}}, 1, SAIKAI_EDAMAGED, 100},
                 {{{.offset = 0, .length = 100, .type = SAIKAI_U8, .ndims = 1, .dims = {100}}}, 1, 0, 100},
                 {{{.offset = 0, .length = 8, .type = SAIKAI_F64, .ndims = 0}}, 1, 0, 8},
                 {{{.offset = 0, .length = 16, .type = SAIKAI_F64, .ndims = 1, .dims = {1}}}, 1, SAIKAI_EDAMAGED, 100},
                 {{{.offset = 0, .length = 0, .type = SAIKAI_F64, .ndims = 1, .dims = {0}}}, 1, SAIKAI_EDAMAGED, 100},
                 {{{.offset = 0, .length = 8, .type = 0, .ndims = 1, .dims = {1}}}, 1, SAIKAI_EDAMAGED, 100},
                 {{{.offset = 0, .length = 0, .type = SAIKAI_F64, .ndims = 2, .dims = {(size_t)1 << 62, 8}}}, 1, SAIKAI_EDAMAGED, 100},
                 {{{.offset = 0, .length = 8, .type = SAIKAI_F64, .ndims = 1, .dims = {1}}, {.offset = 8, .length = 8, .type = SAIKAI_I64, .ndims = 1, .dims = {1}}}, 2, 0, 16},
                 {{{.offset = 0, .length = 8, .type = SAIKAI_F64, .ndims = 1, .dims = {1}}, {.offset = 7, .length = 8, .type = SAIKAI_I64, .ndims = 1, .dims = {1}}}, 2, SAIKAI_EDAMAGED, 16},
                 {{{.offset = 8, .length = 8, .type = SAIKAI_F64, .ndims = 1, .dims = {1}}, {.offset = 0, .length = 8, .type = SAIKAI_I64, .ndims = 1, .dims = {1}}}, 2, SAIKAI_EDAMAGED, 16},
                 {{{0}}, 0, 0, INT64_MAX},
                 {{{0}}, 0, SAIKAI_EDAMAGED, (uint64_t)INT64_MAX + 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_listed l = {.name = strdup("f"), .size_bytes = cases[i].size}, *back = NULL;
        for (int k = 0; k < cases[i].n; k++)
            assert_int_equal(sk_scan_add(&l.scan, &cases[i].e[k], "v"), 0);
        if (listed(&l, 1, &back) != cases[i].rc)
            fail_msg("case %zu", i);
        if (!cases[i].rc)
            drop(back, 1);
        sk_listed_free(&l);
    }
}

static void a_list_comes_back(void **state)
{
    (void)state;
    enum { N = 40 };
    struct sk_listed l[N] = {{0}}, *back = NULL;
    char name[16];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "file%d", i);
        l[i] = (struct sk_listed){.name = strdup(name), .size_bytes = 1000, .mode = 0170644, .origin = i ? (uint32_t)i : INT32_MAX, .mtime_ns = i * 7 - 9};
        struct sk_extent e = {.offset = 8, .length = 32, .type = SAIKAI_C64, .ndims = 1, .dims = {4}, .big_endian = i & 1, .fields = i >> 1 & 1};
        assert_int_equal(sk_scan_add(&l[i].scan, &e, "g/v"), 0);
        l[i].scan.form = i % 3 ? sk_reader_fortran.name : NULL;
    }
    assert_int_equal(listed(l, N, &back), 0);
    for (int i = 0; i < N; i++) {
        const struct sk_extent *e = &back[i].scan.extents[0];
        assert_string_equal(back[i].name, l[i].name);
        assert_int_equal(back[i].size_bytes, 1000);
        assert_int_equal(back[i].mode, 0644); /* no more than permissions */
        assert_int_equal(back[i].origin, l[i].origin);
        assert_int_equal(back[i].mtime_ns, l[i].mtime_ns);
        assert_ptr_equal(back[i].scan.form, l[i].scan.form);
        assert_int_equal(back[i].scan.count, 1);
        assert_int_equal(e->offset, 8);
        assert_int_equal(e->length, 32);
        assert_int_equal(e->type, SAIKAI_C64);
        assert_int_equal(e->big_endian, i & 1);
        assert_int_equal(e->fields, i >> 1 & 1);
        assert_int_equal(e->dims[0], 4);
        assert_string_equal(e->name, "g/v");
    }
    drop(back, N);
    l[0].origin = (uint32_t)INT32_MAX + 1;
    assert_int_equal(listed(l, 1, &back), SAIKAI_EDAMAGED);
    struct sk_buf b = {0};
    sk_wire_put_list(&b, l + 1, 1);
    sk_buf_put_u8(&b, 0); /* something behind it */
    size_t n;
    assert_int_equal(sk_wire_get_list(b.data, b.len, &back, &n), SAIKAI_EDAMAGED);
    b.len = 0;
    sk_wire_put_list(&b, NULL, 0);
    assert_int_equal(b.len, 8);
    assert_int_equal(sk_wire_get_list(b.data, b.len, &back, &n), 0);
    assert_int_equal(n, 0);
    free(back);
    sk_buf_free(&b);
    for (int i = 0; i < N; i++)
        sk_listed_free(&l[i]);
}

static void requests_have_their_bounds(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {30, 7, (uint64_t)1 << 62, (uint64_t)1 << 62};
    static const struct {
        struct sk_ska_range r[2];
        size_t n;
        int rc;
        uint64_t total;
    } cases[] = {{{{5, 10, 20, NULL}, {6, 0, 7, NULL}}, 2, 0, 27}, {{{5, 11, 20, NULL}}, 1, SAIKAI_EDAMAGED, 0}, {{{5, 0, 31, NULL}}, 1, SAIKAI_EDAMAGED, 0},
                 {{{5, 0, 30, NULL}}, 1, 0, 30}, {{{5, 0, 0, NULL}}, 1, SAIKAI_EDAMAGED, 0}, {{{9, 0, 1, NULL}}, 1, SAIKAI_EDAMAGED, 0},
                 {{{4, 0, 1, NULL}}, 1, SAIKAI_EDAMAGED, 0}, {{{7, 0, (size_t)1 << 62, NULL}, {8, 0, ((size_t)1 << 62) - 1, NULL}}, 2, 0, SIZE_MAX / 2},
                 {{{7, 0, (size_t)1 << 62, NULL}, {8, 0, (size_t)1 << 62, NULL}}, 2, SAIKAI_EDAMAGED, 0}, {{{0, 0, 0, NULL}}, 0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_buf b = {0};
        struct sk_ska_range *back = NULL;
        size_t n = 9;
        uint64_t total = 9;
        sk_wire_put_ranges(&b, cases[i].r, cases[i].n, 5);
        assert_int_equal(b.len, 20 * cases[i].n);
        if (sk_wire_get_ranges(b.data, b.len, sizes, 4, &back, &n, &total) != cases[i].rc)
            fail_msg("case %zu", i);
        if (!cases[i].rc) {
            assert_int_equal(n, cases[i].n);
            assert_int_equal(total, cases[i].total);
            for (size_t k = 0; k < n; k++) {
                assert_int_equal(back[k].file, cases[i].r[k].file - 5);
                assert_int_equal(back[k].offset, cases[i].r[k].offset);
                assert_int_equal(back[k].bytes, cases[i].r[k].bytes);
                assert_null(back[k].to);
            }
            free(back);
        }
        if (b.len) /* no whole number of them */
            assert_int_equal(sk_wire_get_ranges(b.data, b.len - 1, sizes, 4, &back, &n, &total), SAIKAI_EDAMAGED);
        sk_buf_free(&b);
    }
}

/* ---- owners ---- */

static void owners_are_read(void **state)
{
    (void)state;
    struct sk_buf b = {0};
    struct sk_file_owner *l = NULL;
    size_t n = 0;
    sk_buf_put_u32(&b, 2);
    for (uint64_t i = 0; i < 2; i++) {
        sk_buf_put_u64(&b, 100 + i);
        sk_buf_put_u64(&b, 200 + i);
        sk_buf_put_u64(&b, 300 + i);
        sk_buf_put(&b, i ? "second" : "first", i ? 7 : 6);
    }
    assert_int_equal(sk_owners_read(b.data, b.len, 3, &l, &n), 0);
    assert_int_equal(sk_owners_read(b.data, b.len, 4, &l, &n), 0); /* appended */
    assert_int_equal(n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(l[i].name, i % 2 ? "second" : "first");
        assert_int_equal(l[i].size, 100 + i % 2);
        assert_int_equal(l[i].inode, 200 + i % 2);
        assert_int_equal(l[i].mtime_ns, 300 + i % 2);
        assert_int_equal(l[i].rank, i < 2 ? 3 : 4);
        assert_int_equal(l[i].index, i % 2);
    }
    for (size_t k = 0; k < b.len; k++) {
        n = 0;
        assert_int_equal(sk_owners_read(b.data, k, 0, &l, &n), SAIKAI_EDAMAGED);
    }
    free(l);
    sk_buf_free(&b);
}

enum { RANKS = 4 };
struct shares {
    int inode[RANKS], rc[RANKS];
    uint8_t keep[RANKS][3];
    struct saikai_error err[RANKS];
    int differ; /* what rank 2 sees otherwise: 0 nothing, 1 size, 2 time, 3 inode, 4: it has no inode */
};

/* Everyone has "shared" and a file of its own; the ranks with even numbers have another one together. */
static int settle(struct sk_group *g, void *arg)
{
    struct shares *s = arg;
    char own[16];
    struct sk_archive_input in[3] = {{.name = "shared"}, {.name = own}, {.name = "even"}};
    struct stat seen[3] = {{0}};
    struct sk_feed_local f = {.inputs = in, .seen = seen, .count = g->rank % 2 ? 2 : 3};
    snprintf(own, sizeof own, "own%d", g->rank);
    for (int i = 0; i < 3; i++) {
        seen[i].st_ino = (ino_t)(i == 1 ? 50 + g->rank : 7 + i);
        seen[i].st_size = i == 0 ? 100 : i == 1 ? 1000 * (4 - g->rank) : 10;
        seen[i].st_mtim.tv_sec = 5;
    }
    if (g->rank == 2 && s->differ == 1)
        seen[0].st_size++;
    if (g->rank == 2 && s->differ == 2)
        seen[0].st_mtim.tv_nsec++;
    if (g->rank == 2 && s->differ == 3)
        seen[0].st_ino++;
    if (s->differ == 4)
        in[0].data = "";
    s->rc[g->rank] = sk_owners_settle(g, &f, s->keep[g->rank], &s->err[g->rank]);
    return 0;
}

static void each_file_has_one_owner(void **state)
{
    (void)state;
    for (int differ = 0; differ < 5; differ++) {
        struct shares s = {.differ = differ};
        assert_int_equal(sk_loop_run(RANKS, settle, &s), 0);
        for (int r = 0; r < RANKS; r++) {
            assert_int_equal(s.rc[r], !differ ? 0 : r ? SAIKAI_EPEER : SAIKAI_EINVAL);
            if (differ) {
                assert_non_null(strstr(s.err[r].text, "different files that would both be called shared"));
                continue;
            }
            /* by their names: "even" to the first of those with nothing so far, then their own ones, then "shared" */
            assert_int_equal(s.keep[r][1], 1);
            assert_int_equal(s.keep[r][2], r == 0);
            assert_int_equal(s.keep[r][0], r == 3);
        }
    }
}

/* ---- messages ---- */

static int talk(struct sk_group *g, void *arg)
{
    void *data = NULL;
    size_t n = 77;
    (void)arg;
    if (g->rank == 0) {
        assert_int_equal(sk_message_send(g, 1, "hello", 6), 0);
        assert_int_equal(sk_message_send(g, 1, "", 0), 0);
        data = (char[]){"to all"};
        n = 7;
        assert_int_equal(sk_message_bcast(g, 0, &data, &n, NULL), 0);
        return 0;
    }
    if (g->rank == 1) {
        assert_int_equal(sk_message_recv(g, 0, &data, &n), 0);
        assert_int_equal(n, 6);
        assert_string_equal(data, "hello");
        free(data);
        assert_int_equal(sk_message_recv(g, 0, &data, &n), 0);
        assert_int_equal(n, 0);
        free(data);
    }
    assert_int_equal(sk_message_bcast(g, 0, &data, &n, NULL), 0);
    assert_int_equal(n, 7);
    assert_string_equal(data, "to all");
    free(data);
    return 0;
}

static void messages_arrive(void **state)
{
    (void)state;
    assert_int_equal(sk_loop_run(3, talk, NULL), 0);
    unsigned idle = 0;
    for (unsigned i = 1; i < 20; i++) {
        sk_message_relax(&idle);
        assert_int_equal(idle, i);
    }
    static const struct {
        unsigned idle;
        long pause;
    } cases[] = {{0, 0}, {3, 0}, {4, 38000}, {5, 76000}, {15, 12 * 38000}, {16, 13 * 38000}, {17, 13 * 38000}, {UINT32_MAX, 13 * 38000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(sk_message_pause_ns(cases[i].idle), cases[i].pause);
}

/* A group that fails at its n-th call; what it receives is one message of zeros, longer than a piece. */
static int calls_left;
enum { LONG_MESSAGE = 150000, BROKEN = -77 };

static int call(void)
{
    return calls_left-- == 0 ? BROKEN : 0;
}

static int broken_isend(struct sk_group *g, const void *data, size_t n, int to, int tag, struct sk_request **req)
{
    (void)g, (void)data, (void)n, (void)to, (void)tag, (void)req;
    return call();
}

static int broken_irecv(struct sk_group *g, void *data, size_t n, int from, int tag, struct sk_request **req)
{
    (void)g, (void)from, (void)req;
    memset(data, 0, n);
    if (tag == SK_TAG_LENGTH)
        *(uint64_t *)data = LONG_MESSAGE;
    return call();
}

static int broken_wait(struct sk_group *g, struct sk_request **req)
{
    (void)g, (void)req;
    return call();
}

static int broken_bcast(struct sk_group *g, void *data, size_t n, int root)
{
    (void)root;
    if (g->rank && n == 8)
        *(uint64_t *)data = LONG_MESSAGE;
    return call();
}

static int broken_allreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op)
{
    (void)g, (void)v, (void)count, (void)op;
    return call();
}

static int send_it(struct sk_group *g, void **data, size_t *n)
{
    (void)data, (void)n;
    static const char bytes[LONG_MESSAGE];
    return sk_message_send(g, 1, bytes, sizeof bytes);
}

static int receive_it(struct sk_group *g, void **data, size_t *n)
{
    return sk_message_recv(g, 1, data, n);
}

static int hear_it(struct sk_group *g, void **data, size_t *n)
{
    struct saikai_error err = {0};
    int rc = sk_message_bcast(g, 1, data, n, &err);
    if (rc)
        assert_true(*err.text);
    return rc;
}

static void a_broken_group_is_told(void **state)
{
    (void)state;
    static const struct sk_group_ops ops = {.isend = broken_isend, .irecv = broken_irecv, .wait = broken_wait, .bcast = broken_bcast,
                                            .allreduce = broken_allreduce};
    static const struct {
        int (*talk)(struct sk_group *g, void **data, size_t *n);
        int calls, rank;
    } cases[] = {{send_it, 8, 0}, {receive_it, 8, 0}, {hear_it, 3, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int at = 0; at <= cases[i].calls; at++) {
            struct sk_group g = {.ops = &ops, .rank = cases[i].rank, .size = 3};
            void *data = NULL;
            size_t n = 0;
            calls_left = at;
            int rc = cases[i].talk(&g, &data, &n);
            if ((rc != 0) != (at < cases[i].calls))
                fail_msg("case %zu ends with %d when call %d fails", i, rc, at);
            assert_true(!rc || (!data && !n));
            if (!rc && data)
                assert_int_equal(n, LONG_MESSAGE);
            free(data);
        }
}

/* ---- who gets what ---- */

static void files_go_back_to_those_who_gave_them(void **state)
{
    (void)state;
    static const struct {
        int givers, ranks;
        uint32_t origin;
        size_t index, files;
        int to;
    } cases[] = {{4, 4, 1, 0, 9, 0}, {4, 4, 4, 0, 9, 3}, {4, 2, 2, 0, 9, 0}, {4, 2, 3, 0, 9, 1}, {4, 8, 4, 0, 9, 6}, {1, 5, 1, 0, 9, 0},
                 {0, 4, 0, 0, 8, 0}, {0, 4, 0, 1, 8, 0}, {0, 4, 0, 2, 8, 1}, {0, 4, 0, 7, 8, 3}, {3, 4, 0, 7, 8, 3}, {0, 4, 0, 0, 0, 0},
                 {1 << 20, 1 << 20, 1 << 20, 0, 1, (1 << 20) - 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int givers = cases[i].givers;
        struct sk_ska_file f = {.origin = cases[i].origin};
        assert_int_equal(sk_collect_by_origin(&givers, &f, cases[i].index, cases[i].files, cases[i].ranks), cases[i].to);
    }
}

/* ---- how much at a time ---- */

static void decoders_and_blocks_fit_into_the_memory(void **state)
{
    (void)state;
    static const struct {
        int wanted;
        uint64_t memory;
        int threads;
        size_t blocks;
    } cases[] = {{4, 4000, 4, 5}, {4, 1200, 4, 5}, {4, 1199, 4, 4}, {4, 1067, 4, 4}, {4, 1066, 3, 4}, {4, 934, 3, 4}, {4, 933, 3, 3},
                 {2, 4000, 2, 3}, {1, 400, 1, 2}, {1, 399, 1, 1}, {4, 1, 1, 1}, {99, 1 << 20, SK_DELIVER_THREADS, SK_DELIVER_THREADS + 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_unpack_need each = {100, 100};
        struct sk_delivery d = {0};
        sk_delivery_fit(&d, &each, cases[i].wanted, cases[i].memory);
        if (d.threads != cases[i].threads || d.depth != cases[i].blocks)
            fail_msg("case %zu: %d, %zu", i, d.threads, d.depth);
    }
    struct sk_unpack_need most = {0, 0};
    sk_unpack_most(&most, &(struct sk_unpack_need){5, 7});
    sk_unpack_most(&most, &(struct sk_unpack_need){4, 9});
    sk_unpack_most(&most, &(struct sk_unpack_need){6, 8});
    assert_int_equal(most.work_bytes, 6);
    assert_int_equal(most.raw_bytes, 9);
    assert_true(sk_unpack_threads(0, 64, &most, 1 << 20) >= 1);
    assert_int_equal(sk_unpack_threads(0, 1, &most, 1 << 20), 1);
}

static void lists_and_requests_come_back(void **state)
{
    struct sk_listed l[2] = {{.name = strdup("a"), .size_bytes = 100, .mode = 0644, .origin = 3},
                             {.name = strdup("b/c"), .size_bytes = 7, .mtime_ns = -5}},
                     *got = NULL;
    struct sk_extent e = {
        .offset = 8, .length = 48, .type = SAIKAI_F64, .ndims = 2, .dims = {2, 3}};
    struct sk_buf b = {0};
    size_t n = 0;
    assert_int_equal(sk_scan_add(&l[0].scan, &e, "g/v"), 0);
    assert_int_equal(sk_chunks_add(&l[0].chunks, &(struct sk_file_chunk){77, 60, 1}), 0);
    assert_int_equal(sk_chunks_add(&l[0].chunks, &(struct sk_file_chunk){78, 40, 0}), 0);
    l[0].scan.form = sk_reader_netcdf3.name;
    sk_wire_put_list(&b, l, 2);
    assert_int_equal(sk_wire_get_list(b.data, b.len, &got, &n), 0);
    assert_int_equal(n, 2);
    assert_string_equal(got[1].name, "b/c");
    assert_int_equal(got[1].mtime_ns, -5);
    assert_int_equal(got[0].origin, 3);
    assert_ptr_equal(got[0].scan.form, l[0].scan.form);
    assert_int_equal(got[0].scan.count, 1);
    assert_int_equal(got[0].scan.extents[0].dims[1], 3);
    assert_string_equal(got[0].scan.extents[0].name, "g/v");
    assert_int_equal(got[0].chunks.count, 2);
    assert_int_equal(got[0].chunks.list[0].hash, 77);
    assert_int_equal(got[0].chunks.list[0].plain, 1);
    assert_int_equal(got[0].chunks.list[1].bytes, 40);
    assert_int_equal(got[1].chunks.count, 0);
    struct sk_buf bad = {0};
    l[0].chunks.list[1].bytes++; /* more than the file has */
    sk_wire_put_list(&bad, l, 1);
    for (int i = 0; i < 2; i++) {
        sk_listed_free(&l[i]);
        sk_listed_free(&got[i]);
    }
    free(got);
    assert_int_equal(sk_wire_get_list(bad.data, bad.len, &got, &n), SAIKAI_EDAMAGED);
    sk_buf_free(&bad);
    for (size_t cut = 0; cut < b.len; cut++)
        assert_int_equal(sk_wire_get_list(b.data, cut, &got, &n), SAIKAI_EDAMAGED);
    b.len = 0;
    struct sk_ska_range r[2] = {{5, 10, 20, NULL}, {6, 0, 7, NULL}}, *back = NULL;
    uint64_t sizes[2] = {30, 7}, total = 0;
    sk_wire_put_ranges(&b, r, 2, 5);
    assert_int_equal(sk_wire_get_ranges(b.data, b.len, sizes, 2, &back, &n, &total), 0);
    assert_int_equal(total, 27);
    assert_int_equal(back[1].file, 1);
    free(back);
    sizes[0] = 29;
    assert_int_equal(sk_wire_get_ranges(b.data, b.len, sizes, 2, &back, &n, &total),
                     SAIKAI_EDAMAGED);
    assert_int_equal(sk_wire_get_ranges(b.data, b.len, sizes, 1, &back, &n, &total),
                     SAIKAI_EDAMAGED);
    sk_buf_free(&b);
}

/* Any other byte anywhere is damage, or another list that is whole: which of both never changes. */
static void every_other_byte_is_judged_as_it_was(void **state)
{
    (void)state;
    static const uint8_t flips[] = {1, 2, 4, 0x10, 0x40, 0x80, 0xff, 0x7f};
    struct sk_listed l[2] = {{.name = strdup("a"), .size_bytes = 100, .mode = 0644, .origin = 3}, {.name = strdup("b/c"), .size_bytes = 70, .mtime_ns = -5}};
    struct sk_extent e = {.offset = 8, .length = 48, .type = SAIKAI_F64, .ndims = 2, .dims = {2, 3}}, f = {.offset = 60, .length = 4, .type = SAIKAI_F32, .ndims = 0};
    struct sk_buf b = {0};
    uint64_t hash = 0;
    int whole = 0, damaged = 0;
    assert_int_equal(sk_scan_add(&l[0].scan, &e, "g/v"), 0);
    assert_int_equal(sk_scan_add(&l[0].scan, &f, "w"), 0);
    assert_int_equal(sk_chunks_add(&l[0].chunks, &(struct sk_file_chunk){77, 60, 1}), 0);
    assert_int_equal(sk_chunks_add(&l[0].chunks, &(struct sk_file_chunk){78, 40, 0}), 0);
    l[0].scan.form = sk_reader_netcdf3.name;
    sk_wire_put_list(&b, l, 2);
    for (size_t k = 0; k < sizeof flips; k++)
        for (size_t i = 0; i < b.len; i++) {
            struct sk_listed *got = NULL;
            struct sk_buf again = {0};
            size_t n = 0;
            b.data[i] ^= flips[k];
            int rc = sk_wire_get_list(b.data, b.len, &got, &n);
            b.data[i] ^= flips[k];
            damaged += rc == SAIKAI_EDAMAGED;
            whole += !rc;
            if (!rc) {
                sk_wire_put_list(&again, got, n);
                uint64_t x[] = {hash, i, flips[k], sk_hash64(again.data, again.len)};
                hash = sk_hash64(x, sizeof x);
                drop(got, n);
            }
            sk_buf_free(&again);
        }
    assert_int_equal(whole + damaged, sizeof flips * b.len);
    if (whole != 589 || hash != 0xf7be71dfb1dcf4d8)
        fail_msg("%d whole, %016llx", whole, (unsigned long long)hash);
    sk_buf_free(&b);
    for (int i = 0; i < 2; i++)
        sk_listed_free(&l[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_requests_come_back),
        cmocka_unit_test(a_list_has_its_bounds),
        cmocka_unit_test(a_list_comes_back),
        cmocka_unit_test(requests_have_their_bounds),
        cmocka_unit_test(owners_are_read),
        cmocka_unit_test(each_file_has_one_owner),
        cmocka_unit_test(messages_arrive),
        cmocka_unit_test(a_broken_group_is_told),
        cmocka_unit_test(files_go_back_to_those_who_gave_them),
        cmocka_unit_test(decoders_and_blocks_fit_into_the_memory),
        cmocka_unit_test(every_other_byte_is_judged_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
