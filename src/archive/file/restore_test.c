/* What is restored: which files, directories and links, with which modes, times and holes; what is in the way; sets of archives
 * and the temporary files beside them. */
#include "archive/file/set.h"
#include "archive/file/target.h"
#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "archive/write/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/host/open_files_testing.h"

enum { FILES = 5 };
static const char *const names[FILES] = {"top", "d/one.txt", "d/two.dat", "d/e/three.txt", "other/four"};

static void make(const char *archive)
{
    static struct sk_ska_entry entries[] = {{"d", NULL, SK_ENTRY_DIRECTORY, 0750, 1000000000000000000},
                                            {"d/empty", NULL, SK_ENTRY_DIRECTORY, 0700, 1100000000000000000},
                                            {"links/soft", "/not/there", SK_ENTRY_SYMLINK, 0777, 1200000000000000000},
                                            {"links/hard", "top", SK_ENTRY_HARD_LINK, 0, 0}};
    struct sk_archive_input in[FILES];
    struct sk_archive_options o = {.entries = entries, .entry_count = 4, .no_sync = 1, .threads = 1};
    struct saikai_error err = {0};
    static const mode_t modes[FILES] = {0600, 0644, 0755, 0444, 0640};
    for (int i = 0; i < FILES; i++) {
        const char *path = at("in/%s", names[i]);
        put_file(path, names[i], strlen(names[i]));
        struct timespec when = {.tv_sec = i ? 1500000000 + i : -5, .tv_nsec = 123456789}, t[2] = {when, when}; /* one before 1970 */
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
        in[i] = (struct sk_archive_input){.path = path, .name = names[i]};
    }
    if (sk_archive_create(archive, in, FILES, &o, NULL, &err))
        fail_msg("%s", err.text);
}

/* Which files are below "out": a bit each. */
static int there(void)
{
    int found = 0;
    for (int i = 0; i < FILES; i++)
        found |= same_file(at("in/%s", names[i]), at("out/%s", names[i])) << i;
    return found;
}

static void everything_is_as_it_was(void **state)
{
    (void)state;
    struct stat a, b;
    struct saikai_error err = {0};
    char to[64] = "";
    make(at("x.ska"));
    for (int again = 0; again < 2; again++) { /* also over what is there */
        if (sk_archive_extract(at("x.ska"), at("out"), NULL, NULL, &err))
            fail_msg("%s", err.text);
        assert_int_equal(there(), 31);
        for (int i = 0; i < FILES; i++) {
            assert_int_equal(stat(at("in/%s", names[i]), &a), 0);
            assert_int_equal(stat(at("out/%s", names[i]), &b), 0);
            assert_int_equal(a.st_mode, b.st_mode);
            assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
            assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
        }
        assert_int_equal(stat(at("out/d"), &a), 0);
        assert_int_equal(a.st_mode & 07777, 0750);
        assert_int_equal(a.st_mtim.tv_sec, 1000000000);
        assert_int_equal(stat(at("out/d/empty"), &a), 0);
        assert_int_equal(a.st_mode & 07777, 0700);
        assert_int_equal(a.st_mtim.tv_sec, 1100000000);
        assert_int_equal(readlink(at("out/links/soft"), to, sizeof to), 10);
        assert_memory_equal(to, "/not/there", 10);
        assert_int_equal(lstat(at("out/links/soft"), &a), 0);
        assert_int_equal(a.st_mtim.tv_sec, 1200000000);
        assert_int_equal(stat(at("out/links/hard"), &a), 0);
        assert_int_equal(stat(at("out/top"), &b), 0);
        assert_int_equal(a.st_ino, b.st_ino);
        assert_int_equal(count_files(at("out")), 4);
    }
    sk_io_rmtree(at("out"), NULL);
}

