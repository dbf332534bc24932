/* Archives made and restored by many ranks: who writes what, shared files, sets that are whole
 * after every failure and crash, and the messages in between. */
#include "archive/plan/listing.h"
#include "archive/ranks/collect.h"

#include "base/host/fork_testing.h"
#include "archive/ranks/deliver.h"
#include "archive/read/extract.h"
#include "archive/read/inside.h"
#include "archive/write/testing.h"
#include "archive/ranks/wire.h"
#include "group/loop.h"
#include "reader/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

enum { RANKS = 5, FILES = 3 };

/* ---- who writes ---- */

static void expect_arranged(const char *const *hosts, int ranks, struct sk_collect_options o,
                            const int *want_writer, const int *want_place, int want_writers)
{
    int writer[16], place[16], writers = 0;
    assert_int_equal(sk_collect_arrange(hosts, ranks, &o, writer, place, &writers, NULL), 0);
    assert_int_equal(writers, want_writers);
    for (int i = 0; i < ranks; i++) {
        assert_int_equal(writer[i], want_writer[i]);
        assert_int_equal(place[i], want_place[i]);
    }
}

static void arranges(void **state)
{
    static const char *const hosts[] = {"a", "b", "a", "b", "a"};
    typedef struct sk_collect_options opt;
    expect_arranged(hosts, 5, (opt){0}, (int[]){0, 1, 0, 1, 0}, (int[]){0, 0, 1, 1, 2}, 2);
    expect_arranged(hosts, 5, (opt){.writers = 2}, (int[]){0, 0, 0, 1, 1}, (int[]){0, 1, 2, 0, 1},
                    2);
    expect_arranged(hosts, 5, (opt){.writers = 2, .order = SK_ORDER_NODE}, (int[]){0, 1, 0, 1, 0},
                    (int[]){0, 0, 1, 1, 2}, 2);
    expect_arranged(hosts, 5, (opt){.group = 2, .order = SK_ORDER_NODE}, (int[]){0, 1, 0, 2, 1},
                    (int[]){0, 1, 1, 0, 0}, 3);
    expect_arranged(hosts, 5, (opt){.group = 1}, (int[]){0, 1, 2, 3, 4}, (int[]){0, 0, 0, 0, 0}, 5);
    expect_arranged(hosts, 5, (opt){.group = 99}, (int[]){0, 0, 0, 0, 0}, (int[]){0, 1, 2, 3, 4},
                    1);
    int w[5], p[5], n;
    assert_int_equal(sk_collect_arrange(hosts, 5, &(opt){.writers = 6}, w, p, &n, NULL),
                     SAIKAI_EINVAL);
    assert_int_equal(sk_collect_arrange(hosts, 5, &(opt){.writers = 2, .group = 2}, w, p, &n, NULL),
                     SAIKAI_EINVAL);
}

/* ---- sets ---- */

static void touch(const char *path)
{
    assert_int_equal(sk_io_replace(path, "x", 1, NULL), 0);
}

static void knows_whole_sets(void **state)
{
    struct sk_ska_set s;
    uint64_t next;
    const char *d = at("sets");
    assert_int_equal(sk_ska_set_next(d, &next, NULL), 0);
    assert_int_equal(next, 1);
    sk_io_mkdirs(d, NULL);
    assert_int_equal(sk_ska_set_newest(d, &s, NULL), SAIKAI_ENOENT);
    touch(at("sets/set-000003.1-of-2.ska"));
    touch(at("sets/set-000003.2-of-2.ska"));
    touch(at("sets/set-000004.1-of-3.ska"));
    touch(at("sets/set-000004.3-of-3.ska"));
    touch(at("sets/set-000002.1-of-1.ska"));
    touch(at("sets/set-000009.1-of-1.ska.bak"));
    touch(at("sets/set-000001.1-of-1.ska.123.tmp"));
    assert_int_equal(sk_ska_set_newest(d, &s, NULL), 0);
    assert_int_equal(s.number, 3);
    assert_int_equal(s.parts, 2);
    assert_int_equal(sk_ska_set_next(d, &next, NULL), 0);
    assert_int_equal(next, 5);
    assert_int_equal(sk_ska_set_clean(d, &s, 0, NULL), 0);
    assert_int_equal(access(at("sets/set-000002.1-of-1.ska"), F_OK), -1);
    assert_int_equal(access(at("sets/set-000001.1-of-1.ska.123.tmp"), F_OK), -1);
    assert_int_equal(access(at("sets/set-000009.1-of-1.ska.bak"), F_OK), 0);
    assert_int_equal(access(at("sets/set-000004.1-of-3.ska"), F_OK), 0);
}

