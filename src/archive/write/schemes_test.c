/* How large blocks are, by what memory, threads, data and options say; and what is told of an archive that is made. */
#include "archive/write/schemes.h"
#include "archive/plan/values_testing.h"
#include "archive/write/create.h"

#include <errno.h>
#include <unistd.h>

enum { KIB = 1 << 10, MIB = 1 << 20 };

/* The plan of so many zeros, written to nowhere. */
static struct sk_archive_stats write_zeros(const struct sk_archive_options *o, size_t bytes, struct sk_ska_plan *p, struct sk_feed_local *feed)
{
    static struct sk_archive_input in;
    struct sk_archive_stats st = {0};
    struct saikai_error err = {0};
    uint8_t *zeros = calloc(bytes + 1, 1);
    *p = (struct sk_ska_plan){0};
    in = (struct sk_archive_input){.path = "zeros", .name = "zeros", .data = zeros, .bytes = bytes};
    sk_ska_plan_options(p, o);
    assert_int_equal(sk_feed_local_init(feed, &in, 1, NULL), 0);
    p->feed = &feed->feed;
    assert_int_equal(sk_ska_plan_list(p, feed, NULL), 0);
    if (sk_ska_plan_write(p, -1, "nowhere", &st, &err))
        fail_msg("%s", err.text);
    free(zeros);
    return st;
}

static void blocks_are_as_large_as_they_may_be(void **state)
{
    (void)state;
    const struct {
        struct sk_archive_options o;
        size_t bytes;
        uint64_t unit, bytes_unit;
    } cases[] = {
        /* `auto`: what gives each thread six of them, between 4 and 8 MiB; of bytes 16 */
        {{.threads = 1}, 2 * MIB, 4 * MIB, 16 * MIB},
        {{.threads = 1}, 24 * MIB, 4 * MIB, 16 * MIB},
        {{.threads = 1}, 24 * MIB + 60, 4 * MIB + 10, 16 * MIB},
        {{.threads = 2}, 60 * MIB, 5 * MIB, 16 * MIB},
        {{.threads = 1}, 48 * MIB - 6, 8 * MIB - 1, 16 * MIB},
        {{.threads = 1}, 60 * MIB, 8 * MIB, 16 * MIB},
        /* the memory for ten: all that is left of it, and no less than 256 KiB */
        {{.threads = 1, .memory_bytes = 50 * MIB}, 2 * MIB, 4 * MIB, 5 * MIB},
        {{.threads = 1, .memory_bytes = 20 * MIB}, 2 * MIB, 2 * MIB, 2 * MIB},
        {{.threads = 3, .memory_bytes = 36 * MIB}, 2 * MIB, 2 * MIB, 2 * MIB},
        {{.threads = 1, .memory_bytes = 1}, 2 * MIB, 256 * KIB, 256 * KIB},
        {{.threads = 1, .memory_bytes = 10 * 300 * KIB}, 2 * MIB, 300 * KIB, 300 * KIB},
        /* as asked */
        {{.threads = 1, .unit_bytes = 300 * KIB}, 2 * MIB, 300 * KIB, 300 * KIB},
        {{.threads = 1, .unit_bytes = 1}, 2 * MIB, 256 * KIB, 256 * KIB},
        {{.threads = 1, .unit_bytes = (uint64_t)300 * MIB, .memory_bytes = (uint64_t)4 << 30}, 2 * MIB, 128 * MIB, 128 * MIB},
        /* schemes without blocks */
        {{.threads = 1, .scheme = SK_SCHEME_AGNOSTIC}, 100, 32 * MIB, 32 * MIB},
        {{.threads = 1, .scheme = SK_SCHEME_AWARE}, 100, 32 * MIB, 32 * MIB},
        {{.threads = 1, .scheme = SK_SCHEME_AWARE_BLOCK, .memory_bytes = 100 * MIB}, 100, 10 * MIB, 10 * MIB},
        {{.threads = 1, .scheme = SK_SCHEME_AGNOSTIC, .level = SK_PACK_LONG | 3}, 100, ((uint64_t)1 << 30) / 10, ((uint64_t)1 << 30) / 10},
        {{.threads = 1, .scheme = SK_SCHEME_AGNOSTIC, .level = SK_PACK_LONG | 3, .memory_bytes = (uint64_t)8 << 30}, 100, 128 * MIB, 128 * MIB},
        /* the strongest compressor takes more memory */
        {{.threads = 1, .scheme = SK_SCHEME_AWARE, .level = SK_PACK_BEST, .memory_bytes = 220 * MIB}, 100, 10 * MIB, 10 * MIB},
        {{.threads = 1, .scheme = SK_SCHEME_AWARE, .level = SK_PACK_BEST - 1, .memory_bytes = 220 * MIB}, 100, 22 * MIB, 22 * MIB},
    };
    if (sk_backend_here(SK_BACKEND_LZMA) < 0)
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_ska_plan p;
        struct sk_feed_local feed;
        struct sk_archive_options o = cases[i].o;
        o.quick = o.no_sync = 1;
        struct sk_archive_stats st = write_zeros(&o, cases[i].bytes, &p, &feed);
        /* plain files may have been tried after it: by other blocks */
        if (o.scheme != SK_SCHEME_AUTO || cases[i].bytes > MIB) {
            if (p.unit_bytes != cases[i].unit || p.bytes_unit != cases[i].bytes_unit)
                fail_msg("case %zu: blocks of %llu and %llu", i, (unsigned long long)p.unit_bytes, (unsigned long long)p.bytes_unit);
        }
        assert_int_equal(st.raw_bytes, cases[i].bytes);
        assert_int_equal(st.files, 1);
        assert_int_equal(st.variables, 0);
        assert_int_equal(st.depth, 0);
        sk_ska_plan_free(&p);
        sk_feed_local_free(&feed);
    }
}

