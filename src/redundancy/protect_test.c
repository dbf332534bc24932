/* Files of other programs on the nodes of a job: protected, lost, given back; real checkpoint files
 * where they are. */
#include "redundancy/protect.h"

#include "base/hash.h"
#include "base/file/io.h"
#include "group/loop.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 8, MAX_NAMES = 64 };

struct cluster {
    char top[200],
        source[300]; /* source: directory whose files are dealt out to the nodes; empty: made up */
    int nodes, rebuild, node_of[NODES], parity, members;
    int rc[NODES], names[NODES];
    char *name[NODES][MAX_NAMES];
    uint64_t hash[NODES][MAX_NAMES];
    struct saikai_error err[NODES];
    struct sk_protect_result result[NODES];
};

static void put(struct cluster *c, int node, const char *name, const void *data, size_t n)
{
    char path[600];
    snprintf(path, sizeof path, "%s/node%d/files/%s", c->top, node, name);
    *strrchr(path, '/') = 0;
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    snprintf(path, sizeof path, "%s/node%d/files/%s", c->top, node, name);
    assert_int_equal(sk_io_replace(path, data, n, NULL), 0);
    assert_true(c->names[node] < MAX_NAMES);
    c->name[node][c->names[node]] = strdup(name);
    c->hash[node][c->names[node]++] = sk_hash64(data, n);
}

static void forget(struct cluster *c)
{
    for (int i = 0; i < NODES; i++) {
        for (int k = 0; k < c->names[i]; k++)
            free(c->name[i][k]);
        c->names[i] = 0;
    }
}