/* ---- ranks ---- */

static double along(int i, int rank)
{
    return 300.0 + 0.01 * i + rank;
}

static char names[RANKS][FILES][64];
static uint8_t *memory[RANKS];
enum { VALUES = 60000, IN_MEMORY = 300000 };

/* Each rank: a netCDF file, a file that may be empty, one in memory. */
static void make_inputs(void)
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

static void drop_inputs(void)
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
    struct sk_archive_stats st;
    struct sk_ska_set set;
};

static int create_rank(struct sk_group *g, void *arg)
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
    return 0;
}

static void create(struct job *j)
{
    assert_int_equal(sk_loop_run(RANKS, create_rank, j), 0);
}

/* Every file of every rank comes back from the parts, each read alone. */
static void expect_all(const char *dir, const struct sk_ska_set *s, int files)
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

static void many_ranks_few_writers(void **state)
{
    static const struct {
        int writers, group, scheme;
        uint64_t memory, unit;
    } cases[] = {{1, 0, SK_SCHEME_AUTO, 0, 0},
                 {2, 0, SK_SCHEME_AUTO, 16 << 20, 256 << 10},
                 {0, 1, SK_SCHEME_AWARE_BLOCK, 0, 0},
                 {0, 3, SK_SCHEME_AGNOSTIC, 1 << 20, 0}};
    make_inputs();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job j = {.dir = "sets1", .inputs = FILES};
        j.o.writers = cases[i].writers;
        j.o.group = cases[i].group;
        j.o.archive.scheme = cases[i].scheme;
        j.o.archive.memory_bytes = cases[i].memory;
        j.o.archive.unit_bytes = cases[i].unit;
        j.o.archive.no_sync = 1;
        j.o.archive.threads = 2;
        create(&j);
        for (int r = 0; r < RANKS; r++)
            if (j.rc[r])
                fail_msg("case %zu, rank %d: %s", i, r, j.err[r].text);
        assert_int_equal(j.st.files, RANKS * FILES);
        assert_int_equal(j.set.number, i + 1);
        expect_all(at("sets1"), &j.set, FILES);
        struct sk_ska_set newest;
        assert_int_equal(sk_ska_set_newest(at("sets1"), &newest, NULL), 0);
        assert_int_equal(newest.number, j.set.number);
        if (i)
            assert_int_equal(access(at("sets1/set-000001.1-of-1.ska"), F_OK), -1);
    }
    drop_inputs();
}

static void shared_files_have_one_owner(void **state)
{
    make_inputs();
    for (int r = 0; r < RANKS; r++)
        memcpy(names[r][0], names[0][0], sizeof names[0][0]);
    struct job j = {.dir = "sets2", .inputs = 1, .o = {.writers = 2}};
    create(&j);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(j.rc[r], 0);
    assert_int_equal(j.st.files, 1);
    expect_all(at("sets2"), &j.set, 1);
    /* the same name for unlike things is a mistake, told to all */
    for (int r = 0; r < RANKS; r++)
        snprintf(names[r][2], 64, "memory");
    j.inputs = FILES;
    create(&j);
    for (int r = 0; r < RANKS; r++) {
        assert_int_not_equal(j.rc[r], 0);
        assert_non_null(strstr(j.err[r].text, "different files"));
    }
    drop_inputs();
}

/* ---- what several ranks have ---- */

/* A set of files "v" of every rank, in out's directory; the bytes of its archives. */
static uint64_t shared_set(const char *out, int writers, int previous)
{
    struct job j = {.dir = out, .inputs = 1, .o = {.writers = writers, .previous = previous}};
    j.o.archive.no_sync = 1;
    j.o.archive.threads = 2;
    create(&j);
    for (int r = 0; r < RANKS; r++)
        if (j.rc[r])
            fail_msg("rank %d: %s", r, j.err[r].text);
    expect_all(at("%s", out), &j.set, 1);
    return j.st.stored_bytes;
}

/* Doubles of which most bits are noise. */
static double rough(int i, int rank)
{
    uint32_t h = (uint32_t)(i * 31 + rank) * 2654435761u;
    return 1 + (i % 977) * 1e-3 + (h >> 8) * 1e-9;
}

