/* Wherever memory runs out while a place is held, its lease is taken and given back, and events are told and read: SAIKAI_ENOMEM and a
 * sentence, and what could not be done then can be done later: nothing is held by nobody, and no event is passed over. */
#include "base/host/no_memory_testing.h"

#include "base/file/io.h"
#include "store/event/courier.h"
#include "store/event/kept.h"
#include "store/owner/hold.h"
#include "store/owner/lease.h"

#include <stdio.h>
#include <unistd.h>

#include "base/host/open_files_testing.h"

static char dir[64];

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-owner-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

/* ---- holds ---- */

static char place[128];

static int hold(void *arg, struct saikai_error *err)
{
    struct sk_hold *first = NULL, *other = NULL;
    (void)arg;
    int rc = sk_hold_first(place, 0, &first, err);
    if (!rc)
        rc = sk_hold_join(place, &other, err);
    sk_hold_release(other, NULL);
    sk_hold_release(first, NULL);
    return rc;
}

/* Whoever had no memory holds nothing: the place can be removed. */
static void nobody_holds_it(void *arg)
{
    struct sk_hold *alone = NULL;
    struct saikai_error err = {0};
    (void)arg;
    assert_int_equal(sk_io_mkdirs(place, NULL), 0);
    if (sk_hold_alone(place, &alone, &err))
        fail_msg("%s", err.text);
    sk_hold_release(alone, (const char *const[]){NULL});
    assert_int_equal(access(place, F_OK), -1);
}

static int alone(void *arg, struct saikai_error *err)
{
    struct sk_hold *h = NULL;
    (void)arg;
    int rc = sk_io_mkdirs(place, err);
    if (!rc)
        rc = sk_hold_alone(place, &h, err);
    sk_hold_release(h, NULL);
    return rc;
}

static void a_place_is_held_or_not(void **state)
{
    (void)state;
    snprintf(place, sizeof place, "%s/local", dir);
    assert_int_equal(no_memory_sweep(hold, NULL, nobody_holds_it, NULL), 2);
    assert_int_equal(no_memory_sweep(alone, NULL, nobody_holds_it, NULL), 1);
}

/* ---- the lease ---- */

static struct sk_owner self(void)
{
    struct sk_owner o;
    sk_owner_self("job", NULL, 0, &o);
    return o;
}

static int take_lease(void *arg, struct saikai_error *err)
{
    struct sk_lease *l = NULL;
    struct sk_owner o = self();
    (void)arg;
    int rc = sk_lease_take(dir, &o, 10, &l, err);
    if (!rc)
        rc = sk_lease_check(dir, sk_lease_token(l), 0, err);
    sk_lease_release(l);
    return rc;
}

static void it_is_free(void *arg)
{
    char path[128];
    struct sk_owner o;
    (void)arg;
    snprintf(path, sizeof path, "%s/" SK_LEASE_FILE, dir);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(sk_lease_look(dir, 10, &o), 0);
}

static void a_lease_is_taken_or_not(void **state)
{
    (void)state;
    assert_true(no_memory_sweep(take_lease, NULL, it_is_free, NULL) >= 1);
}

/* ---- events ---- */

static struct saikai_event event(const char *name, int n)
{
    struct saikai_event e;
    assert_int_equal(sk_event_begin(&e, name, SAIKAI_EVENT_INFO, NULL), 0);
    sk_event_put(&e, "n", "%d", n);
    return e;
}

static int add(int n, struct saikai_error *err)
{
    struct saikai_event e = event("app.step", n);
    struct sk_buf line = {0};
    int rc = sk_event_print(&e, &line, err);
    if (!rc)
        rc = sk_events_add(dir, line.data, line.len, 0, err);
    sk_buf_free(&line);
    return rc;
}

struct reading {
    struct sk_events_reader reader;
    int next, read; /* number of the event that comes next */
};

static void each(void *arg, const struct saikai_event *e)
{
    struct reading *r = arg;
    assert_string_equal(e->name, "step");
    assert_int_equal(atoi(sk_event_field(e, "n")), r->next);
    r->next++;
}

static int read_both(void *arg, struct saikai_error *err)
{
    struct reading *r = arg;
    *r = (struct reading){.read = r->read};
    int rc = sk_events_open(&r->reader, dir, 1, err);
    return rc ? rc : sk_events_read(&r->reader, each, r, err);
}

