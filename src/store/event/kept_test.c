/* The file of events: added to, read on, rotated, cut, damaged, another user's, and by many at once. */
#include "store/event/kept.h"

#include "base/file/io.h"
#include "base/file/modes.h"
#include "store/owner/job.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

/* What is no file is neither read nor written, and never waited for. */
static void only_files_are_looked_at(void **state)
{
    (void)state;
    struct sk_events_reader r;
    struct saikai_error err = {0};
    struct seen s = {0, -1, 1};
    assert_int_equal(sk_events_open(&r, dir, 1, NULL), 0);
    assert_int_equal(mkdir(file, 0700), 0);
    assert_int_equal(add(1, &err), SAIKAI_EIO);
    assert_true(strstr(err.text, "cannot write") && strstr(err.text, file));
    assert_int_equal(sk_events_read(&r, each, &s, &err), SAIKAI_EAUTH);
    assert_non_null(strstr(err.text, "is no file of its own"));
    assert_int_equal(rmdir(file), 0);
    assert_int_equal(mkfifo(file, 0600), 0);
    assert_int_equal(add(1, &err), SAIKAI_EAUTH);
    assert_int_equal(sk_events_read(&r, each, &s, &err), SAIKAI_EAUTH);
    assert_int_equal(unlink(file), 0);
    int s_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    strcpy(name.sun_path, file);
    assert_int_equal(bind(s_fd, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(add(1, &err), SAIKAI_EIO);
    assert_int_equal(sk_events_read(&r, each, &s, &err), SAIKAI_EIO);
    assert_true(strstr(err.text, "cannot read") && strstr(err.text, file));
    close(s_fd);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(add(1, &err), 0);
    assert_int_equal(mkdir(before, 0700), 0); /* nor the one before */
    assert_int_equal(sk_events_read(&r, each, &s, &err), SAIKAI_EAUTH);
    assert_non_null(strstr(err.text, before));
    assert_int_equal(s.n, 0);
    assert_int_equal(rmdir(before), 0);
    assert_int_equal(read_on(&r).n, 1);
    char deep[PATH_MAX + 8];
    memset(deep, 'd', sizeof deep);
    deep[sizeof deep - 1] = 0;
    assert_int_equal(sk_events_add(deep, "x\n", 2, 0, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_events_open(&r, deep, 1, &err), SAIKAI_EINVAL);
}

static off_t size_of_file(void)
{
    struct stat sb;
    return stat(file, &sb) ? -1 : sb.st_size;
}

/* A file is full to its last byte before another one is begun. */
static void a_file_is_filled(void **state)
{
    (void)state;
    struct sk_events_reader r;
    struct saikai_event e;
    struct sk_buf line = {0};
    assert_int_equal(sk_event_begin(&e, "app.step", SAIKAI_EVENT_INFO, NULL), 0);
    sk_event_put(&e, "n", "%d", 7);
    assert_int_equal(sk_event_print(&e, &line, NULL), 0);
    char *rest = malloc(SK_EVENTS_MOST);
    memset(rest, '\n', SK_EVENTS_MOST);
    for (int more = 0; more < 2; more++) {
        assert_int_equal(sk_io_replace(file, rest, SK_EVENTS_MOST - line.len + (size_t)more, NULL), 0);
        assert_int_equal(chmod(file, 0600), 0);
        assert_int_equal(sk_events_add(dir, line.data, line.len, 0, NULL), 0);
        assert_int_equal(size_of_file(), more ? (off_t)line.len : SK_EVENTS_MOST);
        assert_int_equal(access(before, F_OK), more ? 0 : -1);
        assert_int_equal(sk_events_open(&r, dir, 1, NULL), 0);
        assert_int_equal(read_on(&r).n, 1);
        assert_int_equal(r.bad, 0); /* empty lines are nothing */
    }
    free(rest);
    sk_buf_free(&line);
}

/* Whoever cuts the file costs what stood there, and nothing of what comes then. */
static void a_file_that_was_cut_is_read_anew(void **state)
{
    (void)state;
    struct sk_events_reader r;
    assert_int_equal(sk_events_open(&r, dir, 1, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(add(i, NULL), 0);
    assert_int_equal(read_on(&r).n, 3);
    assert_int_equal(truncate(file, 0), 0);
    assert_int_equal(add(5, NULL), 0);
    struct seen s = read_on(&r);
    assert_true(s.n == 1 && s.last == 5);
    assert_int_equal(r.bad, 0);
}

/* What was read before its file was put away is not read again. */
static void a_reader_that_keeps_up(void **state)
{
    (void)state;
    struct sk_events_reader r;
    assert_int_equal(sk_events_open(&r, dir, 1, NULL), 0);
    assert_int_equal(add(1, NULL), 0);
    assert_int_equal(read_on(&r).n, 1);
    assert_int_equal(rename(file, before), 0);
    assert_int_equal(read_on(&r).n, 0); /* there is none */
    assert_int_equal(add(2, NULL), 0);
    struct seen s = read_on(&r);
    assert_true(s.n == 1 && s.last == 2);
}

static int syncs;
static int count_syncs(const char *op, const char *path)
{
    syncs += !strcmp(op, "fsync") && !strcmp(path, file);
    return !strcmp(op, "fsync") && syncs > 1 ? EIO : 0;
}

/* On the disk if that was asked for, and told when it cannot be. */
static void what_lasts_is_synced(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    syncs = 0;
    sk_io_hook = count_syncs;
    int rc[3] = {sk_events_add(dir, "x\n", 2, 0, &err), sk_events_add(dir, "x\n", 2, 1, &err), 0};
    int synced = syncs;
    rc[2] = sk_events_add(dir, "x\n", 2, 1, &err);
    sk_io_hook = NULL;
    assert_true(!rc[0] && !rc[1] && synced == 1 && rc[2] == SAIKAI_EIO);
    assert_non_null(strstr(err.text, file));
}

/* There is room for a part of a line: it is told, and the next one begins a line of its own. */
static void a_line_that_does_not_fit(void **state)
{
    (void)state;
    struct sk_events_reader r;
    struct saikai_error err = {0};
    struct rlimit was, tight;
    assert_int_equal(add(1, NULL), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    tight = (struct rlimit){(rlim_t)size_of_file() + 10, was.rlim_max};
    void (*before_us)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    int part = add(2, &err), sys = err.sys_errno, none = add(3, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, before_us);
    assert_true(part == SAIKAI_ENOSPC && sys == ENOSPC && none < 0);
    assert_non_null(strstr(err.text, file));
    assert_int_equal(add(4, NULL), 0);
    assert_int_equal(sk_events_open(&r, dir, 1, NULL), 0);
    struct seen s = read_on(&r);
    assert_true(s.n == 2 && s.last == 4 && r.bad == 1);
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
        cmocka_unit_test_setup_teardown(only_files_are_looked_at, begin, end),
        cmocka_unit_test_setup_teardown(a_file_is_filled, begin, end),
        cmocka_unit_test_setup_teardown(a_file_that_was_cut_is_read_anew, begin, end),
        cmocka_unit_test_setup_teardown(a_reader_that_keeps_up, begin, end),
        cmocka_unit_test_setup_teardown(what_lasts_is_synced, begin, end),
        cmocka_unit_test_setup_teardown(a_line_that_does_not_fit, begin, end),
        cmocka_unit_test_setup_teardown(no_directory_is_made, begin, end),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
