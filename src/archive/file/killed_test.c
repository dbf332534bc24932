/* Archives that are made or restored and killed, before any operation of it: the next one to the same place leaves the same as one that
 * nobody killed, and takes nothing from a restore that is still at work. */
#include "archive/file/parts.h"
#include "archive/file/target.h"
#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "archive/write/testing.h"
#include "base/host/fork_testing.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char *const names[] = {"top", "d/one", "d/e/two", "d/e/three"}, *const others[] = {"d/another", "top2"};

static int make_of(const char *archive, const char *const *list, size_t n)
{
    struct sk_archive_input in[4];
    for (size_t i = 0; i < n; i++)
        in[i] = (struct sk_archive_input){.path = at("in/%s", list[i]), .name = list[i]};
    return sk_archive_create(archive, in, n, &(struct sk_archive_options){.threads = 1, .no_sync = 1}, NULL, NULL);
}

static int make(void)
{
    return make_of(at("made/x.ska"), names, 4);
}

static int restore_of(const char *archive)
{
    return sk_archive_extract(archive, at("out"), &(struct sk_extract_options){.threads = 1, .no_sync = 1, .sweeps = 1}, NULL, NULL);
}

static int restore(void)
{
    return restore_of(at("kept.ska"));
}

static atomic_long moment;
static int stop_with;

static int die(const char *op, const char *path)
{
    (void)op;
    if (strncmp(path, base, strlen(base)) || atomic_fetch_sub(&moment, 1))
        return 0;
    kill(getpid(), stop_with);
    return 0;
}

static pid_t begin(int (*what)(void), long when, int sig)
{
    pid_t pid = sk_testing_fork();
    if (!pid) {
        moment = when;
        stop_with = sig;
        sk_io_hook = die;
        alarm(120);
        _exit(what() ? 1 : 0);
    }
    assert_true(pid > 0);
    return pid;
}

/* 1: it was killed before operation `when`; 0: it had fewer. */
static int killed(int (*what)(void), long when)
{
    int status;
    pid_t pid = begin(what, when, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status))
        assert_int_equal(WEXITSTATUS(status), 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static int seen;
static int count_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)path, (void)st, (void)f;
    seen += type == FTW_F || type == FTW_SL;
    return 0;
}

/* Files of any name below a directory. */
static int files_below(const char *dir)
{
    seen = 0;
    nftw(dir, count_one, 8, FTW_PHYS);
    return seen;
}

static void all_is_there(const char *const *list, int n, int of)
{
    for (int i = 0; i < n; i++)
        assert_true(same_file(at("in/%s", list[i]), at("out/%s", list[i])));
    assert_int_equal(files_below(at("out")), of);
}

/* Again, or another one, after it was killed at any moment. */
static void a_restore_that_is_killed(void **state)
{
    (void)state;
    long when = 0, noted = 0;
    for (; killed(restore, when); when++) {
        noted += files_below(at("out")) > 0;
        assert_int_equal(when % 2 ? restore() : restore_of(at("other.ska")), 0);
        if (when % 2)
            all_is_there(names, 4, 4);
        for (int i = 0; i < 4; i++) /* those that had their names already stay */
            unlink(at("out/%s", names[i]));
        if (!(when % 2))
            all_is_there(others, 2, 2);
        sk_io_rmtree(at("out"), NULL);
    }
    assert_true(when > 15 && noted > 10);
    all_is_there(names, 4, 4); /* that nobody killed */
    sk_io_rmtree(at("out"), NULL);
}

static void an_archive_that_is_killed(void **state)
{
    (void)state;
    long when = 0;
    sk_io_mkdirs(at("made"), NULL);
    for (; killed(make, when); when++) {
        assert_int_equal(make(), 0);
        assert_int_equal(files_below(at("made")), 1);
    }
    assert_true(when > 5);
}

/* One that waits in the middle, while another one of the same files comes and goes: each has temporary files of its own. */
static void two_at_once(void **state)
{
    (void)state;
    int status, waited = 0;
    for (long when = 4; when < 60; when++) {
        pid_t pid = begin(restore, when, SIGSTOP);
        assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        if (WIFSTOPPED(status)) {
            waited++;
            assert_int_equal(restore(), 0);
            assert_int_equal(kill(pid, SIGCONT), 0);
            assert_int_equal(waitpid(pid, &status, 0), pid);
        }
        assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
        all_is_there(names, 4, 4);
        sk_io_rmtree(at("out"), NULL);
    }
    assert_true(waited > 10);
}

