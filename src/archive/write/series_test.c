/* Archives that build on each other, made by one process. */
#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "base/host/fork_testing.h"
#include "archive/write/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/host/open_files_testing.h"

enum { SERIES_BYTES = 1500000 };

/* Bytes that no compressor shrinks, of which a few change from set to set. */
static void make_state(const char *path, int set)
{
    static uint8_t file[SERIES_BYTES];
    static uint32_t words[SERIES_BYTES / 4];
    if (!words[0])
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            words[i] = noise();
    memcpy(file, words, sizeof file);
    for (size_t i = 0; i < sizeof file; i += 5000)
        file[i] = (uint8_t)(i / 5000 * 7 + (size_t)set);
    put_file(path, file, sizeof file);
}

static int create(int set, const char *previous, const struct sk_archive_options *opt,
                  uint64_t *stored, struct saikai_error *err)
{
    struct sk_archive_input in = {.path = at("series/set%d", set), .name = "state"};
    struct sk_archive_options o = opt ? *opt : (struct sk_archive_options){0};
    struct sk_archive_stats st = {0};
    o.no_sync = 1;
    o.previous = previous;
    int rc = sk_archive_create(at("series/%d.ska", set), &in, 1, &o, &st, err);
    if (stored)
        *stored = st.stored_bytes;
    return rc;
}

static void expect_restored(const char *archive, const char *state)
{
    struct saikai_error err = {0};
    if (sk_archive_extract(archive, at("back"), NULL, NULL, &err))
        fail_msg("%s", err.text);
    if (!same_file(state, at("back/state")))
        fail_msg("%s gives something else than %s", archive, state);
    sk_io_rmtree(at("back"), NULL);
}

static void a_series_builds_on_the_set_before(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_archive_options two = {.chain = 2};
    uint64_t alone, n;
    sk_io_mkdirs(at("series"), NULL);
    for (int i = 0; i < 4; i++)
        make_state(at("series/set%d", i), i);
    assert_int_equal(create(0, NULL, &two, &alone, &err), 0);
    assert_true(alone > SERIES_BYTES / 2);
    assert_int_equal(create(1, at("series/0.ska"), &two, &n, &err), 0);
    assert_true(n < alone / 20);
    assert_int_equal(create(2, at("series/1.ska"), &two, &n, &err), 0);
    assert_true(n < alone / 20);
    /* the third in a row stands alone again */
    assert_int_equal(create(3, at("series/2.ska"), &two, &n, &err), 0);
    assert_true(n > alone / 2);
    for (int i = 0; i < 4; i++)
        expect_restored(at("series/%d.ska", i), at("series/set%d", i));
}

/* Without a pattern in its lower bits. */
static uint8_t byte(void)
{
    return (uint8_t)(noise() * 2654435761u >> 24);
}

/* Two files, each of values of its own, values that both have, and records of which a quarter changes from set to set. */
enum { OWN_BYTES = 400000, BOTH_BYTES = 460000, RECORD = 32, RECORDS = 16000, MOVED_BYTES = OWN_BYTES + BOTH_BYTES + RECORD * RECORDS };
static void make_moved(uint8_t (*state)[MOVED_BYTES], const char *path, int set, int file)
{
    uint8_t *s = state[file];
    for (int i = 0; i < MOVED_BYTES && !set; i++)
        s[i] = file && i >= OWN_BYTES && i < OWN_BYTES + BOTH_BYTES ? state[0][i] : byte();
    for (int i = OWN_BYTES + BOTH_BYTES; i < MOVED_BYTES; i += RECORD)
        for (int k = RECORD / 4 * 3; k < RECORD; k++)
            s[i + k] = byte();
    put_file(path, s, MOVED_BYTES);
}

