/* What ranks tell each other while they make archives and take files out of them: how many messages of which lengths, by the memory that
 * there is for them. As text in tests/golden/plan; SAIKAI_WRITE_PLANS=DIR writes that of now. */
#include "archive/plan/made_testing.h"
#include "archive/ranks/collect.h"
#include "archive/ranks/deliver.h"
#include "archive/ranks/wire/messages.h"
#include "archive/write/testing.h"
#include "group/loop.h"

#include <pthread.h>

#include "base/host/open_files_testing.h"

enum { RANKS = 3, FILES = 2, MOST = 20000 };

/* ---- a group that is listened to ---- */

static struct message {
    int sub, from, to, tag; /* to: -1: to all */
    size_t n;
} heard[MOST];
static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct ear {
    struct sk_group g;
    struct sk_group *inner;
    int sub; /* 1: it was split from the whole one */
};

static struct sk_group *inner_of(struct sk_group *g)
{
    return ((struct ear *)g)->inner;
}

static void note(struct sk_group *g, int to, int tag, size_t n)
{
    pthread_mutex_lock(&lock);
    assert_true(count < MOST);
    heard[count++] = (struct message){((struct ear *)g)->sub, g->rank, to, tag, n};
    pthread_mutex_unlock(&lock);
}

static int barrier(struct sk_group *g)
{
    return sk_group_barrier(inner_of(g));
}
static int bcast(struct sk_group *g, void *data, size_t n, int root)
{
    if (g->rank == root)
        note(g, -1, 0, n);
    return sk_group_bcast(inner_of(g), data, n, root);
}
static int allreduce(struct sk_group *g, int64_t *v, int n, enum sk_op op)
{
    return sk_group_allreduce(inner_of(g), v, n, op);
}
static int allgather(struct sk_group *g, const void *in, void *out, size_t n)
{
    return sk_group_allgather(inner_of(g), in, out, n);
}
static int iallreduce(struct sk_group *g, int64_t *v, int n, enum sk_op op, struct sk_request **req)
{
    return sk_group_iallreduce(inner_of(g), v, n, op, req);
}
static int isend(struct sk_group *g, const void *data, size_t n, int to, int tag, struct sk_request **req)
{
    note(g, to, tag, n);
    return sk_group_isend(inner_of(g), data, n, to, tag, req);
}
static int irecv(struct sk_group *g, void *data, size_t n, int from, int tag, struct sk_request **req)
{
    return sk_group_irecv(inner_of(g), data, n, from, tag, req);
}
static int test(struct sk_group *g, struct sk_request **req, int *done)
{
    return sk_group_test(inner_of(g), req, done);
}
static int wait(struct sk_group *g, struct sk_request **req)
{
    return sk_group_wait(inner_of(g), req);
}
static int split(struct sk_group *g, int colour, int key, struct sk_group **out);
static void drop(struct sk_group *g)
{
    sk_group_free(inner_of(g));
    free(g);
}

static const struct sk_group_ops listening = {.barrier = barrier, .bcast = bcast, .allreduce = allreduce, .allgather = allgather, .iallreduce = iallreduce,
                                              .isend = isend, .irecv = irecv, .test = test, .wait = wait, .split = split, .free = drop};

static int split(struct sk_group *g, int colour, int key, struct sk_group **out)
{
    struct sk_group *sub = NULL;
    int rc = sk_group_split(inner_of(g), colour, key, &sub);
    *out = NULL;
    if (!rc && sub) {
        struct ear *e = calloc(1, sizeof *e);
        *e = (struct ear){{&listening, sub->rank, sub->size, sub->threads}, sub, 1};
        *out = &e->g;
    }
    return rc;
}

