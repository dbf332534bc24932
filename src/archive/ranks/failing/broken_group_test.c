/* Ranks that lose touch while they make archives and take files out of them, at each of their collective calls: all come back and say so,
 * nothing half made is left, and what was there before is as it was. */
#include "archive/ranks/collect.h"
#include "archive/ranks/deliver.h"

#include "archive/write/testing.h"
#include "base/host/open_files_testing.h"
#include "group/failing_testing.h"
#include "group/loop.h"

enum { RANKS = 4, FILES = 3, BYTES = 20000, ALWAYS = 1 << 20, PLACE = 500 };

static uint8_t data[RANKS][FILES][BYTES];

static size_t bytes_of(int rank, int file)
{
    return file == 2 ? (size_t)rank : BYTES - (size_t)(1000 * file + rank);
}

static int make(void **state)
{
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < FILES; i++)
            for (int k = 0; k < BYTES; k++)
                data[r][i][k] = (uint8_t)(i ? k * (r + 3) >> 4 : (int)noise());
    return setup(state);
}

struct job {
    int writers, previous, calls; /* so many of each rank work */
    int rc[RANKS];
    struct saikai_error err[RANKS];
};

static int create_rank(struct sk_group *whole, void *arg)
{
    struct job *j = arg;
    int r = whole->rank, left = j->calls;
    struct failing_group front = {{&failing_ops, r, whole->size, whole->threads}, whole, &left, 0};
    struct sk_collect_options o = {.writers = j->writers, .previous = j->previous, .archive = {.no_sync = 1, .threads = 1}};
    struct sk_archive_input in[FILES] = {{0}};
    char name[FILES][32];
    for (int i = 0; i < FILES; i++) {
        snprintf(name[i], sizeof name[i], "r%d/%d", r, i);
        in[i] = (struct sk_archive_input){.path = name[i], .name = name[i], .data = data[r][i], .bytes = bytes_of(r, i)};
    }
    j->rc[r] = sk_collect_create(&front.g, at("set"), in, FILES, &o, NULL, NULL, &j->err[r]);
    return 0;
}

static int to_another(void *arg, const struct sk_ska_file *f, size_t index, size_t files, int ranks)
{
    (void)arg;
    (void)index;
    (void)files;
    return (f->name[1] - '0' + f->name[3] - '0') % ranks;
}

static int extract_rank(struct sk_group *whole, void *arg)
{
    struct job *j = arg;
    int r = whole->rank, left = j->calls;
    struct failing_group front = {{&failing_ops, r, whole->size, whole->threads}, whole, &left, 0};
    struct sk_deliver_options o = {.extract = {.no_sync = 1, .threads = 1}, .owner = to_another};
    j->rc[r] = sk_collect_extract(&front.g, at("set"), at("back/%d", r), &o, NULL, &j->err[r]);
    return 0;
}

/* 0, or what all ranks ended with; each has a sentence. */
static int run(int (*fn)(struct sk_group *g, void *arg), struct job *j)
{
    int failed = 0;
    memset(j->rc, 0, sizeof j->rc);
    memset(j->err, 0, sizeof j->err);
    assert_int_equal(sk_loop_run(RANKS, fn, j), 0);
    for (int r = 0; r < RANKS; r++) {
        failed += j->rc[r] != 0;
        if (j->rc[r] && (j->rc[r] != SAIKAI_EMPI || j->err[r].code != j->rc[r] || !*j->err[r].text))
            fail_msg("call %d: rank %d ends with %d, %d '%s'", j->calls, r, j->rc[r], j->err[r].code, j->err[r].text);
    }
    if (failed && failed != RANKS)
        fail_msg("call %d: %d ranks fail", j->calls, failed);
    return failed;
}

static void nothing_half_made(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strstr(e->d_name, "tmp"))
            fail_msg("%s is left in %s", e->d_name, dir);
    if (d)
        closedir(d);
}

static uint8_t changed; /* what was at one place in the first state */

static void is_back(void)
{
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < FILES; i++) {
            void *back;
            size_t n;
            assert_int_equal(sk_io_slurp(at("back/%d/r%d/%d", (r + i) % RANKS, r, i), 1 << 20, &back, &n, NULL), 0);
            assert_int_equal(n, bytes_of(r, i));
            if (r == 1 && i == 1 && ((uint8_t *)back)[PLACE] == changed)
                ((uint8_t *)back)[PLACE] = data[1][1][PLACE];
            assert_memory_equal(back, data[r][i], n);
            free(back);
        }
    sk_io_rmtree(at("back"), NULL);
}

static void making_archives(void **state)
{
    (void)state;
    for (int writers = 1; writers <= 2; writers++)
        for (int previous = 0; previous < 2; previous++) {
            struct job j = {.writers = writers, .calls = ALWAYS}, back = {.calls = ALWAYS};
            assert_int_equal(run(create_rank, &j), 0);
            j.previous = previous;
            changed = data[1][1][PLACE]++;
            for (j.calls = 1; run(create_rank, &j); j.calls++) {
                nothing_half_made(at("set"));
                assert_int_equal(run(extract_rank, &back), 0);
                is_back(); /* what was there, or the new one: when all was done but telling each other how much it is */
            }
            assert_true(j.calls > 12);
            assert_int_equal(run(extract_rank, &back), 0);
            is_back();
            data[1][1][PLACE] = changed;
            sk_io_rmtree(at("set"), NULL);
        }
}

static void taking_files_out(void **state)
{
    (void)state;
    struct job j = {.writers = 2, .calls = ALWAYS};
    assert_int_equal(run(create_rank, &j), 0);
    for (j.calls = 1; run(extract_rank, &j); j.calls++)
        for (int r = 0; r < RANKS; r++)
            for (int k = 0; k < RANKS; k++)
                nothing_half_made(at("back/%d/r%d", r, k));
    assert_true(j.calls > 4);
    is_back();
    sk_io_rmtree(at("set"), NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(making_archives),
        cmocka_unit_test(taking_files_out),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, make, teardown);
}
