/* Archives made by many ranks: who writes what, shared files, sets that are whole after every failure and crash. */
#include "archive/ranks/collect_testing.h"

#include "archive/plan/listing.h"
#include "archive/ranks/writers.h"
#include "base/host/fork_testing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "base/host/open_files_testing.h"

/* ---- who writes ---- */

static void expect_arranged(const char *const *hosts, int ranks, struct sk_collect_options o,
                            const int *want_writer, const int *want_place, int want_writers)
{
    int writer[16], place[16], writers = 0;
    assert_int_equal(sk_writers_arrange(hosts, ranks, &o, writer, place, &writers, NULL), 0);
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
    expect_arranged(hosts, 5, (opt){.group = 5}, (int[]){0, 0, 0, 0, 0}, (int[]){0, 1, 2, 3, 4}, 1);
    expect_arranged(hosts, 5, (opt){.writers = 5}, (int[]){0, 1, 2, 3, 4}, (int[]){0, 0, 0, 0, 0}, 5);
    expect_arranged(hosts, 5, (opt){.order = SK_ORDER_NODE}, (int[]){0, 1, 0, 1, 0}, (int[]){0, 0, 1, 1, 2}, 2);
    expect_arranged(hosts, 5, (opt){.writers = 3, .order = SK_ORDER_NODE}, (int[]){0, 1, 0, 2, 1}, (int[]){0, 1, 1, 0, 0}, 3);
    int w[5], p[5], n;
    assert_int_equal(sk_writers_arrange(hosts, 5, &(opt){.writers = -1}, w, p, &n, NULL), SAIKAI_EINVAL);
    assert_int_equal(sk_writers_arrange(hosts, 5, &(opt){.group = -1}, w, p, &n, NULL), SAIKAI_EINVAL);
    assert_int_equal(sk_writers_arrange(hosts, 5, &(opt){.writers = 6}, w, p, &n, NULL),
                     SAIKAI_EINVAL);
    assert_int_equal(sk_writers_arrange(hosts, 5, &(opt){.writers = 2, .group = 2}, w, p, &n, NULL),
                     SAIKAI_EINVAL);
}

static struct {
    const char *host[RANKS];
    int writer[RANKS], place[RANKS], size[RANKS], count[RANKS];
} formed;

static int form_rank(struct sk_group *g, void *arg)
{
    struct sk_writers w;
    (void)arg;
    int r = g->rank, rc = sk_writers_form(g, &(struct sk_collect_options){.host = formed.host[r]}, &w, NULL);
    assert_int_equal(rc, 0);
    formed.writer[r] = w.writer;
    formed.place[r] = w.group->rank;
    formed.size[r] = w.group->size;
    formed.count[r] = w.count;
    sk_writers_free(&w);
    assert_null(w.group);
    return 0;
}