/* ---- progress ---- */

static struct {
    uint64_t done, all;
    int times, beyond;
} told;

static void progress(void *arg, uint64_t done, uint64_t all)
{
    assert_ptr_equal(arg, &told);
    told.beyond += done < told.done || done > all || (told.times && all != told.all);
    told.done = done;
    told.all = all;
    told.times++;
}

/* Whatever is tried besides, and whatever is kept: from nothing to all, which is twice as much where all files are tried as one stream, too. */
static void progress_is_told_to_its_end(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        struct sk_archive_options o = {.threads = 2, .no_sync = 1, .quick = i % 2, .progress = progress, .progress_arg = &told};
        struct made m = {0};
        struct sk_ska_plan p;
        struct sk_feed_local feed;
        struct sk_archive_stats st = {0};
        struct saikai_error err = {0};
        o.scheme = i / 2 == 4 ? SK_SCHEME_AGNOSTIC : SK_SCHEME_AUTO;
        o.level = i / 2 == 5 ? SK_PACK_BEST : 0;
        made_seed = 3;
        made_file(&m, "file", NULL);
        if (i / 2 == 0) /* gzip leaves less */
            made_bytes(&m, 1500, prose);
        else if (i / 2 == 1) /* one stream does */
            made_bytes(&m, 1300000, dense);
        else if (i / 2 == 2) /* nothing does */
            made_bytes(&m, 2500000, dense);
        else
            made_bytes(&m, 300000, words);
        for (size_t k = 0; k < 1300000 && i / 2 == 1; k++)
            sk_buf_put_u8(&m.data[0], (uint8_t)(m.data[0].data[k] + (k % 500 == 7)));
        made_plan(&m, &o, &feed, &p);
        sk_ska_plan_options(&p, &o);
        memset(&told, 0, sizeof told);
        FILE *to = tmpfile();
        assert_non_null(to);
        if (sk_ska_plan_write(&p, fileno(to), "a file", &st, &err))
            fail_msg("case %d: %s", i, err.text);
        fclose(to);
        uint64_t want = m.data[0].len * (o.quick || o.scheme ? 1 : 2);
        if (told.beyond || told.done != want || told.all != want || told.times < 1)
            fail_msg("case %d: %llu of %llu, told %d times, %d of them wrong", i, (unsigned long long)told.done, (unsigned long long)told.all, told.times,
                     told.beyond);
        sk_ska_plan_free(&p);
        sk_feed_local_free(&feed);
        made_free(&m);
    }
}

