/* Who holds a store: whether the holder lives as far as can be told, its note line by line, and its description. */
#include "store/owner/owner.h"

#include "base/file/io.h"
#include "store/note.h"
#include "store/owner/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define ID "00000000000000000000000000000001"

enum { DEAD, LIVES, ELSEWHERE, NOBODY };

static struct sk_life life_of(int kind)
{
    struct sk_life l;
    sk_life_own(&l);
    if (kind == DEAD)
        l.started++;
    else if (kind == ELSEWHERE)
        strcpy(l.place, "elsewhere/1");
    return kind == NOBODY ? (struct sk_life){.pid = 0} : l;
}

/* Of a process and the run above it, which may be this one's, earlier, the same or later. */
static void whether_it_lives(void **state)
{
    (void)state;
    static const struct {
        int life, above, run; /* run: 1 of the one that asks, 2 of another one */
        uint32_t start;       /* 5 is that of the one that asks */
        enum sk_owner_state is;
    } cases[] = {
        {LIVES, NOBODY, 0, 0, SK_OWNER_LIVES}, {DEAD, NOBODY, 0, 0, SK_OWNER_DEAD}, {ELSEWHERE, NOBODY, 0, 0, SK_OWNER_UNKNOWN},
        {LIVES, LIVES, 2, 1, SK_OWNER_LIVES}, {DEAD, LIVES, 2, 1, SK_OWNER_LIVES}, /* it is about to be started again */
        {ELSEWHERE, LIVES, 2, 1, SK_OWNER_LIVES}, {DEAD, DEAD, 2, 1, SK_OWNER_DEAD}, {ELSEWHERE, DEAD, 2, 1, SK_OWNER_UNKNOWN},
        {DEAD, ELSEWHERE, 2, 1, SK_OWNER_UNKNOWN}, {LIVES, DEAD, 2, 1, SK_OWNER_LIVES},
        {LIVES, LIVES, 1, 4, SK_OWNER_DEAD}, {ELSEWHERE, LIVES, 1, 4, SK_OWNER_DEAD}, /* an earlier start of this run */
        {LIVES, LIVES, 1, 5, SK_OWNER_LIVES}, {DEAD, LIVES, 1, 5, SK_OWNER_DEAD}, {ELSEWHERE, DEAD, 1, 5, SK_OWNER_UNKNOWN},
        {LIVES, LIVES, 1, 6, SK_OWNER_LIVES}, {DEAD, LIVES, 1, 6, SK_OWNER_DEAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_owner self, o;
        sk_owner_self("job", NULL, 5, &self);
        self.run = 77;
        o = self;
        o.life = life_of(cases[i].life);
        o.above = life_of(cases[i].above);
        o.run = cases[i].run == 1 ? 77 : cases[i].run ? 78 : 0;
        o.start = cases[i].start;
        if (sk_owner_state(&o, &self) != cases[i].is)
            fail_msg("case %zu: %d", i, (int)sk_owner_state(&o, &self));
        o.store.b[0] ^= 1; /* a lease that was copied with its directory */
        assert_int_equal(sk_owner_state(&o, &self), SK_OWNER_DEAD);
    }
    struct sk_owner none, self = {.start = 3};
    sk_owner_self("job", NULL, 1, &none);
    self.store = none.store;
    assert_int_equal(sk_owner_state(&none, &self), SK_OWNER_LIVES); /* no run is not the same run */
}

static int decode(const char *lines, struct sk_owner *o)
{
    struct sk_buf b = {0};
    sk_note_begin(&b, "saikai-lease 1");
    sk_buf_put(&b, lines, strlen(lines));
    sk_note_end(&b);
    int rc = sk_owner_decode((char *)b.data, b.len, o, NULL);
    sk_buf_free(&b);
    return rc;
}

static void each_line_of_it(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        int rc;
    } cases[] = {
        {"token " ID "\nprocess here 5 7\n", 0}, {"token " ID "\n", SAIKAI_EDAMAGED}, {"process here 5 7\n", SAIKAI_EDAMAGED},
        {"token " ID "\nprocess here 0 7\n", SAIKAI_EDAMAGED}, {"token 1\nprocess here 5 7\n", SAIKAI_EDAMAGED},
        {"token " ID "\nprocess here 5\n", SAIKAI_EDAMAGED}, {"token " ID "\nprocess here 5 7\nstore x\n", SAIKAI_EDAMAGED},
        {"token " ID "\nprocess here 5 7\nlauncher here\n", SAIKAI_EDAMAGED}, {"token " ID "\nprocess here 5 7\nsince 12x\n", SAIKAI_EDAMAGED},
        {"token " ID "\nprocess here 5 7\nsince x\n", SAIKAI_EDAMAGED}, {"token " ID "\nprocess here 5 7\nrun 12\n", SAIKAI_EDAMAGED},
        {"token " ID "\nprocess here 5 7\nrun ff 3x\n", SAIKAI_EDAMAGED}, {"token " ID "\nprocess here 5 7\nrun z 3\n", SAIKAI_EDAMAGED},
        {"token " ID "\nprocess here 5 7\nlater what it says\n", 0},
        {"token " ID "\nprocess here 5 7\nstore " ID "\nname wave\nhost n1\nuser me\nsince -12\nrun ff 3\nlauncher there 9 8\n", 0},
    };
    struct sk_owner o;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (decode(cases[i].lines, &o) != cases[i].rc)
            fail_msg("case %zu", i);
    }
    assert_true(o.token.b[15] == 1 && o.store.b[15] == 1 && !strcmp(o.name, "wave") && !strcmp(o.host, "n1") && !strcmp(o.user, "me"));
    assert_true(o.life.pid == 5 && o.life.started == 7 && !strcmp(o.life.place, "here") && o.since_ms == -12 && o.run == 255 && o.start == 3);
    assert_true(o.above.pid == 9 && o.above.started == 8 && !strcmp(o.above.place, "there"));
}

