/* Containers of a generation are found among files and in archives, each rank once; what is wrong with archives is told; and what
 * was opened is what was saved, also where it builds on what lies in an archive. */
#define TESTING_CELLS 80000
#include "archive/write/create.h"
#include "archive/read/content.h"
#include "store/form/container.h"
#include "store/form/coded.h"
#include "store/form/lineage_testing.h"

#include <limits.h>
#include <sys/stat.h>

#include "archive/write/testing.h"

#include "base/host/open_files_testing.h"

static const struct sk_gen gen = {2, 7, 1};

static uint8_t value_of(int rank, int variant)
{
    return (uint8_t)(rank * 3 + variant + 1);
}

/* A rank's container, of a thousand equal bytes, at a path. */
static void put_container(const char *path, int rank, int nranks, int variant)
{
    static uint8_t data[1000];
    struct sk_skc_header h = {.run_id = 5, .iteration = gen.iteration, .place = gen.place, .incarnation = gen.incarnation,
                              .rank = (uint32_t)rank, .nranks = (uint32_t)nranks};
    struct sk_piece p = {.name = "v", .type = SAIKAI_U8, .ndims = 1, .dims = {sizeof data}, .data = data, .size_bytes = sizeof data};
    memset(data, value_of(rank, variant), sizeof data);
    put_file(path, "", 0);
    assert_int_equal(sk_container_write(path, &h, &p, NULL, 1, 0, NULL, NULL, NULL), 0);
}

static const char *file_of(int rank)
{
    return at("store/gen-0002-000000000007-1/rank-%06d.skc", rank);
}

/* An archive of these ranks' containers as a part of set `number`. */
static void put_archive(int number, int part, int parts, const int *ranks, int count, int variant)
{
    struct sk_archive_input in[8];
    char name[8][32];
    struct sk_archive_options o = {.no_sync = 1, .threads = 1};
    struct saikai_error err = {0};
    for (int i = 0; i < count; i++) {
        snprintf(name[i], sizeof name[i], ranks[i] < 0 ? "something else" : "rank-%06d.skc", ranks[i]);
        const char *path = at("made/%d.%d.%d", number, part, i);
        if (ranks[i] < 0)
            put_file(path, "x", 1);
        else
            put_container(path, ranks[i], 4, variant);
        in[i] = (struct sk_archive_input){.path = path, .name = name[i]};
    }
    sk_io_mkdirs(at("store/gen-0002-000000000007-1"), NULL);
    if (sk_archive_create(at("store/gen-0002-000000000007-1/set-%06d.%d-of-%d.ska", number, part, parts), in, (size_t)count, &o, NULL, &err))
        fail_msg("%s", err.text);
}

static struct sk_content *load(void)
{
    struct sk_content *c = NULL;
    struct saikai_error err = {0};
    if (sk_content_load(at("store"), gen, 0, &c, &err))
        fail_msg("%s", err.text);
    return c;
}

static void expect_rank(struct sk_content *c, int rank, int variant, int in_archive)
{
    struct sk_container *x = NULL;
    struct saikai_error err = {0};
    uint8_t back[1000];
    char path[4096];
    long i = sk_content_find(c, rank);
    assert_true(i >= 0);
    for (int alone = 0; alone < 2; alone++) {
        if (alone ? sk_content_open_alone(c, (size_t)i, &x, &err) : sk_content_open(c, (size_t)i, &x, &err))
            fail_msg("%s", err.text);
        assert_int_equal(x->header.rank, rank);
        assert_int_equal(sk_container_read(x, &x->index->vars[0], back, &err), 0);
        for (size_t k = 0; k < sizeof back; k++)
            assert_int_equal(back[k], value_of(rank, variant));
        assert_int_equal(sk_content_is_there(c, x), 1);
        sk_container_close(x);
    }
    assert_int_equal(sk_content_path(c, (size_t)i, path, sizeof path, &err), 0);
    assert_int_equal(strstr(path, ".ska:rank-") != NULL, in_archive);
}