/* A plan's options are what they were when something else has been tried, too. */
static void what_was_tried_is_forgotten(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct sk_archive_options o = {.threads = 3, .no_sync = 1, .quick = i == 3, .level = i == 4 ? SK_PACK_BEST : 0, .progress = progress, .progress_arg = &told};
        struct made m = {0};
        struct sk_ska_plan p;
        struct sk_feed_local feed;
        struct sk_archive_stats st = {0};
        struct saikai_error err = {0};
        made_seed = 5;
        made_file(&m, "file", NULL);
        made_bytes(&m, i == 0 ? 1500 : 300000, i == 0 ? prose : i == 1 ? dense : words);
        for (size_t k = 0; k < 300000 && i == 1; k++) /* far away about the same */
            sk_buf_put_u8(&m.data[0], (uint8_t)(m.data[0].data[k] + (k % 500 == 7)));
        made_plan(&m, &o, &feed, &p);
        sk_ska_plan_options(&p, &o);
        struct sk_archive_options was = p.opt;
        FILE *to = tmpfile();
        assert_non_null(to);
        memset(&told, 0, sizeof told);
        if (sk_ska_plan_write(&p, fileno(to), "a file", &st, &err))
            fail_msg("case %d: %s", i, err.text);
        fclose(to);
        if (memcmp(&p.opt, &was, sizeof was) || p.threads != 3 || p.limit || p.whole || p.previous)
            fail_msg("case %d: %d threads, limit %llu, whole %d", i, p.threads, (unsigned long long)p.limit, p.whole);
        assert_int_equal(st.raw_bytes, m.data[0].len);
        sk_ska_plan_free(&p);
        sk_feed_local_free(&feed);
        made_free(&m);
    }
}

/* With as few bytes as can be all files are only made one stream where a quick compressor has found something for that: what is told of the
 * progress shows what was made. */
static void the_strongest_is_not_tried_in_vain(void **state)
{
    (void)state;
    struct sk_archive_options o = {.threads = 1, .no_sync = 1, .level = SK_PACK_BEST, .unit_bytes = 1 << 18, .progress = progress, .progress_arg = &told};
    struct made m = {0};
    struct sk_ska_plan p;
    struct sk_feed_local feed;
    struct sk_archive_stats st = {0};
    struct saikai_error err = {0};
    struct sk_ska a = {0};
    if (sk_backend_here(SK_BACKEND_LZMA) < 0)
        skip();
    made_seed = 6;
    made_file(&m, "table", NULL);
    lines(&m.data[0], 600000, 0); /* by column they leave much less than of a stream */
    made_file(&m, "prose", NULL);
    made_bytes(&m, 300000, prose);
    made_plan(&m, &o, &feed, &p);
    sk_ska_plan_options(&p, &o);
    memset(&told, 0, sizeof told);
    FILE *to = tmpfile();
    assert_non_null(to);
    if (sk_ska_plan_write(&p, fileno(to), "a file", &st, &err) || sk_ska_read(fileno(to), "a file", &a, &err))
        fail_msg("%s", err.text);
    assert_true(a.block_count > 3);
    assert_int_equal(told.times, a.block_count + 1); /* and that the stream was passed over */
    fclose(to);
    sk_ska_free(&a);
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    made_free(&m);
}

/* ---- options ---- */

static void options_have_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int scheme, looks;
    } names[] = {{"auto", SK_SCHEME_AUTO, 1}, {"agnostic", SK_SCHEME_AGNOSTIC, 0}, {"agnostic-block", SK_SCHEME_AGNOSTIC_BLOCK, 0}, {"aware", SK_SCHEME_AWARE, 1},
                 {"aware-block", SK_SCHEME_AWARE_BLOCK, 1}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(sk_scheme_parse(names[i].name), names[i].scheme);
        assert_int_equal(sk_scheme_looks(names[i].scheme), names[i].looks);
    }
    assert_int_equal(sk_scheme_parse("awar"), -1);
    assert_int_equal(sk_scheme_parse(""), SK_SCHEME_AUTO);
    /* a pattern that is none */
    struct made m = {0};
    struct sk_ska_plan p;
    struct sk_feed_local feed;
    struct saikai_error err = {0};
    made_file(&m, "file", NULL);
    made_bytes(&m, 100, words);
    made_plan(&m, &(struct sk_archive_options){.threads = 1, .pattern = "a(b", .quick = 1}, &feed, &p);
    assert_int_equal(sk_ska_plan_cut(&p, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "the pattern 'a(b' for names: "));
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    made_free(&m);
}

