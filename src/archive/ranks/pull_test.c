/* The writer's end of a pull, against members that the test plays: what is asked and placed, byte by byte; and what a rank that cannot
 * read, and messages that fail, come to. */
#include "archive/ranks/pull.h"

#include "archive/ranks/pull_testing.h"

#include <pthread.h>

#include "base/host/open_files_testing.h"

/* ---- pulling, from members that are played ---- */

enum { RANKS = 4, MINE = 2 };
static const uint32_t first[RANKS + 1] = {0, MINE, 4, 4, 5}; /* the third rank has no file */

struct pulling {
    int (*work)(struct pulling *p, struct saikai_error *err);
    int fails;   /* a rank whose pieces from `piece` on are refused; 0: none */
    int piece;
    int bad_own; /* one of our own files is not there */
    int kind, works; /* messages of this kind that work */
    struct sk_ska_feed *feed;
    int rc;
    struct saikai_error err;
    int over;
    size_t asked[RANKS], bytes[RANKS]; /* ranges of each member, and what they are together */
};

static uint8_t mine[MINE][FILE_BYTES];

static int hears(struct sk_group *g, struct pulling *p, void *to, size_t n, int tag)
{
    struct sk_request *r = NULL;
    assert_int_equal(sk_group_irecv(g, to, n, 0, tag, &r), 0);
    assert_int_equal(sk_group_wait(g, &r), 0);
    return !__atomic_load_n(&p->over, __ATOMIC_ACQUIRE);
}

/* Answers one request; *pieces: so many have gone out. */
static void answers(struct sk_group *g, struct pulling *p, uint64_t kind, const uint8_t *body, size_t n, int *pieces)
{
    uint8_t piece[PIECE + 1] = {0};
    size_t k = 0;
    assert_int_equal(n % 20, 0);
    if (kind == SK_ASK_HASH) {
        assert_int_equal(n, 20);
        piece[0] = p->fails == g->rank;
        put(piece + 1, 1000 * get(body, 4) + get(body + 4, 8) + (get(body + 12, 8) << 40), 8);
        says(g, 0, piece, piece[0] ? 1 : 9, SK_TAG_PIECE);
        return;
    }
    for (size_t i = 0; i < n; i += 20) {
        uint32_t file = (uint32_t)get(body + i, 4);
        uint64_t offset = get(body + i + 4, 8), bytes = get(body + i + 12, 8);
        assert_true(first[g->rank] + file < first[g->rank + 1]);
        assert_true(bytes > 0);
        p->asked[g->rank]++;
        p->bytes[g->rank] += bytes;
        for (uint64_t b = 0; b < bytes; b++) {
            piece[1 + k++] = byte_of(first[g->rank] + file, offset + b);
            if (k < PIECE && (b + 1 < bytes || i + 20 < n))
                continue;
            piece[0] = p->fails == g->rank && *pieces >= p->piece;
            says(g, 0, piece, piece[0] ? 1 : 1 + k, SK_TAG_PIECE);
            k = 0;
            ++*pieces;
            if (piece[0])
                return;
        }
    }
}

static void member(struct sk_group *g, struct pulling *p)
{
    uint8_t head[16];
    int pieces = 0;
    while (hears(g, p, head, sizeof head, SK_TAG_HEAD) && get(head, 8) != SK_ASK_NOTHING) {
        size_t n = get(head + 8, 8), at = 0;
        uint8_t *body = malloc(n);
        assert_true(n && body);
        while (at < n) {
            size_t k = n - at < SK_REQUEST_PIECE ? n - at : SK_REQUEST_PIECE;
            if (!hears(g, p, body + at, k, SK_TAG_BODY))
                break;
            at += k;
        }
        if (at == n)
            answers(g, p, get(head, 8), body, n, &pieces);
        free(body);
        if (at < n)
            return;
    }
}

static int works(void *arg, struct saikai_error *err)
{
    struct pulling *p = arg;
    return p->work(p, err);
}

static int pull_rank(struct sk_group *g, void *arg)
{
    struct pulling *p = arg;
    if (g->rank) {
        assert_int_equal(sk_group_verdict(g, 0, NULL), 0);
        member(g, p);
        return 0;
    }
    struct sk_archive_input in[MINE] = {{.name = "a", .path = at("gone"), .data = p->bad_own ? NULL : mine[0], .bytes = FILE_BYTES},
                                        {.name = "b", .data = mine[1], .bytes = FILE_BYTES}};
    struct flaky f = flaky_new(g, p->kind, p->works);
    struct sk_feed_local own;
    struct sk_pull *pull = NULL;
    p->rc = sk_feed_local_init(&own, in + p->bad_own, (size_t)(MINE - p->bad_own), NULL);
    assert_int_equal(p->rc, 0);
    own.inputs = in; /* one that has gone since it was looked at */
    assert_int_equal(sk_pull_new(&f.g, &own, first, PIECE, &pull, NULL), 0);
    p->feed = sk_pull_feed(pull);
    assert_int_equal(p->feed->loaders, 2);
    p->rc = sk_pull_run(pull, works, p, &p->err);
    if (p->rc) {
        __atomic_store_n(&p->over, 1, __ATOMIC_RELEASE);
        uint8_t none[16] = {0};
        for (int m = 1; m < g->size; m++) {
            says(g, m, none, sizeof none, SK_TAG_HEAD);
            says(g, m, none, 0, SK_TAG_BODY);
        }
    }
    sk_pull_free(pull);
    sk_feed_local_free(&own);
    return 0;
}

