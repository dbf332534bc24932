/* What of files an archive before has: which of its segments they are compared with, how often they are read for that, and which blocks
 * take from it. As text in tests/golden/plan; SAIKAI_WRITE_PLANS=DIR writes that of now. */
#include "archive/plan/made_testing.h"
#include "archive/plan/repeats.h"
#include "archive/plan/values_testing.h"
#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "archive/write/delta.h"
#include "archive/write/schemes.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/host/open_files_testing.h"

static char dir[64];

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-before-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static const char *at(const char *name)
{
    static char path[4][128];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, 128, "%s/%s", dir, name);
    return p;
}

/* ---- a feed that is listened to ---- */

struct overheard {
    struct sk_ska_feed feed;
    struct sk_ska_feed *real;
    struct sk_buf *told;
    int asked, fails; /* fails: the number of the hash that cannot be had, from 1; 0: none */
};

static int fetch(struct sk_ska_feed *feed, const struct sk_ska_range *r, size_t n, struct saikai_error *err)
{
    return sk_feed_fetch(((struct overheard *)feed)->real, r, n, err);
}

static int hash(struct sk_ska_feed *feed, const struct sk_ska_range *r, uint64_t *value, struct saikai_error *err)
{
    struct overheard *o = (struct overheard *)feed;
    sk_buf_printf(o->told, "hash of %u@%llu+%zu\n", r->file, (unsigned long long)r->offset, r->bytes);
    if (++o->asked == o->fails)
        return sk_fail(err, SAIKAI_EIO, "cannot read file %u", r->file);
    return sk_feed_hash(o->real, r, value, err);
}

/* ---- sets ---- */

/* The files of this number: n bytes of noise of its own. */
static void put(struct made *m, const char *name, uint32_t seed, size_t n)
{
    made_file(m, name, NULL);
    made_seed = seed;
    made_bytes(m, n, dense);
}

/* The files of the set before. */
static void first(struct made *m)
{
    put(m, "a", 1, 100000);
    put(m, "b", 2, 100000);
    put(m, "c", 3, 100000);
    put(m, "big", 4, 700000);
    put(m, "twin", 5, 60000);
    put(m, "twin too", 5, 60000);
    put(m, "empty", 6, 0);
    made_file(m, "v", "x");
    made_seed = 7;
    FIELD("g/v", noise_value, 20, 30, 40);
    FIELD("g/w", noise_value, 20, 30, 40);
}

/* Another one, in several ways. */
static void second(struct made *m, int how)
{
    if (how == 0) { /* all of it, in another order and under other names */
        put(m, "c", 3, 100000);
        put(m, "no b", 2, 100000);
        put(m, "twin three", 5, 60000);
        put(m, "big", 4, 700000);
        put(m, "twin too", 5, 60000);
        put(m, "a", 1, 100000);
        put(m, "empty", 6, 0);
    } else if (how == 1) { /* changed here and there, shorter and longer */
        put(m, "a", 1, 99999);
        put(m, "b", 2, 100001);
        put(m, "c", 3, 100000);
        m->data[2].data[5]++;
        put(m, "big", 4, 700000);
        m->data[3].data[300000]++;
        put(m, "twin", 1, 60000);
        put(m, "new", 9, 100000);
        made_file(m, "big too", NULL);
        again(m, 3, 0, 700000);
        made_bytes(m, 10, dense);
    } else if (how == 2) { /* variables: one is the same, one is not */
        made_file(m, "v", "x");
        made_seed = 7;
        FIELD("g/v", noise_value, 20, 30, 40);
        FIELD("g/w", noise_value, 20, 30, 40);
        m->data[0].data[20 * 30 * 40 * 8 + 77]++;
        made_file(m, "another v", "x");
        made_seed = 7;
        FIELD("h/v", noise_value, 20, 30, 40);
        FIELD("h/w", noise_value, 20, 30, 40);
        put(m, "a", 1, 100000);
    } else { /* within the set and from before, one after another */
        put(m, "x", 12, 30000);
        again(m, 0, 0, 20000);
        put(m, "b", 2, 100000);
        made_file(m, "x and b", NULL);
        again(m, 0, 0, 30000);
        again(m, 1, 0, 100000);
    }
}

