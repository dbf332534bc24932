/* Making protected generations whole, from files that are coded by hand: which set is taken, what is computed anew or moved, and what is said when too
 * much is lost. Each of three ranks is on a node of its own; one of them may be lost. */
#include "lib/restart/recover.h"

#include "base/file/io.h"
#include "base/log.h"
#include "group/loop.h"
#include "lib/whole/failing/generation_testing.h"
#include "redundancy/set/encode.h"
#include "redundancy/set/parity_file.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { N = 3, BYTES = 20000, CODER = 2 };

static char dir[64], said[8192];
static int generations; /* that are coded; the third one says that it builds on the second */
enum { BUILDS = 30, BASE = 20 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    pthread_mutex_lock(&lock);
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
    pthread_mutex_unlock(&lock);
}

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-recover-XXXXXX");
    sk_log_set(note, NULL, SK_LOG_WARN);
    *said = 0;
    generations = 2;
    return !mkdtemp(dir);
}

static int teardown(void **state)
{
    (void)state;
    sk_io_hook = NULL;
    return sk_io_rmtree(dir, NULL);
}

static struct sk_gen gen_of(int64_t it)
{
    return (struct sk_gen){1, it, 0};
}

static void root_of(int rank, char root[96])
{
    snprintf(root, 96, "%s/node%d", dir, rank);
}

static void write_generation(const char *root, int64_t it, int rank)
{
    static _Thread_local uint8_t u[BYTES];
    struct sk_piece p = {.name = "u", .type = SAIKAI_U8, .ndims = 1, .dims = {BYTES}, .size_bytes = BYTES, .data = u};
    struct sk_skc_header h = {.iteration = it, .incarnation = 1, .rank = (uint32_t)rank, .nranks = N};
    if (it == BUILDS)
        h.base_iteration = BASE, h.base_incarnation = 1;
    memset(u, (int)it + rank, BYTES);
    generation_testing_put(root, gen_of(it), rank, &h, &p, 1);
}

/* Generations 10 and 20, or one more, each coded as a set of its own. */
static int code(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    char root[96], data[PATH_MAX], parity[PATH_MAX];
    (void)arg;
    root_of(g->rank, root);
    if (sk_io_mkdirs(root, &err))
        return -1;
    for (int64_t it = 10; it <= 10 * generations; it += 10) {
        write_generation(root, it, g->rank);
        if (sk_gen_file(root, gen_of(it), g->rank, data, sizeof data, &err) ||
            sk_parity_set_path(root, (struct sk_parity_set){gen_of(it), CODER}, g->rank, parity, sizeof parity, &err))
            return -1;
        const char *path[] = {data}, *name[] = {data + strlen(root) + 1};
        struct sk_encode_params p = {.coding = {.scheme = "xor", .parity = 1, .block = 4096}, .generation = (uint64_t)sk_gen_key(gen_of(it)),
                                     .rank = (uint32_t)g->rank, .files = 1, .path = path, .name = name, .parity_path = parity, .no_sync = 1};
        struct sk_encode_result result;
        if (sk_encode(g, &p, &result, &err)) {
            fprintf(stderr, "%s\n", err.text);
            return -1;
        }
    }
    return 0;
}

/* ---- what is asked, and what comes of it ---- */

static struct asked {
    int64_t above, most; /* iterations; 0: none */
    uint32_t first;
    int64_t got[3]; /* iterations that are given one after the other, 0: none is left */
    int rc, trouble;
    struct sk_recovery_result result; /* of the first */
} asked;

static int64_t key_of(int64_t it)
{
    return sk_gen_key(gen_of(it));
}

static int is_whole(struct sk_group *g, int64_t it)
{
    char root[96], path[PATH_MAX];
    struct sk_container *c = NULL;
    static _Thread_local uint8_t out[BYTES];
    root_of(g->rank, root);
    int rc = sk_gen_file(root, gen_of(it), g->rank, path, sizeof path, NULL) || sk_container_open(path, &c, NULL) ||
             sk_container_read(c, &c->index->vars[0], out, NULL);
    sk_container_close(c);
    for (int i = 0; !rc && i < BYTES; i++)
        rc = out[i] != (uint8_t)(it + g->rank);
    if (rc || sk_parity_set_path(root, (struct sk_parity_set){gen_of(it), CODER}, g->rank, path, sizeof path, NULL))
        return 0;
    return !access(path, F_OK);
}