static void cleaned(void)
{
    sk_io_rmtree(at("store"), NULL);
    sk_io_rmtree(at("made"), NULL);
}

static void nothing_is_nothing(void **state)
{
    (void)state;
    struct sk_content *c = load();
    assert_true(!c->count && !c->forms && !c->complete && !c->nranks && !c->bytes && !c->stored_bytes && !c->troubles && !c->set.parts);
    assert_int_equal(sk_content_find(c, 0), -1);
    assert_int_equal(sk_content_check_rest(c, NULL, NULL, NULL, NULL), 0);
    sk_content_free(c);
    sk_content_free(NULL);
}

static void files_are_found(void **state)
{
    (void)state;
    uint64_t bytes = 0;
    for (int r = 79; r >= 0; r--) {
        struct stat st;
        put_container(file_of(r), r, 80, 0);
        assert_int_equal(stat(file_of(r), &st), 0);
        bytes += (uint64_t)st.st_size;
    }
    put_file(at("store/gen-0002-000000000007-1/rank-1.skc.tmp"), "x", 1);
    struct sk_content *c = load();
    assert_int_equal(c->count, 80);
    for (int r = 0; r < 80; r++)
        assert_int_equal(c->ranks[r], r);
    assert_int_equal(c->forms, SK_CONTENT_FILES);
    assert_true(c->header.run_id == 5 && c->header.iteration == 7 && c->header.nranks == 80);
    assert_int_equal(c->bytes, bytes);
    assert_int_equal(c->stored_bytes, bytes);
    assert_true(c->complete == 1 && c->nranks == 80);
    assert_int_equal(c->header.iteration, 7);
    expect_rank(c, 33, 0, 0);
    assert_int_equal(sk_content_find(c, 80), -1);
    sk_content_free(c);
    assert_int_equal(unlink(file_of(5)), 0);
    put_container(file_of(90), 90, 80, 0); /* of no rank of this generation */
    put_file(file_of(0), "no container", 12);
    c = load();
    assert_int_equal(c->count, 80);
    assert_true(!c->complete && c->nranks == 80);
    sk_content_free(c);
    cleaned();
}

static void archives_and_files_are_one(void **state)
{
    (void)state;
    uint64_t stored = 0;
    put_archive(3, 1, 2, (int[]){2, 0}, 2, 0);
    put_archive(3, 2, 2, (int[]){-1, 3, 1}, 3, 0);
    put_archive(2, 1, 1, (int[]){0, 1, 2, 3}, 4, 5); /* an older set */
    struct sk_content *c = load();
    for (int k = 1; k < 3; k++) {
        struct stat st;
        assert_int_equal(stat(at("store/gen-0002-000000000007-1/set-000003.%d-of-2.ska", k), &st), 0);
        stored += (uint64_t)st.st_size;
    }
    assert_int_equal(c->count, 4);
    assert_int_equal(c->forms, SK_CONTENT_ARCHIVES);
    assert_true(c->complete && c->nranks == 4);
    assert_int_equal(c->set.number, 3);
    assert_int_equal(c->set.parts, 2);
    assert_int_equal(c->stored_bytes, stored);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(c->ranks[r], r);
        expect_rank(c, r, 0, 1);
    }
    struct stat st;
    assert_int_equal(stat(at("made/3.1.0"), &st), 0);
    assert_int_equal(c->bytes, 4 * (uint64_t)st.st_size);
    sk_content_rest(c);
    expect_rank(c, 1, 0, 1); /* opened again */
    sk_content_free(c);
    /* a file goes before what an archive has of its rank */
    put_container(file_of(1), 1, 4, 9);
    c = load();
    assert_int_equal(c->count, 4);
    assert_int_equal(c->forms, SK_CONTENT_ARCHIVES | SK_CONTENT_FILES);
    assert_int_equal(c->bytes, 4 * (uint64_t)st.st_size);
    assert_int_equal(c->stored_bytes, stored + (uint64_t)st.st_size);
    expect_rank(c, 1, 9, 0);
    expect_rank(c, 2, 0, 1);
    /* an open container outlives all of it */
    struct sk_container *x = NULL;
    uint8_t back[1000];
    assert_int_equal(sk_content_open(c, 2, &x, NULL), 0);
    assert_int_equal(sk_content_is_there(c, x), 1);
    assert_int_equal(unlink(at("store/gen-0002-000000000007-1/set-000003.1-of-2.ska")), 0);
    assert_int_equal(sk_content_is_there(c, x), 0);
    sk_content_free(c);
    assert_int_equal(sk_container_read(x, &x->index->vars[0], back, NULL), 0);
    assert_int_equal(back[999], value_of(2, 0));
    sk_container_close(x);
    cleaned();
}

