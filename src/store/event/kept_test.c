/* The file of events: added to, read on, rotated, cut, damaged, another user's, and by many at once. */
#include "store/event/kept.h"

#include "base/file/io.h"
#include "base/file/modes.h"
#include "store/owner/job.h"

#include <fcntl.h>
#include <pthread.h>
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

static char dir[64], file[96], before[96];

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-events-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(file, sizeof file, "%s/events", dir);
    snprintf(before, sizeof before, "%s/events.1", dir);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static int add(int number, struct saikai_error *err)
{
    struct saikai_event e;
    struct sk_buf line = {0};
    assert_int_equal(sk_event_begin(&e, "app.step", SAIKAI_EVENT_INFO, NULL), 0);
    sk_event_put(&e, "n", "%d", number);
    assert_int_equal(sk_event_print(&e, &line, NULL), 0);
    int rc = sk_events_add(dir, line.data, line.len, 0, err);
    sk_buf_free(&line);
    return rc;
}

struct seen {
    int n, last, in_order;
};

static void each(void *arg, const struct saikai_event *e)
{
    struct seen *s = arg;
    int n = atoi(sk_event_field(e, "n"));
    s->in_order &= n > s->last;
    s->last = n;
    s->n++;
}

static struct seen read_on(struct sk_events_reader *r)
{
    struct seen s = {0, -1, 1};
    assert_int_equal(sk_events_read(r, each, &s, NULL), 0);
    return s;
}

static void append_raw(const char *text)
{
    FILE *f = fopen(file, "a");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void what_comes_is_read_once(void **state)
{
    (void)state;
    struct sk_events_reader r;
    struct stat sb;
    assert_int_equal(sk_events_open(&r, dir, 1, NULL), 0);
    assert_int_equal(read_on(&r).n, 0);
    umask(0);
    assert_int_equal(add(0, NULL), 0);
    assert_int_equal(add(1, NULL), 0);
    assert_int_equal(stat(file, &sb), 0);
    assert_int_equal(sb.st_mode & 07777, 0600);
    assert_int_equal(read_on(&r).n, 2);
    assert_int_equal(read_on(&r).n, 0);
    assert_int_equal(add(2, NULL), 0);
    assert_int_equal(read_on(&r).last, 2);
    assert_int_equal(r.bad, 0);
}

static void a_cut_or_damaged_line_costs_itself_alone(void **state)
{
    (void)state;
    struct sk_events_reader r;
    assert_int_equal(sk_events_open(&r, dir, 1, NULL), 0);
    assert_int_equal(add(0, NULL), 0);
    append_raw("{\"version\":1,\"time_ms\":17"); /* whoever wrote it died, or the disk was full */
    assert_int_equal(read_on(&r).n, 1);
    assert_int_equal(r.bad, 0);
    assert_int_equal(add(1, NULL), 0);
    assert_int_equal(read_on(&r).last, 1);
    assert_int_equal(r.bad, 1);
    append_raw("some other text\n");
    assert_int_equal(add(2, NULL), 0);
    assert_int_equal(read_on(&r).n, 1);
    assert_int_equal(r.bad, 2);
    /* longer than any line */
    for (int i = 0; i < 3000; i++)
        append_raw("0123456789012345678901234567890123456789012345678901234567890123");
    assert_int_equal(add(3, NULL), 0);
    assert_int_equal(read_on(&r).last, 3);
    assert_true(r.bad > 2);
}

/* Files stay bounded, a reader that keeps up misses nothing, and one that begins late has the newest. */
static void a_full_file_is_put_away(void **state)
{
    (void)state;
    struct sk_events_reader r, late;
    struct stat sb;
    int number = 0, seen = 0;
    assert_int_equal(sk_events_open(&r, dir, 1, NULL), 0);
    for (int round = 0; round < 30; round++) {
        struct seen s;
        for (int i = 0; i < 1000; i++)
            assert_int_equal(add(number++, NULL), 0);
        s = read_on(&r);
        assert_true(s.in_order);
        seen += s.n;
    }
    assert_int_equal(seen, number);
    assert_int_equal(stat(file, &sb), 0);
    assert_true(sb.st_size <= SK_EVENTS_MOST);
    assert_int_equal(stat(before, &sb), 0);
    assert_true(sb.st_size <= SK_EVENTS_MOST && sb.st_size > SK_EVENTS_MOST / 2);
    assert_int_equal(sk_events_open(&late, dir, 1, NULL), 0);
    struct seen s = read_on(&late);
    assert_true(s.in_order && s.last == number - 1 && s.n > 3000 && s.n < number);
    assert_int_equal(r.bad + late.bad, 0);
}

static void *write_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < 500; i++)
        if (add(i, NULL))
            return "failed";
    return NULL;
}

static void count(void *arg, const struct saikai_event *e)
{
    (void)e;
    ++*(int *)arg;
}

