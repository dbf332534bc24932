/* Archives of many ranks given back to ranks, as many or others: whose they are, which rank gets which file, and what is damaged. */
#include "archive/ranks/collect_testing.h"
#include "archive/ranks/deliver.h"
#include "archive/ranks/pull_testing.h"
#include "archive/write/create.h"

#include <errno.h>

#include "base/host/open_files_testing.h"

struct back {
    const char *from; /* below base */
    struct sk_deliver_options o;
    int rc[16];
    struct saikai_error err[16];
    struct sk_archive_stats st;
};

static int extract_rank(struct sk_group *g, void *arg)
{
    struct back *b = arg;
    struct sk_archive_stats st = {0};
    b->rc[g->rank] = sk_collect_extract(g, at("%s", b->from), at("back/%d", g->rank), &b->o, &st,
                                        &b->err[g->rank]);
    if (!g->rank)
        b->st = st;
    return 0;
}

static void extract(struct back *b, int ranks)
{
    sk_io_rmtree(at("back"), NULL);
    assert_int_equal(sk_loop_run(ranks, extract_rank, b), 0);
}

static struct sk_ska_set make_set_of(const char *dir, int writers, uint64_t unit, struct sk_id store)
{
    struct job j = {.dir = dir, .inputs = FILES, .o = {.writers = writers}};
    j.o.archive.store = store;
    j.o.archive.unit_bytes = unit;
    j.o.archive.no_sync = 1;
    create(&j);
    assert_int_equal(j.rc[0], 0);
    return j.set;
}

static struct sk_ska_set make_set(const char *dir, int writers, uint64_t unit)
{
    return make_set_of(dir, writers, unit, (struct sk_id){{0}});
}

/* Archives say whose they are; those of another store are not used, by ranks or alone. */
static void test_of_a_store(void **state)
{
    struct sk_id stores[2] = {{{1, 2}}, {{3, 4}}};
    struct back b = {.from = "of-store"};
    char path[PATH_MAX], mine[SK_ID_TEXT], other[SK_ID_TEXT];
    struct saikai_error err = {0};
    struct sk_ska a = {0};
    make_inputs();
    struct sk_ska_set set = make_set_of("of-store", 2, 0, stores[1]);
    assert_int_equal(sk_ska_set_path(&set, at("of-store"), 2, path, sizeof path, NULL), 0);
    assert_int_equal(sk_archive_open(path, &a, NULL), 0);
    assert_true(sk_id_same(a.store, stores[1]));
    sk_ska_free(&a);
    b.o.extract = (struct sk_extract_options){.no_sync = 1, .stores = stores, .store_count = 1};
    extract(&b, 3);
    for (int r = 0; r < 3; r++) {
        assert_true(b.rc[r] == SAIKAI_EDAMAGED || b.rc[r] == SAIKAI_EPEER);
        assert_non_null(strstr(b.err[r].text, sk_id_print(stores[0], mine)));
        assert_non_null(strstr(b.err[r].text, sk_id_print(stores[1], other)));
    }
    assert_int_equal(sk_archive_extract(path, at("back"), &b.o.extract, NULL, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, sk_id_print(stores[1], other)));
    b.o.extract.store_count = 2; /* such as the one it was copied from */
    extract(&b, 3);
    assert_int_equal(b.rc[0], 0);
    b.o.extract.store_count = 0;
    extract(&b, 3);
    assert_int_equal(b.rc[0], 0);
    make_set("of-none", 1, 0); /* an older version, or made by hand */
    b.from = "of-none";
    b.o.extract.store_count = 1;
    extract(&b, 2);
    assert_int_equal(b.rc[0], 0);
    drop_inputs();
}

static void each_rank_gets_its_files(void **state)
{
    static const struct {
        int writers, ranks;
        uint64_t memory;
    } cases[] = {{2, RANKS, 0}, {1, RANKS, 1 << 20}, {5, 2, 0}, {2, 9, 3 << 20}, {3, 1, 0}};
    make_inputs();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        make_set("sets5", cases[c].writers, 256 << 10);
        struct back b = {.from = "sets5"};
        b.o.extract.memory_bytes = cases[c].memory;
        b.o.extract.threads = 2;
        extract(&b, cases[c].ranks);
        for (int r = 0; r < cases[c].ranks; r++)
            if (b.rc[r])
                fail_msg("case %zu, rank %d: %s", c, r, b.err[r].text);
        assert_int_equal(b.st.files, RANKS * FILES);
        assert_true(b.st.seconds >= 0 && b.st.seconds < 1000);
        for (int r = 0; r < RANKS; r++)
            for (int i = 0; i < FILES; i++)
                assert_true(same_file(at("%s", names[r][i]),
                                      at("back/%d/%s", r * cases[c].ranks / RANKS, names[r][i])));
    }
    struct back b = {.from = "sets5", .o = {.extract = {.only = "in/r3/*"}}};
    extract(&b, 4);
    assert_int_equal(b.st.files, FILES);
    assert_true(same_file(at("%s", names[3][0]), at("back/2/%s", names[3][0])));
    assert_int_equal(access(at("back/1/%s", names[2][0]), F_OK), -1);
    b.o.extract.only = "nothing";
    extract(&b, 4);
    for (int r = 0; r < 4; r++)
        assert_int_not_equal(b.rc[r], 0);
    drop_inputs();
}