static int faults;
static uint64_t checked;
static int fault(void *arg, const char *archive, const struct saikai_error *why)
{
    assert_ptr_equal(arg, &faults);
    assert_non_null(strstr(why->text, archive));
    return ++faults, 0;
}
static void progress(void *arg, uint64_t more)
{
    (void)arg;
    checked += more;
}

static void what_is_wrong_is_told(void **state)
{
    (void)state;
    void *data;
    size_t n;
    struct saikai_error err = {0};
    put_archive(1, 1, 2, (int[]){0, 2}, 2, 0);
    put_archive(1, 2, 2, (int[]){1, 3}, 2, 0);
    struct sk_content *c = load();
    faults = 0;
    checked = 0;
    assert_int_equal(sk_content_check_rest(c, fault, progress, &faults, &err), 0);
    assert_int_equal(faults, 0);
    assert_true(checked > 0);
    sk_content_free(c);
    const char *path = at("store/gen-0002-000000000007-1/set-000001.2-of-2.ska");
    assert_int_equal(sk_io_slurp(path, 1 << 20, &data, &n, NULL), 0);
    ((uint8_t *)data)[40] ^= 1; /* in its only block */
    put_file(path, data, n);
    c = load();
    faults = 0;
    assert_int_equal(sk_content_check_rest(c, fault, progress, &faults, &err), 0);
    assert_int_equal(faults, 1);
    sk_content_free(c);
    put_file(path, "no archive at all, but long enough to be one, in its way: 1234567890", 68);
    c = load();
    assert_int_equal(c->troubles, 1);
    assert_string_equal(c->trouble[0].path, path);
    assert_non_null(strstr(c->trouble[0].text, path));
    assert_int_equal(c->trouble[0].missing, 0);
    assert_int_equal(c->count, 2);
    assert_true(!c->complete && c->nranks == 4);
    expect_rank(c, 2, 0, 1);
    sk_content_free(c);
    assert_int_equal(unlink(path), 0);
    c = load();
    assert_int_equal(c->troubles, 1);
    assert_int_equal(c->trouble[0].missing, 1);
    assert_int_equal(c->count, 2);
    /* what was there when it was looked at, and is not any more */
    assert_int_equal(unlink(at("store/gen-0002-000000000007-1/set-000001.1-of-2.ska")), 0);
    struct sk_container *x = NULL;
    assert_int_equal(sk_content_open(c, 0, &x, &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "rank 0 was in were removed"));
    sk_content_free(c);
    cleaned();
    free(data);
}