static void make(struct cluster *c, int nodes, int parity)
{
    memset(c, 0, sizeof *c);
    snprintf(c->top, sizeof c->top, "%s/sk-protect-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    assert_non_null(mkdtemp(c->top));
    c->nodes = nodes;
    c->parity = parity;
    for (int i = 0; i < NODES; i++)
        c->node_of[i] = i;
}

static void made_up_files(struct cluster *c, int seed)
{
    static uint8_t data[200000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)((i * 31 + (size_t)seed * 17) >> 3);
    for (int i = 0; i < c->nodes; i++) {
        char name[64];
        snprintf(name, sizeof name, "restart.%d", i);
        put(c, i, name, data + i, 100000 + (size_t)i * 1000);
        put(c, i, "common/header", data, 10 + (size_t)i);
        put(c, i, "common/empty", data, 0);
    }
}

static int on_rank(struct sk_group *g, void *arg)
{
    struct cluster *c = arg;
    char dir[300], parity[300], host[32];
    int node = c->node_of[g->rank];
    snprintf(dir, sizeof dir, "%s/node%d/files", c->top, node);
    snprintf(parity, sizeof parity, "%s/node%d/parity", c->top, node);
    snprintf(host, sizeof host, "node%d", node);
    struct sk_protect_params p = {.coding = {.scheme = "rs", .parity = c->parity},
                                  .members = c->members,
                                  .host = host,
                                  .dir = dir,
                                  .files = c->names[g->rank],
                                  .name = (const char *const *)c->name[g->rank],
                                  .parity_dir = parity};
    c->rc[g->rank] = c->rebuild ? sk_rebuild_files(g, &p, &c->result[g->rank], &c->err[g->rank])
                                : sk_protect_files(g, &p, &c->result[g->rank], &c->err[g->rank]);
    return 0;
}

static int run(struct cluster *c, int rebuild, int processes)
{
    c->rebuild = rebuild;
    assert_int_equal(sk_loop_run(processes, on_rank, c), 0);
    for (int i = 1; i < processes; i++)
        assert_int_equal(!c->rc[i], !c->rc[0]);
    for (int i = 0; i < processes; i++)
        if (c->rc[i] && c->rc[i] != SAIKAI_EPEER)
            return c->rc[i];
    return c->rc[0];
}

static void lose(struct cluster *c, int node)
{
    char path[300];
    snprintf(path, sizeof path, "%s/node%d", c->top, node);
    assert_int_equal(sk_io_rmtree(path, NULL), 0);
}

/* Process i has all files of the rank it was given. */
static void check(const struct cluster *c, int processes)
{
    int seen = 0;
    for (int i = 0; i < processes; i++) {
        uint32_t rank = c->result[i].rank;
        if (rank == SK_RANK_UNKNOWN)
            continue;
        seen++;
        for (int k = 0; k < c->names[rank]; k++) {
            char path[600];
            void *data;
            size_t n;
            snprintf(path, sizeof path, "%s/node%d/files/%s", c->top, c->node_of[i],
                     c->name[rank][k]);
            assert_int_equal(sk_io_slurp(path, (size_t)1 << 30, &data, &n, NULL), 0);
            assert_true(sk_hash64(data, n) == c->hash[rank][k]);
            free(data);
        }
    }
    assert_int_equal(seen, c->nodes);
}

static void clean(struct cluster *c)
{
    forget(c);
    assert_int_equal(sk_io_rmtree(c->top, NULL), 0);
}

static void test_lost_nodes(void **state)
{
    for (int a = 0; a < 6; a++)
        for (int b = a; b < 6; b++) {
            struct cluster c;
            make(&c, 6, 2);
            made_up_files(&c, 1);
            assert_int_equal(run(&c, 0, 6), 0);
            lose(&c, a);
            lose(&c, b);
            c.node_of[a] = 6; /* a spare in place of one, the other is there again, empty */
            assert_int_equal(run(&c, 1, 6), 0);
            check(&c, 6);
            clean(&c);
        }
}

static void test_generations(void **state)
{
    struct cluster c;
    make(&c, 4, 1);
    made_up_files(&c, 1);
    assert_int_equal(run(&c, 0, 4), 0);
    assert_true(c.result[0].generation == 1);
    forget(&c);
    made_up_files(&c, 2);
    assert_int_equal(run(&c, 0, 4), 0);
    assert_true(c.result[0].generation == 2);
    char path[300];
    snprintf(path, sizeof path, "%s/node1/parity/saikai.1.skp", c.top);
    assert_int_not_equal(access(path, F_OK), 0);
    lose(&c, 3);
    assert_int_equal(run(&c, 1, 4), 0);
    check(&c, 4);
    lose(&c, 3);
    lose(&c, 2);
    assert_int_equal(run(&c, 1, 4), SAIKAI_ELOST);
    assert_non_null(strstr(c.err[0].text, "generation 2"));
    clean(&c);
}

static void test_nothing_to_go_on(void **state)
{
    struct cluster c;
    make(&c, 4, 2);
    assert_int_equal(run(&c, 1, 4), SAIKAI_ENOENT);
    made_up_files(&c, 1);
    c.members = 3;
    c.parity = 3;
    assert_int_equal(run(&c, 0, 4), SAIKAI_EINVAL);
    c.members = 0;
    c.parity = 2;
    assert_int_equal(run(&c, 0, 4), 0);
    assert_int_equal(run(&c, 1, 3), SAIKAI_ERANKS); /* one node's files have nobody */
    assert_non_null(strstr(c.err[0].text, "start 1 more"));
    clean(&c);
}

static void take_tree(struct cluster *c, const char *dir, const char *prefix, int *next)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[800], name[400];
        struct stat st;
        void *data;
        size_t n;
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        snprintf(name, sizeof name, "%.150s%s%.200s", prefix, *prefix ? "/" : "", e->d_name);
        if (stat(path, &st))
            continue;
        if (S_ISDIR(st.st_mode))
            take_tree(c, path, name, next);
        else if (S_ISREG(st.st_mode) && st.st_size < 40 << 20 && *next < 40 &&
                 !sk_io_slurp(path, 40 << 20, &data, &n, NULL)) {
            put(c, (*next)++ % c->nodes, name, data, n);
            free(data);
        }
    }
    if (d)
        closedir(d);
}

static void test_real_checkpoints(void **state)
{
    const char *data = getenv("SAIKAI_DATA");
    char dir[600];
    snprintf(dir, sizeof dir, "%s/checkpoints", data ? data : "");
    if (!data || !*data || access(dir, R_OK))
        skip();
    DIR *d = opendir(dir);
    int kinds = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char one[900];
        int next = 0;
        struct cluster c;
        if (e->d_name[0] == '.')
            continue;
        make(&c, 4, 2);
        snprintf(one, sizeof one, "%s/%s", dir, e->d_name);
        take_tree(&c, one, "", &next);
        if (next >= 4) {
            kinds++;
            assert_int_equal(run(&c, 0, 4), 0);
            lose(&c, 0);
            lose(&c, 3);
            assert_int_equal(run(&c, 1, 4), 0);
            check(&c, 4);
        }
        clean(&c);
    }
    closedir(d);
    assert_true(kinds > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_nodes),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_nothing_to_go_on),
        cmocka_unit_test(test_real_checkpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
