/* The members' end of a pull, against a writer that the test plays: what is answered, piece by piece; and what an order that is none, a
 * file that went away, and messages that fail come to. */
#include "archive/ranks/serve.h"

#include "archive/ranks/pull_testing.h"

#include "base/host/open_files_testing.h"

/* ---- serving a writer that is played ---- */

enum { OWN = 3 };
static const size_t sizes[OWN] = {40, 0, 70000};

struct order {
    uint64_t kind;
    size_t bytes; /* what its head says, 0: those of the ranges */
    int n;
    struct wish w[4];
    int many;    /* so many ranges of one byte of the last file in place of them */
    int refused; /* its answer is a failure */
};

struct serving {
    struct order order[3];
    int orders, together; /* together: all are sent before an answer is taken */
    int gone;             /* the last file went away */
    int kind, works;
    int rc;
    struct saikai_error err;
};

static uint8_t theirs[OWN][FILE_BYTES];

static size_t order_bytes(const struct order *o)
{
    return 20 * (size_t)(o->many ? o->many : o->n);
}

static struct wish range_of(const struct order *o, int i)
{
    return o->many ? (struct wish){2, (uint64_t)i * 4, 1} : o->w[i];
}

static void send_order(struct sk_group *g, const struct order *o)
{
    uint8_t head[16], *body = malloc(order_bytes(o) + 1);
    size_t n = order_bytes(o);
    for (int i = 0; i < (int)(n / 20); i++) {
        struct wish w = range_of(o, i);
        put(body + 20 * i, w.file, 4);
        put(body + 20 * i + 4, w.offset, 8);
        put(body + 20 * i + 12, w.bytes, 8);
    }
    put(head, o->kind, 8);
    put(head + 8, o->bytes ? o->bytes : n, 8);
    says(g, 1, head, sizeof head, SK_TAG_HEAD);
    for (size_t done = 0, k; done < n; done += k) {
        k = n - done < SK_REQUEST_PIECE ? n - done : SK_REQUEST_PIECE;
        says(g, 1, body + done, k, SK_TAG_BODY);
    }
    free(body);
}

/* A piece of so many bytes, or a refusal. */
static void hear_piece(struct sk_group *g, const uint8_t *expected, size_t n, int refused)
{
    uint8_t piece[PIECE + 2];
    struct sk_request *r = NULL;
    memset(piece, 0xa5, sizeof piece);
    assert_int_equal(sk_group_irecv(g, piece, sizeof piece, 1, SK_TAG_PIECE, &r), 0);
    assert_int_equal(sk_group_wait(g, &r), 0);
    assert_int_equal(piece[0], refused);
    if (!refused)
        assert_memory_equal(piece + 1, expected, n);
    for (size_t i = refused ? 1 : 1 + n; i < sizeof piece; i++)
        assert_int_equal(piece[i], 0xa5);
}

static void hear_answer(struct sk_group *g, const struct order *o)
{
    uint8_t expected[PIECE];
    size_t k = 0, all = 0, done = 0;
    int count = (int)(order_bytes(o) / 20);
    if (o->refused) {
        hear_piece(g, NULL, 0, 1);
        return;
    }
    if (o->kind == SK_ASK_HASH) {
        struct sk_hasher *h = sk_hasher_new();
        sk_hasher_add(h, theirs[o->w[0].file] + o->w[0].offset, o->w[0].bytes);
        put(expected, sk_hasher_value(h), 8);
        sk_hasher_free(h);
        hear_piece(g, expected, 8, 0);
        return;
    }
    for (int i = 0; i < count; i++)
        all += range_of(o, i).bytes;
    for (int i = 0; i < count; i++) {
        struct wish w = range_of(o, i);
        for (size_t b = 0; b < w.bytes; b++) {
            expected[k++] = theirs[w.file][w.offset + b];
            done++;
            if (k < PIECE && done < all)
                continue;
            hear_piece(g, expected, k, 0);
            k = 0;
        }
    }
}

/* The end of one whose messages fail, after what it could send. */
enum { END = 7 };
static void hear_end(struct sk_group *g)
{
    uint8_t piece[PIECE + 1] = {0};
    while (piece[0] != END) {
        struct sk_request *r = NULL;
        assert_int_equal(sk_group_irecv(g, piece, sizeof piece, 1, SK_TAG_PIECE, &r), 0);
        assert_int_equal(sk_group_wait(g, &r), 0);
    }
}