static void one_file_alone(void **state)
{
    (void)state;
    struct sk_content *c = NULL;
    struct stat st;
    char path[4096], given[512];
    put_container(file_of(6), 6, 9, 2);
    snprintf(given, sizeof given, "%s", file_of(6));
    assert_int_equal(stat(given, &st), 0);
    assert_int_equal(sk_content_of_file(given, &c, NULL), 0);
    assert_true(c->count == 1 && c->ranks[0] == 6 && c->nranks == 9 && c->forms == SK_CONTENT_FILES);
    assert_int_equal(c->bytes, st.st_size);
    assert_int_equal(c->stored_bytes, st.st_size);
    assert_true(c->gen.iteration == 7 && c->gen.incarnation == 2 && c->gen.place == 1);
    assert_true(c->header.run_id == 5 && c->header.iteration == 7 && c->header.rank == 6 && c->header.nranks == 9);
    assert_int_equal(sk_content_path(c, 0, path, sizeof path, NULL), 0);
    assert_string_equal(path, given);
    expect_rank(c, 6, 2, 0);
    sk_content_free(c);
    put_file(given, "nothing", 7);
    assert_int_equal(sk_content_of_file(given, &c, NULL), 0);
    assert_true(c->ranks[0] == -1 && !c->nranks && c->bytes == 7);
    sk_content_free(c);
    cleaned();
}

/* A generation of changes, as a file, on a full one of two ranks that only an archive has any more. */
static void what_it_builds_on_may_be_in_an_archive(void **state)
{
    (void)state;
    enum { THERE, WITHOUT_THE_RANK, GONE };
    struct testing_state *first = testing_state_new(), *then = testing_state_new();
    struct testing_generation full = {.root = at("store"), .gen = {1, 1, 0}, .rank = 1, .nranks = 2}, delta = full;
    delta.gen = (struct sk_gen){1, 2, 0};
    delta.base = full.gen;
    struct sk_archive_options o = {.no_sync = 1, .threads = 1};
    const char *file = at("store/gen-0001-000000000001-0/rank-000001.skc"), *archive = at("store/gen-0001-000000000001-0/set-000001.1-of-1.ska");
    testing_state_step(first, 1);
    testing_state_copy(then, first);
    testing_state_step(then, 4);
    assert_int_equal(testing_write(&full, NULL, first, 1), 0);
    assert_int_equal(testing_write(&delta, first, then, 4), 0);
    put_container(at("made/other"), 0, 2, 0);
    for (int what = THERE; what <= GONE; what++) {
        struct sk_archive_input in[] = {{.path = at("made/other"), .name = "rank-000000.skc"}, {.path = file, .name = "rank-000001.skc"}};
        if (what == THERE)
            assert_int_equal(sk_archive_create(archive, in, 2, &o, NULL, NULL), 0);
        else
            assert_int_equal(unlink(archive), 0);
        if (what == THERE)
            assert_int_equal(unlink(file), 0);
        if (what == WITHOUT_THE_RANK)
            assert_int_equal(sk_archive_create(archive, in, 1, &o, NULL, NULL), 0);
        struct sk_content *c = NULL;
        struct sk_container *x = NULL;
        struct saikai_error err = {0};
        assert_int_equal(sk_content_load(at("store"), delta.gen, 0, &c, NULL), 0);
        int rc = sk_content_open(c, (size_t)sk_content_find(c, 1), &x, &err);
        if (what == THERE) {
            assert_int_equal(rc, 0);
            assert_int_equal(testing_compare(x, then), 1);
            sk_container_close(x);
        } else if (rc != SAIKAI_EDAMAGED || !strstr(err.text, "gen-0001-000000000001-0/rank-000001.skc, which is missing")) {
            fail_msg("%d: %d, %s", what, rc, err.text);
        }
        sk_content_free(c);
    }
    testing_state_free(first);
    testing_state_free(then);
    cleaned();
}