/* What all ranks have is stored once per writer, the same command gives the same bytes, and a set that did not
 * change costs nearly nothing, whether prediction is for it or not and whatever its files are called. */
static void what_ranks_have_in_common_is_stored_once(void **state)
{
    enum { COMMON = 400000, OWN = 30000 };
    static uint8_t file[COMMON + OWN];
    for (int r = 0; r < RANKS; r++) {
        uint64_t s = 1;
        for (size_t i = 0; i < sizeof file; i++) {
            s = i == COMMON ? (uint64_t)r + 2 : s;
            s = s * 6364136223846793005u + 1442695040888963407u;
            /* each rank has what is common at another place */
            file[(i + (size_t)r * 12345) % sizeof file] = (uint8_t)(s >> 56);
        }
        snprintf(names[r][0], 64, "in/r%d/v", r);
        put_file(at("%s", names[r][0]), file, sizeof file);
    }
    uint64_t one = shared_set("shared1", 1, 0), two = shared_set("shared2", 2, 0);
    assert_true(one < COMMON + RANKS * OWN + COMMON / 8);
    assert_true(two < 2 * (COMMON + COMMON / 8) + RANKS * OWN);
    assert_int_equal(shared_set("shared3", 2, 0), two);
    for (int k = 1; k <= 2; k++)
        assert_true(same_file(at("shared2/set-000001.%d-of-2.ska", k), at("shared3/set-000001.%d-of-2.ska", k)));
    assert_true(shared_set("shared1", 1, 1) < one / 50);
    uint8_t *bytes = malloc(VALUES * 8 + 256);
    for (int r = 0; r < RANKS; r++) {
        snprintf(names[r][0], 64, "in/r%d/rough.nc", r);
        put_file(at("%s", names[r][0]), bytes, make_netcdf(bytes, VALUES, rough, r));
    }
    free(bytes);
    one = shared_set("shared4", 1, 0);
    for (int r = 0; r < RANKS; r++) {
        snprintf(names[r][0], 64, "in/r%d/renamed.nc", r);
        assert_int_equal(rename(at("in/r%d/rough.nc", r), at("%s", names[r][0])), 0);
    }
    assert_true(shared_set("shared4", 1, 1) < one / 50);
}

/* ---- failures ---- */

static const char *bad_op, *bad_path;
static int bad_errno;
static int fail_there(const char *op, const char *path)
{
    return !strcmp(op, bad_op) && strstr(path, bad_path) ? bad_errno : 0;
}

static void failures_leave_the_old_set(void **state)
{
    static const struct {
        const char *op, *path, *text;
        int no;
    } cases[] = {
        {"write", ".2-of-2.ska", "2-of-2", ENOSPC}, {"read", "in/r4/a.nc", "r4/a.nc", EIO},
        {"open", "in/r2/a.nc", "r2/a.nc", EIO},     {"rename", ".1-of-2.ska", "1-of-2", EIO},
        {"fsync", ".2-of-2.ska", "2-of-2", EIO},
    };
    make_inputs();
    struct job first = {.dir = "sets3", .inputs = FILES, .o = {.writers = 2}};
    create(&first);
    assert_int_equal(first.rc[0], 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job j = {.dir = "sets3", .inputs = FILES, .o = {.writers = 2}};
        bad_op = cases[i].op;
        bad_path = cases[i].path;
        bad_errno = cases[i].no;
        sk_io_hook = fail_there;
        create(&j);
        sk_io_hook = NULL;
        for (int r = 0; r < RANKS; r++) {
            if (!j.rc[r])
                fail_msg("case %zu: rank %d does not know of it", i, r);
            if (!strstr(j.err[r].text, cases[i].text))
                fail_msg("case %zu, rank %d: %s", i, r, j.err[r].text);
        }
        assert_int_equal(count_files(at("sets3")), 2);
        expect_all(at("sets3"), &first.set, FILES);
    }
    drop_inputs();
}

/* The process dies at the N-th operation, whatever thread makes it: the directory holds a whole set
 * at any time, and the next run leaves nothing of the dead one. */
