/* What the scrub finds in the files of a node, by itself: whatever is damaged is told with its file, and nothing else is. */
#include "lib/engine/heal/scrub.h"

#include "base/host/no_memory_testing.h"
#include "base/clock.h"
#include "base/file/io.h"
#include "group/loop.h"
#include "lib/whole/failing/generation_testing.h"
#include "redundancy/set/encode.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { BYTES = 100000, THIS = 2 };

static char dir[] = "/tmp/saikai-scrub-XXXXXX";

static void write_generation(struct sk_gen g)
{
    static uint8_t u[BYTES];
    struct sk_piece p = {.name = "u", .type = SAIKAI_U8, .ndims = 1, .dims = {BYTES}, .size_bytes = BYTES, .data = u};
    struct sk_skc_header h = {.iteration = g.iteration, .incarnation = g.incarnation, .nranks = 1};
    memset(u, 7, BYTES);
    generation_testing_put(dir, g, 0, &h, &p, 1);
}

/* Rank 0's parity file of its generation's file and of one like it. */
static int code(struct sk_group *g, void *arg)
{
    const struct sk_parity_set *set = arg;
    struct saikai_error err = {0};
    char data[PATH_MAX], parity[PATH_MAX];
    const char *path[] = {data};
    if (sk_gen_file(dir, set->gen, 0, data, sizeof data, &err) || sk_parity_set_path(dir, *set, g->rank, parity, sizeof parity, &err))
        return -1;
    struct sk_encode_params p = {.coding = {.scheme = "xor", .parity = 1, .block = 4096}, .generation = (uint64_t)sk_gen_key(set->gen),
                                 .rank = (uint32_t)g->rank, .files = 1, .path = path, .parity_path = parity, .no_sync = 1};
    struct sk_encode_result result;
    return sk_encode(g, &p, &result, &err);
}

/* ---- a look at all ---- */

static struct found {
    int parity;
    struct sk_gen gen;
    char why[256];
    _Atomic int count; /* last: the others are the test's to read then */
} found;

static void suspect(void *arg, struct sk_gen gen, int parity, const char *why)
{
    struct found *f = arg;
    if (f->count)
        return;
    f->gen = gen;
    f->parity = parity;
    snprintf(f->why, sizeof f->why, "%s", why);
    f->count++;
}

/* All of these are read at least once. */
static void look(const struct sk_gen *gen, size_t count, const struct sk_parity_set *set, size_t sets)
{
    struct sk_scrub_config c = {.root = dir, .incarnation = THIS, .period = 0.01, .share = 1, .suspect = suspect, .arg = &found};
    struct sk_scrub *s = NULL;
    int64_t before = 0, passes = 0;
    uint64_t bytes = 0;
    double cpu = 0;
    memset(&found, 0, sizeof found);
    assert_int_equal(sk_scrub_start(&c, &s, NULL), 0);
    sk_scrub_set(s, gen, count, set, sets);
    sk_scrub_figures(s, &before, &bytes, &cpu);
    for (double begun = sk_now(); passes < before + 2 && !found.count && sk_now() - begun < 100; sk_sleep(0.002))
        sk_scrub_figures(s, &passes, &bytes, &cpu);
    sk_scrub_stop(s);
    assert_true(found.count || passes >= before + 2);
    sk_scrub_figures(s, &passes, &bytes, &cpu);
    if (!found.count) /* else it left off */
        assert_true(bytes >= count * BYTES);
    sk_scrub_free(s);
}

static off_t size_of(const char *path)
{
    struct stat sb;
    assert_int_equal(stat(path, &sb), 0);
    return sb.st_size;
}

static void flip(const char *path, off_t at)
{
    uint8_t x;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0 && pread(fd, &x, 1, at) == 1);
    x ^= 0x10;
    assert_int_equal(pwrite(fd, &x, 1, at), 1);
    close(fd);
}

static void it_is_told(struct sk_gen g, int parity, const char *path, const char *words)
{
    if (!found.count || sk_gen_key(found.gen) != sk_gen_key(g) || found.parity != parity || !strstr(found.why, path) ||
        !strstr(found.why, words))
        fail_msg("%d: parity %d, '%s' in place of '%s'", found.count, found.parity, found.why, words);
}

/* ---- generations ---- */

static void a_generation_is_read_to_its_end(void **state)
{
    (void)state;
    const struct sk_gen g[2] = {{THIS, 10, 0}, {THIS, 20, 0}};
    char path[PATH_MAX];
    write_generation(g[0]);
    write_generation(g[1]);
    assert_int_equal(sk_gen_file(dir, g[0], 0, path, sizeof path, NULL), 0);
    const off_t size = size_of(path), places[] = {0, 20, 5000, size / 2, size - 1};
    look(g, 2, NULL, 0);
    assert_int_equal(found.count, 0);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        flip(path, places[i]);
        look(g, 2, NULL, 0);
        it_is_told(g[0], 0, path, "");
        look(g + 1, 1, NULL, 0); /* what is not listed is nobody's business */
        assert_int_equal(found.count, 0);
        flip(path, places[i]);
    }
    flip(path, 5000);
    look(g, 2, NULL, 0);
    it_is_told(g[0], 0, path, "chunk 0 (offset ");
    assert_int_equal(truncate(path, size - 1), 0);
    look(g, 2, NULL, 0);
    it_is_told(g[0], 0, path, "");
    assert_int_equal(unlink(path), 0);
    look(g, 2, NULL, 0);
    it_is_told(g[0], 0, path, "");
    for (int i = 0; i < 2; i++)
        sk_gen_remove_all(dir, g[i], NULL);
}

/* ---- parity ---- */