/* Whatever was not read for want of memory comes at the next look, once. */
static void all_are_read(void *arg)
{
    struct reading *r = arg;
    struct saikai_error err = {0};
    if (sk_events_read(&r->reader, each, r, &err))
        fail_msg("%s", err.text);
    assert_int_equal(r->next, r->read);
}

static void no_event_is_passed_over(void **state)
{
    (void)state;
    char now[128], before[128];
    struct reading r = {.read = 3};
    snprintf(now, sizeof now, "%s/" SK_EVENTS_FILE, dir);
    snprintf(before, sizeof before, "%s/" SK_EVENTS_BEFORE, dir);
    assert_int_equal(add(0, NULL), 0);
    assert_int_equal(add(1, NULL), 0);
    assert_int_equal(sk_io_rename(now, before, NULL), 0);
    assert_int_equal(add(2, NULL), 0);
    assert_int_equal(no_memory_sweep(read_both, NULL, all_are_read, &r), 2);
}

static int told;
static int tell(void *arg, struct saikai_error *err)
{
    (void)arg;
    return add(told, err);
}

static void it_was_told(void *arg)
{
    (void)arg;
    told++;
}

static void an_event_is_told_or_not(void **state)
{
    (void)state;
    struct reading r = {0};
    int failed = no_memory_sweep(tell, it_was_told, NULL, NULL);
    assert_true(failed >= 2 && told >= 1);
    assert_int_equal(read_both(&r, NULL), 0);
    assert_int_equal(r.next, told);
}

static int ask(void *arg, struct saikai_error *err)
{
    struct sk_courier *c = NULL;
    struct saikai_event e = event("a", 1), back;
    (void)arg;
    int rc = sk_courier_new(dir, &c, err);
    if (!rc && (rc = sk_courier_next(c, "name=a", 0, &back, err)) >= 0)
        rc = sk_courier_tell(c, &e, err);
    sk_courier_free(c);
    return rc < 0 ? rc : 0;
}

/* Its thread writes and reads meanwhile: without memory it does so later, or drops what was told with a word in the log. */
static void a_courier_is_there_or_not(void **state)
{
    (void)state;
    assert_true(no_memory_sweep(ask, NULL, NULL, NULL) >= 3);
}

static int print(void *arg, struct saikai_error *err)
{
    struct sk_buf line = {0};
    struct saikai_event e = event("a", 1);
    (void)arg;
    int rc = sk_event_print(&e, &line, err);
    sk_buf_free(&line);
    return rc;
}

static void count(void *arg, const struct saikai_event *e)
{
    (void)e;
    ++*(int *)arg;
}

/* Lines are made, and wait, in buffers that grow in one place of the code: whichever of that place's allocations fails, an event
 * of which was said that it is told is there in the end. */
static void what_is_told_is_written(void **state)
{
    (void)state;
    void **places;
    int failed = 0, was_told = 0, n = no_memory_list(print, NULL, NULL, 0, &places);
    for (int i = 0; i < n; i++)
        for (long nth = 1; nth <= 12; nth++) {
            struct saikai_error err = {0};
            no_memory.only = places[i];
            int rc = no_memory_run(ask, NULL, nth, &err);
            no_memory.only = NULL;
            if (rc && (rc != SAIKAI_ENOMEM || !strstr(err.text, "memory")))
                fail_msg("%d, %s", rc, err.text);
            failed += rc != 0;
            was_told += !rc;
        }
    free(places);
    struct sk_events_reader reader = {0};
    int written = 0;
    assert_int_equal(sk_events_open(&reader, dir, 1, NULL), 0);
    assert_int_equal(sk_events_read(&reader, count, &written, NULL), 0);
    assert_true(failed >= 2 && was_told >= 1);
    assert_int_equal(written, was_told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(a_place_is_held_or_not, begin, end),
        cmocka_unit_test_setup_teardown(a_lease_is_taken_or_not, begin, end),
        cmocka_unit_test_setup_teardown(no_event_is_passed_over, begin, end),
        cmocka_unit_test_setup_teardown(an_event_is_told_or_not, begin, end),
        cmocka_unit_test_setup_teardown(a_courier_is_there_or_not, begin, end),
        cmocka_unit_test_setup_teardown(what_is_told_is_written, begin, end),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
