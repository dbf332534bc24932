/* Calls of the system that fail where our input and output has no hook: locks, mappings, names, permissions. These are this program's own
 * here, which lead to the system's unless a test says something else. */
#include "store/event/kept.h"
#include "store/note.h"
#include "store/owner/hold.h"
#include "store/owner/owner.h"
#include "store/owner/private.h"
#include "store/slot.h"

#include "base/file/io.h"
#include "base/file/modes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"
#include "store/owner/lease_testing.h"

static struct {
    int locks, locks_left; /* the errno of the next so many locks, 0: they work; -1: the file goes before it is locked */
    int asked;             /* for locks */
    const char *goes;
    int advice, remap, closing, host, user, mode; /* 1: it fails */
} fails;

int fcntl(int fd, int command, ...)
{
    va_list ap;
    va_start(ap, command);
    void *arg = va_arg(ap, void *);
    va_end(ap);
    if (command != F_OFD_SETLK)
        return (int)syscall(SYS_fcntl, fd, command, arg);
    fails.asked++;
    if (fails.locks_left > 0) {
        fails.locks_left--;
        if (fails.locks > 0) {
            errno = fails.locks;
            return -1;
        }
        unlink(fails.goes);
    }
    return (int)syscall(SYS_fcntl, fd, command, arg);
}

int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));

int madvise(void *p, size_t n, int advice)
{
    if (fails.advice) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_madvise, p, n, advice);
}

void *mremap(void *p, size_t had, size_t n, int flags, ...)
{
    if (fails.remap) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mremap, p, had, n, flags, NULL);
}

int close(int fd)
{
    int rc = (int)syscall(SYS_close, fd);
    if (!fails.closing)
        return rc;
    errno = EIO;
    return -1;
}

int gethostname(char *name, size_t n)
{
    if (fails.host) {
        errno = ENAMETOOLONG;
        return -1;
    }
    snprintf(name, n, "here");
    return 0;
}

int getpwuid_r(uid_t uid, struct passwd *pw, char *room, size_t n, struct passwd **found)
{
    (void)uid;
    *found = NULL;
    if (fails.user)
        return fails.user > 1 ? ERANGE : 0; /* nobody of that number, or it cannot be told */
    snprintf(room, n, "somebody");
    *pw = (struct passwd){.pw_name = room};
    *found = pw;
    return 0;
}

int fchmod(int fd, mode_t mode)
{
    if (fails.mode) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_fchmod, fd, mode);
}

int chmod(const char *path, mode_t mode)
{
    if (fails.mode) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_fchmodat, AT_FDCWD, path, mode);
}

static int start(void **state)
{
    memset(&fails, 0, sizeof fails);
    return begin(state);
}

static const char *at(const char *name)
{
    static char path[4][160];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, 160, "%s/%s", dir, name);
    return p;
}

static int is_there(const char *name)
{
    return !access(at(name), F_OK);
}

/* ---- locks ---- */

/* Where there are none, nothing that works is refused, and nobody knows to be the last one. */
static void places_without_locks(void **state)
{
    (void)state;
    static const char *const last[] = {"a", NULL};
    struct sk_hold *first, *other, *alone;
    fails.locks = ENOLCK;
    fails.locks_left = INT_MAX;
    assert_int_equal(sk_hold_first(at("node"), 0, &first, NULL), 0);
    assert_int_equal(sk_hold_join(at("node"), &other, NULL), 0);
    assert_int_equal(sk_hold_alone(at("node"), &alone, NULL), 0);
    assert_int_equal(sk_io_replace(at("node/a"), "x", 1, NULL), 0);
    sk_hold_release(first, last);
    sk_hold_release(other, last);
    sk_hold_release(alone, last);
    assert_true(is_there("node/a") && is_there("node/" SK_HOLD_FILE));
}