/* What a file has twice, or another one has, too, is at another place of what is compared than it was in the set before. */
static void what_moved_is_found(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    uint64_t bytes[2] = {0};
    uint8_t(*values)[MOVED_BYTES] = malloc(2 * sizeof *values);
    assert_non_null(values);
    sk_io_mkdirs(at("moved"), NULL);
    for (int set = 0; set < 2; set++) {
        struct sk_archive_input in[2] = {{.path = at("moved/%d-%d", set, 0), .name = "a"}, {.path = at("moved/%d-%d", set, 1), .name = "b"}};
        struct sk_archive_options o = {.no_sync = 1, .previous = set ? at("moved/0.ska") : NULL};
        struct sk_archive_stats st = {0};
        for (int f = 0; f < 2; f++)
            make_moved(values, in[f].path, set, f);
        if (sk_archive_create(at("moved/%d.ska", set), in, 2, &o, &st, &err))
            fail_msg("%s", err.text);
        bytes[set] = st.stored_bytes;
    }
    free(values);
    assert_true(bytes[0] > MOVED_BYTES);
    assert_true(bytes[1] < 2 * RECORDS * RECORD / 4 * 5 / 4);
    if (sk_archive_extract(at("moved/1.ska"), at("back"), NULL, NULL, &err))
        fail_msg("%s", err.text);
    assert_true(same_file(at("moved/1-0"), at("back/a")) && same_file(at("moved/1-1"), at("back/b")));
    sk_io_rmtree(at("back"), NULL);
}

/* Pieces of text that come again far away and in another order: an archive of them is one stream. */
enum { PIECE = 3000, PIECES = 1500 };
static void make_stream(char (*pieces)[PIECE], const char *path, int set)
{
    char(*file)[PIECE] = malloc(2 * PIECES * sizeof *file);
    assert_non_null(file);
    for (int i = 0; i < PIECES; i++)
        for (int k = 0; k < PIECE && (!set || i % 5 == 0); k++)
            pieces[i][k] = (char)('a' + byte() % 16);
    for (int i = 0; i < 2 * PIECES; i++)
        memcpy(file[i], pieces[i < PIECES ? i : i * 7 % PIECES], PIECE);
    put_file(path, file, 2 * PIECES * sizeof *file);
    free(file);
}

static void a_stream_builds_on_a_stream(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    uint64_t alone, n;
    char(*pieces)[PIECE] = malloc(PIECES * sizeof *pieces);
    assert_non_null(pieces);
    make_stream(pieces, at("series/set10"), 0);
    make_stream(pieces, at("series/set11"), 1);
    free(pieces);
    assert_int_equal(create(10, NULL, NULL, &alone, &err), 0);
    assert_true(alone < (uint64_t)PIECES * PIECE * 6 / 10);
    assert_int_equal(create(11, at("series/10.ska"), NULL, &n, &err), 0);
    if (n > alone / 10 * 3)
        fail_msg("%llu bytes after one of %llu", (unsigned long long)n, (unsigned long long)alone);
    expect_restored(at("series/11.ska"), at("series/set11"));
}

enum { MANY = 120, SMALL_FILE = 6000 };
static long looks;
static int count_looks(const char *op, const char *path)
{
    if (!strcmp(op, "open") && strstr(path, "/many/"))
        __atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED);
    return 0;
}

/* Files of equal size, of which file i holds what `seed` and `turn` say, under names in a row; previous: -1 none. */
static uint64_t create_many(int number, int previous, uint32_t seed, int turn)
{
    static uint32_t words[SMALL_FILE / 4];
    struct sk_archive_input in[MANY];
    struct sk_archive_options o = {.no_sync = 1};
    struct sk_archive_stats st = {0};
    struct saikai_error err = {0};
    static char path[MANY][128], name[MANY][16];
    for (int i = 0; i < MANY; i++) {
        lcg = seed + (uint32_t)((i + turn) % MANY) * 7919;
        for (size_t k = 0; k < SMALL_FILE / 4; k++)
            words[k] = noise() * 2654435761u;
        snprintf(name[i], sizeof name[i], "f%d", i);
        snprintf(path[i], sizeof path[i], "%s", at("many/f%d", i));
        put_file(path[i], words, sizeof words);
        in[i] = (struct sk_archive_input){.path = path[i], .name = name[i]};
    }
    o.previous = previous < 0 ? NULL : at("series/many%d.ska", previous);
    looks = 0;
    sk_io_hook = count_looks;
    if (sk_archive_create(at("series/many%d.ska", number), in, MANY, &o, &st, &err))
        fail_msg("%s", err.text);
    sk_io_hook = NULL;
    return st.stored_bytes;
}