static void a_crash_leaves_a_whole_set(void **state)
{
    make_inputs();
    struct job first = {.dir = "sets4", .inputs = FILES, .o = {.writers = 2}};
    create(&first);
    assert_int_equal(first.rc[0], 0);
    int crashes = 0;
    for (int n = 1;; n++) {
        pid_t pid = sk_testing_fork();
        if (!pid) {
            struct job j = {.dir = "sets4", .inputs = FILES, .o = {.writers = 2}};
            bad_io_at("/sets4", n, 0);
            create(&j);
            _exit(j.rc[0] != 0);
        }
        int status;
        waitpid(pid, &status, 0);
        struct sk_ska_set s;
        assert_int_equal(sk_ska_set_newest(at("sets4"), &s, NULL), 0);
        assert_int_equal(s.parts, 2);
        expect_all(at("sets4"), &s, FILES);
        if (WIFEXITED(status) && !WEXITSTATUS(status))
            break;
        assert_int_equal(WEXITSTATUS(status), 42);
        crashes++;
        assert_true(n < 1000);
    }
    assert_true(crashes > 10);
    assert_int_equal(count_files(at("sets4")), 2);
    drop_inputs();
}

/* ---- back to ranks ---- */

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

/* Bytes that no compressor makes smaller. */
static void make_noise(void)
{
    make_inputs();
    for (int r = 0; r < RANKS; r++) {
        lcg = 3 + (uint32_t)r;
        for (int i = 0; i < IN_MEMORY; i++)
            memory[r][i] = (uint8_t)(noise() * 2654435761u >> 13);
        assert_int_equal(sk_io_replace(at("%s", names[r][2]), memory[r], IN_MEMORY, NULL), 0);
    }
}

static void a_set_builds_on_the_one_before_or_not(void **state)
{
    make_noise();
    struct job first = {.dir = "sets8", .inputs = FILES, .o = {.writers = 2, .previous = 1}};
    create(&first);
    assert_int_equal(first.rc[0], 0);
    assert_int_equal(first.st.depth, 0); /* there was none */
    struct job second = first;
    create(&second);
    assert_int_equal(second.rc[0], 0);
    assert_int_equal(second.st.depth, 1);
    assert_true(second.st.stored_bytes < first.st.stored_bytes / 2);
    assert_int_equal(count_files(at("sets8")), 4);
    expect_all(at("sets8"), &second.set, FILES);
    struct job third = second;
    third.o.previous = 0;
    create(&third);
    assert_int_equal(third.rc[0], 0);
    assert_int_equal(third.st.depth, 0);
    assert_int_equal(third.st.stored_bytes, first.st.stored_bytes);
    assert_int_equal(third.set.number, 3);
    assert_int_equal(count_files(at("sets8")), 2);
    expect_all(at("sets8"), &third.set, FILES);
    drop_inputs();
}

/* One rank gives more files than fit into one message of what it is asked for. */
enum { MANY = 4000 };

static int create_many(struct sk_group *g, void *arg)
{
    static char name[MANY][16];
    static uint16_t value[MANY];
    static struct sk_archive_input in[MANY];
    struct saikai_error *err = arg;
    struct sk_collect_options o = {.writers = 1, .archive = {.no_sync = 1}};
    for (int i = 0; g->rank && i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "many/%d", i);
        value[i] = (uint16_t)(i * 3 + 1);
        in[i] = (struct sk_archive_input){.path = name[i], .name = name[i], .data = &value[i], .bytes = sizeof value[i]};
    }
    return sk_collect_create(g, at("sets10"), in, g->rank ? MANY : 0, &o, NULL, NULL, g->rank ? NULL : err);
}

static void a_rank_may_have_many_files(void **state)
{
    struct saikai_error err = {0};
    struct sk_inside *s = NULL;
    if (sk_loop_run(2, create_many, &err))
        fail_msg("%s", err.text);
    assert_int_equal(sk_inside_new(0, &s, NULL), 0);
    assert_int_equal(sk_inside_add(s, at("sets10/set-000001.1-of-1.ska"), NULL), 0);
    for (int i = 0; i < MANY; i++) {
        uint16_t value = 0;
        assert_int_equal(sk_inside_read(s, (size_t)i, 0, &value, sizeof value, NULL), 0);
        assert_int_equal(value, i * 3 + 1);
    }
    sk_inside_release(s);
}

struct large {
    uint64_t memory;
    uint8_t *data;
    struct sk_ska_set set;
};
enum { LARGE = 6 << 20 };

