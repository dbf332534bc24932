/* Generations that no session of this job wrote so: files that say of themselves what their names do not, and files of the program whose
 * names lead elsewhere. Whatever is in them, a restart takes no more than it should, and says what is wrong. */
#include "lib/whole/session_testing.h"

#include "base/file/io.h"
#include "lib/run/requests.h"
#include "store/form/coded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { CELLS = 300, IT = 10 };

static double cells[CELLS];
static char root[PATH_MAX];

static int saves(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    int restored = 0;
    int64_t from = 0;
    (void)arg;
    CHECK(!world_session(g, world_config("store.local=none; schedule.first=no; schedule.every=10"), &s, &err));
    CHECK(!world_protect(s, cells, CELLS, &err) && !sk_session_restart(s, &restored, &from, &err) && !restored);
    CHECK(sk_session_candidate(s, 0, IT, &err) == 1 && !sk_session_wait(s, &err));
    snprintf(root, sizeof root, "%s", s->place.prefix_root);
    return world_leave(s, 0, 0);
}

/* What is other than it was, and what a restart then comes to: 1, or an error and a word of its sentence or of the log. */
struct strange {
    void (*change)(struct sk_skc_header *h);
    const char *file; /* one of the program, beside the variable */
    size_t bytes;
    int rc;
    const char *says;
};

static void another_iteration(struct sk_skc_header *h)
{
    h->iteration++;
}

static void another_place(struct sk_skc_header *h)
{
    h->place++;
}

static void another_start(struct sk_skc_header *h)
{
    h->incarnation++;
}

static void more_ranks(struct sk_skc_header *h)
{
    h->nranks = 2;
}

static void another_rank(struct sk_skc_header *h)
{
    h->nranks = 2;
    h->rank = 1;
}

static void another_store(struct sk_skc_header *h)
{
    h->store = sk_id_random();
}

static void no_store(struct sk_skc_header *h)
{
    h->store = (struct sk_id){{0}};
}

/* The same generation once more, so changed. */
static void write_anew(const struct strange *x)
{
    char path[256], content[64];
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    struct sk_piece p[2] = {{.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {CELLS}, .data = cells, .size_bytes = sizeof cells},
                            {.type = SAIKAI_U8, .ndims = 1, .kind = SK_SKC_FILE, .dims = {x->bytes}, .data = content, .size_bytes = x->bytes}};
    memset(content, 'c', sizeof content);
    snprintf(p[1].name, sizeof p[1].name, "%s", x->file ? x->file : "");
    world_path(path, "prefix", 1, IT, 0);
    assert_int_equal(sk_container_open(path, &c, &err), 0);
    struct sk_skc_header h = c->header;
    sk_container_close(c);
    h.version = 0;
    if (x->change)
        x->change(&h);
    if (sk_container_write(path, &h, p, NULL, x->file ? 2 : 1, 0, NULL, NULL, &err))
        fail_msg("%s", err.text);
}

static int restarts(struct sk_group *g, void *arg)
{
    const struct strange *x = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS] = {0};
    char path[2 * PATH_MAX];
    int restored = 0;
    int64_t from = 0;
    CHECK(!world_session(g, world_config("store.local=none; schedule.first=no; schedule.every=10"), &s, &err) && !world_protect(s, u, CELLS, &err));
    int rc = sk_session_restart(s, &restored, &from, &err);
    CHECK(rc ? (rc == x->rc || (g->rank && rc == SAIKAI_EPEER)) && !restored : x->rc == 1 && restored && from == IT && !memcmp(u, cells, sizeof u));
    CHECK(!rc || strstr(err.text, x->says) || world_says(x->says));
    snprintf(path, sizeof path, "%s/%s", s->resume.restored_files, x->file ? x->file : "");
    if (!rc && x->file) {
        void *data = NULL;
        size_t n = 0;
        CHECK(!sk_io_slurp(path, 1000, &data, &n, &err) && n == x->bytes && (!n || *(char *)data == 'c'));
        free(data);
    }
    CHECK(!rc || !*s->resume.restored_files || !x->file || access(path, F_OK));
    return world_leave(s, 0, 0);
}