static void what_is_asked_for_is_restored(void **state)
{
    (void)state;
    static const struct {
        const char *only, *members[2], *exclude[2];
        int files, hard, empty, missing;
    } cases[] = {{"d/*", {NULL}, {NULL}, 14, 0, 1, 0}, {NULL, {"d/e"}, {NULL}, 8, 0, 0, 0}, {NULL, {"d///"}, {NULL}, 14, 0, 1, 0},
                 {NULL, {"top", "other"}, {NULL}, 17, 0, 0, 0}, {NULL, {"d"}, {"*.txt"}, 4, 0, 1, 0}, {NULL, {NULL}, {"d"}, 17, 1, 0, 0},
                 {NULL, {NULL}, {"three.txt", "to*"}, 22, 1, 1, 0}, {NULL, {"links/hard"}, {NULL}, 1, 1, 0, 0},
                 {NULL, {"d", "e"}, {NULL}, 0, 0, 0, 1}, {NULL, {"other/fou"}, {NULL}, 0, 0, 0, 1}, {NULL, {"/"}, {NULL}, 0, 0, 0, 1},
                 {"top", {NULL}, {NULL}, 1, 0, 0, 0}, {"to", {NULL}, {NULL}, 0, 0, 0, 1}, {NULL, {"*our"}, {NULL}, 16, 0, 0, 0},
                 {NULL, {"d/empty"}, {NULL}, 0, 0, 1, 0}, {NULL, {"./d/e"}, {NULL}, 8, 0, 0, 0}, {NULL, {"/top", "//./other/"}, {NULL}, 17, 0, 0, 0},
                 {"./d/*", {NULL}, {NULL}, 14, 0, 1, 0}, {NULL, {NULL}, {"./d/"}, 17, 1, 0, 0}, {NULL, {NULL}, {"e/"}, 23, 1, 1, 0},
                 {NULL, {NULL}, {"d/e"}, 23, 1, 1, 0}};
    make(at("x.ska"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_extract_options o = {.only = cases[i].only, .members = cases[i].members, .exclude = cases[i].exclude, .no_sync = 1};
        struct sk_archive_stats st = {0};
        o.member_count = (cases[i].members[0] != NULL) + (cases[i].members[1] != NULL);
        o.exclude_count = (cases[i].exclude[0] != NULL) + (cases[i].exclude[1] != NULL);
        int rc = sk_archive_extract(at("x.ska"), at("out"), &o, &st, NULL);
        /* a file that is left out comes with its other name */
        int files = cases[i].files | cases[i].hard;
        if (rc != (cases[i].missing ? SAIKAI_ENOENT : 0) || there() != files || (access(at("out/links/hard"), F_OK) == 0) != cases[i].hard ||
            (access(at("out/d/empty"), F_OK) == 0) != cases[i].empty)
            fail_msg("case %zu: %d, files %x", i, rc, there());
        if (!rc)
            assert_int_equal(st.files, __builtin_popcount((unsigned)files));
        sk_io_rmtree(at("out"), NULL);
    }
}

/* A link to a file that is damaged is left out with it; what comes after it is restored. */
static void a_link_to_what_is_lost_is_left_out(void **state)
{
    (void)state;
    enum { LARGE = 1500000 };
    static struct sk_ska_entry entries[] = {{"links/hard", "large", SK_ENTRY_HARD_LINK, 0, 0}, {"links/soft", "small", SK_ENTRY_SYMLINK, 0777, 0}};
    struct sk_archive_input in[] = {{.path = at("in/large"), .name = "large"}, {.path = at("in/small"), .name = "small"}};
    struct sk_archive_options o = {.entries = entries, .entry_count = 2, .no_sync = 1, .threads = 1, .unit_bytes = 256 << 10};
    uint32_t *large = malloc(LARGE);
    assert_non_null(large);
    for (size_t i = 0; i < LARGE / 4; i++)
        large[i] = noise() * 2654435761u;
    put_file(in[0].path, large, LARGE);
    put_file(in[1].path, "small", 5);
    free(large);
    assert_int_equal(sk_archive_create(at("lost.ska"), in, 2, &o, NULL, NULL), 0);
    int fd = open(at("lost.ska"), O_RDWR);
    uint8_t byte;
    assert_int_equal(pread(fd, &byte, 1, 100000), 1);
    byte ^= 4;
    assert_int_equal(pwrite(fd, &byte, 1, 100000), 1);
    close(fd);
    assert_int_equal(sk_archive_extract(at("lost.ska"), at("out"), NULL, NULL, NULL), SAIKAI_EDAMAGED);
    assert_true(same_file(in[1].path, at("out/small")));
    assert_int_not_equal(access(at("out/large"), F_OK), 0);
    assert_int_not_equal(access(at("out/links/hard"), F_OK), 0);
    struct stat st;
    assert_int_equal(lstat(at("out/links/soft"), &st), 0);
    sk_io_rmtree(at("out"), NULL);
}

static void what_is_in_the_way_stays(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    static const char *const words[] = {"a link", "a directory", "a FIFO"};
    make(at("x.ska"));
    for (int i = 0; i < 3; i++) {
        struct stat st;
        sk_io_mkdirs(at("out"), NULL);
        assert_int_equal(i == 0 ? symlink("/tmp", at("out/top")) : i == 1 ? mkdir(at("out/top"), 0700) : mkfifo(at("out/top"), 0600), 0);
        assert_int_equal(sk_archive_extract(at("x.ska"), at("out"), NULL, NULL, &err), SAIKAI_EEXIST);
        assert_non_null(strstr(err.text, words[i]));
        assert_int_equal(lstat(at("out/top"), &st), 0);
        assert_false(S_ISREG(st.st_mode));
        assert_int_equal(count_files(at("out")), 1);
        sk_io_rmtree(at("out"), NULL);
    }
    /* a link or file that has a link's name goes; a directory does not */
    put_file(at("out/links/soft"), "x", 1);
    assert_int_equal(sk_archive_extract(at("x.ska"), at("out"), NULL, NULL, &err), 0);
    assert_int_equal(unlink(at("out/links/soft")), 0);
    assert_int_equal(mkdir(at("out/links/soft"), 0700), 0);
    assert_int_not_equal(sk_archive_extract(at("x.ska"), at("out"), NULL, NULL, &err), 0);
    sk_io_rmtree(at("out"), NULL);
}

/* Zeros of 64 KiB are holes, wherever they are in a file. */
static void zeros_become_holes(void **state)
{
    (void)state;
    enum { PIECE = 64 << 10, N = 12 * PIECE + 100 };
    uint8_t *data = calloc(1, N);
    struct sk_archive_input in = {.name = "sparse", .data = data, .bytes = N};
    struct sk_archive_options o = {.scheme = SK_SCHEME_AGNOSTIC, .no_sync = 1, .threads = 1};
    struct stat st;
    void *back;
    size_t n;
    data[3 * PIECE] = 1;
    data[4 * PIECE - 1] = 2;
    data[7 * PIECE + 5] = 3;
    assert_int_equal(sk_archive_create(at("holes.ska"), &in, 1, &o, NULL, NULL), 0);
    assert_int_equal(sk_archive_extract(at("holes.ska"), at("out"), NULL, NULL, NULL), 0);
    assert_int_equal(sk_io_slurp(at("out/sparse"), N, &back, &n, NULL), 0);
    assert_int_equal(n, N);
    assert_memory_equal(back, data, N);
    assert_int_equal(stat(at("out/sparse"), &st), 0);
    assert_int_equal(st.st_blocks * 512, 2 * PIECE);
    free(back);
    memset(data, 7, N); /* and without any */
    assert_int_equal(sk_archive_create(at("holes.ska"), &in, 1, &o, NULL, NULL), 0);
    assert_int_equal(sk_archive_extract(at("holes.ska"), at("out"), NULL, NULL, NULL), 0);
    assert_int_equal(stat(at("out/sparse"), &st), 0);
    assert_true(st.st_blocks * 512 >= N);
    sk_io_rmtree(at("out"), NULL);
    free(data);
}

static size_t shortest, longest; /* temporary names */
static int note_name(const char *op, const char *path)
{
    size_t n = strlen(path), base_name = strlen(strrchr(path, '/') + 1);
    if (strcmp(op, "open") || n < 12 || strcmp(path + n - 12, ".saikai-part"))
        return 0;
    shortest = base_name < shortest ? base_name : shortest;
    longest = base_name > longest ? base_name : longest;
    return 0;
}

/* Names as long as a directory bears have temporary ones, too. */
static void long_names_come_back(void **state)
{
    (void)state;
    static char name[3][300];
    struct sk_archive_input in[3];
    struct sk_archive_options o = {.no_sync = 1, .threads = 1};
    for (int i = 0; i < 3; i++) {
        size_t n = i == 2 ? 243 : 255; /* of the last component */
        memcpy(name[i], "dir/", 4);
        memset(name[i] + 4, 'n', n);
        name[i][4 + n - 1] = (char)('0' + i);
        in[i] = (struct sk_archive_input){.name = name[i], .data = name[i], .bytes = 10 + (size_t)i};
    }
    assert_int_equal(sk_archive_create(at("long.ska"), in, 3, &o, NULL, NULL), 0);
    shortest = longest = 255;
    sk_io_hook = note_name;
    assert_int_equal(sk_archive_extract(at("long.ska"), at("out"), NULL, NULL, NULL), 0);
    sk_io_hook = NULL;
    assert_int_equal(longest, 255); /* all there is room for, and not more */
    assert_int_equal(shortest, 255);
    for (int i = 0; i < 3; i++) {
        struct stat st;
        assert_int_equal(stat(at("out/%s", name[i]), &st), 0);
        assert_int_equal(st.st_size, 10 + i);
    }
    assert_int_equal(count_files(at("out/dir")), 3);
    sk_io_rmtree(at("out"), NULL);
}

static char synced[32][512];
static int syncs;
static int note_sync(const char *op, const char *path)
{
    if (!strcmp(op, "fsync") && strstr(path, base))
        snprintf(synced[syncs++ % 32], sizeof synced[0], "%s", path);
    return 0;
}

/* Each file, and each directory that got one, once; nothing where nobody wants that. */
static void what_is_restored_is_on_the_disk(void **state)
{
    (void)state;
    static const char *const files[] = {"top", "a/one", "a/two", "ab/three", "ab/four", "ab/d/five"}, *const dirs[] = {"", "/a", "/ab", "/ab/d"};
    enum { N = sizeof files / sizeof *files };
    struct sk_archive_input in[N];
    for (int i = 0; i < N; i++)
        in[i] = (struct sk_archive_input){.name = files[i], .data = files[i], .bytes = strlen(files[i])};
    assert_int_equal(sk_archive_create(at("synced.ska"), in, N, &(struct sk_archive_options){.no_sync = 1, .threads = 1}, NULL, NULL), 0);
    for (int no_sync = 0; no_sync < 2; no_sync++) {
        syncs = 0;
        sk_io_hook = note_sync;
        assert_int_equal(sk_archive_extract(at("synced.ska"), at("out"), &(struct sk_extract_options){.no_sync = no_sync}, NULL, NULL), 0);
        sk_io_hook = NULL;
        int found[N + 4] = {0};
        for (int s = 0; s < syncs; s++) {
            for (int i = 0; i < N; i++)
                found[i] += strstr(synced[s], at("out/%s.", files[i])) != NULL && strstr(synced[s], ".saikai-part");
            for (int i = 0; i < 4; i++)
                found[N + i] += !strcmp(synced[s], at("out%s", dirs[i]));
        }
        for (int i = 0; i < N + 4; i++)
            if (found[i] != !no_sync)
                fail_msg("%s is synced %d times", i < N ? files[i] : dirs[i - N], found[i]);
        assert_int_equal(syncs, no_sync ? 0 : N + 4);
        sk_io_rmtree(at("out"), NULL);
    }
}

static uint64_t told, of, times;
static void progress(void *arg, uint64_t done, uint64_t all)
{
    assert_ptr_equal(arg, &told);
    assert_true(done > told && done <= all);
    told = done;
    of = all;
    times++;
}

static int is_wide(void *arg, const struct sk_ska_class *c)
{
    return arg == &told && strstr(c->key, "skeleton") == NULL;
}

static double ramp(int i, int arg)
{
    return arg + i * 0.5;
}

static void progress_is_told_to_the_end(void **state)
{
    (void)state;
    static uint8_t file[80000];
    size_t n = make_netcdf(file, 9000, ramp, 3);
    struct sk_archive_input in[2] = {{.name = "v.nc", .data = file, .bytes = n}, {.name = "bytes", .data = "0123456789", .bytes = 10}};
    struct sk_archive_options o = {.no_sync = 1, .threads = 1, .progress = progress, .progress_arg = &told, .quick = 1};
    struct sk_archive_stats st = {0};
    told = times = 0;
    o.scheme = SK_SCHEME_AWARE;
    assert_int_equal(sk_archive_create(at("p.ska"), in, 2, &o, &st, NULL), 0);
    assert_int_equal(told, n + 10);
    assert_int_equal(of, n + 10);
    assert_int_equal(times, 2);
    assert_int_equal(st.files, 2);
    assert_int_equal(st.raw_bytes, n + 10);
    assert_int_equal(st.variables, 1);
    assert_true(st.scan_seconds >= 0 && st.seconds >= st.scan_seconds && st.seconds < 1000);
    struct sk_extract_options x = {.no_sync = 1, .threads = 1, .progress = progress, .progress_arg = &told};
    told = times = 0;
    assert_int_equal(sk_archive_extract(at("p.ska"), at("out"), &x, &st, NULL), 0);
    assert_int_equal(told, n + 10);
    assert_int_equal(times, 2);
    assert_int_equal(st.files, 2);
    assert_int_equal(st.raw_bytes, n + 10);
    assert_int_equal(st.classes, 3);
    /* only what a class is wanted of: the rest stays zero */
    x.wants_class = is_wide;
    x.arg = &told;
    told = times = 0;
    assert_int_equal(sk_archive_extract(at("p.ska"), at("out"), &x, NULL, NULL), 0);
    assert_int_equal(times, 1);
    assert_int_equal(told, 72000);
    void *back;
    assert_int_equal(sk_io_slurp(at("out/v.nc"), 1 << 20, &back, &n, NULL), 0);
    assert_memory_equal((uint8_t *)back + n - 72000, file + n - 72000, 72000);
    for (size_t i = 0; i < n - 72000; i++)
        assert_int_equal(((uint8_t *)back)[i], 0);
    free(back);
    sk_io_rmtree(at("out"), NULL);
}

/* Only blocks that hold something of what is asked for are read: others may be damaged. */
static void only_what_is_wanted_is_read(void **state)
{
    (void)state;
    enum { N = 4, BLOCK = 256 << 10 };
    static uint8_t data[N][BLOCK];
    struct sk_archive_input in[N];
    struct sk_ska a = {0};
    char name[N][8];
    struct sk_archive_options o = {.scheme = SK_SCHEME_AGNOSTIC, .backend = -1, .unit_bytes = BLOCK, .no_sync = 1, .threads = 1};
    uint64_t stored = 0;
    for (int i = 0; i < N; i++) {
        memset(data[i], i + 1, BLOCK);
        snprintf(name[i], sizeof name[i], "f%d", i);
        in[i] = (struct sk_archive_input){.name = name[i], .data = data[i], .bytes = BLOCK};
    }
    assert_int_equal(sk_archive_create(at("blocks.ska"), in, N, &o, NULL, NULL), 0);
    assert_int_equal(sk_archive_open(at("blocks.ska"), &a, NULL), 0);
    assert_int_equal(a.block_count, N);
    for (int i = 0; i < N; i++)
        stored += a.blocks[i].stored_bytes;
    int fd = open(at("blocks.ska"), O_RDWR);
    assert_int_equal(pwrite(fd, "?", 1, (off_t)a.blocks[0].offset + 100), 1);
    close(fd);
    sk_ska_free(&a);
    for (int i = 0; i < N; i++) {
        struct sk_extract_options x = {.only = name[i], .no_sync = 1, .threads = 1, .progress = progress, .progress_arg = &told};
        struct sk_archive_stats st = {0};
        struct saikai_error err = {0};
        told = times = 0;
        assert_int_equal(sk_archive_extract(at("blocks.ska"), at("out"), &x, &st, &err), i ? 0 : SAIKAI_EDAMAGED);
        assert_true(told == BLOCK && of == BLOCK && times == 1);
        assert_true(st.files == (i != 0) && st.raw_bytes == (i ? BLOCK : 0) && st.stored_bytes == stored && st.classes == 1);
        assert_true(st.seconds >= 0 && st.seconds < 1000);
        put_file(at("original"), data[i], BLOCK);
        assert_int_equal(same_file(at("original"), at("out/%s", name[i])), i != 0);
        sk_io_rmtree(at("out"), NULL);
    }
}

/* ---- sets ---- */

static void touch(const char *path)
{
    put_file(path, "x", 1);
}

static void sets_are_found_by_their_names(void **state)
{
    (void)state;
    struct sk_ska_set s = {9, 9};
    struct saikai_error err = {0};
    uint64_t next = 0;
    char path[512];
    assert_int_equal(sk_ska_set_look(at("no"), &s, &err), 0);
    assert_int_equal(s.parts, 0);
    assert_int_equal(sk_ska_set_newest(at("no"), &s, &err), SAIKAI_ENOENT);
    assert_int_equal(sk_ska_set_traces(at("no")), 0);
    static const char *const none[] = {"set-000007.0-of-1.ska", "set-000007.3-of-2.ska", "set-000007.1-of-1.sk", "set-000007.1-of-1.skax",
                                       "set-x.1-of-1.ska", "set-000007.1-of-1048577.ska", "Set-000007.1-of-1.ska"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        touch(at("sets/%s", none[i]));
    assert_int_equal(sk_ska_set_newest(at("sets"), &s, &err), SAIKAI_ENOENT);
    assert_null(strstr(err.text, "parts are missing"));
    assert_int_equal(sk_ska_set_next(at("sets"), &next, &err), 0);
    assert_int_equal(next, 1);
    touch(at("sets/set-000005.2-of-2.ska"));
    assert_int_equal(sk_ska_set_newest(at("sets"), &s, &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "parts are missing"));
    assert_int_equal(sk_ska_set_look(at("sets"), &s, &err), 0); /* the newest, though it is not whole */
    assert_int_equal(s.number, 5);
    assert_int_equal(s.parts, 2);
    touch(at("sets/set-000004.1-of-1.ska"));
    touch(at("sets/set-000005.1-of-3.ska")); /* of another set of that number */
    touch(at("sets/set-000003.1-of-1.ska"));
    assert_int_equal(sk_ska_set_look(at("sets"), &s, &err), 0);
    assert_int_equal(s.number, 4);
    assert_int_equal(sk_ska_set_newest(at("sets"), &s, &err), 0);
    assert_int_equal(s.number, 4);
    assert_int_equal(s.parts, 1);
    touch(at("sets/set-000005.1-of-2.ska"));
    assert_int_equal(sk_ska_set_find(at("sets"), &s, &err), 0);
    assert_int_equal(s.number, 5);
    assert_int_equal(s.parts, 2);
    assert_int_equal(sk_ska_set_find(at("sets/set-000005.1-of-2.ska"), &s, &err), 0);
    assert_int_equal(s.number, 0);
    assert_int_equal(s.parts, 0);
    assert_int_equal(sk_ska_set_find(at("sets/none"), &s, &err), SAIKAI_ENOENT);
    assert_int_equal(sk_ska_set_next(at("sets"), &next, &err), 0);
    assert_int_equal(next, 6);
    static int (*const looks[])(const char *dir, struct sk_ska_set *out, struct saikai_error *err) = {sk_ska_set_look, sk_ska_set_newest};
    for (int i = 0; i < 3; i++) { /* what cannot be listed is not taken for an empty directory */
        memset(&err, 0, sizeof err);
        int rc = i < 2 ? looks[i](at("sets/set-000005.1-of-2.ska"), &s, &err) : sk_ska_set_next(at("sets/set-000005.1-of-2.ska"), &next, &err);
        assert_true(rc < 0 && err.code == rc && strstr(err.text, "set-000005.1-of-2.ska"));
    }
    assert_int_equal(sk_ska_set_path(&(struct sk_ska_set){1234567, 12}, "d", 3, path, sizeof path, &err), 0);
    assert_string_equal(path, "d/set-1234567.3-of-12.ska");
    assert_int_equal(sk_ska_set_traces(at("sets")), 1);
    /* older ones go, those of this number and newer ones stay */
    assert_int_equal(sk_ska_set_clean(at("sets"), &(struct sk_ska_set){4, 1}, 0, &err), 0);
    assert_int_not_equal(access(at("sets/set-000003.1-of-1.ska"), F_OK), 0);
    assert_int_equal(access(at("sets/set-000004.1-of-1.ska"), F_OK), 0);
    assert_int_equal(access(at("sets/set-000005.2-of-2.ska"), F_OK), 0);
    /* what is needed cannot be found out: all stay */
    assert_int_equal(sk_ska_set_clean(at("sets"), &(struct sk_ska_set){5, 2}, 1, &err), SAIKAI_EFORMAT);
    assert_int_equal(access(at("sets/set-000004.1-of-1.ska"), F_OK), 0);
    assert_int_equal(sk_ska_set_remove(at("sets"), &err), 0);
    assert_int_equal(sk_ska_set_traces(at("sets")), 0);
    assert_int_equal(count_files(at("sets")), 1); /* the one whose name begins otherwise */
    assert_int_equal(unlink(at("sets/Set-000007.1-of-1.ska")), 0);
    assert_int_equal(sk_ska_set_remove(at("sets"), &err), 0);
    assert_int_not_equal(access(at("sets"), F_OK), 0);
    assert_int_equal(sk_ska_set_remove(at("sets"), &err), 0);
}

/* What the newest set builds on stays, all the way down; what nobody builds on goes. */
static void what_a_set_builds_on_stays(void **state)
{
    (void)state;
    static uint8_t data[200000];
    struct sk_archive_input in = {.name = "state", .data = data, .bytes = sizeof data};
    struct saikai_error err = {0};
    char previous[512] = "", who[64];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(noise() >> 8);
    sk_io_mkdirs(at("chain"), NULL);
    for (int k = 1; k <= 6; k++) {
        struct sk_archive_options o = {.no_sync = 1, .threads = 1, .previous = k == 1 || k == 3 ? NULL : previous};
        data[k * 1000]++;
        char path[512];
        snprintf(path, sizeof path, "%s", at("chain/set-00000%d.1-of-1.ska", k));
        assert_int_equal(sk_archive_create(path, &in, 1, &o, NULL, &err), 0);
        memcpy(previous, path, sizeof path);
    }
    assert_int_equal(sk_ska_builds_on(at("chain/set-000004.1-of-1.ska"), who, sizeof who, &err), 1);
    assert_string_equal(who, "set-000005.1-of-1.ska");
    assert_int_equal(sk_ska_builds_on(at("chain/set-000004.1-of-1.ska"), who, 8, &err), 1);
    assert_string_equal(who, "set-000");
    assert_int_equal(sk_ska_builds_on(at("chain/set-000002.1-of-1.ska"), who, sizeof who, &err), 0);
    assert_int_equal(sk_ska_builds_on(at("chain/nothing"), who, sizeof who, &err), 0);
    assert_int_equal(sk_ska_set_clean(at("chain"), &(struct sk_ska_set){5, 1}, 1, &err), 0);
    static const int stays[] = {0, 0, 0, 1, 1, 1, 1};
    for (int k = 1; k <= 6; k++)
        assert_int_equal(access(at("chain/set-00000%d.1-of-1.ska", k), F_OK), stays[k] - 1);
    assert_int_equal(sk_ska_set_clean(at("chain"), &(struct sk_ska_set){6, 1}, 0, &err), 0); /* whatever builds on what */
    assert_int_equal(count_files(at("chain")), 1);
}

/* ---- temporary files ---- */

static void leftovers_of_the_dead_are_swept(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int goes;
    } files[] = {{"x.ska.12.tmp", 1}, {"x.ska.0.tmp", 1}, {"x.ska.tmp", 0}, {"x.ska.12a.tmp", 0}, {"x.ska12.tmp", 0}, {"y.ska.12.tmp", 0},
                 {"x.ska.12.tmp.bak", 0}, {"x.ska.12.tm", 0}, {"x.ska..tmp", 0}, {"x.ska.more.7.tmp", 1}, {"x.ska.", 0}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        touch(at("sweep/%s", files[i].name));
    touch(at("sweep/x.ska.99.tmp"));
    int fd = open(at("sweep/x.ska.99.tmp"), O_RDWR);
    assert_int_equal(flock(fd, LOCK_EX), 0); /* somebody writes it */
    sk_target_sweep(at("sweep"), "x.ska.");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (access(at("sweep/%s", files[i].name), F_OK) + files[i].goes)
            fail_msg("%s", files[i].name);
    assert_int_equal(access(at("sweep/x.ska.99.tmp"), F_OK), 0);
    close(fd);
    sk_target_sweep(at("sweep"), "x.ska.9"); /* the number is behind what it begins with, and so is the point before it */
    assert_int_equal(access(at("sweep/x.ska.99.tmp"), F_OK), 0);
    assert_int_equal(symlink(at("sweep/x.ska."), at("sweep/x.ska.5.tmp")), 0); /* nobody's: it is no file */
    sk_target_sweep(at("sweep"), "x.ska.");
    assert_int_not_equal(access(at("sweep/x.ska.99.tmp"), F_OK), 0);
    assert_int_equal(access(at("sweep/x.ska.5.tmp"), F_OK), 0);
    assert_int_equal(access(at("sweep/x.ska."), F_OK), 0);
    sk_target_sweep(at("not there"), "x");
}

static void a_target_is_written_beside_its_place(void **state)
{
    (void)state;
    struct sk_target t = {.fd = -1}, other = {.fd = -1};
    struct saikai_error err = {0};
    char expected[512];
    sk_io_mkdirs(at("t"), NULL);
    touch(at("t/x.ska.1.tmp"));
    snprintf(expected, sizeof expected, "%s.%ld.tmp", at("t/x.ska"), (long)getpid());
    assert_int_equal(sk_io_replace(expected, "older", 5, NULL), 0);
    assert_int_equal(sk_target_open(&t, at("t/x.ska"), &err), 0);
    assert_string_equal(t.tmp, expected);
    assert_int_not_equal(access(at("t/x.ska.1.tmp"), F_OK), 0);
    struct stat st;
    assert_int_equal(stat(expected, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(sk_target_open(&other, at("t/x.ska"), &err), SAIKAI_EEXIST);
    assert_int_equal(other.fd, -1);
    assert_int_equal(write(t.fd, "new", 3), 3);
    assert_int_equal(sk_target_commit(&t, at("t/x.ska"), 1, &err), 0);
    assert_int_equal(t.fd, -1);
    sk_target_drop(&t);
    assert_int_equal(stat(at("t/x.ska"), &st), 0);
    assert_int_equal(st.st_size, 3);
    assert_int_equal(count_files(at("t")), 1);
    assert_int_equal(sk_target_open(&t, at("t/x.ska"), &err), 0);
    sk_target_drop(&t);
    assert_int_equal(t.fd, -1);
    assert_int_equal(count_files(at("t")), 1);
    assert_int_equal(sk_target_open(&t, at("no/x.ska"), &err), SAIKAI_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(everything_is_as_it_was),
        cmocka_unit_test(what_is_asked_for_is_restored),
        cmocka_unit_test(a_link_to_what_is_lost_is_left_out),
        cmocka_unit_test(what_is_in_the_way_stays),
        cmocka_unit_test(zeros_become_holes),
        cmocka_unit_test(long_names_come_back),
        cmocka_unit_test(progress_is_told_to_the_end),
        cmocka_unit_test(only_what_is_wanted_is_read),
        cmocka_unit_test(what_is_restored_is_on_the_disk),
        cmocka_unit_test(sets_are_found_by_their_names),
        cmocka_unit_test(what_a_set_builds_on_stays),
        cmocka_unit_test(leftovers_of_the_dead_are_swept),
        cmocka_unit_test(a_target_is_written_beside_its_place),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
