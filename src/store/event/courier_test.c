/* The courier of a process: what is told is kept and comes back to whoever asked, what others told comes, notices are noticed, and nothing
 * waits for a store that is away. */
#include "store/event/courier.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "store/event/kept.h"

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

#include "base/host/no_threads_testing.h"
#include "base/host/open_files_testing.h"

static const double patience_s = 200;
static char dir[64];

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-courier-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static struct sk_courier *start(void)
{
    struct sk_courier *c = NULL;
    assert_int_equal(sk_courier_new(dir, &c, NULL), 0);
    return c;
}

static struct saikai_event make(const char *name, int n, const char *deadline)
{
    struct saikai_event e;
    assert_int_equal(sk_event_begin(&e, name, SAIKAI_EVENT_INFO, NULL), 0);
    sk_event_put(&e, "n", "%d", n);
    if (deadline)
        assert_int_equal(sk_event_take(&e, deadline, NULL), 0);
    return e;
}

static void add_from_outside(struct saikai_event e)
{
    struct sk_buf line = {0};
    assert_int_equal(sk_event_print(&e, &line, NULL), 0);
    assert_int_equal(sk_events_add(dir, line.data, line.len, 0, NULL), 0);
    sk_buf_free(&line);
}

static int next(struct sk_courier *c, const char *filter, double seconds)
{
    struct saikai_event e;
    int rc = sk_courier_next(c, filter, seconds, &e, NULL);
    assert_true(rc >= 0);
    return rc ? atoi(sk_event_field(&e, "n")) : -1;
}

static void what_is_told_comes_to_those_who_asked(void **state)
{
    (void)state;
    struct sk_courier *c = start();
    struct saikai_event e = make("a", 1, NULL), f = make("b", 2, NULL);
    assert_int_equal(next(c, "", 0), -1);
    assert_int_equal(next(c, "name=b", 0), -1);
    assert_int_equal(sk_courier_tell(c, &e, NULL), 0);
    assert_int_equal(sk_courier_tell(c, &f, NULL), 0);
    add_from_outside(make("b", 3, NULL));
    assert_int_equal(next(c, "name=b", patience_s) + next(c, "name=b", patience_s), 5);
    assert_int_equal(next(c, "", patience_s) + next(c, "", patience_s) + next(c, "", patience_s), 6);
    assert_int_equal(next(c, "name=b", 0), -1);
    assert_int_equal(next(c, "", 0.01), -1);
    assert_int_equal(sk_courier_next(c, "nonsense", 0, &e, NULL), SAIKAI_EINVAL);
    for (int i = 2; i < SK_COURIER_SUBSCRIPTIONS; i++) {
        char filter[16];
        snprintf(filter, sizeof filter, "n=%d", i);
        assert_int_equal(next(c, filter, 0), -1);
    }
    assert_int_equal(sk_courier_next(c, "n=x", 0, &e, NULL), SAIKAI_EINVAL);
    sk_courier_free(c);
}

/* More came than are kept for whoever has not asked yet: the newest are there, in their order. */
static void who_asks_late_hears_the_newest(void **state)
{
    (void)state;
    enum { TOLD = SK_COURIER_KEPT + 44 };
    struct sk_courier *c = start();
    struct sk_buf lines = {0};
    assert_int_equal(next(c, "", 0), -1);
    char last[16];
    snprintf(last, sizeof last, "n=%d", TOLD);
    assert_int_equal(next(c, last, 0), -1);
    for (int i = 1; i <= TOLD; i++) {
        struct saikai_event e = make("a", i, NULL);
        assert_int_equal(sk_event_print(&e, &lines, NULL), 0);
    }
    assert_int_equal(sk_events_add(dir, lines.data, lines.len, 0, NULL), 0);
    sk_buf_free(&lines);
    assert_int_equal(next(c, last, patience_s), TOLD);
    for (int i = TOLD - SK_COURIER_KEPT + 1; i <= TOLD; i++)
        assert_int_equal(next(c, "", 0), i);
    assert_int_equal(next(c, "", 0), -1);
    sk_courier_free(c);
}

static int wait_for_notice(struct sk_courier *c, int64_t *deadline_ms)
{
    for (double until = sk_now() + patience_s; sk_now() < until; sk_sleep(0.01))
        if (sk_courier_notice(c, deadline_ms))
            return 1;
    return 0;
}

static void a_notice_is_noticed_once(void **state)
{
    (void)state;
    int64_t deadline = -1;
    struct sk_courier *c = start();
    assert_int_equal(sk_courier_notice(c, &deadline), 0);
    add_from_outside(make("hw.notice", 0, NULL));
    assert_true(wait_for_notice(c, &deadline));
    assert_int_equal(deadline, 0);
    assert_int_equal(sk_courier_notice(c, &deadline), 0);
    struct saikai_event e = make("notice", 0, "deadline=1h");
    add_from_outside(e);
    assert_true(wait_for_notice(c, &deadline));
    assert_int_equal(deadline, e.deadline_ms);
    sk_courier_free(c);
}