static void pull(struct pulling *p)
{
    p->works = p->works ? p->works : NEVER;
    assert_int_equal(sk_loop_run(RANKS, pull_rank, p), 0);
}

/* Fetches these in one go, and looks at each byte and those around. */
static int fetch(struct pulling *p, const struct wish *w, size_t n, struct saikai_error *err)
{
    enum { AROUND = 3 };
    struct sk_ska_range *r = calloc(n + 1, sizeof *r);
    uint8_t **to = calloc(n + 1, sizeof *to);
    for (size_t i = 0; i < n; i++) {
        to[i] = malloc(w[i].bytes + 2 * AROUND);
        memset(to[i], 0xa5, w[i].bytes + 2 * AROUND);
        r[i] = (struct sk_ska_range){w[i].file, w[i].offset, w[i].bytes, to[i] + AROUND};
    }
    int rc = sk_feed_fetch(p->feed, r, n, err);
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 0; !rc && b < w[i].bytes; b++)
            if (to[i][AROUND + b] != byte_of(w[i].file, w[i].offset + b))
                fail_msg("range %zu: byte %zu is another one", i, b);
        for (size_t b = 0; b < AROUND; b++)
            assert_true(to[i][b] == 0xa5 && to[i][AROUND + w[i].bytes + b] == 0xa5);
        free(to[i]);
    }
    free(to);
    free(r);
    return rc;
}

static const struct wish mixed[] = {{4, 100, 17}, {0, 5, 3}, {2, 0, 1},   {3, 9, 16}, {1, 69999, 1}, {2, 7, 31}, {4, 0, 15},
                                    {3, 0, 1},    {2, 0, 2}, {4, 70, 33}, {0, 0, 40}, {3, 500, 64},  {4, 3, 1}};
enum { MIXED = sizeof mixed / sizeof *mixed };

static int fetch_mixed(struct pulling *p, struct saikai_error *err)
{
    int rc = fetch(p, mixed, MIXED, err);
    for (size_t i = 0; !rc && i < MIXED; i++)
        rc = fetch(p, &mixed[i], 1, err);
    return rc;
}

static void bytes_come_from_those_who_have_them(void **state)
{
    (void)state;
    struct pulling p = {.work = fetch_mixed};
    pull(&p);
    if (p.rc)
        fail_msg("%s", p.err.text);
    assert_int_equal(p.asked[1], 2 * 6);
    assert_int_equal(p.bytes[1], 2 * (1 + 16 + 31 + 1 + 2 + 64));
    assert_int_equal(p.asked[2], 0);
    assert_int_equal(p.asked[3], 2 * 4);
    assert_int_equal(p.bytes[3], 2 * (17 + 15 + 33 + 1));
}

static int fetch_nothing(struct pulling *p, struct saikai_error *err)
{
    return fetch(p, NULL, 0, err);
}

/* A request that is longer than one message of it, by a little, and whole messages of it. */
static int fetch_many(struct pulling *p, struct saikai_error *err)
{
    static const size_t counts[] = {SK_REQUEST_PIECE / 20, SK_REQUEST_PIECE / 20 + 1, SK_REQUEST_PIECE / 4};
    struct wish *w = calloc(SK_REQUEST_PIECE / 4, sizeof *w);
    int rc = 0;
    for (size_t i = 0; i < SK_REQUEST_PIECE / 4; i++)
        w[i] = (struct wish){(uint32_t)(i % 7 ? 3 : 2), i * 3, 1 + i % 2};
    for (size_t c = 0; c < 3 && !rc; c++)
        rc = fetch(p, w, counts[c], err);
    free(w);
    return rc;
}

struct fetcher {
    struct pulling *p;
    int rc;
};

static void *fetch_again(void *arg)
{
    struct fetcher *f = arg;
    for (int i = 0; i < 20 && !f->rc; i++)
        f->rc = fetch(f->p, mixed, MIXED, NULL);
    return NULL;
}

static int fetch_by_three(struct pulling *p, struct saikai_error *err)
{
    pthread_t t[2];
    struct fetcher f[3] = {{p, 0}, {p, 0}, {p, 0}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&t[i], NULL, fetch_again, &f[i]), 0);
    fetch_again(&f[2]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return f[0].rc || f[1].rc || f[2].rc ? sk_fail(err, SAIKAI_EINTERNAL, "one fetch failed") : 0;
}