/* What is found, and how it is cut. seat: bytes of a block that are not too many to be built on. */
static void tell(const char *what, const char *before, struct made *m, uint64_t seat, struct sk_buf *text)
{
    static const struct sk_feed_ops ops = {fetch, hash};
    for (int cut = 0; cut < 2; cut++) {
        struct sk_archive_options o = {.threads = 1};
        struct sk_ska_plan p;
        struct sk_feed_local feed;
        struct sk_repeats r = {0};
        struct sk_buf unheard = {0};
        struct saikai_error err = {0};
        struct made copy = *m;
        for (int i = 0; i < m->count; i++) { /* each plan takes its scans */
            copy.scan[i] = (struct sk_scan){.form = m->scan[i].form};
            for (size_t k = 0; k < m->scan[i].count; k++)
                assert_int_equal(sk_scan_add(&copy.scan[i], &m->scan[i].extents[k], m->scan[i].extents[k].name), 0);
        }
        made_plan(&copy, &o, &feed, &p);
        struct overheard ear = {.feed = {&ops, 1}, .real = &feed.feed, .told = cut ? &unheard : text};
        p.feed = &ear.feed;
        p.seat = (struct sk_unpack_need){.raw_bytes = seat, .work_bytes = seat * 8};
        p.unit_bytes = p.bytes_unit = 1 << 18;
        if (sk_opened_new(before, &p.previous, &err))
            fail_msg("%s", err.text);
        sk_buf_printf(text, cut ? "cut\n" : "%s\n", what);
        if (cut ? sk_ska_plan_cut(&p, &err) : sk_repeats_find(&p, &r, &err))
            fail_msg("%s: %s", what, err.text);
        for (size_t i = 0; i < r.count; i++) {
            const struct sk_repeat *x = &r.list[i];
            sk_buf_printf(text, "%u@%llu+%llu is ", x->file, (unsigned long long)x->offset, (unsigned long long)x->bytes);
            if (x->block)
                sk_buf_printf(text, "block %u part %u at %llu\n", x->block - 1, x->part, (unsigned long long)x->at);
            else
                sk_buf_printf(text, "%u@%llu\n", x->from_file, (unsigned long long)x->from);
        }
        if (cut)
            made_describe(&p, text);
        sk_repeats_free(&r);
        sk_ska_plan_free(&p);
        sk_feed_local_free(&feed);
        sk_buf_free(&unheard);
    }
}

static void what_was_there_before_is_found(void **state)
{
    (void)state;
    static const char *const what[] = {"renamed", "changed", "variables", "mixed", "too large to be built on"};
    struct sk_buf text = {0};
    struct made m = {0};
    struct saikai_error err = {0};
    struct sk_archive_options o = {.threads = 1, .no_sync = 1, .unit_bytes = 1 << 18};
    first(&m);
    for (int i = 0; i < m.count; i++)
        m.in[i] = (struct sk_archive_input){m.name[i], m.name[i], m.data[i].data ? (void *)m.data[i].data : (void *)"", m.data[i].len};
    if (sk_archive_create(at("old.ska"), m.in, (size_t)m.count, &o, NULL, &err))
        fail_msg("%s", err.text);
    made_free(&m);
    for (int how = 0; how < 5; how++) {
        second(&m, how % 4);
        tell(what[how], at("old.ska"), &m, how < 4 ? 1 << 24 : 150000, &text);
        made_free(&m);
    }
    made_expect("before", &text);
    sk_buf_free(&text);
}