static int by_message(const void *x, const void *y)
{
    const struct message *a = x, *b = y;
    const long left[] = {a->sub, a->from, a->to, a->tag, (long)a->n}, right[] = {b->sub, b->from, b->to, b->tag, (long)b->n};
    for (int i = 0; i < 5; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* How often each message was heard; nothing has been heard then. */
static void tell(const char *what, struct sk_buf *text)
{
    static const char *const tags[] = {"to all", "length", "data", "head", "body", "piece"};
    qsort(heard, (size_t)count, sizeof *heard, by_message);
    sk_buf_printf(text, "%s\n", what);
    for (int i = 0, k; i < count; i = k) {
        const struct message *m = &heard[i];
        for (k = i + 1; k < count && !by_message(m, &heard[k]);)
            k++;
        sk_buf_printf(text, " %s%d to %d: %d × %s of %zu\n", m->sub ? "sub " : "", m->from, m->to, k - i, tags[m->tag], m->n);
    }
    count = 0;
}

/* ---- archives ---- */

static uint8_t data[RANKS][FILES][300000];
static const size_t bytes_of[RANKS][FILES] = {{120000, 70000}, {300000, 1}, {33333, 100000}};

struct job {
    struct sk_collect_options o;
    uint64_t memory; /* to take files out */
    int rc[RANKS];
    struct saikai_error err[RANKS];
    struct sk_archive_stats st;
};

static int create_rank(struct sk_group *g, void *arg)
{
    struct job *j = arg;
    int r = g->rank;
    struct ear e = {{&listening, r, g->size, g->threads}, g, 0};
    struct sk_archive_input in[FILES] = {{0}};
    char name[FILES][32];
    for (int i = 0; i < FILES; i++) {
        snprintf(name[i], sizeof name[i], "r%d/%d", r, i);
        in[i] = (struct sk_archive_input){.path = name[i], .name = name[i], .data = data[r][i], .bytes = bytes_of[r][i]};
    }
    struct sk_archive_stats st = {0};
    j->rc[r] = sk_collect_create(&e.g, at("set"), in, FILES, &j->o, &st, NULL, &j->err[r]);
    if (!r)
        j->st = st;
    return 0;
}

/* Each file goes to the rank after the one that gave it. */
static int to_the_next(void *arg, const struct sk_ska_file *f, size_t index, size_t files, int ranks)
{
    (void)arg;
    assert_true(index < files && files == RANKS * FILES && ranks == RANKS);
    assert_int_equal(f->origin, (uint32_t)(f->name[1] - '0' + 1));
    return (int)(f->origin % RANKS);
}

static int extract_rank(struct sk_group *g, void *arg)
{
    struct job *j = arg;
    int r = g->rank;
    struct ear e = {{&listening, r, g->size, g->threads}, g, 0};
    struct sk_deliver_options o = {.extract = {.no_sync = 1, .threads = 1, .memory_bytes = j->memory}, .owner = to_the_next};
    struct sk_archive_stats st = {0};
    j->rc[r] = sk_collect_extract(&e.g, at("set"), at("back/%d", r), &o, &st, &j->err[r]);
    if (r == RANKS - 1)
        j->st = st;
    return 0;
}

static void run(int (*fn)(struct sk_group *g, void *arg), struct job *j)
{
    assert_int_equal(sk_loop_run(RANKS, fn, j), 0);
    for (int r = 0; r < RANKS; r++)
        if (j->rc[r])
            fail_msg("rank %d: %s", r, j->err[r].text);
    assert_int_equal(j->st.files, RANKS * FILES);
    assert_int_equal(j->st.raw_bytes, 120000 + 70000 + 300000 + 1 + 33333 + 100000);
}

static void is_back(void)
{
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < FILES; i++) {
            void *back;
            size_t n;
            assert_int_equal(sk_io_slurp(at("back/%d/r%d/%d", (r + 1) % RANKS, r, i), 1 << 20, &back, &n, NULL), 0);
            assert_int_equal(n, bytes_of[r][i]);
            assert_memory_equal(back, data[r][i], n);
            free(back);
        }
    sk_io_rmtree(at("back"), NULL);
}

static void messages_are_as_long_as_memory_allows(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        int writers, scheme;
        uint64_t memory;
    } cases[] = {{"one writer", 1, SK_SCHEME_AUTO, 0},          {"one writer with little memory", 1, SK_SCHEME_AGNOSTIC, 1 << 20}, {"with very little", 1, SK_SCHEME_AGNOSTIC, 1000},
                 {"two writers", 2, SK_SCHEME_AGNOSTIC, 1 << 20}, {"all write", 3, SK_SCHEME_AUTO, 0},                               {"two by turns", 2, SK_SCHEME_AGNOSTIC_BLOCK, 2 << 20}};
    struct sk_buf text = {0};
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < FILES; i++)
            for (size_t k = 0; k < bytes_of[r][i]; k++)
                data[r][i][k] = (uint8_t)(noise() >> 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job j = {.o = {.writers = cases[i].writers, .archive = {.no_sync = 1, .threads = 1, .scheme = cases[i].scheme, .memory_bytes = cases[i].memory}}};
        run(create_rank, &j);
        tell(cases[i].what, &text);
        uint64_t made = j.st.stored_bytes;
        static const uint64_t memory[] = {0, 1000, 1 << 20};
        for (int k = 0; k < 3; k++) {
            char what[32];
            j.memory = memory[k];
            run(extract_rank, &j);
            is_back();
            assert_true(j.st.stored_bytes < made && j.st.stored_bytes > made - made / 20); /* all but the indexes */
            snprintf(what, sizeof what, "back with memory %d", k);
            tell(what, &text);
        }
        sk_io_rmtree(at("set"), NULL);
    }
    made_expect("traffic", &text);
    sk_buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(messages_are_as_long_as_memory_allows),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