/* Ranks tell each other where they are; of a name that is too long its beginning counts. */
static void ranks_of_a_node_share_a_writer(void **state)
{
    enum { LONGEST = 63 };
    static char first[80], second[80];
    memset(first, 'n', sizeof first - 1);
    memset(second, 'n', sizeof second - 1);
    first[LONGEST] = 'x';
    const struct {
        const char *host[RANKS];
        int writer[RANKS], place[RANKS], count;
    } cases[] = {{{"a", "b", "a", "c", "b"}, {0, 1, 0, 2, 1}, {0, 0, 1, 0, 1}, 3},
                 {{NULL, NULL, NULL, NULL, NULL}, {0, 0, 0, 0, 0}, {0, 1, 2, 3, 4}, 1},
                 {{first, second, "n", first, second}, {0, 0, 1, 0, 0}, {0, 1, 0, 2, 3}, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(formed.host, cases[i].host, sizeof formed.host);
        assert_int_equal(sk_loop_run(RANKS, form_rank, NULL), 0);
        for (int r = 0; r < RANKS; r++) {
            int size = 0;
            for (int k = 0; k < RANKS; k++)
                size += cases[i].writer[k] == cases[i].writer[r];
            if (formed.writer[r] != cases[i].writer[r] || formed.place[r] != cases[i].place[r] || formed.size[r] != size || formed.count[r] != cases[i].count)
                fail_msg("case %zu, rank %d: writer %d of %d, place %d of %d", i, r, formed.writer[r], formed.count[r], formed.place[r], formed.size[r]);
        }
    }
    second[LONGEST - 1] = 'x'; /* the last that counts */
    sk_loop_run(RANKS, form_rank, NULL);
    assert_int_equal(formed.count[0], 3);
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

/* The most classes of any part. */
static size_t most_classes(const struct job *j)
{
    size_t most = 0;
    for (int k = 1; k <= j->set.parts; k++) {
        struct sk_ska a = {0};
        char path[512];
        assert_int_equal(sk_ska_set_path(&j->set, at("%s", j->dir), k, path, sizeof path, NULL), 0);
        assert_int_equal(sk_archive_open(path, &a, NULL), 0);
        most = a.class_count > most ? a.class_count : most;
        sk_ska_free(&a);
    }
    return most;
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
        assert_int_equal(j.last.files, RANKS * FILES);
        assert_true(j.st.scan_seconds >= 0 && j.st.seconds >= j.st.scan_seconds && j.st.seconds < 1000);
        assert_int_equal(j.st.classes, most_classes(&j));
        assert_int_equal(j.last.classes, j.st.classes);
        assert_int_equal(j.last.skeleton_bytes, j.st.skeleton_bytes); /* of all, to all */
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
        int own = 0, want = cases[i].no == ENOSPC ? SAIKAI_ENOSPC : SAIKAI_EIO;
        for (int r = 0; r < RANKS; r++) {
            own += j.rc[r] == want;
            if (!j.rc[r] || (j.rc[r] != want && j.rc[r] != SAIKAI_EPEER) || j.err[r].code != j.rc[r])
                fail_msg("case %zu: rank %d ends with %d, %d", i, r, j.rc[r], j.err[r].code);
            if (!strstr(j.err[r].text, cases[i].text))
                fail_msg("case %zu, rank %d: %s", i, r, j.err[r].text);
        }
        assert_int_equal(own, 1); /* the others hear of it */
        assert_int_equal(count_files(at("sets3")), 2);
        expect_all(at("sets3"), &first.set, FILES);
    }
    drop_inputs();
}

static atomic_int opened_often, opening_fails; /* how often a file was opened; the time that it fails */

static int fail_one_opening(const char *op, const char *path)
{
    if (strcmp(op, "open") || !strstr(path, "in/r2/a.nc"))
        return 0;
    return ++opened_often == opening_fails ? EIO : 0;
}

/* An error that passes is one all the same: whatever a file is opened for, what was not read is not taken for read. */
static void an_error_that_passes_is_told(void **state)
{
    make_inputs();
    int last = 1;
    for (int k = 1; k <= last; k++) {
        struct job j = {.dir = "sets20", .inputs = FILES, .o = {.writers = 2, .archive = {.no_sync = 1, .threads = 1}}};
        opened_often = 0;
        opening_fails = k;
        sk_io_hook = fail_one_opening;
        create(&j);
        sk_io_hook = NULL;
        last = opened_often >= k ? k + 1 : k;
        for (int r = 0; r < RANKS; r++)
            if ((j.rc[r] == 0) != (opened_often < k) || (j.rc[r] && !strstr(j.err[r].text, "r2/a.nc")))
                fail_msg("opened the %d. time: rank %d: %d '%s'", k, r, j.rc[r], j.err[r].text);
    }
    assert_true(last > 3); /* to look into it, to cut it, to store it */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(arranges),
        cmocka_unit_test(ranks_of_a_node_share_a_writer),
        cmocka_unit_test(knows_whole_sets),
        cmocka_unit_test(many_ranks_few_writers),
        cmocka_unit_test(shared_files_have_one_owner),
        cmocka_unit_test(what_ranks_have_in_common_is_stored_once),
        cmocka_unit_test(failures_leave_the_old_set),
        cmocka_unit_test(an_error_that_passes_is_told),
        cmocka_unit_test(a_crash_leaves_a_whole_set),
        cmocka_unit_test(a_set_builds_on_the_one_before_or_not),
        cmocka_unit_test(a_rank_may_have_many_files),
        cmocka_unit_test(blocks_fit_into_the_memory_with_the_messages),
        cmocka_unit_test(a_directory_is_for_one_set_at_a_time),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