static void expect_many(int number)
{
    struct saikai_error err = {0};
    if (sk_archive_extract(at("series/many%d.ska", number), at("back"), NULL, NULL, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < MANY; i++)
        assert_true(same_file(at("many/f%d", i), at("back/f%d", i)));
    sk_io_rmtree(at("back"), NULL);
}

/* Many files of one size are each looked at a few times, and not once for each of the others; they are found again under other names. */
static void many_files_of_one_size(void **state)
{
    (void)state;
    uint64_t alone = create_many(0, -1, 1, 0);
    long usual = looks;
    assert_true(alone > MANY * SMALL_FILE / 2);
    assert_true(create_many(1, 0, 1, 17) < alone / 20);
    expect_many(1);
    assert_true(create_many(2, 0, 77, 0) > alone / 2);
    assert_true(looks < usual + 5 * MANY);
    expect_many(2);
}

static void what_others_build_on_is_not_replaced(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    assert_int_equal(create(1, NULL, NULL, NULL, &err), SAIKAI_EEXIST);
    assert_non_null(strstr(err.text, "2.ska"));
    expect_restored(at("series/2.ska"), at("series/set2"));
    /* the last one can be */
    assert_int_equal(create(2, at("series/1.ska"), NULL, NULL, &err), 0);
    expect_restored(at("series/2.ska"), at("series/set2"));
}

static void a_gap_is_an_error(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    assert_int_equal(rename(at("series/0.ska"), at("series/gone")), 0);
    assert_int_equal(sk_archive_extract(at("series/2.ska"), at("back"), NULL, NULL, &err),
                     SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "0.ska"));
    assert_int_not_equal(access(at("back/state"), F_OK), 0);
    assert_int_equal(create(3, at("series/2.ska"), NULL, NULL, &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "0.ska"));
    /* another archive of that name is not taken for it */
    assert_int_equal(sk_io_rename(at("series/3.ska"), at("series/0.ska"), &err), 0);
    assert_int_equal(sk_archive_extract(at("series/2.ska"), NULL, NULL, NULL, &err),
                     SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "0.ska"));
    assert_int_equal(rename(at("series/gone"), at("series/0.ska")), 0);
    assert_int_equal(sk_archive_extract(at("series/2.ska"), NULL, NULL, NULL, &err), 0);
    /* only another archive beside the new one will do */
    put_file(at("elsewhere/x"), "x", 1);
    assert_int_equal(link(at("series/0.ska"), at("elsewhere/0.ska")), 0);
    assert_int_equal(create(3, at("elsewhere/0.ska"), NULL, NULL, &err), SAIKAI_EINVAL);
    assert_int_equal(create(3, at("series/missing.ska"), NULL, NULL, &err), SAIKAI_ENOENT);
    assert_int_equal(create(2, at("series/2.ska"), NULL, NULL, &err), SAIKAI_EINVAL);
}

/* However many are asked for, an archive that is written can be read. */
static void there_is_an_end_to_a_chain(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_archive_options many = {.chain = 1000};
    uint64_t n = 0;
    int bases = 0;
    for (int i = 100; i < 135; i++) {
        make_state(at("series/set%d", i), i);
        assert_int_equal(create(i, i == 100 ? NULL : at("series/%d.ska", i - 1), &many, &n, &err),
                         0);
        bases += n > SERIES_BYTES / 2;
    }
    assert_int_equal(bases, 2);
    for (int i = 100; i < 135; i += 16)
        expect_restored(at("series/%d.ska", i), at("series/set%d", i));
    for (int i = 100; i < 135; i++) {
        sk_io_unlink(at("series/%d.ska", i), NULL);
        sk_io_unlink(at("series/set%d", i), NULL);
    }
}

/* Blocks find what they resemble also where the previous archive has other ones. */
static void other_block_sizes(void **state)
{
    (void)state;
    static const uint64_t unit[] = {300 << 10, 1 << 20, 500 << 10};
    struct saikai_error err = {0};
    uint64_t n = 0;
    for (int i = 0; i < 3; i++) {
        struct sk_archive_options o = {.unit_bytes = unit[i], .threads = 3};
        make_state(at("series/set%d", 200 + i), i);
        assert_int_equal(create(200 + i, i ? at("series/%d.ska", 199 + i) : NULL, &o, &n, &err), 0);
        assert_true(!i || n < SERIES_BYTES * 3 / 4);
        expect_restored(at("series/%d.ska", 200 + i), at("series/set%d", 200 + i));
    }
}