/* Somebody has it: whichever of the two errors the system says that with. */
static void places_that_are_held(void **state)
{
    (void)state;
    static const int held[] = {EAGAIN, EACCES};
    struct sk_hold *h;
    struct saikai_error err = {0};
    for (int i = 0; i < 2; i++) {
        fails.locks = held[i];
        fails.locks_left = 3;
        assert_int_equal(sk_hold_first(at("node"), 0, &h, &err), SAIKAI_EBUSY);
        assert_int_equal(sk_hold_join(at("node"), &h, &err), SAIKAI_EBUSY);
        assert_int_equal(sk_hold_alone(at("node"), &h, &err), SAIKAI_EBUSY);
        assert_non_null(strstr(err.text, at("node")));
        fails.locks_left = 2;
        assert_int_equal(sk_hold_first(at("node"), 60, &h, &err), 0); /* soon it is free */
        sk_hold_release(h, NULL);
    }
}

/* Whoever had it removes it between opening and locking: the lock is nobody's, and a new one is made. */
static void places_that_are_removed(void **state)
{
    (void)state;
    struct sk_hold *h = NULL, *other;
    struct saikai_error err = {0};
    char lock[160];
    snprintf(lock, sizeof lock, "%s", at("node/" SK_HOLD_FILE));
    fails.goes = lock;
    fails.locks = -1;
    fails.locks_left = 1;
    assert_int_equal(sk_io_mkdirs(at("node"), NULL), 0);
    assert_int_equal(sk_hold_alone(at("node"), &h, &err), SAIKAI_ENOENT);
    assert_true(!h && strstr(err.text, at("node")) && strstr(err.text, "somebody removes it at this moment"));
    fails.locks_left = 3;
    assert_int_equal(sk_hold_first(at("node"), 0, &h, &err), 0);
    assert_int_equal(sk_hold_first(at("node"), 0, &other, &err), SAIKAI_EBUSY);
    sk_hold_release(h, NULL);
}

static void leases_without_locks(void **state)
{
    (void)state;
    static const int code[] = {ENOLCK, EAGAIN, EACCES};
    struct stat sb;
    assert_int_equal(open("/dev/null", O_RDONLY), 0);
    for (int i = 0; i < 3; i++) {
        struct sk_lease *l, *other;
        struct saikai_error err = {0};
        fails.locks = code[i];
        fails.locks_left = i ? 2 : INT_MAX;
        fails.asked = 0;
        assert_int_equal(take(30, &l, &err), 0);
        assert_int_equal(fails.asked, i ? 3 : 1); /* it is asked for again when somebody has it, and not where there are none */
        assert_int_equal(take(30, &other, &err), SAIKAI_EBUSY);
        sk_lease_release(l);
        assert_int_equal(access(lease_path(), F_OK), -1);
    }
    assert_int_equal(fstat(0, &sb), 0); /* what is not locked closes nothing of others */
    close(0);
}

static char text[SK_EVENTS_MOST];

static off_t size_of(const char *name)
{
    struct stat sb;
    return stat(at(name), &sb) ? -1 : sb.st_size;
}

/* A full file is put away by whoever has the lock; where nobody can have it lines are added all the same. */
static void events_without_locks(void **state)
{
    (void)state;
    static const int code[] = {ENOLCK, EAGAIN, EACCES};
    memset(text, '\n', sizeof text);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sk_io_replace(at("events"), text, sizeof text, NULL), 0);
        assert_int_equal(chmod(at("events"), 0600), 0);
        fails.locks = code[i];
        fails.locks_left = i ? 2 : INT_MAX;
        fails.asked = 0;
        assert_int_equal(sk_events_add(dir, "x\n", 2, 0, NULL), 0);
        assert_int_equal(fails.asked, i ? 4 : 1); /* of the file that is full, and of the new one */
        assert_int_equal(size_of("events"), i ? 2 : SK_EVENTS_MOST + 2);
        assert_int_equal(size_of("events.1"), i ? SK_EVENTS_MOST : -1);
    }
}

/* ---- mappings ---- */