/* Whichever stretch of a file cannot be read when it is compared: that is an error, and is not taken for another content. */
static void what_cannot_be_compared_is_an_error(void **state)
{
    (void)state;
    static const struct sk_feed_ops ops = {fetch, hash};
    int all = 0;
    for (int how = 0; how < 2; how++) { /* the archive is that of the test before */
        for (int fails = 1, is_over = 0; !is_over; fails++) {
            struct sk_archive_options o = {.threads = 1};
            struct sk_ska_plan p;
            struct sk_feed_local feed;
            struct sk_repeats r = {0};
            struct sk_buf unheard = {0};
            struct saikai_error err = {0};
            struct made m = {0};
            second(&m, how);
            made_plan(&m, &o, &feed, &p);
            struct overheard ear = {.feed = {&ops, 1}, .real = &feed.feed, .told = &unheard, .fails = fails};
            p.feed = &ear.feed;
            p.seat = (struct sk_unpack_need){.raw_bytes = 1 << 24, .work_bytes = 1 << 27};
            assert_int_equal(sk_opened_new(at("old.ska"), &p.previous, NULL), 0);
            int rc = sk_repeats_find(&p, &r, &err);
            is_over = ear.asked < fails;
            if (rc != (is_over ? 0 : SAIKAI_EIO) || err.code != rc)
                fail_msg("hash %d of %d fails: %d '%s'", fails, ear.asked, rc, err.text);
            all += !is_over;
            sk_repeats_free(&r);
            sk_ska_plan_free(&p);
            sk_feed_local_free(&feed);
            sk_buf_free(&unheard);
            made_free(&m);
        }
    }
    assert_true(all > 10);
}

/* Files of one size that have their longest segments at many places: eight of these are tried. */
static void a_few_places_are_tried(void **state)
{
    (void)state;
    struct sk_buf text = {0};
    struct made m = {0};
    struct saikai_error err = {0};
    struct sk_archive_options o = {.threads = 1, .no_sync = 1, .unit_bytes = 1 << 18, .scheme = SK_SCHEME_AGNOSTIC};
    for (int i = 0; i < MADE_FILES; i++) { /* the cut between blocks goes through each of them elsewhere */
        char name[8];
        snprintf(name, sizeof name, "%d", i);
        put(&m, name, (uint32_t)i + 20, i % 2 ? 400000 : 300000 + 17000 * (size_t)i);
        m.in[i] = (struct sk_archive_input){m.name[i], m.name[i], m.data[i].data, m.data[i].len};
    }
    if (sk_archive_create(at("places.ska"), m.in, (size_t)m.count, &o, NULL, &err))
        fail_msg("%s", err.text);
    made_free(&m);
    put(&m, "7", 26, 402000); /* under the name of another size */
    put(&m, "new", 27, 400000);
    put(&m, "none", 28, 400000);
    put(&m, "1", 25, 400000);
    tell("places", at("places.ska"), &m, 1 << 24, &text);
    made_free(&m);
    made_expect("places", &text);
    sk_buf_free(&text);
}

/* ---- hashes alone are not believed ---- */

/* A feed that says of every range that it has this hash. */
struct liar {
    struct sk_ska_feed feed;
    struct sk_ska_feed *real;
    uint64_t says;
    int asked;
};

static int fetch_truly(struct sk_ska_feed *feed, const struct sk_ska_range *r, size_t n, struct saikai_error *err)
{
    return sk_feed_fetch(((struct liar *)feed)->real, r, n, err);
}

static int lie(struct sk_ska_feed *feed, const struct sk_ska_range *r, uint64_t *value, struct saikai_error *err)
{
    struct liar *l = (struct liar *)feed;
    (void)r, (void)err;
    *value = l->says;
    l->asked++;
    return 0;
}

