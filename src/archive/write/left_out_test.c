/* Files that cannot be read, change, shrink or go away while an archive is made of them: all others are archived, what is left out is told,
 * and nobody gets an archive of a mixture. */
#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "archive/write/testing.h"

#include <errno.h>
#include <fcntl.h>

enum { FILES = 3, BYTES = 300000 };

/* What happens to the file b when it is opened for the from-th time and later, as often as `times` says. */
static struct {
    enum { NOTHING, DENIED, GROWS, SHRINKS, GOES } what;
    int from, times, opened;
} event;

static int hook(const char *op, const char *path)
{
    size_t n = strlen(path);
    if (strcmp(op, "open") || n < 2 || strcmp(path + n - 2, "/b") || strstr(path, "back") || ++event.opened < event.from || event.times-- <= 0)
        return 0;
    int fd = event.what == GROWS ? open(path, O_WRONLY | O_APPEND) : -1;
    if (fd >= 0) {
        assert_int_equal(write(fd, "more", 4), 4);
        close(fd);
    }
    if (event.what == SHRINKS)
        assert_int_equal(truncate(path, BYTES - 100 * event.opened), 0);
    if (event.what == GOES)
        assert_int_equal(unlink(path), 0);
    return event.what == DENIED ? EACCES : 0;
}

/* What was left out. */
static struct {
    int count, refuses;
    char path[4][600], why[4][500];
} left;

static int leave_out(void *arg, const char *path, const struct saikai_error *why)
{
    assert_ptr_equal(arg, &left);
    assert_true(left.count < 4);
    snprintf(left.path[left.count], sizeof left.path[0], "%s", path);
    snprintf(left.why[left.count++], sizeof left.why[0], "%s", why->text);
    return !left.refuses;
}

/* An archive of in/a, in/b, in/c and one more name of b; the code. */
static int create(int what, int from, int times, int leaves, struct saikai_error *err)
{
    static const char *const names[] = {"a", "b", "c"};
    static uint8_t data[BYTES];
    struct sk_archive_input in[FILES];
    struct sk_ska_entry link = {.name = "same", .target = "b", .kind = SK_ENTRY_HARD_LINK, .mode = 0600};
    struct sk_archive_options o = {.no_sync = 1, .entries = &link, .entry_count = 1, .leave_out = leaves ? leave_out : NULL, .leave_arg = &left};
    sk_io_hook = NULL;
    for (int i = 0; i < FILES; i++) {
        for (size_t k = 0; k < BYTES; k++)
            data[k] = (uint8_t)(noise() & (i == 1 ? 255 : 15));
        put_file(at("in/%s", names[i]), data, BYTES);
        in[i] = (struct sk_archive_input){.path = at("in/%s", names[i]), .name = names[i]};
    }
    memset(&left, 0, sizeof left);
    left.refuses = leaves == 2;
    event.what = what;
    event.from = from;
    event.times = times;
    event.opened = 0;
    sk_io_hook = hook;
    int rc = sk_archive_create(at("x.ska"), in, FILES, &o, NULL, err);
    sk_io_hook = NULL;
    return rc;
}

/* The archive gives back a and c as they are, and b where it is to be there; nothing else is left beside it. */
static void holds(int b)
{
    struct saikai_error err = {0};
    if (sk_archive_extract(at("x.ska"), at("back"), &(struct sk_extract_options){.no_sync = 1}, NULL, &err))
        fail_msg("%s", err.text);
    assert_true(same_file(at("in/a"), at("back/a")) && same_file(at("in/c"), at("back/c")));
    assert_int_equal(!access(at("back/b"), F_OK), b);
    assert_int_equal(!access(at("back/same"), F_OK), b);
    if (b)
        assert_true(same_file(at("in/b"), at("back/b")) && same_file(at("in/b"), at("back/same")));
    assert_int_equal(sk_io_rmtree(at("back"), NULL), 0);
    assert_int_equal(count_files(at(".")), 2); /* in, x.ska */
    assert_int_equal(unlink(at("x.ska")), 0);
}

/* b, for this reason, and its other name. */
static void was_left(const char *why)
{
    assert_int_equal(left.count, 2);
    assert_string_equal(left.path[0], at("in/b"));
    if (!strstr(left.why[0], why) || !strstr(left.why[0], "in/b"))
        fail_msg("left out because '%s', not '%s'", left.why[0], why);
    assert_string_equal(left.path[1], "same");
    assert_non_null(strstr(left.why[1], "another name of b"));
}

static void what_cannot_be_read_is_left_out(void **state)
{
    (void)state;
    for (int from = 1; from <= 3; from++) { /* when it is looked into, cut into chunks, fetched */
        assert_int_equal(create(DENIED, from, 100, 1, NULL), 0);
        was_left("Permission denied");
        holds(0);
    }
}

static void what_changed_is_read_once_more(void **state)
{
    (void)state;
    for (int from = 1; from <= 3; from++)
        for (int what = GROWS; what <= SHRINKS; what++) {
            assert_int_equal(create(what, from, 1, 1, NULL), 0);
            assert_int_equal(left.count, 0);
            holds(1);
        }
}

static void what_goes_on_changing_is_left_out(void **state)
{
    (void)state;
    for (int what = GROWS; what <= SHRINKS; what++) {
        assert_int_equal(create(what, 2, 100, 1, NULL), 0);
        was_left("changed while it was read");
        holds(0);
    }
}

static void what_goes_away_is_left_out(void **state)
{
    (void)state;
    for (int from = 1; from <= 3; from++) {
        assert_int_equal(create(GOES, from, 1, 1, NULL), 0);
        was_left("in/b");
        holds(0);
    }
}

/* Where nobody leaves anything out it is an error, and there is no archive. */
static void else_it_is_an_error(void **state)
{
    (void)state;
    static const int codes[] = {0, SAIKAI_EIO, SAIKAI_ECHANGED, SAIKAI_ECHANGED, SAIKAI_ENOENT};
    for (int leaves = 0; leaves <= 2; leaves += 2)
        for (int what = DENIED; what <= GOES; what++) {
            struct saikai_error err = {0};
            int rc = create(what, 2, 100, leaves, &err);
            if (rc != codes[what] && rc != SAIKAI_EDAMAGED)
                fail_msg("%d with %d: %d, %s", what, leaves, rc, err.text);
            assert_int_equal(err.code, rc);
            assert_non_null(strstr(err.text, "in/b"));
            assert_int_equal(left.count, leaves ? 1 : 0);
            assert_int_equal(count_files(at(".")), 1);
        }
}

static void nothing_is_no_archive(void **state)
{
    (void)state;
    struct sk_archive_input in = {.path = at("nowhere"), .name = "nowhere"};
    struct sk_archive_options o = {.no_sync = 1, .leave_out = leave_out, .leave_arg = &left};
    struct saikai_error err = {0};
    memset(&left, 0, sizeof left);
    put_file(at("x.ska"), "old", 3);
    assert_int_equal(sk_archive_create(at("x.ska"), &in, 1, &o, NULL, &err), SAIKAI_ENOENT);
    assert_int_equal(left.count, 1);
    assert_non_null(strstr(err.text, "nothing to archive"));
    put_file(at("old"), "old", 3);
    assert_true(same_file(at("x.ska"), at("old")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_read_is_left_out),  cmocka_unit_test(what_changed_is_read_once_more),
        cmocka_unit_test(what_goes_on_changing_is_left_out), cmocka_unit_test(what_goes_away_is_left_out),
        cmocka_unit_test(else_it_is_an_error),              cmocka_unit_test(nothing_is_no_archive),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