static int asks(struct sk_group *g, void *arg)
{
    struct asked *a = arg;
    struct saikai_error err = {0};
    struct sk_recovery *r = NULL;
    char root[96], host[16];
    root_of(g->rank, root);
    snprintf(host, sizeof host, "n%d", g->rank);
    struct sk_recovery_setup s = {.g = g, .root = root, .host = host, .first_incarnation = a->first, .form = "auto"};
    if (sk_recovery_new(&s, &r, &err))
        return -1;
    for (int i = 0; i < 3; i++) {
        struct sk_recovery_result now = {0};
        int64_t key = -1;
        int rc = sk_recovery_make_whole(r, a->above ? key_of(a->above) : 0, a->most ? key_of(a->most) : INT64_MAX, &key, &now, &err);
        if (rc || (key && !is_whole(g, sk_gen_of_key(key).iteration))) {
            fprintf(stderr, "rank %d: %d %lld '%s'\n", g->rank, rc, (long long)key, err.text);
            return -1;
        }
        if (!g->rank && !i)
            a->result = now;
        if (!g->rank)
            a->got[i] = key ? sk_gen_of_key(key).iteration : 0;
    }
    struct saikai_error why = {0};
    if (!g->rank)
        a->trouble = sk_recovery_trouble(r, &why);
    sk_recovery_free(r);
    return 0;
}

static void expect(struct asked how, int64_t first, int64_t second, int data, int parity, int moved)
{
    asked = how;
    *said = 0;
    assert_int_equal(sk_loop_run(N, asks, &asked), 0);
    if (asked.got[0] != first || asked.got[1] != second || asked.got[2] || asked.trouble || asked.result.lost_data != data ||
        asked.result.lost_parity != parity || asked.result.moved != moved)
        fail_msg("%lld, %lld, %lld; %d data and %d parity anew, %d moved, trouble %d; %s", (long long)asked.got[0], (long long)asked.got[1],
                 (long long)asked.got[2], asked.result.lost_data, asked.result.lost_parity, asked.result.moved, asked.trouble, said);
}

static void lose(int rank, int64_t it, int parity)
{
    char root[96], path[PATH_MAX];
    root_of(rank, root);
    if (parity)
        assert_int_equal(sk_parity_set_path(root, (struct sk_parity_set){gen_of(it), CODER}, rank, path, sizeof path, NULL), 0);
    else
        assert_int_equal(sk_gen_file(root, gen_of(it), rank, path, sizeof path, NULL), 0);
    assert_int_equal(unlink(path), 0);
}

static void the_newest_first(void **state)
{
    (void)state;
    assert_int_equal(sk_loop_run(N, code, NULL), 0);
    expect((struct asked){.first = 1}, 20, 10, 0, 0, 0); /* each once */
    expect((struct asked){.first = 1, .most = 19}, 10, 0, 0, 0, 0);
    expect((struct asked){.first = 1, .most = 20}, 20, 10, 0, 0, 0);
    expect((struct asked){.first = 1, .above = 10}, 20, 0, 0, 0, 0);
    expect((struct asked){.first = 1, .above = 20}, 0, 0, 0, 0, 0);
    expect((struct asked){.first = 1, .above = 10, .most = 19}, 0, 0, 0, 0, 0);
    expect((struct asked){.first = 2}, 0, 0, 0, 0, 0); /* an earlier run's */
    assert_string_equal(said, "");
}

static void what_is_lost_is_computed(void **state)
{
    (void)state;
    assert_int_equal(sk_loop_run(N, code, NULL), 0);
    for (int rank = 0; rank < N; rank++) {
        lose(rank, 20, 0);
        expect((struct asked){.first = 1}, 20, 10, 1, 0, 0);
        lose(rank, 20, 1);
        expect((struct asked){.first = 1}, 20, 10, 0, 1, 0);
        lose(rank, 20, 0);
        lose(rank, 20, 1);
        expect((struct asked){.first = 1}, 20, 10, 1, 1, 0);
    }
    assert_string_equal(said, "");
}