static int ask_hashes(struct pulling *p, struct saikai_error *err)
{
    uint64_t h = 0, own;
    struct sk_ska_range theirs = {4, 12, 70, NULL}, second = {3, 1, 2, NULL}, ours = {1, 11, 200, NULL};
    int rc = sk_feed_hash(p->feed, &theirs, &h, err);
    if (!rc) {
        assert_true(h == 12 + (70ull << 40));
        rc = sk_feed_hash(p->feed, &second, &h, err);
    }
    if (!rc)
        assert_true(h == 1000 + 1 + (2ull << 40));
    if (!rc)
        rc = sk_feed_hash(p->feed, &ours, &h, err);
    if (rc)
        return rc;
    struct sk_hasher *made = sk_hasher_new();
    sk_hasher_add(made, mine[1] + 11, 200);
    own = sk_hasher_value(made);
    sk_hasher_free(made);
    assert_true(h == own);
    return 0;
}

static int says_another_thing(struct pulling *p, struct saikai_error *err)
{
    (void)p;
    return sk_fail(err, SAIKAI_ENOSPC, "no room for the archive");
}

static int says_a_peer(struct pulling *p, struct saikai_error *err)
{
    (void)p;
    return sk_fail(err, SAIKAI_EPEER, "somebody else");
}

/* The members fail, not we: what we return is for them to tell. What else fails is told. */
static int fetch_after_a_refusal(struct pulling *p, struct saikai_error *err)
{
    static const struct wish others[] = {{0, 5, 3}, {4, 100, 40}, {1, 0, 9}};
    for (int i = 0; i < 3; i++) {
        int rc = fetch(p, mixed, MIXED, err);
        if (rc != SAIKAI_EPEER)
            return sk_fail(err, SAIKAI_EINTERNAL, "the refusal of a rank comes to %d", rc);
        assert_non_null(strstr(err->text, "another rank could not give its files' bytes"));
        if (fetch(p, others, 3, err))
            return sk_fail(err, SAIKAI_EINTERNAL, "after a refusal the others' bytes do not come");
    }
    return SAIKAI_EPEER;
}

static int hash_refused(struct pulling *p, struct saikai_error *err)
{
    uint64_t h = 0;
    struct sk_ska_range theirs = {4, 12, 70, NULL};
    int rc = sk_feed_hash(p->feed, &theirs, &h, err);
    return rc == SAIKAI_EPEER ? rc : SAIKAI_EINTERNAL;
}

/* Our own file cannot be read: that is said, the others' bytes are taken off, and what comes next is right. */
static int fetch_own_that_is_gone(struct pulling *p, struct saikai_error *err)
{
    int rc = fetch(p, mixed, MIXED, err);
    static const struct wish others[] = {{4, 100, 40}, {2, 0, 33}};
    struct saikai_error none = {0};
    if (fetch(p, others, 2, &none))
        return SAIKAI_EINTERNAL;
    return rc;
}

static void what_work_comes_to(void **state)
{
    (void)state;
    static const struct {
        int (*work)(struct pulling *p, struct saikai_error *err);
        int fails, piece, bad_own, rc;
        const char *text;
    } cases[] = {{fetch_nothing, 0, 0, 0, 0, NULL},
                 {fetch_many, 0, 0, 0, 0, NULL},
                 {fetch_by_three, 0, 0, 0, 0, NULL},
                 {ask_hashes, 0, 0, 0, 0, NULL},
                 {says_another_thing, 0, 0, 0, SAIKAI_ENOSPC, "no room for the archive"},
                 {says_a_peer, 0, 0, 0, SAIKAI_EPEER, "somebody else"},
                 {fetch_after_a_refusal, 1, 0, 0, 0, NULL},
                 {fetch_after_a_refusal, 1, 1, 0, 0, NULL},
                 {fetch_after_a_refusal, 1, 3, 0, 0, NULL},
                 {hash_refused, 3, 0, 0, 0, NULL},
                 {fetch_own_that_is_gone, 0, 0, 1, SAIKAI_ENOENT, "gone"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pulling p = {.work = cases[i].work, .fails = cases[i].fails, .piece = cases[i].piece, .bad_own = cases[i].bad_own};
        pull(&p);
        if (p.rc != cases[i].rc || (cases[i].text && !strstr(p.err.text, cases[i].text)))
            fail_msg("case %zu: %d, %s", i, p.rc, p.err.text);
    }
}

static void a_pull_whose_messages_fail(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int works = 1; works < 20; works++) {
            struct pulling p = {.work = fetch_mixed, .kind = kind, .works = works};
            pull(&p);
            if (!p.rc && kind == WAIT && works > RANKS - 1)
                break; /* the members have been sent away */
            if (p.rc != SAIKAI_EMPI || p.err.code != p.rc || !strstr(p.err.text, "lost touch"))
                fail_msg("kind %d, call %d: %d, %s", kind, works, p.rc, p.err.text);
        }
}

static int make(void **state)
{
    for (uint32_t f = 0; f < MINE; f++)
        for (uint64_t i = 0; i < FILE_BYTES; i++)
            mine[f][i] = byte_of(f, i);
    return setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(bytes_come_from_those_who_have_them),
        cmocka_unit_test(what_work_comes_to),
        cmocka_unit_test(a_pull_whose_messages_fail),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, make, teardown);
}
