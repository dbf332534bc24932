/* What the tests of archives by many ranks share: files of each rank, archives made of them by ranks that are threads, and an operation
 * on a path that fails. */
#ifndef SK_ARCHIVE_RANKS_COLLECT_TESTING_H
#define SK_ARCHIVE_RANKS_COLLECT_TESTING_H

#include "archive/ranks/collect.h"

#include "archive/read/extract.h"
#include "archive/read/inside.h"
#include "archive/write/testing.h"
#include "group/loop.h"
#include "reader/scan.h"

enum { RANKS = 5, FILES = 3 };

TESTING double along(int i, int rank)
{
    return 300.0 + 0.01 * i + rank;
}

static char names[RANKS][FILES][64];
static uint8_t *memory[RANKS];
enum { VALUES = 60000, IN_MEMORY = 300000 };

/* Each rank: a netCDF file, a file that may be empty, one in memory. */
TESTING void make_inputs(void)
{
    uint8_t *bytes = malloc(VALUES * 8 + 256);
    for (int r = 0; r < RANKS; r++) {
        sk_io_mkdirs(at("in/r%d", r), NULL);
        size_t n = make_netcdf(bytes, VALUES, along, r);
        assert_int_equal(sk_io_replace(at("in/r%d/a.nc", r), bytes, n, NULL), 0);
        assert_int_equal(sk_io_replace(at("in/r%d/text", r), "hello", (size_t)r, NULL), 0);
        snprintf(names[r][0], 64, "in/r%d/a.nc", r);
        snprintf(names[r][1], 64, "in/r%d/text", r);
        snprintf(names[r][2], 64, "in/r%d/memory", r);
        memory[r] = malloc(IN_MEMORY);
        for (int i = 0; i < IN_MEMORY; i++)
            memory[r][i] = (uint8_t)(i * (r + 3) >> 4);
        assert_int_equal(sk_io_replace(at("in/r%d/memory", r), memory[r], IN_MEMORY, NULL), 0);
    }
    free(bytes);
}

TESTING void drop_inputs(void)
{
    for (int r = 0; r < RANKS; r++)
        free(memory[r]);
}

struct job {
    struct sk_collect_options o;
    const char *dir; /* below base */
    int inputs;
    int rc[RANKS];
    struct saikai_error err[RANKS];
    struct sk_archive_stats st, last; /* of the first rank, and of the last one */
    struct sk_ska_set set;
};

TESTING int create_rank(struct sk_group *g, void *arg)
{
    struct job *j = arg;
    struct sk_archive_input in[FILES] = {{0}};
    char path[FILES][512];
    int r = g->rank;
    for (int i = 0; i < FILES; i++) {
        snprintf(path[i], sizeof path[i], "%s", at("%s", names[r][i]));
        in[i].path = path[i];
        in[i].name = names[r][i];
    }
    in[2].data = memory[r];
    in[2].bytes = IN_MEMORY;
    struct sk_archive_stats st = {0};
    struct sk_ska_set set = {0};
    j->rc[r] =
        sk_collect_create(g, at("%s", j->dir), in, (size_t)j->inputs, &j->o, &st, &set, &j->err[r]);
    if (!r) {
        j->st = st;
        j->set = set;
    }
    if (r == RANKS - 1)
        j->last = st;
    return 0;
}

TESTING void create(struct job *j)
{
    assert_int_equal(sk_loop_run(RANKS, create_rank, j), 0);
}

/* Every file of every rank comes back from the parts, each read alone. */
TESTING void expect_all(const char *dir, const struct sk_ska_set *s, int files)
{
    char path[512];
    struct saikai_error err = {0};
    sk_io_rmtree(at("out"), NULL);
    for (int k = 1; k <= s->parts; k++) {
        assert_int_equal(sk_ska_set_path(s, dir, k, path, sizeof path, &err), 0);
        if (sk_archive_extract(path, at("out"), NULL, NULL, &err))
            fail_msg("%s", err.text);
    }
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < files; i++)
            assert_true(same_file(at("%s", names[r][i]), at("out/%s", names[r][i])));
}

static const char *bad_op, *bad_path;
static int bad_errno;
TESTING int fail_there(const char *op, const char *path)
{
    return !strcmp(op, bad_op) && strstr(path, bad_path) ? bad_errno : 0;
}

#endif