static void what_is_in_files_is_looked_at(void **state)
{
    (void)state;
    static const struct strange cases[] = {
        {NULL, NULL, 0, 1, NULL},
        {another_iteration, NULL, 0, SAIKAI_EDAMAGED, "holds another generation or another rank's part"},
        {another_place, NULL, 0, SAIKAI_EDAMAGED, "holds another generation"},
        {another_start, NULL, 0, SAIKAI_EDAMAGED, "holds another generation"},
        {more_ranks, NULL, 0, SAIKAI_ERANKS, "was written by 2 ranks, this job has 1: start it with 2"},
        {another_rank, NULL, 0, SAIKAI_ERANKS, "was written by 2 ranks"},
        {another_store, NULL, 0, SAIKAI_EDAMAGED, "is of another store, not of job test"},
        {no_store, NULL, 0, SAIKAI_EDAMAGED, "does not say of which store it is, not of job test"},
        {NULL, "notes", 20, 1, NULL},
        {NULL, "nothing", 0, 1, NULL},
        {NULL, "../evil", 20, SAIKAI_EDAMAGED, "'../evil' is no file name"},
        {NULL, "in/here", 0, SAIKAI_EDAMAGED, "'in/here' is no file name"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[PATH_MAX + 16];
        world_anew();
        world_start(1, saves, NULL);
        write_anew(&cases[i]);
        world_start(1, restarts, (void *)&cases[i]);
        sk_requests_remove();
        snprintf(path, sizeof path, "%s/evil", root);
        assert_int_equal(access(path, F_OK), -1);
    }
}

/* More ranks than there are files: the missing ones say so, too. */
static void ranks_that_have_no_part(void **state)
{
    (void)state;
    static const struct strange more = {NULL, NULL, 0, SAIKAI_ERANKS, "was written by 1 ranks, this job has 3: start it with 1"};
    world_start(1, saves, NULL);
    world_start(3, restarts, (void *)&more);
    sk_requests_remove();
}

/* ---- what is lost beside the generations ---- */

static int started;

static int counts(struct sk_group *g, void *arg)
{
    const int *restores = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS] = {0};
    int restored = 0;
    int64_t from = 0;
    CHECK(!world_session(g, world_config("schedule.first=no; schedule.every=10; store.archive_every=0; redundancy.scheme=none"), &s, &err));
    CHECK(!world_protect(s, u, CELLS, &err) && !sk_session_restart(s, &restored, &from, &err) && restored == *restores);
    CHECK(sk_session_candidate(s, 0, from + 10, &err) == 1 && !sk_session_wait(s, &err));
    if (!g->rank)
        started = (int)s->who.incarnation;
    return world_leave(s, sk_group_barrier(g), 0);
}

/* Which start it was nobody remembers; the generations on the nodes do, and no name is given twice. */
static void a_start_is_numbered_by_what_is_there(void **state)
{
    (void)state;
    static const int no = 0, yes = 1;
    world_start(2, counts, (void *)&no);
    world_start(2, counts, (void *)&yes);
    assert_int_equal(started, 2);
    assert_true(world_has(world_local(), 2, 20, 0) && world_has(world_local(), 2, 20, 1));
    world_lose("prefix/state");
    world_start(2, counts, (void *)&yes);
    assert_int_equal(started, 3);
    assert_true(world_has(world_local(), 3, 30, 0) && world_has(world_local(), 3, 30, 1));
    sk_requests_remove();
}

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < CELLS; i++)
        cells[i] = i * 0.5 + 1;
    return world_begin("/tmp/saikai-strange-XXXXXX", SK_LOG_INFO);
}

static int teardown(void **state)
{
    (void)state;
    return world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_in_files_is_looked_at, setup, teardown),
        cmocka_unit_test(remember_open_files), /* the first session leaves open what all share */
        cmocka_unit_test_setup_teardown(ranks_that_have_no_part, setup, teardown),
        cmocka_unit_test_setup_teardown(a_start_is_numbered_by_what_is_there, setup, teardown),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