/* Of a node that is another rank's now. */
static void what_is_elsewhere_moves(void **state)
{
    (void)state;
    char a[96], b[96], c[96];
    assert_int_equal(sk_loop_run(N, code, NULL), 0);
    root_of(1, a);
    root_of(2, b);
    snprintf(c, sizeof c, "%s/between", dir);
    assert_int_equal(rename(a, c) || rename(b, a) || rename(c, b), 0);
    expect((struct asked){.first = 1}, 20, 10, 0, 0, 4); /* two ranks, data and parity */
    assert_string_equal(said, "");
}

/* More than the group bears: an older one is taken, and it is said once, in the words of people. */
static void too_much_is_lost(void **state)
{
    (void)state;
    assert_int_equal(sk_loop_run(N, code, NULL), 0);
    for (int rank = 0; rank < 2; rank++) {
        lose(rank, 20, 0);
        lose(rank, 20, 1);
    }
    expect((struct asked){.first = 1}, 10, 0, 0, 0, 0);
    static const char begins[] = "the protected generation of iteration 20 cannot be given back: ";
    assert_true(!strncmp(said, begins, sizeof begins - 1) && strchr(said, '\n') == said + strlen(said) - 1);
    assert_null(strstr(said, "generation 1"));
    for (int rank = 0; rank < 2; rank++) {
        lose(rank, 10, 0);
        lose(rank, 10, 1);
    }
    expect((struct asked){.first = 1}, 0, 0, 0, 0, 0);
    assert_non_null(strstr(said, "the protected generation of iteration 10 cannot be given back: "));
}

/* One that builds on another is whole when that is, too, and what was made anew of both is counted. */
static void what_it_builds_on_is_made_whole(void **state)
{
    (void)state;
    generations = 3;
    assert_int_equal(sk_loop_run(N, code, NULL), 0);
    expect((struct asked){.first = 1, .above = 10}, 30, 20, 0, 0, 0);
    lose(1, BASE, 0);
    expect((struct asked){.first = 1, .above = 10}, 30, 20, 1, 0, 0);
    lose(1, BASE, 0);
    lose(2, BUILDS, 0);
    lose(2, BUILDS, 1);
    expect((struct asked){.first = 1, .above = 20}, 30, 0, 2, 1, 0);
    assert_string_equal(said, "");
}

static void lose_all_parity_of_the_base(void)
{
    generations = 3;
    assert_int_equal(sk_loop_run(N, code, NULL), 0);
    for (int rank = 0; rank < N; rank++)
        lose(rank, BASE, 1);
}

static void what_it_builds_on_is_lost(void **state)
{
    (void)state;
    lose_all_parity_of_the_base();
    expect((struct asked){.first = 1, .above = 10}, 30, 0, 0, 0, 0); /* all files are there */
    lose(1, BASE, 0);
    expect((struct asked){.first = 1}, 10, 0, 0, 0, 0);
    assert_string_equal(said, "the protected generation of iteration 30 cannot be given back: what it builds on (iteration 20) is lost\n");
}

static int device(const char *op, const char *path)
{
    return !strcmp(op, "open") && strstr(path, "/node1/gen-0001-000000000020-0/rank-000001.skc") ? EIO : 0;
}

/* It may be read at another time: then it is no loss, and the one who asks hears of it. */
static void what_it_builds_on_cannot_be_read(void **state)
{
    (void)state;
    lose_all_parity_of_the_base();
    asked = (struct asked){.first = 1, .above = 10};
    sk_io_hook = device;
    assert_int_equal(sk_loop_run(N, asks, &asked), 0);
    sk_io_hook = NULL;
    assert_true(!asked.got[0] && asked.trouble == SAIKAI_EIO);
    assert_string_equal(said, "the protected generation of iteration 30 cannot be given back: what it builds on (iteration 20) cannot be read\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(the_newest_first), TEST(what_is_lost_is_computed), TEST(what_is_elsewhere_moves), TEST(too_much_is_lost),
        TEST(what_it_builds_on_is_made_whole), TEST(what_it_builds_on_is_lost), TEST(what_it_builds_on_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
