/* The output of a program goes through its keeper: a lead's at once, a twin's from where its dead lead's ended; whole also for a reader who is slow. */
#include "daemon/print/print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A program that prints, the print of its keeper, and the reader's end. */
struct stage {
    struct sk_print *p;
    int program, reader;
};

static struct stage begin(int hidden)
{
    struct stage s = {0};
    int out[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(sk_print_begin(out[1], hidden, &s.p, NULL), 0);
    close(out[1]);
    s.program = dup(sk_print_of_program(s.p));
    s.reader = out[0];
    assert_true(s.program >= 0 && !isatty(s.program));
    assert_int_equal(sk_print_started(s.p, NULL), 0);
    return s;
}

static void end(struct stage *s)
{
    if (s->program >= 0)
        close(s->program);
    sk_print_end(s->p);
    if (s->reader >= 0)
        close(s->reader);
}

static void print(struct stage *s, const char *text)
{
    assert_int_equal(write(s->program, text, strlen(text)), strlen(text));
}

/* One turn of a keeper's: waits until there is something to do, or a heartbeat is due. */
static void turn(struct stage *s)
{
    struct pollfd f = {.fd = sk_print_fd(s->p), .events = POLLIN};
    if (f.fd >= 0 && poll(&f, 1, 50) >= 0)
        sk_print_take(s->p);
}

static void reads(struct stage *s, const char *text)
{
    char got[256] = "";
    size_t n = 0;
    while (n < strlen(text)) {
        ssize_t k = read(s->reader, got + n, sizeof got - 1 - n);
        assert_true(k > 0);
        n += (size_t)k;
    }
    assert_string_equal(got, text);
}

static void is_at(struct stage *s, uint64_t lines, uint64_t bytes)
{
    struct sk_printed p = sk_print_count(s->p);
    assert_int_equal(p.lines, lines);
    assert_int_equal(p.bytes, bytes);
}

static void settles(struct stage *s)
{
    close(s->program);
    s->program = -1;
    while (!sk_print_is_settled(s->p, 0))
        turn(s);
    assert_int_equal(sk_print_fd(s->p), -1);
}

static void a_lead_is_seen_at_once_and_counted(void **state)
{
    struct stage s = begin(0);
    (void)state;
    print(&s, "one\ntwo\nth");
    turn(&s);
    reads(&s, "one\ntwo\nth");
    is_at(&s, 2, 2);
    assert_false(sk_print_is_settled(s.p, 0)); /* somebody may print yet */
    assert_int_equal(sk_print_join(s.p, (struct sk_printed){9, 9}), 0); /* its twin is not its lead */
    print(&s, "ree\nlast words");
    settles(&s); /* takes what has not been looked at */
    is_at(&s, 3, 10);
    reads(&s, "ree\nlast words");
    end(&s);
}

static void a_twin_is_seen_from_where_its_lead_ended(void **state)
{
    struct stage s = begin(1);
    (void)state;
    print(&s, "one\ntwo\nthree\n");
    turn(&s);
    is_at(&s, 0, 0); /* it hands nothing over */
    struct pollfd f = {.fd = s.reader, .events = POLLIN};
    assert_int_equal(poll(&f, 1, 0), 0);
    assert_int_equal(sk_print_join(s.p, (struct sk_printed){1, 2}), 0);
    reads(&s, "o\nthree\n");
    is_at(&s, 3, 0);
    print(&s, "four\n");
    turn(&s);
    reads(&s, "four\n");
    is_at(&s, 4, 0);
    assert_int_equal(sk_print_join(s.p, (struct sk_printed){0, 0}), 0); /* the order is repeated */
    settles(&s);
    end(&s);
}

static void a_twin_that_is_behind_its_lead_prints_nothing_twice(void **state)
{
    struct stage s = begin(1);
    (void)state;
    print(&s, "one\n");
    turn(&s);
    assert_int_equal(sk_print_join(s.p, (struct sk_printed){3, 1}), 0);
    is_at(&s, 3, 1);
    print(&s, "two\nth");
    turn(&s);
    print(&s, "ree\nfo");
    turn(&s);
    print(&s, "ur\nfive\n");
    settles(&s);
    reads(&s, "our\nfive\n");
    is_at(&s, 5, 0);
    end(&s);
}

static void what_is_held_no_longer_is_told(void **state)
{
    struct stage s = begin(1);
    char *text = malloc(65536);
    (void)state;
    assert_non_null(text);
    memset(text, 'x', 65536);
    text[65535] = '\n';
    for (int i = 0; i < 2 * SK_PRINT_HELD / 65536 + 2; i++) {
        for (size_t done = 0; done < 65536; done += 4096) { /* no more than the pipe takes */
            assert_int_equal(write(s.program, text + done, 4096), 4096);
            turn(&s);
        }
    }
    free(text);
    assert_int_equal(sk_print_join(s.p, (struct sk_printed){1, 0}), 1);
    end(&s); /* nobody reads it */
}

/* More than fits anywhere is printed, and nothing is read until the keeper can take no more: the program waits, the keeper does not, and all comes. */
static void a_slow_reader_holds_up_the_program_alone(void **state)
{
    enum { LINES = 200000 };
    struct stage s = begin(0);
    (void)state;
    pid_t program = fork();
    if (!program) {
        FILE *f = fdopen(s.program, "w");
        for (int i = 0; f && i < LINES; i++)
            fprintf(f, "line %d\n", i);
        _exit(!f || fclose(f));
    }
    assert_true(program > 0);
    close(s.program);
    s.program = -1;
    pid_t reader = fork();
    if (!reader) {
        char line[64], want[64];
        int go, i = 0;
        FILE *f = fdopen(s.reader, "r");
        kill(getpid(), SIGSTOP);
        for (go = f != NULL; go && i < LINES && fgets(line, sizeof line, f); i += go) {
            snprintf(want, sizeof want, "line %d\n", i);
            go = !strcmp(line, want);
        }
        _exit(i != LINES);
    }
    close(s.reader);
    s.reader = -1;
    int status;
    assert_int_equal(waitpid(reader, &status, WUNTRACED), reader);
    assert_true(WIFSTOPPED(status));
    struct pollfd f = {.events = POLLIN};
    for (;;) { /* until the queue is full, for a while */
        f.fd = sk_print_fd(s.p);
        if (poll(&f, 1, 300) != 1)
            break;
        sk_print_take(s.p);
    }
    kill(reader, SIGCONT);
    while (!sk_print_is_settled(s.p, 0))
        turn(&s);
    is_at(&s, LINES, 0);
    assert_int_equal(waitpid(program, &status, 0), program);
    assert_int_equal(status, 0);
    end(&s);
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
}

static void who_reads_no_more_ends_the_program_as_without_a_keeper(void **state)
{
    struct stage s = begin(0);
    (void)state;
    close(s.reader);
    s.reader = -1;
    print(&s, "nobody reads this\n");
    while (sk_print_fd(s.p) >= 0)
        turn(&s);
    assert_true(sk_print_is_out(s.p));
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(write(s.program, "x", 1), -1);
    signal(SIGPIPE, SIG_DFL);
    end(&s);
}

static void a_terminal_stays_one(void **state)
{
    char name[128], got[64] = "";
    struct sk_print *p;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    (void)state;
    assert_true(master >= 0 && !grantpt(master) && !unlockpt(master) && !ptsname_r(master, name, sizeof name));
    int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_int_equal(sk_print_begin(slave, 0, &p, NULL), 0);
    struct stage s = {p, dup(sk_print_of_program(p)), -1};
    assert_true(isatty(s.program));
    assert_int_equal(sk_print_started(p, NULL), 0);
    print(&s, "one\n");
    print(&s, "two");
    settles(&s);
    is_at(&s, 1, 3);
    for (size_t n = 0; n < 8;) { /* the line end is the outer terminal's affair, which does to it once what it does */
        ssize_t k = read(master, got + n, sizeof got - 1 - n);
        assert_true(k > 0);
        n += (size_t)k;
    }
    assert_string_equal(got, "one\r\ntwo");
    end(&s);
    close(slave);
    close(master);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_lead_is_seen_at_once_and_counted),
                                       cmocka_unit_test(a_twin_is_seen_from_where_its_lead_ended),
                                       cmocka_unit_test(a_twin_that_is_behind_its_lead_prints_nothing_twice),
                                       cmocka_unit_test(what_is_held_no_longer_is_told),
                                       cmocka_unit_test(a_slow_reader_holds_up_the_program_alone),
                                       cmocka_unit_test(who_reads_no_more_ends_the_program_as_without_a_keeper),
                                       cmocka_unit_test(a_terminal_stays_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