/* Of several that come together the soonest deadline counts; what has been heard is over. */
static void the_soonest_deadline_counts(void **state)
{
    (void)state;
    int64_t deadline = -1, soonest = 0;
    static const char *const deadlines[] = {"deadline=2h", NULL, "deadline=1h", "deadline=3h"};
    struct sk_courier *c = start();
    struct sk_buf lines = {0};
    for (int i = 0; i < 4; i++) {
        struct saikai_event e = make("notice", i, deadlines[i]);
        soonest = i == 2 ? e.deadline_ms : soonest;
        assert_int_equal(sk_event_print(&e, &lines, NULL), 0);
    }
    assert_int_equal(next(c, "", 0), -1);
    assert_int_equal(sk_events_add(dir, lines.data, lines.len, 0, NULL), 0);
    sk_buf_free(&lines);
    assert_int_equal(next(c, "n=3", 0), -1);
    for (int i = 0; i < 4; i++)
        assert_int_equal(next(c, "", patience_s), i);
    assert_int_equal(sk_courier_notice(c, &deadline), 1);
    assert_int_equal(deadline, soonest);
    struct saikai_event later = make("notice", 5, "deadline=5h");
    add_from_outside(later);
    assert_int_equal(next(c, "", patience_s), 5);
    assert_int_equal(sk_courier_notice(c, &deadline), 1);
    assert_int_equal(deadline, later.deadline_ms);
    assert_int_equal(sk_courier_notice(NULL, &deadline), 0);
    sk_courier_free(c);
    sk_courier_free(NULL);
}

/* A job that is started again before the deadline still has it before it; what is over is over. */
static void a_later_start_hears_what_is_ahead_alone(void **state)
{
    (void)state;
    int64_t deadline = -1;
    struct saikai_event before = make("notice", 0, NULL), over = make("notice", 0, "deadline=5"), ahead = make("notice", 0, "deadline=2h");
    before.time_ms -= 10000;
    over.time_ms -= 10000;
    over.deadline_ms -= 10000;
    ahead.time_ms -= 10000;
    add_from_outside(before);
    add_from_outside(over);
    struct sk_courier *c = start();
    assert_int_equal(next(c, "", 0), -1);
    struct saikai_event mine = make("a", 7, NULL);
    assert_int_equal(sk_courier_tell(c, &mine, NULL), 0);
    assert_int_equal(next(c, "", patience_s), 7); /* what was before has been read by then */
    assert_int_equal(sk_courier_notice(c, &deadline), 0);
    sk_courier_free(c);
    add_from_outside(ahead);
    c = start();
    assert_true(wait_for_notice(c, &deadline));
    assert_int_equal(deadline, ahead.deadline_ms);
    sk_courier_free(c);
}

static void a_store_that_is_away_gets_its_events_later(void **state)
{
    (void)state;
    struct sk_courier *c;
    struct saikai_error err = {0};
    assert_int_equal(rmdir(dir), 0);
    c = start();
    struct saikai_event e = make("a", 1, NULL);
    assert_int_equal(next(c, "", 0), -1);
    for (int i = 0; i < SK_COURIER_WAITING; i++)
        assert_int_equal(sk_courier_tell(c, &e, &err), 0);
    assert_int_equal(sk_courier_tell(c, &e, &err), SAIKAI_EBUSY);
    assert_int_equal(mkdir(dir, 0700), 0);
    for (int i = 0; i < SK_COURIER_WAITING; i++)
        assert_int_equal(next(c, "", patience_s), 1);
    assert_int_equal(next(c, "", 0), -1);
    assert_int_equal(sk_courier_tell(c, &e, &err), 0); /* there is room again */
    assert_int_equal(next(c, "", patience_s), 1);
    sk_courier_free(c);
}

/* They are written when the store is there again, and once. */
static void events_that_waited_are_in_the_store(void **state)
{
    (void)state;
    char path[96];
    void *text;
    size_t n, lines = 0;
    struct saikai_event e = make("a", 1, NULL);
    assert_int_equal(rmdir(dir), 0);
    struct sk_courier *c = start();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sk_courier_tell(c, &e, NULL), 0);
        assert_int_equal(next(c, "", 0.05), -1); /* it was tried by now, or is with the next */
    }
    assert_int_equal(mkdir(dir, 0700), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(next(c, "", patience_s), 1);
    sk_courier_free(c);
    snprintf(path, sizeof path, "%s/events", dir);
    assert_int_equal(sk_io_slurp(path, 1 << 20, &text, &n, NULL), 0);
    for (size_t i = 0; i < n; i++)
        lines += ((char *)text)[i] == '\n';
    free(text);
    assert_int_equal(lines, 3);
}

