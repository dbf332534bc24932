/* What is no file: as an input it is refused and never waited for; as an output it is written to and never replaced. */
#include "base/text/output.h"

#include "base/file/io.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64];

static const char *at(const char *name)
{
    static char path[4][128];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

static int begin(void **state)
{
    (void)state;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    strcpy(dir, "/tmp/saikai-output-XXXXXX");
    if (!mkdtemp(dir) || mkfifo(at("fifo"), 0600) || mkdir(at("dir"), 0700) || sk_io_replace(at("file"), "old", 3, NULL))
        return -1;
    snprintf(a.sun_path, sizeof a.sun_path, "%s/socket", dir);
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    if (s < 0 || bind(s, (struct sockaddr *)&a, sizeof a))
        return -1;
    close(s);
    return symlink("file", at("link")) || symlink("dir/made", at("dangling")) || symlink("loop", at("loop"));
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static void check(const char *name, int flags, const char *what)
{
    struct saikai_error err = {0};
    alarm(100); /* hangs are what this is about */
    assert_int_equal(sk_io_open(at(name), flags, 0600, &err), SAIKAI_EINVAL);
    alarm(0);
    if (!strstr(err.text, what) || !strstr(err.text, at(name)))
        fail_msg("%s", err.text);
}

static void test_only_files_are_opened(void **state)
{
    (void)state;
    const int flags[] = {O_RDONLY, O_WRONLY | O_CREAT | O_TRUNC, O_RDWR};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        check("fifo", flags[i], "is a FIFO");
        check("socket", flags[i], "is a socket");
        check("dir", flags[i], "is a directory");
    }
    struct saikai_error err = {0};
    assert_int_equal(sk_io_open("/dev/null", O_RDONLY, 0, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "is a device"));
    void *data;
    size_t n;
    assert_int_equal(sk_io_slurp(at("fifo"), 100, &data, &n, &err), SAIKAI_EINVAL);
    int fd = sk_io_open(at("dir"), O_RDONLY | O_DIRECTORY, 0, &err);
    assert_true(fd >= 0);
    close(fd);
}

static void holds(const char *name, const char *text)
{
    void *data;
    size_t n;
    assert_int_equal(sk_io_slurp(at(name), 100, &data, &n, NULL), 0);
    assert_string_equal(data, text);
    free(data);
}

static void test_links_stay_and_their_files_change(void **state)
{
    (void)state;
    struct stat st;
    struct saikai_error err = {0};
    assert_int_equal(sk_output_write(at("link"), "new", 3, &err), 0);
    assert_true(!lstat(at("link"), &st) && S_ISLNK(st.st_mode));
    holds("file", "new");
    assert_int_equal(sk_output_write(at("dangling"), "made", 4, &err), 0);
    assert_true(!lstat(at("dangling"), &st) && S_ISLNK(st.st_mode));
    holds("dir/made", "made");
    assert_true(sk_output_write(at("loop"), "x", 1, &err) < 0);
    assert_int_equal(sk_output_write(at("plain"), "plain", 5, &err), 0);
    holds("plain", "plain");
}

static void test_what_cannot_be_an_output_is_refused(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct stat st;
    assert_int_equal(sk_output_write(at("dir"), "x", 1, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "directory"));
    assert_int_equal(sk_output_write(at("socket"), "x", 1, &err), SAIKAI_EINVAL);
    assert_true(!lstat(at("socket"), &st) && S_ISSOCK(st.st_mode));
}

static void test_a_fifo_is_written_to(void **state)
{
    (void)state;
    struct stat st;
    struct saikai_error err = {0};
    pid_t pid = fork();
    if (!pid) { /* the reader comes late */
        char got[16] = "";
        usleep(200000);
        int fd = open(at("fifo"), O_RDONLY);
        ssize_t n = 0, k;
        while ((k = read(fd, got + n, sizeof got - 1 - (size_t)n)) > 0)
            n += k;
        _exit(strcmp(got, "through") != 0);
    }
    int status = -1;
    alarm(100);
    assert_int_equal(sk_output_write(at("fifo"), "through", 7, &err), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    alarm(0);
    assert_int_equal(status, 0);
    assert_true(!lstat(at("fifo"), &st) && S_ISFIFO(st.st_mode));
}

/* A device of its own: a mistake must not cost the machine its /dev/null. */
static void test_a_device_is_written_to(void **state)
{
    (void)state;
    struct stat st;
    struct saikai_error err = {0};
    if (mknod(at("null"), S_IFCHR | 0600, makedev(1, 3))) {
        print_message("no devices can be made here\n");
        skip();
    }
    int fd = open(at("null"), O_WRONLY);
    if (fd < 0) {
        print_message("devices cannot be used here\n");
        skip();
    }
    close(fd);
    assert_int_equal(sk_output_write(at("null"), "gone", 4, &err), 0);
    assert_true(!lstat(at("null"), &st) && S_ISCHR(st.st_mode));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_files_are_opened),
        cmocka_unit_test(test_links_stay_and_their_files_change),
        cmocka_unit_test(test_what_cannot_be_an_output_is_refused),
        cmocka_unit_test(test_a_fifo_is_written_to),
        cmocka_unit_test(test_a_device_is_written_to),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