/* One that waits in the middle, while another one comes and goes. */
static void one_that_is_at_work(void **state)
{
    (void)state;
    int status;
    for (long when = 6; when < 24; when += 3) {
        pid_t pid = begin(restore, when, SIGSTOP);
        assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        assert_true(WIFSTOPPED(status));
        int before = files_below(at("out"));
        assert_int_equal(restore_of(at("other.ska")), 0);
        assert_int_equal(files_below(at("out")), before + 2);
        assert_int_equal(kill(pid, SIGCONT), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
        all_is_there(names, 4, 6);
        sk_io_rmtree(at("out"), NULL);
    }
}

/* What a note says that is not about unfinished files, or is another process's or node's, removes nothing. */
static void notes_that_lie(void **state)
{
    (void)state;
    char note[4096], dead[4096];
    static const char said[] = "mine\0../in/top\0d/mine.saikai-part\0../out/up.saikai-part\0link/x.saikai-part\0theirs.saikai-part";
    struct sk_buf names_of = {0};
    sk_buf_put(&names_of, said, sizeof said - 1); /* the last one was not written to its end */
    static const char *const stays[] = {"out/mine", "in/x.saikai-part", "out/up.saikai-part", "out/theirs.saikai-part"};
    for (int i = 0; i < 4; i++)
        put_file(at("%s", stays[i]), "x", 1);
    put_file(at("out/d/mine.saikai-part"), "x", 1);
    assert_int_equal(symlink(at("in"), at("out/link")), 0);
    assert_int_equal(sk_parts_name(at("out"), note, NULL), 0);
    assert_int_equal(sk_parts_note(note, &names_of), 0);
    sk_parts_sweep(at("out")); /* this process lives */
    assert_int_equal(access(note, F_OK), 0);
    assert_int_equal(access(at("out/d/mine.saikai-part"), F_OK), 0);
    snprintf(dead, sizeof dead, "%s", note);
    char *elsewhere = strstr(dead, ".saikai-extract.") + strlen(".saikai-extract."), was = *elsewhere;
    *elsewhere = was == '0' ? '1' : '0'; /* started otherwise: nobody knows of it here */
    assert_int_equal(rename(note, dead), 0);
    sk_parts_sweep(at("out"));
    assert_int_equal(access(dead, F_OK), 0);
    pid_t pid = sk_testing_fork();
    if (!pid)
        _exit(sk_parts_name(at("out"), note, NULL) || rename(dead, note));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
    sk_parts_sweep(at("out")); /* it has ended */
    assert_int_not_equal(access(at("out/d/mine.saikai-part"), F_OK), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(access(at("%s", stays[i]), F_OK), 0);
    assert_int_equal(files_below(at("out")), 4); /* and the link */
    unlink(at("in/x.saikai-part"));
    sk_buf_free(&names_of);
    sk_io_rmtree(at("out"), NULL);
}

static const char *fails_on;
static int fail_note(const char *op, const char *path)
{
    return !strcmp(op, fails_on) && strstr(path, "/.saikai-extract.") ? EIO : 0;
}

/* A note that cannot be written is none, and the files come back all the same. */
static void a_note_that_cannot_be_written(void **state)
{
    (void)state;
    static const char *const ops[] = {"open", "write"};
    struct sk_buf names_of = {0};
    sk_buf_put(&names_of, "x.saikai-part", 14);
    for (int i = 0; i < 2; i++) {
        char note[4096];
        fails_on = ops[i];
        sk_io_mkdirs(at("out"), NULL);
        assert_int_equal(sk_parts_name(at("out"), note, NULL), 0);
        sk_io_hook = fail_note;
        assert_int_equal(sk_parts_note(note, &names_of), -1);
        assert_int_not_equal(access(note, F_OK), 0);
        assert_int_equal(restore(), 0);
        sk_io_hook = NULL;
        all_is_there(names, 4, 4);
        sk_io_rmtree(at("out"), NULL);
    }
    sk_buf_free(&names_of);
}

/* The name of a note or directory of a process that has ended. */
static void name_of_the_dead(char name[4096])
{
    int status, p[2];
    assert_int_equal(pipe(p), 0);
    pid_t pid = sk_testing_fork();
    if (!pid) {
        int rc = sk_parts_name(at("out"), name, NULL);
        _exit(rc || write(p[1], name, 4096) != 4096);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
    assert_int_equal(read(p[0], name, 4096), 4096);
    close(p[0]);
    close(p[1]);
}

/* Directories of unfinished files go as a whole; what is neither a directory nor a file, and what only looks like a note, stays. A note that
 * cannot be read stays, too, with what it is about. */
static void what_the_dead_left(void **state)
{
    (void)state;
    static const char *const none[] = {".saikai-extract.", ".saikai-extract.x", ".saikai-extract.1.2", ".saikai-extract.1.x", "saikai-extract.1.2"};
    char dir[4096], note[4096], link[4096];
    struct sk_buf names_of = {0};
    sk_io_mkdirs(at("out"), NULL);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        put_file(at("out/%s", none[i]), "x", 1);
    name_of_the_dead(dir);
    name_of_the_dead(note);
    name_of_the_dead(link);
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(mkdir(at("%s/d", dir + strlen(base) + 1), 0700), 0);
    put_file(at("%s/d/file", dir + strlen(base) + 1), "x", 1);
    assert_int_equal(symlink(at("in"), link), 0);
    put_file(at("out/x.saikai-part"), "x", 1);
    sk_buf_put(&names_of, "x.saikai-part", 14);
    assert_int_equal(sk_parts_note(note, &names_of), 0);
    fails_on = "open";
    sk_io_hook = fail_note;
    sk_parts_sweep(at("out"));
    sk_io_hook = NULL;
    assert_int_not_equal(access(dir, F_OK), 0);
    assert_int_equal(access(note, F_OK), 0);
    assert_int_equal(access(at("out/x.saikai-part"), F_OK), 0);
    sk_parts_sweep(at("out"));
    assert_int_not_equal(access(note, F_OK), 0);
    assert_int_not_equal(access(at("out/x.saikai-part"), F_OK), 0);
    assert_int_equal(access(link, F_OK), 0);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(access(at("out/%s", none[i]), F_OK), 0);
    sk_parts_sweep(at("nowhere"));
    sk_buf_free(&names_of);
    sk_io_rmtree(at("out"), NULL);
}

/* A process that is told to end lets go of an archive that it has begun, and of none that has its name. */
static void what_is_begun_is_let_go_of(void **state)
{
    (void)state;
    for (int done = 0; done < 2; done++) {
        int status;
        sk_io_mkdirs(at("begun"), NULL);
        pid_t pid = sk_testing_fork();
        if (!pid) {
            struct sk_target t;
            int bad = sk_target_open(&t, at("begun/x.ska"), NULL) || access(t.tmp, F_OK);
            bad = bad || (done && sk_target_commit(&t, at("begun/x.ska"), 0, NULL));
            if (done) /* what has that name now is somebody else's */
                put_file(t.tmp, "x", 1);
            sk_passing_drop_all();
            _exit(bad || (access(t.tmp, F_OK) == 0) != done);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
        assert_int_equal(files_below(at("begun")), 2 * done);
        sk_io_rmtree(at("begun"), NULL);
    }
}

static int set_up(void **state)
{
    uint8_t bytes[30000];
    if (setup(state))
        return -1;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)noise();
    for (int i = 0; i < 4; i++)
        put_file(at("in/%s", names[i]), bytes + i, sizeof bytes / (size_t)(i + 1));
    for (int i = 0; i < 2; i++)
        put_file(at("in/%s", others[i]), bytes + 7 + i, 999);
    return make_of(at("kept.ska"), names, 4) || make_of(at("other.ska"), others, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restore_that_is_killed),
        cmocka_unit_test(an_archive_that_is_killed),
        cmocka_unit_test(one_that_is_at_work),
        cmocka_unit_test(two_at_once),
        cmocka_unit_test(notes_that_lie),
        cmocka_unit_test(a_note_that_cannot_be_written),
        cmocka_unit_test(what_the_dead_left),
        cmocka_unit_test(what_is_begun_is_let_go_of),
    };
    return cmocka_run_group_tests(tests, set_up, teardown);
}
