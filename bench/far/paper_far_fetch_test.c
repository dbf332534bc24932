/* Ranks and aggregators as processes: what they archive comes back to the ranks byte by byte, whatever the groups; what fails ends the move
 * instead of stopping it; and limits and means of the far benches. */
#include "paper_far_fetch.h"
#include "limit.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { RANKS = 5,
       BYTES = 70000 };

static char root[64];
static struct far_files files;
static struct far_places at;

/* Six files of five ranks, one of them empty, of other lengths each. */
static int make_files(void **state)
{
    (void)state;
    strcpy(root, "/tmp/paper-far-fetch.XXXXXX");
    if (!mkdtemp(root))
        return -1;
    snprintf(at.shared, sizeof at.shared, "%s/shared", root);
    snprintf(at.local, sizeof at.local, "%s/local", root);
    files.n = RANKS + 1;
    files.ranks = RANKS;
    for (int i = 0; i < files.n; i++) {
        static double values[BYTES / 8];
        snprintf(files.path[i], sizeof files.path[i], "%s/state.%d", root, i);
        files.rank[i] = i % RANKS;
        for (int k = 0; k < BYTES / 8; k++)
            values[k] = sin(k * 1e-3 + i);
        int fd = open(files.path[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        size_t n = i == 3 ? 0 : (size_t)(BYTES - 1000 * i - 3);
        if (fd < 0 || write(fd, values, n) != (ssize_t)n || close(fd))
            return -1;
    }
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    for (int i = 0; i < files.n; i++)
        unlink(files.path[i]);
    far_remove(&at);
    return rmdir(root);
}

static struct far_fetch move_of(int way, int group)
{
    return (struct far_fetch){.files = &files, .way = &far_ways[way], .ranks = RANKS, .group = group, .at = &at};
}

static double all_bytes(void)
{
    double sum = 0;
    for (int i = 0; i < files.n; i++) {
        struct stat st;
        assert_int_equal(stat(files.path[i], &st), 0);
        sum += (double)st.st_size;
    }
    return sum;
}

static void what_ranks_send_comes_back(void **state)
{
    static const int ways[] = {FAR_NONE_TOGETHER, FAR_AWARE, FAR_AUTO};
    (void)state;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (int group = 1; group <= RANKS; group += 2) {
            struct far_fetch f = move_of(ways[w], group);
            struct far_fetch_cost out, back;
            assert_int_equal(far_clear(&at), 0);
            assert_int_equal(far_fetch_move(&f, &out), 0);
            assert_true(out.fetched == all_bytes());
            assert_true(out.free_s > 0 && out.done_s >= out.free_s && out.fetch_s > 0);
            f.restart = 1;
            assert_int_equal(far_fetch_move(&f, &back), 0);
            assert_true(back.fetched == all_bytes());
            assert_int_equal(far_fetch_verify(&f), 0);
        }
}

/* An aggregator without its archive ends the restart with an error; so does a rank that cannot read its file. */
static void what_fails_ends_the_move(void **state)
{
    struct far_fetch f = move_of(FAR_AUTO, 2);
    struct far_fetch_cost c;
    char kept[sizeof files.path[0]];
    (void)state;
    assert_int_equal(far_clear(&at), 0);
    f.restart = 1;
    assert_int_equal(far_fetch_move(&f, &c), -1);
    f.restart = 0;
    strcpy(kept, files.path[1]);
    snprintf(files.path[1], sizeof files.path[1], "%s/is not there", root);
    assert_int_equal(far_fetch_move(&f, &c), -1);
    strcpy(files.path[1], kept);
}

static void what_was_left_out_is_said(void **state)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    (void)state;
    assert_non_null(out);
    bench_limit(0);
    assert_int_equal(bench_left_out("nothing"), 0);
    assert_int_equal(bench_limit_report(out, NULL), 0);
    bench_limit(1e-9);
    usleep(1000);
    assert_int_equal(bench_left_out("set %d", 7), 1);
    assert_int_equal(bench_limit_report(out, out), 1);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "- set 7\n"));
    assert_non_null(strstr(text, "\"what\": \"set 7\""));
    assert_null(strstr(text, "nothing"));
    free(text);
    bench_limit(0);
}

static void means_have_the_confidence_of_student(void **state)
{
    static const double v[] = {1, 2, 3};
    double half = 7;
    (void)state;
    assert_true(far_mean(v, 1, &half) == 1 && half == 0);
    assert_true(fabs(far_mean(v, 3, &half) - 2) < 1e-12);
    assert_true(fabs(half - 4.303 / sqrt(3)) < 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ranks_send_comes_back),
        cmocka_unit_test(what_fails_ends_the_move),
        cmocka_unit_test(what_was_left_out_is_said),
        cmocka_unit_test(means_have_the_confidence_of_student),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