static int serve_rank(struct sk_group *g, void *arg)
{
    struct serving *s = arg;
    static const uint8_t nothing[16];
    if (!g->rank) {
        assert_int_equal(sk_group_verdict(g, 0, NULL), 0);
        for (int i = 0; i < s->orders; i++) {
            send_order(g, &s->order[i]);
            if (!s->together && !s->works)
                hear_answer(g, &s->order[i]);
        }
        if (s->works) { /* not sent away: it ends by itself */
            hear_end(g);
            return 0;
        }
        for (int i = 0; s->together && i < s->orders; i++)
            hear_answer(g, &s->order[i]);
        says(g, 1, nothing, sizeof nothing, SK_TAG_HEAD);
        return 0;
    }
    struct sk_archive_input in[OWN] = {{.name = "a", .data = theirs[0], .bytes = sizes[0]},
                                       {.name = "none", .data = theirs[1], .bytes = 0},
                                       {.name = "c", .path = at("gone"), .data = theirs[2], .bytes = sizes[2]}};
    struct flaky f = flaky_new(g, s->kind, s->works ? s->works : NEVER);
    struct sk_feed_local own;
    assert_int_equal(sk_feed_local_init(&own, in, OWN, NULL), 0);
    if (s->gone)
        in[2].data = NULL;
    s->rc = sk_serve(&f.g, &own, PIECE, &s->err);
    if (s->works)
        says(g, 0, (uint8_t[]){END}, 1, SK_TAG_PIECE);
    sk_feed_local_free(&own);
    return 0;
}