/* Another user's file: nothing that stands there reaches the job. */
static void what_others_could_write_is_not_heard(void **state)
{
    (void)state;
    char path[96];
    int64_t deadline;
    struct sk_courier *c;
    struct saikai_event e = make("a", 1, NULL);
    snprintf(path, sizeof path, "%s/events", dir);
    add_from_outside(make("notice", 9, "deadline=1h"));
    assert_int_equal(chmod(path, 0666), 0);
    c = start();
    assert_int_equal(next(c, "", 0), -1);
    assert_int_equal(sk_courier_tell(c, &e, NULL), 0); /* it is dropped */
    assert_int_equal(next(c, "", 0.05), -1);
    assert_int_equal(sk_courier_notice(c, &deadline), 0);
    sk_courier_free(c);
}

static void what_was_told_last_is_written_at_the_end(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct sk_courier *c = start();
        struct saikai_event e = make("a", i, NULL);
        assert_int_equal(sk_courier_tell(c, &e, NULL), 0);
        sk_courier_free(c);
    }
    char path[96];
    void *text;
    size_t n, lines = 0;
    snprintf(path, sizeof path, "%s/events", dir);
    assert_int_equal(sk_io_slurp(path, 1 << 20, &text, &n, NULL), 0);
    for (size_t i = 0; i < n; i++)
        lines += ((char *)text)[i] == '\n';
    free(text);
    assert_int_equal(lines, 20);
}

/* No thread can be had, or the store has no path: it is said, and there is no courier. */
static void no_courier_without_a_thread(void **state)
{
    (void)state;
    struct sk_courier *c = NULL;
    struct saikai_error err = {0};
    char deep[PATH_MAX + 8];
    no_threads(1);
    int rc = sk_courier_new(dir, &c, &err);
    no_threads(0);
    assert_true(rc < 0 && err.code == rc && !c);
    assert_non_null(strstr(err.text, "cannot start a thread for events"));
    memset(deep, 'd', sizeof deep);
    deep[sizeof deep - 1] = 0;
    assert_int_equal(sk_courier_new(deep, &c, &err), SAIKAI_EINVAL);
    assert_null(c);
}

/* What is no event's text is not told, and whoever asks with no filter hears why. */
static void nonsense_is_refused(void **state)
{
    (void)state;
    struct sk_courier *c = start();
    struct saikai_event e = make("a", 1, NULL);
    struct saikai_error err = {0};
    char value[SAIKAI_EVENT_VALUE], key[8];
    memset(value, 1, sizeof value - 1); /* six bytes each */
    value[sizeof value - 1] = 0;
    for (int i = 0; i < 4; i++) {
        snprintf(key, sizeof key, "k%d", i);
        sk_event_put(&e, key, "%s", value);
    }
    assert_int_equal(sk_courier_tell(c, &e, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "at most"));
    assert_int_equal(sk_courier_next(c, "severity=loud", 0, &e, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "is no term of a filter"));
    assert_int_equal(next(c, "", 0), -1);
    double began = sk_now();
    assert_int_equal(next(c, "", 0.2), -1);
    assert_true(sk_now() - began > 0.19);
    began = sk_now();
    assert_int_equal(next(c, "", -1) + next(c, "", 0), -2); /* nobody waits */
    assert_true(sk_now() - began < 60);
    sk_courier_free(c);
}

/* Its thread rests, and ends all the same when it is told to. */
static void it_ends_at_once(void **state)
{
    (void)state;
    double least = 60;
    for (int i = 0; i < 5; i++) {
        struct sk_courier *c = start();
        sk_sleep(0.02);
        double began = sk_now();
        sk_courier_free(c);
        least = sk_now() - began < least ? sk_now() - began : least;
    }
    assert_true(least < 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(what_is_told_comes_to_those_who_asked, begin, end),
        cmocka_unit_test_setup_teardown(who_asks_late_hears_the_newest, begin, end),
        cmocka_unit_test_setup_teardown(a_notice_is_noticed_once, begin, end),
        cmocka_unit_test_setup_teardown(the_soonest_deadline_counts, begin, end),
        cmocka_unit_test_setup_teardown(a_later_start_hears_what_is_ahead_alone, begin, end),
        cmocka_unit_test_setup_teardown(a_store_that_is_away_gets_its_events_later, begin, end),
        cmocka_unit_test_setup_teardown(events_that_waited_are_in_the_store, begin, end),
        cmocka_unit_test_setup_teardown(what_others_could_write_is_not_heard, begin, end),
        cmocka_unit_test_setup_teardown(what_was_told_last_is_written_at_the_end, begin, end),
        cmocka_unit_test_setup_teardown(no_courier_without_a_thread, begin, end),
        cmocka_unit_test_setup_teardown(nonsense_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(it_ends_at_once, begin, end),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