static int create_large(struct sk_group *g, void *arg)
{
    struct large *l = arg;
    struct sk_collect_options o = {.writers = 1, .archive = {.no_sync = 1, .threads = 1, .memory_bytes = l->memory}};
    struct sk_archive_input in = {.path = "large", .name = "large", .data = l->data, .bytes = LARGE};
    return sk_collect_create(g, at("sets11"), &in, !g->rank, &o, NULL, g->rank ? NULL : &l->set, NULL);
}

/* How long the first block is. */
static uint64_t block_of(int ranks, uint64_t bytes, uint8_t *data)
{
    struct large l = {.memory = bytes, .data = data};
    char path[512];
    struct sk_ska a = {0};
    assert_int_equal(sk_loop_run(ranks, create_large, &l), 0);
    assert_int_equal(sk_ska_set_path(&l.set, at("sets11"), 1, path, sizeof path, NULL), 0);
    assert_int_equal(sk_archive_open(path, &a, NULL), 0);
    uint64_t n = a.blocks[0].size_bytes;
    sk_ska_free(&a);
    return n;
}

/* An eighth of a writer's memory is for the messages of those that have it write, if there are any. */
static void blocks_fit_into_the_memory_with_the_messages(void **state)
{
    uint8_t *data = malloc(LARGE);
    for (int i = 0; i < LARGE; i++)
        data[i] = (uint8_t)(noise() * 2654435761u >> 13);
    uint64_t alone = block_of(1, 16 << 20, data);
    assert_true(alone > 1 << 20 && alone < 2 << 20);
    assert_true(block_of(2, 16 << 20, data) < alone);
    assert_int_equal(block_of(2, 16 << 20, data), block_of(1, 14 << 20, data));
    free(data);
}

static void expect_refused(struct job *j, const char *why)
{
    create(j);
    for (int r = 0; r < RANKS; r++) {
        assert_int_not_equal(j->rc[r], 0);
        if (!strstr(j->err[r].text, why))
            fail_msg("rank %d: %s", r, j->err[r].text);
    }
}

static void a_directory_is_for_one_set_at_a_time(void **state)
{
    make_inputs();
    struct job j = {.dir = "sets9", .inputs = FILES, .o = {.writers = 2}};
    assert_int_equal(sk_io_mkdirs(at("sets9"), NULL), 0);
    int fd = open(at("sets9"), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    expect_refused(&j, "another program is making a set");
    assert_int_equal(count_files(at("sets9")), 0);
    close(fd);
    /* what one that died left is gone before anything is written: it may be what fills the disk */
    touch(at("sets9/set-000001.2-of-2.ska.123.tmp"));
    bad_op = "write";
    bad_path = "of-2.ska";
    bad_errno = ENOSPC;
    sk_io_hook = fail_there;
    expect_refused(&j, "of-2.ska");
    sk_io_hook = NULL;
    assert_int_equal(count_files(at("sets9")), 0);
    create(&j);
    assert_int_equal(j.rc[0], 0);
    assert_int_equal(count_files(at("sets9")), 2);
    j.dir = "sets9/set-000001.1-of-2.ska/below"; /* no directory */
    expect_refused(&j, "sets9/set-000001.1-of-2.ska");
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
        assert_int_not_equal(b.rc[r], 0);
        assert_non_null(strstr(b.err[r].text, "back/3"));
    }
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < FILES; i++)
            assert_int_equal(access(at("back/%d/%s", r * 4 / RANKS, names[r][i]), F_OK), -1);
    for (int turn = 0; turn < 4; turn++) {
        void *data = NULL;
        size_t n = 0;
        assert_int_equal(sk_io_slurp(path, 1 << 30, &data, &n, NULL), 0);
        ((uint8_t *)data)[200 + n / 5 * (size_t)turn] ^= 4;
        assert_int_equal(sk_io_replace(path, data, n, NULL), 0);
        free(data);
        extract(&b, 3 + turn);
        for (int r = 0; r < 3 + turn; r++) {
            assert_int_not_equal(b.rc[r], 0);
            if (!strstr(b.err[r].text, "2-of-2"))
                fail_msg("turn %d rank %d: %s", turn, r, b.err[r].text);
        }
        assert_int_equal(access(at("back/0/%s", names[0][0]), F_OK), -1);
    }
    drop_inputs();
}

/* ---- messages ---- */

