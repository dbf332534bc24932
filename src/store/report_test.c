/* The file in which a job says how it is doing: printed, read, refused, as metrics, and put up with the lease of its store. */
#include "store/report.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "store/note.h"
#include "store/owner/board.h"
#include "store/owner/lease.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

static char dir[64];

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-report-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static const struct sk_report example = {
    .at_ms = 1700000100000,
    .began_ms = 1700000000000,
    .start = 3,
    .ranks = 8,
    .nodes = 2,
    .host = "n\"1",
    .iteration = 41,
    .tick = 0.25,
    .newest = {{40, 1700000090000}, {-1, 0}, {20, 0}},
    .checkpoints = 7,
    .failed = 1,
    .bytes = 1234567,
    .cost = 0.5,
    .blocked = 4,
    .every = 12,
    .why = "vaidya",
    .program_rate = 1e-5,
    .host_rate = 2e-7,
    .faults = 2,
    .past = 300,
    .lost = 20,
};

static void it_is_read_as_it_was_printed(void **state)
{
    (void)state;
    struct sk_buf b = {0}, again = {0};
    struct sk_report r;
    sk_report_print(&example, &b);
    assert_true(sk_buf_ok(&b));
    assert_int_equal(sk_report_decode((const char *)b.data, b.len, &r, NULL), 0);
    sk_report_print(&r, &again);
    assert_int_equal(again.len, b.len);
    assert_memory_equal(again.data, b.data, b.len);
    assert_string_equal(r.host, "n\"1");
    assert_string_equal(r.why, "vaidya");
    assert_int_equal(r.newest[SK_REPORT_LOCAL].iteration, 40);
    assert_int_equal(r.newest[SK_REPORT_PROTECTED].iteration, -1);
    assert_int_equal(r.newest[SK_REPORT_PREFIX].at_ms, 0);
    assert_true(r.tick == 0.25 && r.lost == 20 && r.program_rate == 1e-5);
    sk_buf_free(&again);
    sk_buf_free(&b);
}

/* The printed example with one text replaced, and a right checksum. */
static int decode_with(const char *from, const char *to, struct sk_report *r, struct saikai_error *err)
{
    struct sk_buf b = {0}, made = {0};
    sk_report_print(&example, &b);
    char *check = memmem(b.data, b.len, "check ", 6), *at = memmem(b.data, b.len, from, strlen(from));
    assert_true(check && at && at < check);
    sk_buf_put(&made, b.data, (size_t)(at - (char *)b.data));
    sk_buf_put(&made, to, strlen(to));
    sk_buf_put(&made, at + strlen(from), (size_t)(check - at) - strlen(from));
    sk_note_end(&made);
    int rc = sk_report_decode((const char *)made.data, made.len, r, err);
    sk_buf_free(&made);
    sk_buf_free(&b);
    return rc;
}

/* Whichever line is missing, or there twice: it is said which. */
static void each_line_is_there_once(void **state)
{
    (void)state;
    struct sk_buf b = {0};
    struct sk_report r;
    int lines = 0;
    sk_report_print(&example, &b);
    sk_buf_put_u8(&b, 0);
    assert_true(sk_buf_ok(&b));
    for (char *at = strchr((char *)b.data, '\n') + 1, *next; strncmp(at, "check ", 6); at = next, lines++) {
        char line[128], twice[256], key[64];
        struct saikai_error err = {0};
        next = strchr(at, '\n') + 1;
        snprintf(line, sizeof line, "\n%.*s", (int)(next - at), at);
        snprintf(twice, sizeof twice, "%s%s", line, line + 1);
        snprintf(key, sizeof key, "'%.*s'", (int)strcspn(at, " "), at);
        assert_int_equal(decode_with(line, "\n", &r, &err), SAIKAI_EDAMAGED);
        if (!strstr(err.text, key))
            fail_msg("%s: %s", key, err.text);
        assert_int_equal(decode_with(line, twice, &r, &err), SAIKAI_EDAMAGED);
    }
    assert_int_equal(lines, 26);
    sk_buf_free(&b);
}

