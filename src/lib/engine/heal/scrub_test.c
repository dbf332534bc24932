/* What it costs to read again what was saved. */
#include "lib/engine/heal/heal_testing.h"

#include "base/clock.h"
#include "lib/engine/engine_parts.h"

#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

static void ignore(void *arg, struct sk_gen gen, int parity, const char *why)
{
    (void)gen;
    (void)parity;
    snprintf(arg, 256, "%s", why);
}

static void write_generation(const char *root, struct sk_gen g, size_t bytes)
{
    struct sk_piece p = {.name = "u", .type = SAIKAI_U8, .ndims = 1, .dims = {bytes}, .size_bytes = bytes};
    struct sk_skc_header h = {.iteration = g.iteration, .incarnation = g.incarnation, .nranks = 1};
    struct sk_skc_index *index;
    struct sk_slot *slot;
    uint64_t size;
    assert_int_equal(sk_container_layout(&p, 1, &index, &size, NULL), 0);
    assert_int_equal(sk_slot_new(root, 1, 0, 0, size, &slot, NULL), 0);
    memset(slot->map + index->chunks[0].offset, 7, bytes);
    assert_int_equal(sk_container_seal(slot->map, size, &h, index, NULL, NULL), 0);
    assert_int_equal(sk_slot_commit(slot, root, g, 0, 0, NULL), 0);
    sk_slot_free(slot, 0);
    sk_skc_index_free(index);
}

/* The share is kept to however much there is to read. SAIKAI_TEST_SCRUB_MIB=1024 measures a whole round of as much, by default
 * settings. */
static void test_it_takes_its_share_and_no_more(void **state)
{
    (void)state;
    const char *text = getenv("SAIKAI_TEST_SCRUB_MIB");
    size_t mib = text ? (size_t)atol(text) : 64;
    struct sk_gen g = {1, 1, 0};
    char found[256] = "";
    struct sk_scrub_config c = {.root = world.dir, .incarnation = 1, .period = text ? 120 : 0.01, .share = 0.01, .suspect = ignore, .arg = found};
    struct sk_scrub *s = NULL;
    int64_t passes = 0;
    uint64_t bytes = 0;
    double cpu = 0, begun = sk_now();
    write_generation(world.dir, g, mib << 20);
    assert_int_equal(sk_scrub_start(&c, &s, NULL), 0);
    sk_scrub_set(s, &g, 1, NULL, 0);
    /* a busy machine gives nothing for a while to whoever takes only what is left */
    while ((sk_now() - begun < (text ? 600 : 1.5) && !(text && bytes >= mib << 20)) || (!bytes && sk_now() - begun < 200)) {
        sk_sleep(0.1);
        sk_scrub_figures(s, &passes, &bytes, &cpu);
    }
    double wall = sk_now() - begun;
    sk_scrub_stop(s);
    sk_scrub_free(s);
    print_message("%.0f MiB read in %.1f s with %.3f s of a processor: %.2f %%\n", (double)bytes / 1048576, wall, cpu,
                  100 * cpu / wall);
    assert_string_equal(found, "");
    assert_true(bytes > 0);
    assert_true(cpu <= 0.01 * wall + 0.005); /* and the slice that it was at */
}

/* A killed process is gone when all its threads have run once more: one that gets no processor on a busy machine would keep its memory and
 * its lock on the directory. */
static void test_its_thread_is_only_a_little_behind(void **state)
{
    (void)state;
    struct sk_scrub_config c = {.root = world.dir, .incarnation = 1, .period = 0.01, .share = 0.01, .suspect = ignore, .arg = (char[256]){""}};
    struct sk_scrub *s = NULL;
    int own = getpriority(PRIO_PROCESS, 0), behind = own > 5 ? own : 5, seen = 0;
    assert_int_equal(sk_scrub_start(&c, &s, NULL), 0);
    for (double begun = sk_now(); seen < behind && sk_now() - begun < 100; sk_sleep(0.01)) {
        DIR *d = opendir("/proc/self/task");
        assert_non_null(d);
        for (struct dirent *e; (e = readdir(d));) {
            int id = atoi(e->d_name), nice = id ? getpriority(PRIO_PROCESS, (id_t)id) : 0;
            if (!id)
                continue;
            assert_int_equal(sched_getscheduler(id), SCHED_OTHER);
            seen = nice > seen ? nice : seen;
        }
        closedir(d);
    }
    sk_scrub_stop(s);
    sk_scrub_free(s);
    assert_int_equal(seen, behind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, heal_begin, heal_end)
        TEST(test_it_takes_its_share_and_no_more),
        cmocka_unit_test(remember_open_files), /* the first session leaves open what all share */
        TEST(test_its_thread_is_only_a_little_behind),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
