/* Questions about a prefix, which may fail or hang: each one is answered, or it is said why not, and nothing is taken for an answer then. */
#include "lib/restart/far.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "group/loop.h"
#include "lib/session/session.h"
#include "lib/whole/failing/generation_testing.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

static char dir[64];
static const struct sk_gen gen = {1, 10, 0};

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-far-XXXXXX");
    return !mkdtemp(dir);
}

static int teardown(void **state)
{
    (void)state;
    sk_io_hook = NULL;
    return sk_io_rmtree(dir, NULL);
}

static void put(int rank)
{
    struct sk_skc_header h = {.iteration = gen.iteration, .incarnation = gen.incarnation, .rank = (uint32_t)rank, .nranks = 2};
    char root[96];
    snprintf(root, sizeof root, "%s/prefix", dir);
    generation_testing_put_small(root, &h);
}

static void open_session(struct sk_session *s, struct sk_group *g, double patience, int alone)
{
    *s = (struct sk_session){.g = g};
    snprintf(s->place.prefix_root, sizeof s->place.prefix_root, "%s/prefix", dir);
    snprintf(s->place.local_root, sizeof s->place.local_root, "%s/%s", dir, alone ? "prefix" : "local");
    assert_int_equal(sk_patience_new(patience, &s->place.patience, NULL), 0);
}

enum { SCAN, LIST, RANKS, CONTENT_SCAN, CONTENT, QUESTIONS };

/* What comes of one: so many generations, ranks, or files; -1 when nothing was given. */
static int ask(struct sk_session *s, int question, int *found, struct saikai_error *err)
{
    struct sk_gen_list l = {0};
    struct sk_content *c = NULL;
    int rc, n = -1;
    *found = -1;
    switch (question) {
    case SCAN: rc = sk_far_scan(s, s->g->rank, &l, err); break;
    case LIST: rc = sk_far_list(s, &sk_level_files, &l, err); break;
    case RANKS: rc = sk_far_archived_ranks(s, gen, &n, err); break;
    case CONTENT_SCAN: rc = sk_far_content_scan(s, &l, err); break;
    default: rc = sk_far_content(s, gen, &c, err); break;
    }
    if (question == RANKS)
        *found = n;
    else if (question == CONTENT)
        *found = c ? (int)c->nranks : -1;
    else if (!rc)
        *found = (int)l.count;
    assert_true(!rc || (!l.count && !c));
    assert_true(question >= CONTENT || question == RANKS || !l.count || sk_gen_key(l.gen[0]) == sk_gen_key(gen));
    sk_gen_list_free(&l);
    sk_content_free(c);
    return rc;
}

static void each_question_is_answered(void **state)
{
    (void)state;
    static const int answers[QUESTIONS] = {1, 1, 0, 1, 2};
    struct sk_group g = {.rank = 1, .size = 2};
    struct sk_session s;
    put(0);
    put(1);
    for (int i = 0; i < 4; i++) {
        open_session(&s, &g, i % 2 ? 60 : 0, i / 2);
        for (int q = 0; q < QUESTIONS; q++) {
            struct saikai_error err = {0};
            int found, rc = ask(&s, q, &found, &err);
            if (rc || found != answers[q])
                fail_msg("question %d: %d '%s', %d found", q, rc, err.text, found);
        }
        g.rank = 7; /* has no file there */
        int found;
        assert_true(!ask(&s, SCAN, &found, NULL) && found == 0);
        assert_true(!ask(&s, CONTENT_SCAN, &found, NULL) && found == 1);
        g.rank = 1;
        sk_patience_free(s.place.patience);
    }
}

static int fails(const char *op, const char *path)
{
    return strstr(path, "/prefix") && strcmp(op, "mkdir") ? EIO : 0;
}

static atomic_int hanging;

/* Until it is let go of: nobody is too late to see that it does not answer. */
static int hangs(const char *op, const char *path)
{
    (void)op;
    for (double end = sk_now() + 100; strstr(path, "/prefix") && atomic_load(&hanging) && sk_now() < end;)
        sk_sleep(0.001);
    return 0;
}

static int is_slow(const char *op, const char *path)
{
    (void)op;
    if (strstr(path, "/prefix"))
        sk_sleep(0.2);
    return 0;
}

/* Somebody who has patience for a moment only: on a busy machine an answer may come too late for that. */
static int ask_until_answered(struct sk_session *s, int question, int *found)
{
    int rc;
    for (double end = sk_now() + 100; (rc = ask(s, question, found, NULL)) == SAIKAI_ETIMEDOUT && sk_now() < end;)
        sk_patience_wait(s->place.patience, 60);
    return rc;
}

/* What fails gives its reason; what hangs is given up, and said to be silent from then on. Where there is one place alone it is waited for. */
static void it_fails_or_hangs(void **state)
{
    (void)state;
    struct sk_group g = {.rank = 0, .size = 2};
    struct sk_session s;
    put(0);
    for (int alone = 0; alone < 2; alone++) {
        open_session(&s, &g, 60, alone);
        for (int q = 0; q < QUESTIONS; q++) {
            struct saikai_error err = {0};
            int found;
            sk_io_hook = fails;
            int rc = ask(&s, q, &found, &err);
            sk_io_hook = NULL;
            if (q == SCAN || q == LIST || q == CONTENT_SCAN) {
                if (rc != SAIKAI_EIO || found != -1 || err.code != rc || !strstr(err.text, "/prefix"))
                    fail_msg("question %d: %d '%s', %d found", q, rc, err.text, found);
            } else {
                assert_true(rc <= 0 && rc != SAIKAI_ETIMEDOUT && (q != RANKS || found == 0));
            }
        }
        sk_patience_free(s.place.patience);
    }
    for (int q = 0; q < QUESTIONS; q++) {
        if (q == RANKS) /* asks for a name alone */
            continue;
        struct saikai_error err = {0};
        int found;
        open_session(&s, &g, 0.05, 0);
        sk_io_hook = hangs;
        atomic_store(&hanging, 1);
        assert_int_equal(ask(&s, q, &found, &err), SAIKAI_ETIMEDOUT);
        assert_true(found == -1 && sk_patience_hangs(s.place.patience) && strstr(err.text, "does not answer"));
        atomic_store(&hanging, 0);
        sk_patience_wait(s.place.patience, 60);
        assert_true(!sk_patience_hangs(s.place.patience));
        sk_io_hook = NULL;
        assert_int_equal(ask_until_answered(&s, q, &found), 0);
        sk_patience_wait(s.place.patience, 60);
        sk_patience_free(s.place.patience);
    }
    open_session(&s, &g, 0.05, 1);
    sk_io_hook = is_slow;
    int found, rc = ask(&s, SCAN, &found, NULL);
    sk_io_hook = NULL;
    assert_true(!rc && found == 1);
    sk_patience_free(s.place.patience);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_question_is_answered, setup, teardown),
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(it_fails_or_hangs, setup, teardown),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