static void a_file_is_loaded(void **state)
{
    (void)state;
    struct sk_buf b = {0};
    struct sk_report r = {0};
    struct saikai_error err = {0};
    char path[128];
    assert_int_equal(sk_report_load(dir, &r, &err), SAIKAI_ENOENT);
    snprintf(path, sizeof path, "%s/" SK_REPORT_FILE, dir);
    sk_report_print(&example, &b);
    assert_int_equal(sk_io_replace(path, b.data, b.len, NULL), 0);
    assert_int_equal(sk_report_load(dir, &r, &err), 0);
    assert_int_equal(r.bytes, example.bytes);
    b.data[b.len / 2] ^= 1;
    assert_int_equal(sk_io_replace(path, b.data, b.len, NULL), 0);
    r.bytes = 5;
    assert_int_equal(sk_report_load(dir, &r, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(r.bytes, 5);
    sk_buf_free(&b);
}

static void what_is_none_is_refused(void **state)
{
    (void)state;
    struct sk_report r;
    struct saikai_error err = {0};
    assert_int_equal(decode_with("ranks 8\n", "", &r, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "'ranks'"));
    assert_int_equal(decode_with("ranks 8\n", "ranks 8\nranks 8\n", &r, &err), SAIKAI_EDAMAGED);
    assert_int_equal(decode_with("ranks 8\n", "ranks 8x\n", &r, &err), SAIKAI_EDAMAGED);
    assert_int_equal(decode_with("ranks 8\n", "ranks -2\n", &r, &err), SAIKAI_EDAMAGED);
    assert_int_equal(decode_with("ranks 8\n", "ranks 99999999999999999999\n", &r, &err), SAIKAI_EDAMAGED);
    assert_int_equal(decode_with("cost 0.5\n", "cost nan\n", &r, &err), SAIKAI_EDAMAGED);
    assert_int_equal(decode_with("cost 0.5\n", "cost -1\n", &r, &err), SAIKAI_EDAMAGED);
    assert_int_equal(decode_with("why vaidya\n", "why 0123456789012345678901234567890123\n", &r, &err), SAIKAI_EDAMAGED);
    assert_int_equal(decode_with("saikai-status 1", "saikai-status 2", &r, &err), SAIKAI_EFORMAT);
    /* but a later version may say more */
    assert_int_equal(decode_with("ranks 8\n", "ranks 8\ncolour blue\n", &r, &err), 0);
    assert_int_equal(r.ranks, 8);
}

static void a_flipped_bit_and_a_short_file_are_seen(void **state)
{
    (void)state;
    struct sk_buf b = {0};
    struct sk_report r;
    sk_report_print(&example, &b);
    char *text = (char *)b.data;
    for (size_t i = 0; i < b.len; i++) {
        text[i] ^= 4;
        assert_true(sk_report_decode(text, b.len, &r, NULL) < 0);
        text[i] ^= 4;
        assert_true(sk_report_decode(text, i, &r, NULL) < 0);
    }
    assert_int_equal(sk_report_decode(text, b.len, &r, NULL), 0);
    sk_buf_free(&b);
}

static void shares_are_of_the_time_that_was_used(void **state)
{
    (void)state;
    struct sk_report r = example;
    assert_true(sk_report_share_blocked(&r) == 0.04);   /* 4 of 100 s */
    assert_true(sk_report_share_lost(&r) == 20.0 / 400); /* of all starts */
    r.at_ms = r.began_ms;
    assert_true(sk_report_share_blocked(&r) == 0);
    r.past = 0;
    assert_true(sk_report_share_lost(&r) == 0);
    r.past = 10;
    assert_true(sk_report_share_lost(&r) == 1);
}

/* Lines that must be there, and the rules of the format that collectors insist on. */
static void metrics_are_what_collectors_read(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "saikai_iteration{job=\"a\\\"b\\\\c\"} 41\n",
        "saikai_checkpoints_total{job=\"a\\\"b\\\\c\"} 7\n",
        "saikai_checkpoint_iteration{job=\"a\\\"b\\\\c\",level=\"local\"} 40\n",
        "saikai_checkpoint_iteration{job=\"a\\\"b\\\\c\",level=\"prefix\"} 20\n",
        "# UNIT saikai_checkpoint_timestamp_seconds seconds\n",
        "# UNIT saikai_report_timestamp_seconds seconds\n",
        "saikai_checkpoint_timestamp_seconds{job=\"a\\\"b\\\\c\",level=\"local\"} 1700000090.000\n",
        "saikai_interval_seconds{job=\"a\\\"b\\\\c\"} 3\n",
        "saikai_lost_seconds_total{job=\"a\\\"b\\\\c\"} 20\n",
        "\nsaikai_report_timestamp_seconds{job=\"a\\\"b\\\\c\"} 1700000100\n",
        "\nsaikai_start_timestamp_seconds{job=\"a\\\"b\\\\c\"} 1700000000\n",
        "\nsaikai_starts{job=\"a\\\"b\\\\c\"} 3\n",
        "\nsaikai_ranks{job=\"a\\\"b\\\\c\"} 8\n",
        "\nsaikai_nodes{job=\"a\\\"b\\\\c\"} 2\n",
        "\nsaikai_checkpoints_failed_total{job=\"a\\\"b\\\\c\"} 1\n",
        "\nsaikai_checkpoint_cost_seconds{job=\"a\\\"b\\\\c\"} 0.123456789\n",
        "\nsaikai_blocked_seconds_total{job=\"a\\\"b\\\\c\"} 4\n",
        "\nsaikai_program_failures_per_second{job=\"a\\\"b\\\\c\"} 1e-05\n",
        "\nsaikai_host_failures_per_second{job=\"a\\\"b\\\\c\"} 2e-07\n",
        "\nsaikai_faults_total{job=\"a\\\"b\\\\c\"} 2\n",
    };
    struct sk_buf b = {0};
    struct sk_report r = example;
    r.cost = 0.123456789;
    sk_report_metrics(&r, "a\"b\\c", &b);
    sk_buf_put_u8(&b, 0);
    assert_true(sk_buf_ok(&b));
    const char *text = (const char *)b.data;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(text, lines[i]))
            fail_msg("%s is not in\n%s", lines[i], text);
    assert_null(strstr(text, "level=\"protected\""));          /* none got there */
    assert_null(strstr(text, "seconds{job=\"a\\\"b\\\\c\",level=\"prefix\"}")); /* nobody knows when */
    assert_string_equal(text + strlen(text) - 6, "# EOF\n");
    char family[128] = "";
    for (const char *p = text; *p; p = strchr(p, '\n') + 1) {
        if (sscanf(p, "# TYPE %127s", family) == 1)
            continue;
        char name[128], expect[160];
        if (*p != '#' && sscanf(p, "%127[a-z_]{", name) == 1) {
            snprintf(expect, sizeof expect, "%s_total", family);
            assert_true(!strcmp(name, family) || !strcmp(name, expect)); /* each family stands together, behind its type */
        }
    }
    sk_buf_free(&b);
}