/* Where nothing can be written from a place on, that is told. */
static void a_pipe_is_no_file(void **state)
{
    (void)state;
    int fd[2];
    struct made m = {0};
    struct sk_ska_plan p;
    struct sk_feed_local feed;
    struct sk_archive_stats st = {0};
    struct saikai_error err = {0};
    assert_int_equal(pipe(fd), 0);
    made_file(&m, "file", NULL);
    made_bytes(&m, 100, words);
    made_plan(&m, &(struct sk_archive_options){.threads = 1, .no_sync = 1}, &feed, &p);
    sk_ska_plan_options(&p, &(struct sk_archive_options){.threads = 1, .no_sync = 1});
    int rc = sk_ska_plan_write(&p, fd[1], "a pipe", &st, &err);
    assert_true(rc < 0 && err.code == rc);
    assert_non_null(strstr(err.text, "cannot write a pipe"));
    close(fd[0]);
    close(fd[1]);
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    made_free(&m);
}

/* ---- what cannot be read ---- */

static char dir[64];
static long asked, fails;
static const char *failing;

static int fail_once(const char *op, const char *path)
{
    return !strcmp(op, failing) && strstr(path, dir) && strstr(path, "/in") && ++asked == fails ? EIO : 0;
}

/* Whatever a file is read for, at whatever level: an error that passes is told, and there is no archive. */
static void what_cannot_be_read_is_told(void **state)
{
    (void)state;
    static const char *const ops[] = {"open", "read"};
    strcpy(dir, "/tmp/saikai-schemes-XXXXXX");
    assert_non_null(mkdtemp(dir));
    char path[2][100], out[100];
    struct made m = {0};
    struct sk_archive_input in[2];
    made_seed = 4;
    snprintf(out, sizeof out, "%s/x.ska", dir);
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/in%d", dir, i);
        made_file(&m, i ? "prose" : "words", NULL);
        made_bytes(&m, 12000, i ? prose : words);
        assert_int_equal(sk_io_replace(path[i], m.data[i].data, m.data[i].len, NULL), 0);
        in[i] = (struct sk_archive_input){.path = path[i], .name = m.name[i]};
    }
    for (int best = 0; best < 2; best++)
        for (int op = 0; op < 2; op++) {
            struct sk_archive_options o = {.threads = 1, .no_sync = 1, .level = best ? SK_PACK_BEST : 0};
            int rc = SAIKAI_EIO;
            for (fails = 1; rc; fails++) {
                struct saikai_error err = {0};
                asked = 0;
                failing = ops[op];
                sk_io_hook = fail_once;
                rc = sk_archive_create(out, in, 2, &o, NULL, &err);
                sk_io_hook = NULL;
                if (!rc && asked >= fails)
                    fail_msg("%s %ld is not told", ops[op], fails);
                if (rc && (rc != SAIKAI_EIO || err.code != rc || !strstr(err.text, "/in") || !access(out, F_OK)))
                    fail_msg("%s %ld: %d, %s", ops[op], fails, rc, err.text);
            }
            assert_true(fails > 5);
            assert_int_equal(unlink(out), 0);
        }
    made_free(&m);
    assert_int_equal(sk_io_rmtree(dir, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_as_large_as_they_may_be),
        cmocka_unit_test(progress_is_told_to_its_end),
        cmocka_unit_test(what_was_tried_is_forgotten),
        cmocka_unit_test(the_strongest_is_not_tried_in_vain),
        cmocka_unit_test(options_have_names),
        cmocka_unit_test(a_pipe_is_no_file),
        cmocka_unit_test(what_cannot_be_read_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