static void orders_are_answered(void **state)
{
    (void)state;
    enum { B = SK_ASK_BYTES, H = SK_ASK_HASH };
    static const char not_here[] = "the writer asked for bytes that no file here has";
    struct {
        struct serving s;
        int rc;
        const char *text;
    } cases[] = {
        {{.orders = 0}, 0, NULL},
        {{.orders = 3, .order = {{B, 0, 1, {{0, 0, 1}}, 0, 0}, {B, 0, 1, {{0, 0, 40}}, 0, 0}, {B, 0, 1, {{0, 39, 1}}, 0, 0}}}, 0, NULL},
        {{.orders = 3, .order = {{B, 0, 1, {{2, 9, 15}}, 0, 0}, {B, 0, 1, {{2, 9, 16}}, 0, 0}, {B, 0, 1, {{2, 9, 17}}, 0, 0}}}, 0, NULL},
        {{.orders = 2, .order = {{B, 0, 4, {{2, 69983, 17}, {0, 3, 31}, {2, 5, 1}, {0, 0, 15}}, 0, 0}, {B, 0, 2, {{0, 1, 16}, {2, 0, 32}}, 0, 0}}}, 0, NULL},
        {{.orders = 3, .together = 1, .order = {{B, 0, 1, {{2, 0, 500}}, 0, 0}, {H, 0, 1, {{2, 77, 20000}}, 0, 0}, {B, 0, 1, {{0, 0, 40}}, 0, 0}}}, 0, NULL},
        {{.orders = 3, .order = {{B, 0, 0, {{0}}, SK_REQUEST_PIECE / 20, 0}, {B, 0, 0, {{0}}, SK_REQUEST_PIECE / 20 + 1, 0}, {B, 0, 0, {{0}}, SK_REQUEST_PIECE / 4, 0}}}, 0, NULL},
        {{.orders = 2, .order = {{H, 0, 1, {{0, 0, 40}}, 0, 0}, {H, 0, 1, {{2, 1, 1}}, 0, 0}}}, 0, NULL},
        /* what no file here has is refused, and all that follows */
        {{.orders = 3, .order = {{B, 0, 1, {{0, 0, 40}}, 0, 0}, {B, 0, 1, {{0, 1, 40}}, 0, 1}, {B, 0, 1, {{0, 0, 40}}, 0, 1}}}, SAIKAI_EDAMAGED, not_here},
        {{.orders = 1, .order = {{B, 0, 1, {{1, 0, 1}}, 0, 1}}}, SAIKAI_EDAMAGED, not_here},
        {{.orders = 1, .order = {{B, 0, 1, {{3, 0, 1}}, 0, 1}}}, SAIKAI_EDAMAGED, not_here},
        {{.orders = 1, .order = {{B, 0, 1, {{0, 0, 0}}, 0, 1}}}, SAIKAI_EDAMAGED, not_here},
        {{.orders = 2, .order = {{H, 0, 2, {{0, 0, 1}, {0, 1, 1}}, 0, 1}, {H, 0, 1, {{0, 0, 1}}, 0, 1}}}, SAIKAI_EDAMAGED, not_here},
        /* a file that went away: the piece that needs it is refused, those before it come */
        {{.gone = 1, .orders = 3, .order = {{B, 0, 1, {{0, 0, 40}}, 0, 0}, {B, 0, 1, {{2, 0, 40}}, 0, 1}, {B, 0, 1, {{0, 0, 40}}, 0, 1}}}, SAIKAI_ENOENT, "gone"},
        {{.gone = 1, .orders = 2, .order = {{H, 0, 1, {{2, 0, 40}}, 0, 1}, {H, 0, 1, {{0, 0, 40}}, 0, 1}}}, SAIKAI_ENOENT, "gone"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct serving *s = &cases[i].s;
        assert_int_equal(sk_loop_run(2, serve_rank, s), 0);
        if (s->rc != cases[i].rc || s->err.code != s->rc || (s->rc && !strstr(s->err.text, cases[i].text)))
            fail_msg("case %zu: %d, %s", i, s->rc, s->err.text);
    }
}

/* A head that is none: whoever sent it speaks of other things than we do. */
static int odd_rank(struct sk_group *g, void *arg)
{
    struct serving *s = arg;
    if (g->rank)
        return serve_rank(g, s);
    assert_int_equal(sk_group_verdict(g, 0, NULL), 0);
    uint8_t head[16];
    put(head, s->order[0].kind, 8);
    put(head + 8, s->order[0].bytes, 8);
    says(g, 1, head, sizeof head, SK_TAG_HEAD);
    return 0;
}

static void orders_that_are_none(void **state)
{
    (void)state;
    static const struct order odd[] = {{.kind = SK_ASK_HASH + 1, .bytes = 20}, {.kind = SK_ASK_BYTES, .bytes = 0}, {.kind = SK_ASK_HASH, .bytes = 0},
                                       {.kind = SK_ASK_BYTES, .bytes = ((size_t)1 << 30) + 1}, {.kind = UINT64_MAX, .bytes = 20},
                                       {.kind = SK_ASK_BYTES, .bytes = SIZE_MAX}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct serving s = {.order = {odd[i]}};
        assert_int_equal(sk_loop_run(2, odd_rank, &s), 0);
        if (s.rc != SAIKAI_EDAMAGED || s.err.code != s.rc || !strstr(s.err.text, "lost touch"))
            fail_msg("case %zu: %d, %s", i, s.rc, s.err.text);
    }
}

static void a_server_whose_messages_fail(void **state)
{
    (void)state;
    static const int most[KINDS] = {6, 7, 12, 0}; /* it waits for what is still on its way alone, at the end */
    for (int kind = 0; kind < KINDS; kind++)
        for (int works = 1; works <= most[kind]; works++) {
            struct serving s = {.orders = 3, .kind = kind, .works = works,
                                .order = {{SK_ASK_BYTES, 0, 1, {{0, 0, 40}}, 0, 0}, {SK_ASK_BYTES, 0, 1, {{2, 0, 30}}, 0, 0}, {SK_ASK_BYTES, 0, 1, {{0, 0, 1}}, 0, 0}}};
            assert_int_equal(sk_loop_run(2, serve_rank, &s), 0);
            if (s.rc != SAIKAI_EMPI || s.err.code != s.rc || !strstr(s.err.text, "lost touch"))
                fail_msg("kind %d, call %d: %d, %s", kind, works, s.rc, s.err.text);
        }
}

static int make(void **state)
{
    for (uint32_t f = 0; f < OWN; f++)
        for (uint64_t i = 0; i < FILE_BYTES; i++)
            theirs[f][i] = byte_of(f + 9, i);
    return setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(orders_are_answered),
        cmocka_unit_test(orders_that_are_none),
        cmocka_unit_test(a_server_whose_messages_fail),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, make, teardown);
}