/* Bytes that are said to be in the archive before, and are not: they are stored. */
static void another_file_of_the_same_hash_is_stored(void **state)
{
    (void)state;
    static const struct sk_feed_ops ops = {fetch_truly, lie};
    struct sk_archive_options o = {.threads = 1, .no_sync = 1, .scheme = SK_SCHEME_AWARE}; /* no stream, on which another one could build */
    struct saikai_error err = {0};
    struct made m = {0};
    struct sk_ska a;
    put(&m, "state", 40, 100000);
    m.in[0] = (struct sk_archive_input){"state", "state", m.data[0].data, m.data[0].len};
    if (sk_archive_create(at("before.ska"), m.in, 1, &o, NULL, &err) || sk_archive_open(at("before.ska"), &a, &err))
        fail_msg("%s", err.text);
    assert_int_equal(a.segment_count, 1);
    o.scheme = SK_SCHEME_AUTO;
    for (int same = 0; same < 2; same++) {
        struct sk_ska_plan p;
        struct sk_feed_local feed;
        struct sk_archive_stats st = {0};
        void *back;
        size_t n;
        m.data[0].data[77777] = (uint8_t)(m.data[0].data[77777] + (same ? -1 : 1));
        made_plan(&m, &o, &feed, &p);
        sk_ska_plan_options(&p, &o);
        struct liar liar = {.feed = {&ops, 1}, .real = &feed.feed, .says = a.segments[0].hash};
        p.feed = &liar.feed;
        assert_int_equal(sk_ska_plan_previous(&p, at("after.ska"), at("before.ska"), &err), 0);
        int fd = open(at("after.ska"), O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (sk_ska_plan_write(&p, fd, at("after.ska"), &st, &err))
            fail_msg("%s", err.text);
        close(fd);
        assert_true(liar.asked > 0);
        if (same ? st.stored_bytes > 1000 || st.depth != 1 : st.stored_bytes < 90000)
            fail_msg("%d: %llu bytes, depth %u", same, (unsigned long long)st.stored_bytes, st.depth);
        sk_ska_plan_free(&p);
        sk_feed_local_free(&feed);
        assert_int_equal(sk_archive_extract(at("after.ska"), at("back"), NULL, NULL, &err), 0);
        assert_int_equal(sk_io_slurp(at("back/state"), 1 << 20, &back, &n, NULL), 0);
        assert_int_equal(n, 100000);
        assert_memory_equal(back, m.data[0].data, n);
        free(back);
        sk_io_rmtree(at("back"), NULL);
        assert_int_equal(unlink(at("after.ska")), 0);
    }
    sk_ska_free(&a);
    made_free(&m);
}

/* Chunks of other ranks that are said to be the same, and are not: as long as that is, up to its last byte. */
static void chunks_of_the_same_hash_are_compared(void **state)
{
    (void)state;
    enum { LARGE = (4 << 20) + 100 };
    static const struct {
        size_t n, differs; /* n: it does not */
    } cases[] = {{20000, 20000}, {20000, 19999}, {20000, 0}, {4095, 4095}, {4096, 4096}, {LARGE, LARGE}, {LARGE, LARGE - 1}, {LARGE, (4 << 20) - 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_archive_options o = {.threads = 1};
        struct made m = {0};
        struct sk_ska_plan p;
        struct sk_feed_local feed;
        struct sk_repeats r = {0};
        put(&m, "first", 50, cases[i].n);
        made_file(&m, "second", NULL);
        again(&m, 0, 0, cases[i].n);
        if (cases[i].differs < cases[i].n)
            m.data[1].data[cases[i].differs]++;
        made_plan(&m, &o, &feed, &p);
        p.chunked = 1;
        for (int f = 0; f < 2; f++)
            for (size_t done = 0; done < cases[i].n;) {
                struct sk_file_chunk x = {.hash = 7 + done, .bytes = (uint32_t)(cases[i].n - done < 1 << 20 ? cases[i].n - done : 1 << 20)};
                assert_int_equal(sk_chunks_add(&p.chunks[f], &x), 0);
                done += x.bytes;
            }
        assert_int_equal(sk_repeats_find(&p, &r, NULL), 0);
        int is = cases[i].differs == cases[i].n && cases[i].n >= 4096;
        if (r.count != (size_t)is || (is && (r.list[0].file != 1 || r.list[0].offset || r.list[0].from || r.list[0].bytes != cases[i].n)))
            fail_msg("case %zu: %zu repeats", i, r.count);
        sk_repeats_free(&r);
        sk_ska_plan_free(&p);
        sk_feed_local_free(&feed);
        made_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(what_was_there_before_is_found),
        cmocka_unit_test(what_cannot_be_compared_is_an_error),
        cmocka_unit_test(a_few_places_are_tried),
        cmocka_unit_test(another_file_of_the_same_hash_is_stored),
        cmocka_unit_test(chunks_of_the_same_hash_are_compared),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
