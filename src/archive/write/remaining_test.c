/* What of the inputs remains after an attempt that failed: who is left out and why, who is read once more, and when it is given up. */
#include "archive/write/remaining.h"
#include "archive/write/testing.h"

enum { FILES = 3 };

static struct {
    int count, refuse; /* refuse: the number of the question that is answered with no, 0: none */
    char path[16][600], why[16][500];
    int code[16];
} asked;

static int leave_out(void *arg, const char *path, const struct saikai_error *why)
{
    assert_ptr_equal(arg, &asked);
    assert_true(asked.count < 16);
    snprintf(asked.path[asked.count], sizeof asked.path[0], "%s", path);
    snprintf(asked.why[asked.count], sizeof asked.why[0], "%s", why->text);
    asked.code[asked.count++] = why->code;
    return asked.count != asked.refuse;
}

static struct sk_archive_input in[FILES];
static struct sk_ska_entry entries[] = {{.name = "d", .kind = SK_ENTRY_DIRECTORY},
                                        {.name = "h", .target = "b", .kind = SK_ENTRY_HARD_LINK},
                                        {.name = "s", .target = "b", .kind = SK_ENTRY_SYMLINK},
                                        {.name = "i", .target = "b", .kind = SK_ENTRY_HARD_LINK},
                                        {.name = "j", .target = "c", .kind = SK_ENTRY_HARD_LINK}};

/* Three files that were listed, all of which remain. */
static void begin(struct sk_remaining *r, struct sk_feed_local *feed)
{
    static const char *const names[] = {"a", "b", "c"};
    struct sk_archive_options o = {.entries = entries, .entry_count = 5, .leave_out = leave_out, .leave_arg = &asked};
    memset(&asked, 0, sizeof asked);
    for (int i = 0; i < FILES; i++) {
        put_file(at("in/%s", names[i]), "0123456789", 10);
        in[i] = (struct sk_archive_input){.path = at("in/%s", names[i]), .name = names[i]};
    }
    assert_int_equal(sk_remaining_init(r, in, FILES, &o, NULL), 0);
    assert_int_equal(r->count, FILES);
    assert_true(r->inputs != in && r->opt.entries != entries);
    assert_int_equal(sk_feed_local_init(feed, r->inputs, r->count, NULL), 0);
}

static void next(struct sk_remaining *r, struct sk_feed_local *feed)
{
    sk_feed_local_free(feed);
    assert_int_equal(sk_feed_local_init(feed, r->inputs, r->count, NULL), 0);
}

static void finish(struct sk_remaining *r, struct sk_feed_local *feed)
{
    sk_feed_local_free(feed);
    sk_remaining_free(r);
    sk_io_rmtree(at("in"), NULL);
}

/* The attempt failed with this; names of what remains after it. */
static int again(struct sk_remaining *r, const struct sk_feed_local *feed, int rc, const char *text, const char *files, const char *links)
{
    struct saikai_error err = {0};
    char have[8] = "", left[8] = "";
    sk_fail(&err, rc, "%s", text);
    int answer = sk_remaining_again(r, feed, rc, &err);
    for (size_t i = 0; i < r->count; i++)
        strcat(have, r->inputs[i].name);
    for (size_t i = 0; i < r->opt.entry_count; i++)
        strcat(left, r->opt.entries[i].name);
    if (!answer) {
        assert_string_equal(have, files);
        assert_string_equal(left, links);
    } else {
        assert_int_equal(err.code, answer);
        assert_string_equal(err.text, files); /* why */
    }
    return answer;
}

/* An input that could not be read goes, with its other names. */
static void who_failed_is_left_out(void **state)
{
    (void)state;
    struct sk_remaining r;
    struct sk_feed_local feed;
    char text[700];
    begin(&r, &feed);
    sk_feed_local_failed(&feed, 1);
    sk_feed_local_failed(&feed, 2); /* the first one counts */
    snprintf(text, sizeof text, "%s does what it likes", in[1].path);
    assert_int_equal(again(&r, &feed, SAIKAI_EIO, text, "ac", "dsj"), 0);
    assert_int_equal(asked.count, 3);
    assert_string_equal(asked.path[0], in[1].path);
    assert_string_equal(asked.why[0], text);
    assert_string_equal(asked.path[1], "h");
    assert_string_equal(asked.why[1], "h is another name of b, which is left out");
    assert_string_equal(asked.path[2], "i");
    assert_true(asked.code[0] == SAIKAI_EIO && asked.code[1] == SAIKAI_ENOENT);
    next(&r, &feed);
    sk_feed_local_failed(&feed, 1); /* by an error that does not name it */
    assert_int_equal(again(&r, &feed, SAIKAI_EDAMAGED, "something", "a", "ds"), 0);
    snprintf(text, sizeof text, "cannot read %s", in[2].path);
    assert_string_equal(asked.why[3], text);
    assert_int_equal(asked.code[3], SAIKAI_EDAMAGED);
    next(&r, &feed);
    sk_feed_local_failed(&feed, 0);
    assert_int_equal(again(&r, &feed, SAIKAI_EIO, "x", "none of the files could be read: there is nothing to archive", ""), SAIKAI_EIO);
    finish(&r, &feed);
}