/* One file of changes alone, named from anywhere: what it builds on is beside its generation's directory. */
static void one_file_alone_may_build_on_others(void **state)
{
    (void)state;
    struct testing_state *first = testing_state_new(), *then = testing_state_new();
    struct testing_generation full = {.root = at("store"), .gen = {1, 1, 0}, .rank = 1, .nranks = 2}, delta = full;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    delta.gen = (struct sk_gen){1, 2, 0};
    delta.base = full.gen;
    testing_state_step(first, 1);
    testing_state_copy(then, first);
    testing_state_step(then, 4);
    assert_int_equal(testing_write(&full, NULL, first, 1), 0);
    assert_int_equal(testing_write(&delta, first, then, 4), 0);
    const char *dir = at("store/gen-0001-000000000002-0");
    const struct {
        const char *from, *path;
    } names[] = {{before, at("store/gen-0001-000000000002-0/rank-000001.skc")},
                 {dir, "rank-000001.skc"},
                 {dir, "./rank-000001.skc"},
                 {at("store"), "gen-0001-000000000002-0/rank-000001.skc"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct sk_content *c = NULL;
        struct sk_container *x = NULL;
        struct saikai_error err = {0};
        assert_int_equal(chdir(names[i].from), 0);
        assert_int_equal(sk_content_of_file(names[i].path, &c, &err), 0);
        assert_true(c->count == 1 && c->ranks[0] == 1 && c->nranks == 2 && c->gen.iteration == 2);
        if (sk_content_open(c, 0, &x, &err))
            fail_msg("%s: %s", names[i].path, err.text);
        assert_int_equal(testing_compare(x, then), 1);
        assert_int_equal(sk_content_is_there(c, x), 1);
        sk_container_close(x);
        sk_content_free(c);
    }
    assert_int_equal(chdir(before), 0);
    struct sk_content *c = NULL;
    struct saikai_error err = {0};
    char *deep = malloc(2 * PATH_MAX);
    memset(deep, 'd', 2 * PATH_MAX - 1);
    deep[PATH_MAX] = '/';
    deep[2 * PATH_MAX - 1] = 0;
    int rc = sk_content_of_file(deep, &c, &err);
    assert_true(rc < 0 && err.code == rc && !c);
    free(deep);
    memset(&err, 0, sizeof err);
    struct sk_container *x = NULL;
    assert_int_equal(sk_content_of_file(at("nowhere/rank-000001.skc"), &c, &err), 0); /* it is told when it is opened */
    assert_true(c->bytes == 0 && c->stored_bytes == 0 && c->ranks[0] == -1 && c->nranks == 0);
    assert_int_equal(sk_content_open(c, 0, &x, &err), SAIKAI_ENOENT);
    sk_content_free(c);
    testing_state_free(first);
    testing_state_free(then);
    cleaned();
}

/* A list of ranks grows at 64 and at 128. */
static void as_many_ranks_as_there_are(void **state)
{
    (void)state;
    static const int counts[] = {1, 63, 64, 65, 128, 129};
    int made = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (; made < counts[i]; made++)
            put_file(file_of(made), "x", 1);
        struct sk_content *c = load();
        assert_int_equal(c->count, counts[i]);
        for (int r = 0; r < counts[i]; r++)
            assert_int_equal(c->ranks[r], r);
        assert_true(!c->complete && !c->nranks);
        assert_int_equal(c->bytes, counts[i]);
        sk_content_free(c);
    }
    cleaned();
}

static void generations_with_anything_are_listed(void **state)
{
    (void)state;
    struct sk_gen_list l;
    put_file(at("store/gen-0001-000000000001-0/rank-000004.skc"), "x", 1);
    put_file(at("store/gen-0001-000000000002-0/set-000001.1-of-2.ska.77.tmp"), "x", 1);
    put_file(at("store/gen-0001-000000000003-0/something"), "x", 1);
    put_file(at("store/gen-0001-000000000004-0/set-000001.1-of-1.ska"), "x", 1);
    assert_int_equal(sk_content_scan(at("store"), &l, NULL), 0);
    assert_int_equal(l.count, 3);
    assert_true(l.gen[0].iteration == 4 && l.gen[1].iteration == 2 && l.gen[2].iteration == 1);
    sk_gen_list_free(&l);
    cleaned();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(files_are_found),
        cmocka_unit_test(archives_and_files_are_one),
        cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(one_file_alone),
        cmocka_unit_test(what_it_builds_on_may_be_in_an_archive),
        cmocka_unit_test(one_file_alone_may_build_on_others),
        cmocka_unit_test(as_many_ranks_as_there_are),
        cmocka_unit_test(generations_with_anything_are_listed),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