/* What a launcher says of itself in the environment; nonsense there is nobody. */
static void who_is_above(void **state)
{
    (void)state;
    static const char *const none[] = {"", "xyz", "0000000000000000 here 5 7", "00000000000000ff", "00000000000000ff here 5", "00000000000000ff here 5 7 8"};
    struct sk_owner o;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        sk_owner_self("job", none[i], 2, &o);
        assert_true(!o.run && !o.above.pid && o.start == 2);
    }
    sk_owner_self("job", "00000000000000ff here 5 7", 2, &o);
    assert_true(o.run == 255 && o.above.pid == 5 && o.above.started == 7 && !strcmp(o.above.place, "here"));
}

static void it_is_described(void **state)
{
    (void)state;
    struct sk_owner o = {.host = "n1", .user = "me", .life = {.pid = 5}, .since_ms = 1000000000999};
    char text[320];
    setenv("TZ", "UTC0", 1);
    tzset();
    assert_string_equal(sk_owner_describe(&o, text, sizeof text), "host n1, process 5, user me, since 2001-09-09 01:46:40");
    o.above.pid = 9;
    assert_string_equal(sk_owner_describe(&o, text, sizeof text), "host n1, process 5 of saikai run 9, user me, since 2001-09-09 01:46:40");
    unsetenv("TZ");
}

/* What a job says of itself: a place that is too long for a line is left out, rather than cut. */
static void a_job_says_what_has_room(void **state)
{
    (void)state;
    static struct sk_job j = {.name = "wave", .store = {{1}}}, back;
    char dir[] = "/tmp/saikai-owner-XXXXXX";
    assert_non_null(mkdtemp(dir));
    memset(j.command, 'c', sizeof j.command - 1);
    for (int more = 0; more < 2; more++) {
        memset(j.place, 'p', SK_NOTE_VALUE);
        j.place[SK_NOTE_VALUE - 1 + more] = 0;
        assert_int_equal(sk_job_replace(dir, &j, NULL), 0);
        assert_int_equal(sk_job_load(dir, &back, NULL), 0);
        assert_string_equal(back.place, more ? "" : j.place);
        assert_string_equal(back.command, j.command);
    }
    assert_int_equal(sk_io_rmtree(dir, NULL), 0);
    char name[SK_JOB_NAME_MAX + 14], small[17];
    struct saikai_error err = {0};
    assert_int_equal(sk_job_local_name(&j, name, sizeof name, &err), 0);
    assert_string_equal(name, "wave-010000000000");
    assert_int_equal(sk_job_local_name(&j, small, sizeof small, &err), SAIKAI_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whether_it_lives),
        cmocka_unit_test(each_line_of_it),
        cmocka_unit_test(who_is_above),
        cmocka_unit_test(it_is_described),
        cmocka_unit_test(a_job_says_what_has_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