/* What changed is read once more, the second time it is left out; what went away is left out at once. */
static void who_changed_is_read_once_more(void **state)
{
    (void)state;
    struct sk_remaining r;
    struct sk_feed_local feed;
    begin(&r, &feed);
    put_file(in[0].path, "longer than before", 18);
    put_file(in[2].path, "longer than before", 18);
    assert_int_equal(again(&r, &feed, SAIKAI_ECHANGED, "x", "abc", "dhsij"), 0);
    assert_int_equal(asked.count, 0);
    next(&r, &feed);
    put_file(in[0].path, "and longer than before", 22);
    assert_int_equal(unlink(in[1].path), 0);
    assert_int_equal(again(&r, &feed, SAIKAI_ECHANGED, "x", "c", "dsj"), 0);
    assert_int_equal(asked.count, 4);
    assert_int_equal(asked.code[0], SAIKAI_ECHANGED);
    assert_int_equal(asked.code[1], SAIKAI_ENOENT);
    finish(&r, &feed);
    /* away and changed at the same time: one goes, the other is read again */
    begin(&r, &feed);
    put_file(in[0].path, "longer than before", 18);
    assert_int_equal(unlink(in[2].path), 0);
    assert_int_equal(again(&r, &feed, SAIKAI_ENOENT, "x", "ab", "dhsi"), 0);
    assert_int_equal(asked.count, 2);
    finish(&r, &feed);
}

/* A no ends it, with what was asked about. */
static void who_says_no_ends_it(void **state)
{
    (void)state;
    struct sk_remaining r;
    struct sk_feed_local feed;
    char text[700];
    for (int refuse = 1; refuse <= 3; refuse++) {
        begin(&r, &feed);
        asked.refuse = refuse;
        sk_feed_local_failed(&feed, 1);
        snprintf(text, sizeof text, "%s cannot be read", in[1].path);
        static const char *const links[] = {"h is another name of b, which is left out", "i is another name of b, which is left out"};
        assert_int_equal(again(&r, &feed, SAIKAI_EIO, text, refuse == 1 ? text : links[refuse - 2], ""), refuse == 1 ? SAIKAI_EIO : SAIKAI_ENOENT);
        assert_int_equal(asked.count, refuse);
        finish(&r, &feed);
    }
}

/* What is no input's fault is an error at once, and so is what comes again and again. */
static void else_it_is_given_up(void **state)
{
    (void)state;
    static const int codes[] = {SAIKAI_ENOSPC, SAIKAI_ENOMEM, SAIKAI_EEXIST};
    struct sk_remaining r;
    struct sk_feed_local feed;
    begin(&r, &feed);
    sk_feed_local_failed(&feed, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(again(&r, &feed, codes[i], "as it was", "as it was", ""), codes[i]);
    assert_int_equal(asked.count, 0);
    feed.failed = 0;
    assert_int_equal(again(&r, &feed, SAIKAI_EIO, "nobody's fault", "nobody's fault", ""), SAIKAI_EIO);
    finish(&r, &feed);
    /* nine times it is tried once more */
    begin(&r, &feed);
    for (int i = 1; i <= 10; i++) {
        char size[40] = "0123456789012345678901234567890123456";
        r.attempts = i - 1;
        next(&r, &feed);
        sk_feed_local_failed(&feed, 0);
        put_file(in[0].path, size, 11 + (size_t)i);
        int rc = sk_remaining_again(&r, &feed, SAIKAI_EIO, NULL);
        assert_int_equal(rc, i < 10 ? 0 : SAIKAI_EIO);
        if (i > 1 && i < 10) { /* it was left out: put it back */
            assert_int_equal(r.count, FILES - 1);
            memmove(r.list + 1, r.list, (FILES - 1) * sizeof *r.list);
            r.list[0] = in[0];
            r.count = FILES;
        }
    }
    finish(&r, &feed);
    /* nothing is left out where nobody says what becomes of it */
    struct saikai_error err = {0};
    assert_int_equal(sk_remaining_init(&r, in, FILES, NULL, &err), 0);
    assert_true(r.inputs == in && r.count == FILES && !r.list);
    struct sk_feed_local none = {.inputs = in, .failed = 1};
    assert_int_equal(sk_remaining_again(&r, &none, SAIKAI_EIO, &err), SAIKAI_EIO);
    assert_int_equal(r.count, FILES);
    sk_remaining_free(&r);
}

/* Those behind the one at which looking at them ended have not been seen. */
static void who_was_not_looked_at_stays(void **state)
{
    (void)state;
    struct sk_remaining r;
    struct sk_feed_local feed;
    begin(&r, &feed);
    sk_feed_local_free(&feed);
    assert_int_equal(unlink(in[1].path), 0);
    assert_int_equal(sk_feed_local_init(&feed, r.inputs, r.count, NULL), SAIKAI_ENOENT);
    assert_int_equal(feed.count, 1);
    put_file(in[2].path, "x", 1);
    assert_int_equal(again(&r, &feed, SAIKAI_ENOENT, "x", "ac", "dsj"), 0);
    assert_int_equal(asked.count, 3);
    finish(&r, &feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_failed_is_left_out), cmocka_unit_test(who_changed_is_read_once_more), cmocka_unit_test(who_says_no_ends_it),
        cmocka_unit_test(else_it_is_given_up),    cmocka_unit_test(who_was_not_looked_at_stays),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