static int owner_is_first(void *arg, const struct sk_ska_file *f, size_t index, size_t files, int ranks)
{
    (void)arg;
    (void)f;
    (void)index;
    assert_true(files == RANKS && ranks > 0);
    return 0;
}

/* Where each archive of a set holds one file, the first of each: what comes of them from one rank to another is told apart. */
static void each_archive_has_a_file_of_its_own(void **state)
{
    (void)state;
    struct job j = {.dir = "sets8", .inputs = 1, .o = {.writers = RANKS}};
    make_inputs();
    j.o.archive.no_sync = 1;
    create(&j);
    assert_int_equal(j.rc[0], 0);
    for (int ranks = 1; ranks <= RANKS; ranks++) {
        struct back b = {.from = "sets8", .o = {.owner = owner_is_first}};
        extract(&b, ranks);
        for (int r = 0; r < RANKS; r++) {
            if (r < ranks && b.rc[r])
                fail_msg("rank %d of %d: %s", r, ranks, b.err[r].text);
            assert_true(same_file(at("%s", names[r][0]), at("back/0/%s", names[r][0])));
        }
        assert_int_equal(b.st.files, RANKS);
    }
    drop_inputs();
}

/* A file of rank r and a name's length: neighbours in a block go to ranks far apart, and back. */
static int far_apart(const char *name, int ranks)
{
    return (int)((size_t)(2 * (name[4] - '0')) + strlen(name)) % ranks;
}

static int owner_far_apart(void *arg, const struct sk_ska_file *f, size_t index, size_t files, int ranks)
{
    assert_ptr_equal(arg, names);
    assert_true(index < files && files == RANKS * FILES);
    return far_apart(f->name, ranks);
}

static void files_go_where_the_caller_says(void **state)
{
    make_inputs();
    make_set("sets7", 1, 0);
    for (int ranks = 1; ranks < 5; ranks++) {
        struct back b = {.from = "sets7", .o = {.owner = owner_far_apart, .arg = names}};
        extract(&b, ranks);
        for (int r = 0; r < ranks; r++)
            if (b.rc[r])
                fail_msg("rank %d of %d: %s", r, ranks, b.err[r].text);
        for (int r = 0; r < RANKS; r++)
            for (int i = 0; i < FILES; i++)
                for (int to = 0; to < ranks; to++) {
                    const char *path = at("back/%d/%s", to, names[r][i]);
                    if (to == far_apart(names[r][i], ranks))
                        assert_true(same_file(at("%s", names[r][i]), path));
                    else
                        assert_int_equal(access(path, F_OK), -1);
                }
    }
    drop_inputs();
}

static void damage_and_full_disks_are_told_to_all(void **state)
{
    char path[512];
    make_inputs();
    struct sk_ska_set s = make_set("sets6", 2, 256 << 10);
    sk_ska_set_path(&s, at("sets6"), 2, path, sizeof path, NULL);
    struct back b = {.from = "sets6"};
    bad_op = "write";
    bad_path = "back/3/";
    bad_errno = ENOSPC;
    sk_io_hook = fail_there;
    extract(&b, 4);
    sk_io_hook = NULL;
    for (int r = 0; r < 4; r++) {
        assert_int_equal(b.rc[r], r == 3 ? SAIKAI_ENOSPC : SAIKAI_EPEER);
        assert_int_equal(b.err[r].code, b.rc[r]);
        assert_non_null(strstr(b.err[r].text, "back/3"));
    }
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < FILES; i++)
            assert_int_equal(access(at("back/%d/%s", r * 4 / RANKS, names[r][i]), F_OK), -1);
    for (int r = 0; r < RANKS; r++) /* nor under another name */
        assert_int_equal(count_files(at("back/%d/in/r%d", r * 4 / RANKS, r)), 0);
    for (int turn = 0; turn < 4; turn++) {
        void *data = NULL;
        size_t n = 0;
        assert_int_equal(sk_io_slurp(path, 1 << 30, &data, &n, NULL), 0);
        ((uint8_t *)data)[200 + n / 5 * (size_t)turn] ^= 4;
        assert_int_equal(sk_io_replace(path, data, n, NULL), 0);
        free(data);
        extract(&b, 3 + turn);
        for (int r = 0; r < 3 + turn; r++) {
            assert_true(b.rc[r] == SAIKAI_EDAMAGED || b.rc[r] == SAIKAI_EPEER);
            assert_int_equal(b.err[r].code, b.rc[r]);
            if (!strstr(b.err[r].text, "2-of-2"))
                fail_msg("turn %d rank %d: %s", turn, r, b.err[r].text);
        }
        assert_int_equal(access(at("back/0/%s", names[0][0]), F_OK), -1);
    }
    drop_inputs();
}

