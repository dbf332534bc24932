/* Operations below a directory for which a thread has patience: they come to the same as without, with a limit and with none. */
#include "base/file/patient_io.h"

#include "base/file/io.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64];

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-patient-XXXXXX");
    return !mkdtemp(dir);
}

static int teardown(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static void work(void)
{
    struct saikai_error err = {0};
    char path[128], other[128], text[8] = "";
    off_t size = 0;
    snprintf(path, sizeof path, "%s/a/b", dir);
    assert_int_equal(sk_io_mkdirs(path, &err), 0);
    snprintf(path, sizeof path, "%s/a/b/file", dir);
    snprintf(other, sizeof other, "%s/a/other", dir);
    assert_int_equal(sk_io_open(path, O_RDONLY, 0, &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, path));
    int fd = sk_io_open(path, O_RDWR | O_CREAT, 0600, &err);
    assert_true(fd >= 0);
    assert_int_equal(sk_io_write(fd, path, "hello, ", 7, &err), 0);
    assert_int_equal(sk_io_pwrite(fd, path, "J", 1, 0, &err), 0);
    assert_int_equal(sk_io_pread(fd, path, text, 5, 0, &err), 0);
    assert_string_equal(text, "Jello");
    assert_int_equal(sk_io_truncate(fd, path, 3, &err), 0);
    assert_true(!sk_io_size(fd, path, &size, &err) && size == 3);
    assert_int_equal(sk_io_fsync(fd, path, &err), 0);
    close(fd);
    assert_int_equal(sk_io_rename(path, other, &err), 0);
    assert_true(access(path, F_OK) && !access(other, F_OK));
    assert_int_equal(sk_io_unlink(other, &err), 0);
    snprintf(path, sizeof path, "%s/a/b", dir);
    assert_int_equal(sk_io_rmdir(path, &err), 0);
    assert_true(access(path, F_OK));
}

/* 0: as long as it takes. It is the caller's own thread that does the work then. */
static void with_a_limit_and_with_none(void **state)
{
    (void)state;
    static const double limits[] = {0, 60};
    for (int i = 0; i < 2; i++) {
        struct sk_patience *p = NULL;
        assert_int_equal(sk_patience_new(limits[i], &p, NULL), 0);
        work();
        sk_patient_io(p, dir);
        assert_ptr_equal(sk_patient_now().p, p);
        assert_ptr_equal(sk_patient_now().root, dir);
        for (int twice = 0; twice < 2; twice++)
            work();
        sk_patient_io(NULL, NULL);
        assert_null(sk_patient_now().p);
        work();
        sk_patience_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(with_a_limit_and_with_none, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
