/* Keeper and rank see the same page, what is no such page is left alone, and one of another version
 * is an error. */
#include "backbone/keeper_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void share(int fd)
{
    char text[16];
    snprintf(text, sizeof text, "%d", fd);
    setenv(SK_KEEPER_FD_ENV, text, 1);
}

static void both_sides_see_the_same_page(void **state)
{
    struct saikai_error err = {0};
    struct sk_keeper_page *keeper, *library;
    int fd;
    assert_int_equal(sk_keeper_page_make(3, 2, &fd, &keeper, &err), 0);
    assert_false(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    share(fd);
    assert_int_equal(sk_keeper_page_attach(&library, &err), 0);
    assert_non_null(library);
    assert_int_equal(library->rank, 3);
    assert_int_equal(library->incarnation, 2);
    assert_int_equal(atomic_load(&keeper->complete_iteration), -1);
    sk_keeper_page_progress(library, 17);
    sk_keeper_page_complete(library, 10);
    assert_int_equal(atomic_load(&keeper->progress), 1);
    assert_int_equal(atomic_load(&keeper->iteration), 17);
    assert_int_equal(atomic_load(&keeper->complete_iteration), 10);
    assert_int_equal(atomic_load(&keeper->complete_count), 1);
    assert_int_equal(sk_keeper_page_take(library), 0);
    atomic_fetch_or(&keeper->requests, SK_REQUEST_CHECKPOINT);
    assert_int_equal(sk_keeper_page_take(library), SK_REQUEST_CHECKPOINT);
    assert_int_equal(sk_keeper_page_take(library), 0);
    sk_keeper_page_unmap(library);
    sk_keeper_page_unmap(keeper);
    close(fd);
}

static void what_is_no_page_is_left_alone(void **state)
{
    struct saikai_error err = {0};
    struct sk_keeper_page *page = (void *)1;
    unsetenv(SK_KEEPER_FD_ENV);
    assert_int_equal(sk_keeper_page_attach(&page, &err), 0);
    assert_null(page);
    static const char *const bad[] = {"", "x", "7x", "-1", "99999", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        page = (void *)1;
        setenv(SK_KEEPER_FD_ENV, bad[i], 1);
        assert_int_equal(sk_keeper_page_attach(&page, &err), 0);
        assert_null(page);
    }
    /* A descriptor that is something else by now: a pipe, and a memory file of the same size. */
    int p[2];
    assert_int_equal(pipe(p), 0);
    share(p[0]);
    assert_int_equal(sk_keeper_page_attach(&page, &err), 0);
    assert_null(page);
    int fd = memfd_create("other", MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, SK_KEEPER_PAGE_BYTES), 0);
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
    share(fd);
    assert_int_equal(sk_keeper_page_attach(&page, &err), 0);
    assert_null(page);
    close(fd);
    close(p[0]);
    close(p[1]);
}

static void another_version_is_an_error(void **state)
{
    struct saikai_error err = {0};
    struct sk_keeper_page *keeper, *library = NULL;
    int fd;
    assert_int_equal(sk_keeper_page_make(0, 0, &fd, &keeper, &err), 0);
    keeper->version = SK_KEEPER_VERSION + 1;
    share(fd);
    assert_int_equal(sk_keeper_page_attach(&library, &err), SAIKAI_EFORMAT);
    assert_null(library);
    sk_keeper_page_unmap(keeper);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_see_the_same_page),
        cmocka_unit_test(what_is_no_page_is_left_alone),
        cmocka_unit_test(another_version_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
