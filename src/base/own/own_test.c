/* Descriptors that the program closed under us: whoever has one finds out, nothing is done to what has its number then, and a forked
 * process does not keep what is not for it. */
#include "base/own/own.h"

#include "base/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

static char dir[64], ours[96], theirs[96];

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-own-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(ours, sizeof ours, "%s/ours", dir);
    snprintf(theirs, sizeof theirs, "%s/theirs", dir);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static off_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) ? -1 : st.st_size;
}

/* As a program does that closes all that it has not opened, and opens a file. */
static int take_number(int fd)
{
    assert_int_equal(close(fd), 0);
    int other = open(theirs, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(other, fd);
    assert_int_equal(write(other, "theirs", 6), 6);
    return other;
}

static void test_nothing_is_done_to_what_has_the_number_now(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    char text[8];
    void *map = NULL;
    off_t size;
    int fd = sk_own(sk_io_open(ours, O_RDWR | O_CREAT, 0600, &err), SK_OWN_STAYS);
    assert_int_equal(sk_io_write(fd, ours, "mine", 4, &err), 0);
    assert_int_equal(sk_own_is(fd), 1);
    int other = take_number(fd);
    assert_int_equal(sk_own_is(fd), 0);
    assert_int_equal(sk_io_write(fd, ours, "mine", 4, &err), SAIKAI_EIO);
    assert_non_null(strstr(err.text, ours));
    assert_non_null(strstr(err.text, "closefrom"));
    assert_int_equal(sk_io_pwrite(fd, ours, "mine", 4, 0, &err), SAIKAI_EIO);
    assert_int_equal(sk_io_pread(fd, ours, text, 4, 0, &err), SAIKAI_EIO);
    assert_int_equal(sk_io_truncate(fd, ours, 0, &err), SAIKAI_EIO);
    assert_int_equal(sk_io_reserve(fd, ours, 4096, &err), SAIKAI_EIO);
    assert_int_equal(sk_io_size(fd, ours, &size, &err), SAIKAI_EIO);
    assert_int_equal(sk_io_fsync(fd, ours, &err), SAIKAI_EIO);
    assert_int_equal(sk_io_map(fd, ours, 4, 1, &map, &err), SAIKAI_EIO);
    assert_int_equal(sk_own_close(fd), 0);
    assert_int_equal(pread(other, text, sizeof text, 0), 6); /* it is open yet, and as it was */
    assert_memory_equal(text, "theirs", 6);
    assert_int_equal(size_of(ours), 4);
    assert_int_equal(close(other), 0);
}

/* What is opened while somebody has not noticed yet gets another number: else he would take it for his own. */
static void test_a_number_is_not_given_out_twice(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    int fd = sk_own(sk_io_open(ours, O_RDWR | O_CREAT, 0600, &err), SK_OWN_STAYS);
    assert_int_equal(close(fd), 0);
    int second = sk_own(sk_io_open(ours, O_RDWR, 0, &err), SK_OWN_STAYS);
    assert_true(second > fd);
    int third = sk_io_open(ours, O_RDWR, 0, &err); /* for a moment */
    assert_true(third > fd && third != second);
    assert_int_equal(sk_own_is(fd), 0);
    assert_int_equal(sk_own_close(fd), 0);
    assert_int_equal(sk_io_write(second, ours, "mine", 4, &err), 0);
    assert_int_equal(sk_io_write(third, ours, "mine", 4, &err), 0);
    assert_int_equal(sk_own_close(third), 0);
    assert_int_equal(sk_own_close(second), 0);
    int again = sk_io_open(ours, O_RDONLY, 0, &err);
    assert_int_equal(again, fd); /* nobody remembers it any more */
    assert_int_equal(close(again), 0);
    assert_int_equal(sk_own(-7, SK_OWN_GOES), -7);
    assert_int_equal(sk_own_close(-7), 0);
}

/* In a forked process that stays there and holds nothing that is not for it; here nothing changes. */
static void test_a_child_holds_nothing(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    int goes = sk_own(sk_io_open(ours, O_RDWR | O_CREAT, 0600, &err), SK_OWN_GOES);
    int stays = sk_own(sk_io_open(ours, O_RDWR, 0, &err), SK_OWN_STAYS);
    pid_t pid = fork();
    if (!pid)
        _exit(fcntl(goes, F_GETFD) == -1 && errno == EBADF && !sk_own_is(goes) && fcntl(stays, F_GETFD) >= 0 && sk_own_is(stays) ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(sk_own_is(goes) && sk_own_is(stays));
    assert_int_equal(sk_own_close(goes), 0);
    assert_int_equal(sk_own_close(stays), 0);
}

/* A server that does not answer: what is closed there is not closed before it does. */
static int silent = -1;
static sem_t is_asked, answers;
int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
    if (fd >= 0 && fd == silent) {
        sem_post(&is_asked);
        sem_wait(&answers);
    }
    return __real_close(fd);
}

static void *close_it(void *arg)
{
    sk_own_close(*(int *)arg);
    return NULL;
}

/* Were it waited for, this would never end. */
static void test_one_that_does_not_answer_holds_up_nobody_else(void **state)
{
    pthread_t thread;
    (void)state;
    int fd = sk_own(open(ours, O_RDWR | O_CREAT, 0600), SK_OWN_GOES), other = sk_own(open(theirs, O_RDWR | O_CREAT, 0600), SK_OWN_STAYS);
    assert_true(fd >= 0 && other >= 0);
    sem_init(&is_asked, 0, 0);
    sem_init(&answers, 0, 0);
    silent = fd;
    assert_int_equal(pthread_create(&thread, NULL, close_it, &fd), 0);
    sem_wait(&is_asked);
    assert_true(sk_own_is(other));
    assert_int_equal(sk_own_close(other), 0);
    pid_t child = fork();
    if (!child)
        _exit(0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    sem_post(&answers);
    pthread_join(thread, NULL);
    silent = -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(test_nothing_is_done_to_what_has_the_number_now, begin, end),
        cmocka_unit_test_setup_teardown(test_a_number_is_not_given_out_twice, begin, end),
        cmocka_unit_test_setup_teardown(test_a_child_holds_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_one_that_does_not_answer_holds_up_nobody_else, begin, end),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