static int content_is(const char *path, const char *text)
{
    void *got;
    size_t n;
    if (sk_io_slurp(path, 1000, &got, &n, NULL))
        return 0;
    int same = n == strlen(text) && !memcmp(got, text, n);
    free(got);
    return same;
}

static void a_board_has_the_newest(void **state)
{
    (void)state;
    struct sk_board b;
    char one[100], two[100], three[100];
    snprintf(one, sizeof one, "%s/one", dir);
    snprintf(two, sizeof two, "%s/nowhere/two", dir);
    snprintf(three, sizeof three, "%s/three", dir);
    sk_board_init(&b);
    sk_board_write(&b);
    assert_int_equal(sk_board_post(&b, one, 0, "first", 5), 0);
    assert_int_equal(sk_board_post(&b, one, 0, "second", 6), 0);
    assert_int_equal(sk_board_post(&b, two, 0, "x", 1), 0);
    assert_int_equal(sk_board_post(&b, three, 0, "x", 1), -1); /* too many */
    assert_false(content_is(one, "second"));
    sk_board_write(&b);
    assert_true(content_is(one, "second"));
    assert_int_equal(access(two, F_OK), -1); /* no such directory: nothing happens */
    assert_int_equal(unlink(one), 0);
    sk_board_write(&b); /* only what is new */
    assert_int_equal(access(one, F_OK), -1);
    assert_int_equal(sk_board_post(&b, one, 0, "third", 5), 0); /* never written */
    sk_board_free(&b);
}

static const char *failing;
static int fail_there(const char *op, const char *path)
{
    (void)path;
    return !strcmp(op, failing) ? EIO : 0;
}