/* Whatever byte of an archive below is wrong: the right file, or an error. */
static void damage_below_is_found(void **state)
{
    (void)state;
    int errors = 0, tries = 0;
    for (int which = 0; which < 2; which++) {
        struct saikai_error err = {0};
        void *data = NULL;
        size_t n = 0;
        char path[512];
        snprintf(path, sizeof path, "%s", at("series/%d.ska", which));
        assert_int_equal(sk_io_slurp(path, 1 << 28, &data, &n, &err), 0);
        for (size_t i = 0; i < n; i += i < 16 || i + 64 > n ? 1 : n / 41) {
            ((uint8_t *)data)[i] ^= 0x20;
            put_file(path, data, n);
            ((uint8_t *)data)[i] ^= 0x20;
            tries++;
            int rc = sk_archive_extract(at("series/2.ska"), at("back"), NULL, NULL, &err);
            if (!rc && !same_file(at("series/set2"), at("back/state")))
                fail_msg("byte %zu of %d.ska: wrong data", i, which);
            if (rc && rc != SAIKAI_EDAMAGED && rc != SAIKAI_EFORMAT)
                fail_msg("byte %zu of %d.ska: %d", i, which, rc);
            if (rc && !strstr(err.text, ".ska"))
                fail_msg("byte %zu of %d.ska: %s", i, which, err.text);
            errors += rc != 0;
            sk_io_rmtree(at("back"), NULL);
            /* nor is anything built on it that cannot be read */
            if (i % 3 == 0 && !create(3, at("series/2.ska"), NULL, NULL, &err))
                expect_restored(at("series/3.ska"), at("series/set3"));
        }
        put_file(path, data, n);
        free(data);
    }
    assert_true(errors > tries / 5);
    expect_restored(at("series/2.ska"), at("series/set2"));
}

/* ---- failing I/O ---- */

static void a_full_disk_leaves_the_series(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    int failures = 0;
    for (int i = 1, done = 0; !done; i++) {
        assert_true(i < 1000);
        put_file(at("series/3.ska"), "old", 3);
        bad_io_at("/series/", i, ENOSPC);
        int rc = create(3, at("series/2.ska"), NULL, NULL, &err);
        done = bad_io.left > 0;
        sk_io_hook = NULL;
        /* whether others build on 3.ska is looked for as well as can be */
        if (rc != SAIKAI_ENOSPC)
            assert_int_equal(rc, 0);
        failures += rc != 0;
        struct stat st;
        assert_int_equal(stat(at("series/3.ska"), &st), 0);
        if (!rc || st.st_size != 3)
            expect_restored(at("series/3.ska"), at("series/set3"));
        DIR *d = opendir(at("series"));
        for (struct dirent *e; (e = readdir(d));)
            assert_null(strstr(e->d_name, ".tmp"));
        closedir(d);
    }
    assert_true(failures > 10);
    expect_restored(at("series/2.ska"), at("series/set2"));
}