static void lists_and_requests_come_back(void **state)
{
    struct sk_listed l[2] = {{.name = strdup("a"), .size_bytes = 100, .mode = 0644, .origin = 3},
                             {.name = strdup("b/c"), .size_bytes = 7, .mtime_ns = -5}},
                     *got = NULL;
    struct sk_extent e = {
        .offset = 8, .length = 48, .type = SAIKAI_F64, .ndims = 2, .dims = {2, 3}};
    struct sk_buf b = {0};
    size_t n = 0;
    assert_int_equal(sk_scan_add(&l[0].scan, &e, "g/v"), 0);
    assert_int_equal(sk_chunks_add(&l[0].chunks, &(struct sk_file_chunk){77, 60, 1}), 0);
    assert_int_equal(sk_chunks_add(&l[0].chunks, &(struct sk_file_chunk){78, 40, 0}), 0);
    l[0].scan.form = sk_reader_netcdf3.name;
    sk_wire_put_list(&b, l, 2);
    assert_int_equal(sk_wire_get_list(b.data, b.len, &got, &n), 0);
    assert_int_equal(n, 2);
    assert_string_equal(got[1].name, "b/c");
    assert_int_equal(got[1].mtime_ns, -5);
    assert_int_equal(got[0].origin, 3);
    assert_ptr_equal(got[0].scan.form, l[0].scan.form);
    assert_int_equal(got[0].scan.count, 1);
    assert_int_equal(got[0].scan.extents[0].dims[1], 3);
    assert_string_equal(got[0].scan.extents[0].name, "g/v");
    assert_int_equal(got[0].chunks.count, 2);
    assert_int_equal(got[0].chunks.list[0].hash, 77);
    assert_int_equal(got[0].chunks.list[0].plain, 1);
    assert_int_equal(got[0].chunks.list[1].bytes, 40);
    assert_int_equal(got[1].chunks.count, 0);
    struct sk_buf bad = {0};
    l[0].chunks.list[1].bytes++; /* more than the file has */
    sk_wire_put_list(&bad, l, 1);
    for (int i = 0; i < 2; i++) {
        sk_listed_free(&l[i]);
        sk_listed_free(&got[i]);
    }
    free(got);
    assert_int_equal(sk_wire_get_list(bad.data, bad.len, &got, &n), SAIKAI_EDAMAGED);
    sk_buf_free(&bad);
    for (size_t cut = 0; cut < b.len; cut++)
        assert_int_equal(sk_wire_get_list(b.data, cut, &got, &n), SAIKAI_EDAMAGED);
    b.len = 0;
    struct sk_ska_range r[2] = {{5, 10, 20, NULL}, {6, 0, 7, NULL}}, *back = NULL;
    uint64_t sizes[2] = {30, 7}, total = 0;
    sk_wire_put_ranges(&b, r, 2, 5);
    assert_int_equal(sk_wire_get_ranges(b.data, b.len, sizes, 2, &back, &n, &total), 0);
    assert_int_equal(total, 27);
    assert_int_equal(back[1].file, 1);
    free(back);
    sizes[0] = 29;
    assert_int_equal(sk_wire_get_ranges(b.data, b.len, sizes, 2, &back, &n, &total),
                     SAIKAI_EDAMAGED);
    assert_int_equal(sk_wire_get_ranges(b.data, b.len, sizes, 1, &back, &n, &total),
                     SAIKAI_EDAMAGED);
    sk_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_a_store),
        cmocka_unit_test(arranges),
        cmocka_unit_test(knows_whole_sets),
        cmocka_unit_test(many_ranks_few_writers),
        cmocka_unit_test(shared_files_have_one_owner),
        cmocka_unit_test(what_ranks_have_in_common_is_stored_once),
        cmocka_unit_test(failures_leave_the_old_set),
        cmocka_unit_test(a_crash_leaves_a_whole_set),
        cmocka_unit_test(each_rank_gets_its_files),
        cmocka_unit_test(files_go_where_the_caller_says),
        cmocka_unit_test(a_set_builds_on_the_one_before_or_not),
        cmocka_unit_test(a_rank_may_have_many_files),
        cmocka_unit_test(blocks_fit_into_the_memory_with_the_messages),
        cmocka_unit_test(a_directory_is_for_one_set_at_a_time),
        cmocka_unit_test(damage_and_full_disks_are_told_to_all),
        cmocka_unit_test(lists_and_requests_come_back),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