/* Systems before Linux 5.14 do not make pages that are asked for: each is touched, and what is in it stays. */
static void pages_are_there(void **state)
{
    (void)state;
    struct sk_slot *s = NULL;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), sizes[] = {1, 3 * page, 3 * page + 1, 10 * page, 20 * page - 1};
    unsigned char there[20];
    for (int asked = 0; asked < 2; asked++) {
        fails.advice = !asked;
        assert_int_equal(sk_slot_new(dir, 1, 0, asked, sizes[0], &s, NULL), 0);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            assert_int_equal(sk_slot_resize(s, sizes[i], NULL), 0);
            struct stat sb;
            assert_int_equal(fstat(s->fd, &sb), 0);
            assert_true((size_t)sb.st_blocks * 512 >= sizes[i]);
            assert_int_equal(mincore(s->map, sizes[i], there), 0);
            for (size_t k = 0; k < (sizes[i] + page - 1) / page; k++)
                assert_true(there[k] & 1);
            for (size_t k = 0; k < sizes[i]; k++)
                if (i && k < sizes[i - 1])
                    assert_int_equal(s->map[k], (uint8_t)(k * 7 + 1));
                else
                    s->map[k] = (uint8_t)(k * 7 + 1);
        }
        sk_slot_free(s, 1);
    }
}

static void a_mapping_that_cannot_grow(void **state)
{
    (void)state;
    struct sk_slot *s = NULL;
    struct saikai_error err = {0};
    struct stat sb;
    assert_int_equal(sk_slot_new(dir, 1, 0, 0, 5000, &s, NULL), 0);
    memset(s->map, 3, 5000);
    fails.remap = 1;
    assert_int_equal(sk_slot_resize(s, 50000, &err), SAIKAI_ENOMEM);
    assert_true(strstr(err.text, "cannot map") && strstr(err.text, s->tmp_path));
    assert_int_equal(fstat(s->fd, &sb), 0);
    assert_true(s->size_bytes == 5000 && sb.st_size == 5000 && s->map[0] == 3 && s->map[4999] == 3);
    fails.remap = 0;
    assert_int_equal(sk_slot_resize(s, 50000, &err), 0);
    assert_true(s->size_bytes == 50000 && s->map[4999] == 3);
    sk_slot_free(s, 1);
}

/* ---- names, permissions, ends ---- */

static void a_holder_without_names(void **state)
{
    (void)state;
    struct sk_owner o;
    char number[24];
    snprintf(number, sizeof number, "%ld", (long)getuid());
    sk_owner_self("job", NULL, 0, &o);
    assert_string_equal(o.host, "here");
    assert_string_equal(o.user, "somebody");
    for (fails.host = fails.user = 1; fails.user < 3; fails.user++) {
        sk_owner_self("job", NULL, 0, &o);
        assert_string_equal(o.host, "?");
        assert_string_equal(o.user, number);
    }
}

static void permissions_that_cannot_be_set(void **state)
{
    (void)state;
    char got[PATH_MAX];
    struct saikai_error err = {0};
    assert_int_equal(sk_private_dir(dir, 1, got, sizeof got, NULL), 0);
    assert_int_equal(chmod(got, 0755), 0);
    fails.mode = 1;
    assert_int_equal(sk_private_dir(dir, 1, got, sizeof got, &err), SAIKAI_EIO);
    assert_true(strstr(err.text, "cannot set the permissions") && strstr(err.text, got));
    assert_int_equal(sk_events_add(dir, "x\n", 2, 0, &err), SAIKAI_EIO);
    assert_true(strstr(err.text, "cannot make") && strstr(err.text, at("events")));
    fails.mode = 0;
    assert_int_equal(sk_private_dir(dir, 1, got, sizeof got, NULL), 0);
    sk_modes_guard(NULL);
}

/* What was written may be lost when closing fails: then there is no note of that name. */
static void a_note_that_cannot_be_closed(void **state)
{
    (void)state;
    struct sk_buf b = {0};
    struct saikai_error err = {0};
    sk_buf_put(&b, "text\n", 5);
    fails.closing = 1;
    int rc = sk_note_create(dir, "note", &b, &err);
    fails.closing = 0;
    assert_int_equal(rc, SAIKAI_EIO);
    assert_non_null(strstr(err.text, "cannot close"));
    assert_false(is_there("note"));
    sk_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
        cmocka_unit_test(remember_open_files),
        TEST(places_without_locks),
        TEST(places_that_are_held),
        TEST(places_that_are_removed),
        TEST(leases_without_locks),
        TEST(events_without_locks),
        TEST(pages_are_there),
        TEST(a_mapping_that_cannot_grow),
        TEST(a_holder_without_names),
        TEST(permissions_that_cannot_be_set),
        TEST(a_note_that_cannot_be_closed),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