/* What cannot be written leaves what was there, and nothing beside it. */
static void a_board_that_cannot_be_written_leaves_nothing(void **state)
{
    (void)state;
    static const char *const ops[] = {"open", "write", "rename"};
    struct sk_board b;
    char path[100], tmp[110], deep[PATH_MAX + 10];
    struct stat st;
    snprintf(path, sizeof path, "%s/board", dir);
    snprintf(tmp, sizeof tmp, "%s.tmp", path);
    sk_board_init(&b);
    mode_t before = umask(077);
    for (int open = 0; open < 2; open++) { /* who may read it */
        assert_int_equal(sk_board_post(&b, path, open, "old", 3), 0);
        sk_board_write(&b);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, open ? 0644 : 0600);
    }
    umask(before);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sk_board_post(&b, path, 0, "new", 3), 0);
        failing = ops[i];
        sk_io_hook = fail_there;
        sk_board_write(&b);
        sk_io_hook = NULL;
        if (!content_is(path, "old") || !access(tmp, F_OK))
            fail_msg("after %s", ops[i]);
        sk_board_write(&b); /* it is not tried again */
        assert_true(content_is(path, "old"));
    }
    memset(deep, 'x', sizeof deep);
    deep[PATH_MAX] = 0;
    assert_int_equal(sk_board_post(&b, deep, 0, "x", 1), -1);
    deep[PATH_MAX - 1] = 0;
    assert_int_equal(sk_board_post(&b, deep, 0, "x", 1), 0);
    sk_board_write(&b);
    sk_board_free(&b);
}

static int wait_for(const char *path, const char *text)
{
    for (double begun = sk_now(); sk_now() - begun < 60; sk_sleep(0.01))
        if (content_is(path, text))
            return 1;
    return 0;
}

static void a_lease_puts_it_up_at_once_and_at_its_end(void **state)
{
    (void)state;
    struct sk_owner o;
    struct sk_lease *l;
    char path[100];
    snprintf(path, sizeof path, "%s/" SK_REPORT_FILE, dir);
    sk_owner_self("job", NULL, 1, &o);
    assert_int_equal(sk_lease_take(dir, &o, 6000, &l, NULL), 0); /* it is renewed every 1000 s */
    assert_int_equal(sk_lease_post(NULL, path, 0, "x", 1), -1);
    assert_int_equal(sk_lease_post(l, path, 0, "hello", 5), 0);
    assert_true(wait_for(path, "hello"));
    assert_int_equal(sk_lease_post(l, path, 0, "again", 5), 0);
    sk_sleep(0.1);
    assert_true(content_is(path, "hello")); /* with the next renewal … */
    sk_lease_release(l);
    assert_true(content_is(path, "again")); /* … or the end */
}

static void the_end_writes_nothing_where_another_job_is(void **state)
{
    (void)state;
    struct sk_owner o, other;
    struct sk_lease *l;
    struct sk_buf b = {0};
    char path[100], lease[100];
    snprintf(path, sizeof path, "%s/" SK_REPORT_FILE, dir);
    snprintf(lease, sizeof lease, "%s/" SK_LEASE_FILE, dir);
    sk_owner_self("job", NULL, 1, &o);
    sk_owner_self("job", NULL, 1, &other);
    assert_int_equal(sk_lease_take(dir, &o, 1.2, &l, NULL), 0);
    assert_int_equal(sk_owner_encode(&other, &b, NULL), 0);
    assert_int_equal(sk_io_replace(lease, b.data, b.len, NULL), 0);
    sk_buf_free(&b);
    for (double begun = sk_now(); !sk_lease_is_lost(l) && sk_now() - begun < 60; sk_sleep(0.01))
        ;
    assert_true(sk_lease_is_lost(l));
    sk_lease_post(l, path, 0, "mine", 4);
    sk_lease_release(l);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        cmocka_unit_test(remember_open_files),
        TEST(it_is_read_as_it_was_printed),
        TEST(each_line_is_there_once),
        TEST(a_file_is_loaded),
        TEST(what_is_none_is_refused),
        TEST(a_flipped_bit_and_a_short_file_are_seen),
        TEST(shares_are_of_the_time_that_was_used),
        TEST(metrics_are_what_collectors_read),
        TEST(a_board_has_the_newest),
        TEST(a_board_that_cannot_be_written_leaves_nothing),
        TEST(a_lease_puts_it_up_at_once_and_at_its_end),
        TEST(the_end_writes_nothing_where_another_job_is),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