static void a_crash_leaves_the_series(void **state)
{
    (void)state;
    int died = 0;
    for (int i = 1, done = 0; !done; i++) {
        int status;
        assert_true(i < 1000);
        put_file(at("series/3.ska"), "old", 3);
        pid_t pid = sk_testing_fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            bad_io_at("/series/", i, 0);
            _exit(create(3, at("series/2.ska"), NULL, NULL, NULL) != 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
        done = WEXITSTATUS(status) == 0;
        died += !done;
        struct stat st;
        assert_int_equal(stat(at("series/3.ska"), &st), 0);
        if (done || st.st_size != 3)
            expect_restored(at("series/3.ska"), at("series/set3"));
        expect_restored(at("series/2.ska"), at("series/set2"));
    }
    assert_true(died > 10);
}

/* ---- memory ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { UNDER_SANITIZER = 1 }; /* which keeps what is freed */
#else
enum { UNDER_SANITIZER = 0 };
#endif

enum { LARGE = 48 << 20, LINKS = 9, LIMIT = 64 << 20, PROGRAM = 16 << 20 };

static void make_large(const char *path, int set)
{
    uint32_t *file = malloc(LARGE);
    assert_non_null(file);
    lcg = 7;
    for (size_t i = 0; i < LARGE / 4; i++)
        file[i] = noise() * 2654435761u;
    for (size_t i = 0; i < LARGE / 4; i += 20000)
        file[i] = (uint32_t)(i / 20000 * 7 + (size_t)set);
    put_file(path, file, LARGE);
    free(file);
}

static int create_large(int set)
{
    struct sk_archive_options o = {.memory_bytes = LIMIT, .threads = 2};
    return create(set, set > 300 ? at("series/%d.ska", set - 1) : NULL, &o, NULL, NULL);
}

static int extract_large(int set)
{
    struct sk_extract_options o = {.memory_bytes = LIMIT, .threads = 4, .no_sync = 1};
    return sk_archive_extract(at("series/%d.ska", set), at("back"), &o, NULL, NULL);
}

static int (*const work[])(int set) = {create_large, extract_large};

/* This program again, to do one thing: the most memory that it had, in bytes, or that this
 * one had at the fork. */
static uint64_t peak_of(int what, int set)
{
    struct rusage used;
    char number[16], task[16];
    int status;
    snprintf(number, sizeof number, "%d", set);
    snprintf(task, sizeof task, "%d", what);
    pid_t pid = sk_testing_fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execl("/proc/self/exe", "series_test", task, number, base, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(wait4(pid, &status, 0, &used), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return (uint64_t)used.ru_maxrss * 1024;
}

static void a_long_chain_keeps_to_its_memory(void **state)
{
    (void)state;
    struct sk_ska a = {0};
    uint64_t most[2] = {0};
    for (int i = 300; i < 300 + LINKS; i++) {
        make_large(at("series/set%d", i), i);
        uint64_t n = peak_of(0, i);
        most[0] = n > most[0] ? n : most[0];
        if (i + 1 < 300 + LINKS)
            sk_io_unlink(at("series/set%d", i), NULL);
    }
    assert_int_equal(sk_archive_open(at("series/%d.ska", 299 + LINKS), &a, NULL), 0);
    assert_int_equal(a.depth, LINKS - 1);
    sk_ska_free(&a);
    most[1] = peak_of(1, 299 + LINKS);
    assert_true(same_file(at("series/set%d", 299 + LINKS), at("back/state")));
    print_message("peak: creating %.1f, extracting %.1f MiB\n", (double)most[0] / (1 << 20),
                  (double)most[1] / (1 << 20));
    if (!UNDER_SANITIZER)
        assert_true(most[0] < LIMIT + PROGRAM && most[1] < LIMIT + PROGRAM);
}

/* A tree of small files whose names, times and hashes are most of what there is to say of it when nothing has changed. */
enum { TREE = 900, TREE_FILE = 1200 };
static uint64_t create_tree(int number, const char *previous, int changed)
{
    static struct sk_archive_input in[TREE];
    static uint32_t words[TREE][TREE_FILE / 4];
    static char name[TREE][48];
    struct sk_archive_options o = {.no_sync = 1, .previous = previous};
    struct sk_archive_stats st = {0};
    struct saikai_error err = {0};
    for (int i = 0; i < TREE; i++) {
        lcg = (uint32_t)i * 7919 + 5 + (i < changed ? (uint32_t)number : 0);
        for (size_t k = 0; k < TREE_FILE / 4; k++)
            words[i][k] = noise() * 2654435761u;
        snprintf(name[i], sizeof name[i], "%02x/%08x.%d", noise() & 15, noise() * 2654435761u, i);
        in[i] = (struct sk_archive_input){.path = name[i], .name = name[i], .data = words[i], .bytes = TREE_FILE};
    }
    if (sk_archive_create(at("series/tree%d.ska", number), in, TREE, &o, &st, &err))
        fail_msg("%s", err.text);
    return st.stored_bytes;
}

/* One row after another: unchanged, unchanged, a few changed. */
static void an_unchanged_tree_takes_nearly_nothing(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_ska a = {0};
    uint8_t head[SK_SKA_HEADER_BYTES];
    uint64_t alone = create_tree(500, NULL, 0);
    for (int i = 501; i < 504; i++) {
        uint64_t n = create_tree(i, at("series/tree%d.ska", i - 1), i < 503 ? 0 : 9), most = i < 503 ? alone / 500 : 9 * TREE_FILE + alone / 100;
        if (n > most)
            fail_msg("%d: %llu of %llu bytes", i, (unsigned long long)n, (unsigned long long)alone);
    }
    assert_int_equal(sk_archive_open(at("series/tree502.ska"), &a, NULL), 0);
    assert_int_equal(a.needs, SK_SKA_INDEX_AFTER);
    assert_int_equal(a.depth, 2);
    assert_int_equal(a.file_count, TREE);
    sk_ska_free(&a);
    int fd = open(at("series/tree502.ska"), O_RDONLY);
    assert_int_equal(pread(fd, head, sizeof head, 0), sizeof head);
    close(fd);
    assert_int_equal(head[8], SK_SKA_INDEX_AFTER);
    if (sk_archive_extract(at("series/tree503.ska"), NULL, NULL, NULL, &err) || sk_archive_extract(at("series/tree502.ska"), NULL, NULL, NULL, &err))
        fail_msg("%s", err.text);
    /* without one of the row, or with another one of its name, it is said which */
    assert_int_equal(rename(at("series/tree501.ska"), at("series/away.ska")), 0);
    assert_int_equal(sk_archive_open(at("series/tree503.ska"), &a, &err), SAIKAI_ENOENT);
    if (!strstr(err.text, "tree501.ska, which is missing: put it back") || !strstr(err.text, "tree503.ska"))
        fail_msg("%s", err.text);
    create_tree(501, NULL, 3);
    assert_int_equal(sk_archive_open(at("series/tree502.ska"), &a, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "another archive than the one that is called"));
    assert_int_equal(rename(at("series/away.ska"), at("series/tree501.ska")), 0);
    assert_int_equal(sk_archive_extract(at("series/tree503.ska"), NULL, NULL, NULL, &err), 0);
}

/* Each end of one whose index comes after another's may be damaged, and those of the other one. */
static void an_index_after_another_is_there_twice(void **state)
{
    (void)state;
    create_tree(510, NULL, 0);
    create_tree(511, at("series/tree510.ska"), 0);
    for (int i = 510; i < 512; i++) {
        const char *path = at("series/tree%d.ska", i);
        void *data;
        size_t n;
        assert_int_equal(sk_io_slurp(path, 1 << 24, &data, &n, NULL), 0);
        const size_t places[] = {3, n - 1, n - SK_SKA_TRAILER_BYTES - 20};
        for (size_t k = 0; k < 3; k++) {
            struct saikai_error err = {0};
            ((uint8_t *)data)[places[k]] ^= 4;
            put_file(path, data, n);
            ((uint8_t *)data)[places[k]] ^= 4;
            if (sk_archive_extract(at("series/tree511.ska"), at("back"), NULL, NULL, &err))
                fail_msg("%d, %zu: %s", i, k, err.text);
            assert_int_equal(sk_io_rmtree(at("back"), NULL), 0);
            assert_int_equal(sk_archive_extract(path, NULL, NULL, NULL, &err), SAIKAI_EDAMAGED);
        }
        put_file(path, data, n);
        free(data);
    }
}

int main(int argc, char **argv)
{
    if (argc == 4) {
        snprintf(base, sizeof base, "%s", argv[3]);
        return work[atoi(argv[1])](atoi(argv[2])) != 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(a_long_chain_keeps_to_its_memory), /* first: what this process has at a fork counts */
        cmocka_unit_test(a_series_builds_on_the_set_before),
        cmocka_unit_test(many_files_of_one_size),
        cmocka_unit_test(what_others_build_on_is_not_replaced),
        cmocka_unit_test(a_gap_is_an_error),
        cmocka_unit_test(there_is_an_end_to_a_chain),
        cmocka_unit_test(other_block_sizes),
        cmocka_unit_test(damage_below_is_found),
        cmocka_unit_test(a_full_disk_leaves_the_series),
        cmocka_unit_test(a_crash_leaves_the_series),
        cmocka_unit_test(what_moved_is_found),
        cmocka_unit_test(a_stream_builds_on_a_stream),
        cmocka_unit_test(an_unchanged_tree_takes_nearly_nothing),
        cmocka_unit_test(an_index_after_another_is_there_twice),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
