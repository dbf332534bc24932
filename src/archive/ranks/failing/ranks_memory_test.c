/* Wherever memory runs out on one rank while several make archives and take files out of them: all ranks come back, the one
 * says so, nothing is left behind, and what was made is right. */
#include "archive/ranks/collect.h"
#include "archive/ranks/deliver.h"

#include "base/host/no_memory_testing.h"
#include "archive/write/testing.h"
#include "group/loop.h"

#include "base/host/open_files_testing.h"

enum { RANKS = 3, FILES = 3, BYTES = 20000 };

static uint8_t data[RANKS][FILES][BYTES];
static size_t bytes_of(int rank, int file)
{
    return file == 2 ? (size_t)rank : BYTES - (size_t)(1000 * file + rank);
}

static int make(void **state)
{
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < FILES; i++)
            for (int k = 0; k < BYTES; k++)
                data[r][i][k] = (uint8_t)(i ? k * (r + 3) >> 4 : (int)noise());
    return setup(state);
}

struct ranks {
    int rc[RANKS];
    struct saikai_error err[RANKS];
};

/* What all ranks say, in one: none has failed, or all have; the one that lacked memory says it. */
static int verdict(const struct ranks *a, struct saikai_error *err)
{
    int failed = 0, who = 0;
    for (int r = 0; r < RANKS; r++) {
        failed += a->rc[r] != 0;
        if (a->rc[r] == SAIKAI_ENOMEM)
            who = r;
    }
    if (failed && failed != RANKS)
        fail_msg("%d ranks failed: %d %s; %d %s; %d %s", failed, a->rc[0], a->err[0].text, a->rc[1], a->err[1].text, a->rc[2],
                 a->err[2].text);
    if (err)
        *err = a->err[who];
    return a->rc[who];
}

/* ---- what the group itself asks for: it is left alone ---- */

static int talk(struct sk_group *g, void *arg)
{
    char one = 1, all[RANKS];
    int64_t v = 1, w = 1;
    struct sk_request *r[3] = {NULL, NULL, NULL};
    struct sk_group *sub = NULL;
    int next = (g->rank + 1) % RANKS, before = (g->rank + RANKS - 1) % RANKS;
    (void)arg;
    int rc = sk_group_barrier(g) | sk_group_bcast(g, &one, 1, 1) | sk_group_allgather(g, &one, all, 1) |
             sk_group_allreduce(g, &v, 1, SK_OP_SUM) | sk_group_iallreduce(g, &w, 1, SK_OP_SUM, &r[0]) |
             sk_group_isend(g, &one, 1, next, 1, &r[1]) | sk_group_irecv(g, all, 1, before, 1, &r[2]);
    for (int i = 0; i < 3; i++)
        rc |= sk_group_wait(g, &r[i]);
    rc |= sk_group_split(g, g->rank % 2, g->rank, &sub);
    sk_group_free(sub);
    return rc;
}

static int group(void *arg, struct saikai_error *err)
{
    (void)err;
    return sk_loop_run(RANKS, talk, arg);
}

/* ---- archives ---- */

struct job {
    struct ranks all;
    int writers, previous;
};

static int create_rank(struct sk_group *g, void *arg)
{
    struct job *j = arg;
    struct sk_collect_options o = {.writers = j->writers, .previous = j->previous};
    struct sk_archive_input in[FILES] = {{0}};
    char name[FILES][32];
    int r = g->rank;
    for (int i = 0; i < FILES; i++) {
        snprintf(name[i], sizeof name[i], "r%d/%d", r, i);
        in[i] = (struct sk_archive_input){.path = name[i], .name = name[i], .data = data[r][i], .bytes = bytes_of(r, i)};
    }
    o.archive.no_sync = 1;
    o.archive.threads = 1;
    j->all.rc[r] = sk_collect_create(g, at("set"), in, FILES, &o, NULL, NULL, &j->all.err[r]);
    return 0;
}

static int create(void *arg, struct saikai_error *err)
{
    struct job *j = arg;
    memset(&j->all, 0, sizeof j->all);
    assert_int_equal(sk_loop_run(RANKS, create_rank, j), 0);
    return verdict(&j->all, err);
}

static int to_another(void *arg, const struct sk_ska_file *f, size_t index, size_t files, int ranks)
{
    (void)arg;
    (void)index;
    (void)files;
    return (f->name[1] - '0' + f->name[3] - '0') % ranks;
}

static int extract_rank(struct sk_group *g, void *arg)
{
    struct ranks *a = arg;
    struct sk_deliver_options o = {.extract = {.no_sync = 1, .threads = 1}, .owner = to_another};
    a->rc[g->rank] = sk_collect_extract(g, at("set"), at("back/%d", g->rank), &o, NULL, &a->err[g->rank]);
    return 0;
}

static int extract(void *arg, struct saikai_error *err)
{
    struct ranks a;
    (void)arg;
    memset(&a, 0, sizeof a);
    assert_int_equal(sk_loop_run(RANKS, extract_rank, &a), 0);
    return verdict(&a, err);
}

static void is_back(void *arg)
{
    (void)arg;
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < FILES; i++) {
            void *back;
            size_t n;
            assert_int_equal(sk_io_slurp(at("back/%d/r%d/%d", (r + i) % RANKS, r, i), 1 << 20, &back, &n, NULL), 0);
            assert_int_equal(n, bytes_of(r, i));
            assert_memory_equal(back, data[r][i], n);
            free(back);
        }
}

static void not_back(void *arg)
{
    (void)arg;
    sk_io_rmtree(at("back"), NULL);
}

static void is_archived(void *arg)
{
    struct saikai_error err = {0};
    if (extract(arg, &err))
        fail_msg("%s", err.text);
    is_back(arg);
    not_back(arg);
}

/* A set that was not made has left no part of it. */
static void no_parts(void *arg)
{
    struct job *j = arg;
    DIR *d = opendir(at("set"));
    for (struct dirent *e; d && (e = readdir(d));)
        if (strstr(e->d_name, "tmp") || (j->all.rc[0] && e->d_name[0] != '.' && !j->previous))
            fail_msg("%s is left", e->d_name);
    if (d)
        closedir(d);
    if (!j->previous)
        sk_io_rmtree(at("set"), NULL);
}

static void a_set_is_made_by_all_or_not(void **state)
{
    (void)state;
    for (int writers = 1; writers <= 2; writers++) {
        struct job j = {.writers = writers};
        assert_true(no_memory_sweep_places(create, is_archived, no_parts, &j, group) > 20);
    }
}

static void files_come_back_to_all_or_not(void **state)
{
    (void)state;
    struct job j = {.writers = 2};
    assert_int_equal(create(&j, NULL), 0);
    assert_true(no_memory_sweep_places(extract, is_back, not_back, &j, group) > 15);
    sk_io_rmtree(at("set"), NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(a_set_is_made_by_all_or_not),
        cmocka_unit_test(files_come_back_to_all_or_not),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, make, teardown);
}