/* ---- one file of one block, which another rank decodes than gets it ---- */

static int owner_is_last(void *arg, const struct sk_ska_file *f, size_t index, size_t files, int ranks)
{
    (void)arg, (void)f, (void)index, (void)files;
    return ranks - 1;
}

static void make_one(void)
{
    static uint8_t data[200000];
    struct sk_archive_input in = {.name = "one", .data = data, .bytes = sizeof data};
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(noise() * 2654435761u >> 13);
    assert_int_equal(sk_archive_create(at("one.ska"), &in, 1, &(struct sk_archive_options){.no_sync = 1, .threads = 1, .scheme = SK_SCHEME_AGNOSTIC}, NULL, NULL), 0);
    put_file(at("one"), data, sizeof data);
}

static void what_comes_and_cannot_be_written_is_told(void **state)
{
    (void)state;
    struct back b = {.from = "one.ska", .o = {.owner = owner_is_last}};
    make_one();
    extract(&b, 2);
    assert_true(!b.rc[0] && !b.rc[1] && same_file(at("one"), at("back/1/one")));
    bad_op = "write";
    bad_path = "back/1/";
    bad_errno = ENOSPC;
    sk_io_hook = fail_there;
    extract(&b, 2);
    sk_io_hook = NULL;
    for (int r = 0; r < 2; r++) {
        assert_int_equal(b.rc[r], r ? SAIKAI_ENOSPC : SAIKAI_EPEER);
        assert_non_null(strstr(b.err[r].text, "back/1/one"));
    }
    assert_int_equal(count_files(at("back/1")), 0);
}

/* ---- messages that fail ---- */

enum { LOOKS = 200 };

static struct {
    int kind;
    int rc[2];
    struct saikai_error err[2];
} broken;

static int extract_broken(struct sk_group *g, void *arg)
{
    struct flaky f = flaky_new(g, broken.kind, 1);
    f.left[TEST] = broken.kind == TEST ? 1 : LOOKS; /* whose partner has gone hears of it in the end */
    struct sk_deliver_options o = {.extract = {.no_sync = 1, .threads = 2}, .owner = owner_is_last};
    (void)arg;
    broken.rc[g->rank] = sk_collect_extract(&f.g, at("one.ska"), at("back/%d", g->rank), &o, NULL, &broken.err[g->rank]);
    return 0;
}

/* Whoever cannot send, or receive, or look at what is under way: all come back, and nothing is left of the files. */
static void ranks_that_lose_touch_come_back(void **state)
{
    (void)state;
    make_one();
    for (broken.kind = SEND; broken.kind <= TEST; broken.kind++) {
        memset(broken.err, 0, sizeof broken.err);
        sk_io_rmtree(at("back"), NULL);
        assert_int_equal(sk_loop_run(2, extract_broken, NULL), 0);
        int lost = 0;
        for (int r = 0; r < 2; r++) {
            lost += broken.rc[r] == SAIKAI_EMPI && strstr(broken.err[r].text, "lost touch while they restored files");
            if (broken.rc[r] != SAIKAI_EMPI && broken.rc[r] != SAIKAI_EPEER)
                fail_msg("kind %d, rank %d: %d, %s", broken.kind, r, broken.rc[r], broken.err[r].text);
        }
        assert_true(lost > 0);
        assert_int_equal(count_files(at("back/1")), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(test_of_a_store),
        cmocka_unit_test(each_rank_gets_its_files),
        cmocka_unit_test(each_archive_has_a_file_of_its_own),
        cmocka_unit_test(files_go_where_the_caller_says),
        cmocka_unit_test(damage_and_full_disks_are_told_to_all),
        cmocka_unit_test(what_comes_and_cannot_be_written_is_told),
        cmocka_unit_test(ranks_that_lose_touch_come_back),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