static void many_may_write_at_once(void **state)
{
    (void)state;
    struct sk_events_reader r;
    pthread_t t[4];
    int n = 0;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, write_many, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(t[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(sk_events_open(&r, dir, 1, NULL), 0);
    assert_int_equal(sk_events_read(&r, count, &n, NULL), 0);
    assert_int_equal(n, 4 * 500);
    assert_int_equal(r.bad, 0);
}

static void others_are_kept_out(void **state)
{
    (void)state;
    struct sk_events_reader r;
    struct saikai_error err = {0};
    struct seen s = {0, -1, 1};
    char other[96];
    assert_int_equal(sk_events_open(&r, dir, 1, NULL), 0);
    assert_int_equal(add(0, NULL), 0);
    assert_int_equal(chmod(file, 0620), 0);
    assert_int_equal(sk_events_read(&r, each, &s, &err), SAIKAI_EAUTH);
    assert_int_equal(add(1, &err), SAIKAI_EAUTH);
    assert_int_equal(chmod(file, 0602), 0);
    assert_int_equal(sk_events_read(&r, each, &s, &err), SAIKAI_EAUTH);
    assert_int_equal(chmod(file, 0600), 0);
    snprintf(other, sizeof other, "%s/other", dir);
    assert_int_equal(link(file, other), 0);
    assert_int_equal(add(1, &err), SAIKAI_EAUTH);
    assert_int_equal(sk_events_read(&r, each, &s, &err), SAIKAI_EAUTH);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(symlink(other, file), 0);
    assert_int_equal(add(1, &err), SAIKAI_EAUTH);
    assert_int_equal(sk_events_read(&r, each, &s, &err), SAIKAI_EAUTH);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(s.n, 0);
    assert_int_equal(add(2, &err), 0);
    if (geteuid()) /* only root can give a file away */
        return;
    assert_int_equal(chown(file, 65534, 65534), 0);
    assert_int_equal(add(3, &err), SAIKAI_EAUTH);
    assert_int_equal(sk_events_read(&r, each, &s, &err), SAIKAI_EAUTH);
    assert_int_equal(s.n, 0);
    /* root may tell a user's job something, and leaves the file to the user */
    assert_int_equal(chown(dir, 65534, 65534), 0);
    assert_int_equal(add(3, &err), 0);
    assert_int_equal(read_on(&r).last, 3);
}

/* Whoever may read the store's other files may read its events, and nobody else may write them. */
static void who_may_read_it(void **state)
{
    (void)state;
    static const struct {
        mode_t job; /* of the store's file `job`; 0: there is none, 1: it is a link to one that all may read */
        int told;   /* what the process says of its own store, 0: it keeps none */
        mode_t events;
    } cases[] = {{0, 0, 0600}, {0600, 0, 0600}, {0640, 0, 0640}, {0644, 0, 0644}, {0666, 0, 0644}, {0755, 0, 0644}, {0400, 0, 0600},
                 {1, 0, 0600}, {0644, SK_MODE_PRIVATE, 0600}, {0600, SK_MODE_GROUP, 0640}, {0, SK_MODE_GROUP, 0640}};
    char job[96], other[96];
    snprintf(job, sizeof job, "%s/" SK_JOB_FILE, dir);
    snprintf(other, sizeof other, "%s/other", dir);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stat sb;
        unlink(file);
        unlink(job);
        if (cases[i].job) {
            assert_int_equal(sk_io_replace(cases[i].job == 1 ? other : job, "x", 1, NULL), 0);
            assert_int_equal(cases[i].job == 1 ? chmod(other, 0644) || symlink(other, job) : chmod(job, cases[i].job), 0);
        }
        sk_modes_set(cases[i].told);
        assert_int_equal(add(1, NULL), 0);
        sk_modes_set(0);
        assert_int_equal(stat(file, &sb), 0);
        if ((sb.st_mode & 07777) != cases[i].events)
            fail_msg("case %zu: %o", i, sb.st_mode & 07777);
    }
}

static void no_directory_is_made(void **state)
{
    (void)state;
    struct sk_events_reader r;
    struct seen s = {0, -1, 1};
    assert_int_equal(sk_io_rmtree(dir, NULL), 0);
    assert_int_equal(add(0, NULL), SAIKAI_ENOENT);
    assert_int_equal(sk_events_open(&r, dir, 1, NULL), 0);
    assert_int_equal(sk_events_read(&r, each, &s, NULL), 0);
    assert_int_equal(access(dir, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(what_comes_is_read_once, begin, end),
        cmocka_unit_test_setup_teardown(a_cut_or_damaged_line_costs_itself_alone, begin, end),
        cmocka_unit_test_setup_teardown(a_full_file_is_put_away, begin, end),
        cmocka_unit_test_setup_teardown(many_may_write_at_once, begin, end),
        cmocka_unit_test_setup_teardown(others_are_kept_out, begin, end),
        cmocka_unit_test_setup_teardown(who_may_read_it, begin, end),
        cmocka_unit_test_setup_teardown(no_directory_is_made, begin, end),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