static void a_parity_file_is_read_to_its_end(void **state)
{
    (void)state;
    struct sk_parity_set set = {{THIS, 30, 0}, THIS}, earlier = {{THIS, 30, 0}, THIS - 1};
    char path[PATH_MAX];
    write_generation(set.gen);
    assert_int_equal(sk_loop_run(2, code, &set), 0);
    assert_int_equal(sk_parity_set_path(dir, set, 0, path, sizeof path, NULL), 0);
    const off_t size = size_of(path);
    const struct {
        off_t at;
        const char *words;
    } places[] = {{0, ""},
                  {30, ""},
                  {4096, "parity block 0 is damaged"},
                  {8192, "parity block 1 is damaged"},
                  {size - 1, "its table is damaged"}};
    look(&set.gen, 1, &set, 1);
    assert_int_equal(found.count, 0);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        flip(path, places[i].at);
        look(&set.gen, 1, &set, 1);
        it_is_told(set.gen, 1, path, places[i].words);
        look(&set.gen, 1, NULL, 0);
        assert_int_equal(found.count, 0);
        flip(path, places[i].at);
    }
    look(&set.gen, 1, &earlier, 1); /* what it protects is coded anew */
    assert_int_equal(found.count, 0);
    assert_int_equal(truncate(path, size - 8), 0);
    look(&set.gen, 1, &set, 1);
    it_is_told(set.gen, 1, path, "");
    assert_int_equal(unlink(path), 0);
    look(&set.gen, 1, &set, 1);
    it_is_told(set.gen, 1, path, "");
    sk_gen_remove_all(dir, set.gen, NULL);
}

/* ---- without memory ---- */

/* Until the damage of its parity file is found: what there is is told again and again, as it is when generations come and go. */
static int search(void *arg, struct saikai_error *err)
{
    const struct sk_parity_set *set = arg;
    struct sk_scrub_config c = {.root = dir, .incarnation = THIS, .period = 0.01, .share = 1, .suspect = suspect, .arg = &found};
    struct sk_scrub *s = NULL;
    memset(&found, 0, sizeof found);
    int rc = sk_scrub_start(&c, &s, err);
    if (rc)
        return rc;
    for (double begun = sk_now(); !found.count && sk_now() - begun < 100; sk_sleep(0.002))
        sk_scrub_set(s, &set->gen, 1, set, 1);
    sk_scrub_stop(s);
    sk_scrub_free(s);
    return 0;
}

static void is_right(void *arg)
{
    const struct sk_parity_set *set = arg;
    char path[PATH_MAX];
    assert_int_equal(sk_parity_set_path(dir, *set, 0, path, sizeof path, NULL), 0);
    it_is_told(set->gen, 1, path, "parity block 0 is damaged");
}

static int nothing(void *arg, struct saikai_error *err)
{
    (void)arg;
    (void)err;
    return 0;
}

/* What there was no memory to look at is looked at again, and nothing is suspected for that. */
static void memory_that_runs_out_damages_nothing(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct sk_parity_set set = {{THIS, 50, 0}, THIS};
    write_generation(set.gen);
    assert_int_equal(sk_loop_run(2, code, &set), 0);
    assert_int_equal(sk_parity_set_path(dir, set, 0, path, sizeof path, NULL), 0);
    flip(path, 4096);
    assert_true(no_memory_sweep_places(search, is_right, NULL, &set, nothing) >= 3);
    sk_gen_remove_all(dir, set.gen, NULL);
}

/* ---- not at all ---- */

static void nothing_is_read_while_it_is_paused_or_off(void **state)
{
    (void)state;
    const struct sk_gen g = {THIS, 40, 0};
    struct sk_scrub_config c = {.root = dir, .incarnation = THIS, .period = 0.01, .share = 1, .suspect = suspect, .arg = &found};
    struct sk_scrub *s = (struct sk_scrub *)&c;
    int64_t passes = 7;
    uint64_t bytes = 0, later = 0;
    double cpu = 0;
    c.period = 0;
    assert_int_equal(sk_scrub_start(&c, &s, NULL), 0);
    assert_null(s);
    c.period = 0.01;
    c.share = 0;
    s = (struct sk_scrub *)&c;
    assert_int_equal(sk_scrub_start(&c, &s, NULL), 0);
    assert_null(s);
    sk_scrub_set(NULL, &g, 1, NULL, 0);
    sk_scrub_pause(NULL, 1);
    sk_scrub_stop(NULL);
    sk_scrub_free(NULL);
    c.share = 1;
    write_generation(g);
    memset(&found, 0, sizeof found);
    assert_int_equal(sk_scrub_start(&c, &s, NULL), 0);
    sk_scrub_pause(s, 1);
    sk_scrub_set(s, &g, 1, NULL, 0);
    sk_sleep(0.1);
    sk_scrub_figures(s, &passes, &bytes, &cpu);
    assert_true(bytes <= 2 * BYTES); /* at most the slice that it was at */
    sk_scrub_pause(s, 0);
    for (double begun = sk_now(); later <= bytes && sk_now() - begun < 100; sk_sleep(0.01))
        sk_scrub_figures(s, &passes, &later, &cpu);
    assert_true(later > bytes);
    sk_scrub_pause(s, 1);
    sk_sleep(0.05);
    sk_scrub_stop(s); /* also while it is paused */
    sk_scrub_free(s);
    sk_gen_remove_all(dir, g, NULL);
}

static int start(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(a_generation_is_read_to_its_end),
        cmocka_unit_test(a_parity_file_is_read_to_its_end),
        cmocka_unit_test(memory_that_runs_out_damages_nothing),
        cmocka_unit_test(nothing_is_read_while_it_is_paused_or_off),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, start, end);
}
