/* Key files are readable for their owner alone, foreign files are refused, those of dead runs are
 * swept, and all keys differ. */
#include "backbone/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

static char dir[64];
static const uint8_t nonce[SK_NONCE_BYTES] = {0xab, 1, 2};
static const uint8_t secret[SK_KEY_BYTES] = {9, 8, 7};

static int set_up(void **state)
{
    strcpy(dir, "/tmp/saikai-keys-XXXXXX");
    umask(0);
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static const char *in_dir(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void what_was_written_is_read_by_its_owner_alone(void **state)
{
    char path[PATH_MAX];
    uint8_t content[SK_KEY_FILE_MAX];
    size_t n;
    struct stat st;
    struct saikai_error err = {0};
    assert_int_equal(sk_key_file_write(dir, nonce, 0, secret, path, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0600);
    assert_int_equal(sk_key_file_read(path, content, &n, &err), 0);
    assert_int_equal(n, SK_KEY_BYTES);
    assert_memory_equal(content, secret, n);
    char next[PATH_MAX]; /* the next start has another one */
    assert_int_equal(sk_key_file_write(dir, nonce, 1, secret, next, &err), 0);
    sk_key_file_remove(path, nonce);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(next, F_OK), 0);
    strcpy(path, next);
    chmod(path, 0640);
    assert_int_equal(sk_key_file_read(path, content, &n, &err), SAIKAI_EAUTH);
    assert_non_null(strstr(err.text, "can be read by others"));
    assert_non_null(strstr(err.text, path));
    if (!geteuid()) {
        chmod(path, 0600);
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_int_equal(sk_key_file_read(path, content, &n, &err), SAIKAI_EAUTH);
        assert_non_null(strstr(err.text, "belongs to user 65534"));
    }
}

static void what_is_no_file_of_ours_is_refused(void **state)
{
    uint8_t content[SK_KEY_FILE_MAX];
    size_t n;
    char target[256];
    strcpy(target, in_dir("target"));
    int fd = open(target, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, content, 31), 31);
    close(fd);
    assert_int_equal(sk_key_file_read(target, content, &n, NULL), SAIKAI_EAUTH); /* too short */
    assert_int_equal(symlink(target, in_dir("link")), 0);
    assert_int_equal(sk_key_file_read(in_dir("link"), content, &n, NULL), SAIKAI_EAUTH);
    assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
    assert_int_equal(sk_key_file_read(in_dir("fifo"), content, &n, NULL), SAIKAI_EAUTH);
    assert_int_equal(sk_key_file_read(in_dir("none"), content, &n, NULL), SAIKAI_ENOENT);
    assert_int_equal(sk_key_file_read(in_dir("target/below"), content, &n, NULL), SAIKAI_ENOENT);
}

static void files_of_dead_runs_are_swept(void **state)
{
    char path[PATH_MAX];
    struct utimbuf old = {1, 1};
    const char *dead = ".saikai-key-00000000000000000000000000000000";
    const char *young = ".saikai-key-00000000000000000000000000000001";
    close(open(in_dir(dead), O_WRONLY | O_CREAT, 0600));
    utime(in_dir(dead), &old);
    close(open(in_dir(young), O_WRONLY | O_CREAT, 0600));
    close(open(in_dir("other"), O_WRONLY | O_CREAT, 0600));
    utime(in_dir("other"), &old);
    assert_int_equal(sk_key_file_write(dir, nonce, 0, secret, path, NULL), 0);
    assert_int_not_equal(access(in_dir(dead), F_OK), 0);
    sk_key_file_remove(in_dir("other"), nonce); /* the user's own */
    sk_key_file_remove(in_dir(young), nonce);   /* another run's */
    assert_int_equal(access(in_dir(young), F_OK), 0);
    assert_int_equal(access(in_dir("other"), F_OK), 0);
    assert_int_equal(access(path, F_OK), 0);
}

/* The file of another process, which waits until the pipe is closed. */
static pid_t another_run(const uint8_t its[SK_NONCE_BYTES], char path[PATH_MAX], int *hold)
{
    int p[2], said[2];
    char c;
    assert_int_equal(pipe(p) | pipe(said), 0);
    pid_t pid = fork();
    if (!pid) {
        close(p[1]);
        if (sk_key_file_write(dir, its, 0, secret, path, NULL) || write(said[1], path, PATH_MAX) != PATH_MAX || read(p[0], &c, 1))
            _exit(1);
        _exit(0);
    }
    close(p[0]);
    close(said[1]);
    for (size_t n = 0, k; n < PATH_MAX; n += k)
        assert_true((ssize_t)(k = (size_t)read(said[0], path + n, PATH_MAX - n)) > 0);
    close(said[0]);
    *hold = p[1];
    return pid;
}

static void a_run_that_lives_keeps_its_file_however_old(void **state)
{
    static const uint8_t its[SK_NONCE_BYTES] = {7};
    char path[PATH_MAX], own[PATH_MAX], next[PATH_MAX], name[SK_KEY_NAME_MAX];
    struct utimbuf old = {1, 1};
    int hold;
    pid_t pid = another_run(its, path, &hold);
    utime(path, &old);
    assert_int_equal(sk_key_file_write(dir, nonce, 0, secret, own, NULL), 0);
    assert_string_equal(strrchr(own, '/') + 1, sk_key_file_name(nonce, 0, name));
    assert_int_equal(access(path, F_OK), 0);
    close(hold);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    utime(path, NULL); /* young, and nobody's any more */
    utime(own, &old);
    assert_int_equal(sk_key_file_write(dir, nonce, 1, secret, next, NULL), 0);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(access(own, F_OK), 0);
}

static void of_a_run_elsewhere_only_the_age_is_known(void **state)
{
    char path[PATH_MAX];
    struct utimbuf old = {1, 1};
    static const char *const names[] = {
        ".saikai-key-00000000000000000000000000000002-0.00112233445566ff.1.2", /* of another host */
        ".saikai-key-00000000000000000000000000000003-0.zz.1.2",
        ".saikai-key-00000000000000000000000000000004-0.00112233445566ff.ffffffffffffffffff.2.5",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        close(open(in_dir(names[i]), O_WRONLY | O_CREAT, 0600));
    assert_int_equal(sk_key_file_write(dir, nonce, 0, secret, path, NULL), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(access(in_dir(names[i]), F_OK), 0);
        utime(in_dir(names[i]), &old);
    }
    assert_int_equal(sk_key_file_write(dir, nonce, 1, secret, path, NULL), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_not_equal(access(in_dir(names[i]), F_OK), 0);
}

static void a_hosts_own_file_names_run_and_start(void **state)
{
    char a[128], b[128];
    assert_string_equal(sk_key_file_own(0, nonce, 3, a),
                        "/dev/shm/.saikai-key-ab010200000000000000000000000000-3-own");
    assert_non_null(sk_key_file_own(1, nonce, 3, b));
    assert_string_not_equal(a, b);
    assert_null(sk_key_file_own(2, nonce, 3, b));
}

static void keys_of_runs_starts_and_ranks_differ(void **state)
{
    uint8_t k[6][SK_KEY_BYTES], job[SK_KEY_BYTES], other[SK_KEY_BYTES];
    const uint8_t nonce2[SK_NONCE_BYTES] = {0xab, 1, 3};
    sk_key_job(secret, sizeof secret, nonce, job);
    sk_key_job(secret, sizeof secret, nonce2, other);
    sk_key_hub(job, k[0]);
    sk_key_rank(job, 0, 0, k[1]);
    sk_key_rank(job, 0, 1, k[2]);
    sk_key_rank(job, 1, 0, k[3]);
    sk_key_rank(other, 0, 0, k[4]);
    memcpy(k[5], job, sizeof job);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(k[i], k[j], SK_KEY_BYTES);
    sk_key_rank(job, 0, 1, k[0]);
    assert_memory_equal(k[0], k[2], SK_KEY_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_written_is_read_by_its_owner_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_file_of_ours_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_of_dead_runs_are_swept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_that_lives_keeps_its_file_however_old, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_a_run_elsewhere_only_the_age_is_known, set_up, tear_down),
        cmocka_unit_test(a_hosts_own_file_names_run_and_start),
        cmocka_unit_test(keys_of_runs_starts_and_ranks_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
