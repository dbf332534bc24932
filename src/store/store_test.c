/* Generations, plain containers, slots and the state file: round trips, and every flipped bit and cut is noticed. */
#include "store/form/container.h"
#include "store/owner/job.h"
#include "store/gen.h"
#include "store/slot.h"
#include "store/state.h"

#include "base/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-store-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

/* ---- generations ---- */

static void test_names_and_order(void **state)
{
    (void)state;
    static const struct sk_gen g[] = {{1, 0, 0}, {1, 7, 0}, {1, 7, 1}, {1, 1000000000000, 0}, {2, 3, 0},
                                      {SK_GEN_MAX_INCARNATION, SK_GEN_MAX_ITERATION, SK_GEN_MAX_PLACE}};
    char name[48];
    struct sk_gen back;
    for (size_t i = 0; i < sizeof g / sizeof *g; i++) {
        assert_int_equal(sk_gen_parse(sk_gen_name(g[i], name), &back), 0);
        assert_true(sk_gen_key(back) == sk_gen_key(g[i]) && sk_gen_key(g[i]) > 0);
        back = sk_gen_of_key(sk_gen_key(g[i]));
        assert_true(back.incarnation == g[i].incarnation && back.iteration == g[i].iteration &&
                    back.place == g[i].place);
        if (i)
            assert_true(sk_gen_key(g[i - 1]) < sk_gen_key(g[i]));
    }
    static const char *const strangers[] = {"gen-1-7-0", "gen-0000-000000000007-0", "gen-0001-000000000007-64",
                                            "gen-0001-000000000007-0x", "gen", "gen-0001--00000000007-0",
                                            "gen-40000-000000000007-0"};
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        assert_int_equal(sk_gen_parse(strangers[i], &back), -1);
}

static void commit(int incarnation, int64_t it, int rank)
{
    char tmp[128];
    snprintf(tmp, sizeof tmp, "%s/tmp", dir);
    assert_int_equal(sk_io_replace(tmp, "x", 1, NULL), 0);
    assert_int_equal(sk_gen_commit(dir, (struct sk_gen){(uint32_t)incarnation, it, 0}, rank, tmp, 1, NULL), 0);
}

static char doomed[128];
static int vanishing, renames;

/* Another rank of the node takes the directory away at the worst time. */
static int take_the_directory(const char *op, const char *path)
{
    (void)path;
    if (strcmp(op, "rename"))
        return 0;
    renames++;
    if (vanishing && vanishing--)
        assert_int_equal(rmdir(doomed), 0);
    return 0;
}

/* The last file of a retired generation takes its directory along, which may be the one that another rank has just made: the commit makes
 * it anew, some times and not for ever. */
static void test_a_directory_that_vanishes_is_made_anew(void **state)
{
    (void)state;
    char tmp[80], name[48];
    struct sk_gen g = {1, 10, 0};
    struct saikai_error err = {0};
    snprintf(tmp, sizeof tmp, "%s/tmp", dir);
    snprintf(doomed, sizeof doomed, "%s/%s", dir, sk_gen_name(g, name));
    for (int often = 0; often <= 4; often++) {
        assert_int_equal(sk_io_replace(tmp, "x", 1, NULL), 0);
        vanishing = often;
        renames = 0;
        sk_io_hook = take_the_directory;
        int rc = sk_gen_commit(dir, g, 0, tmp, 0, &err);
        sk_io_hook = NULL;
        assert_int_equal(rc, often < 4 ? 0 : SAIKAI_ENOENT);
        assert_int_equal(renames, often < 4 ? often + 1 : 4);
        assert_int_equal(access(tmp, F_OK), often < 4 ? -1 : 0);
        if (often < 4)
            assert_int_equal(sk_io_rmtree(doomed, NULL), 0);
    }
    assert_int_equal(unlink(tmp), 0);
    renames = vanishing = 0;
    sk_io_hook = take_the_directory;
    assert_int_equal(sk_gen_commit(dir, g, 0, tmp, 0, &err), SAIKAI_ENOENT); /* there is nothing to commit: not tried again */
    sk_io_hook = NULL;
    assert_int_equal(renames, 1);
}

static void test_scan(void **state)
{
    (void)state;
    struct sk_gen_list l;
    char path[128];
    commit(1, 10, 0);
    commit(1, 20, 0);
    commit(2, 15, 0);
    commit(2, 15, 1);
    snprintf(path, sizeof path, "%s/gen-0009-000000000001-0", dir);
    assert_int_equal(sk_io_mkdirs(path, NULL), 0); /* empty: holds nothing */
    assert_int_equal(sk_gen_scan(dir, 0, &l, NULL), 0);
    assert_int_equal(l.count, 3);
    assert_true(l.gen[0].incarnation == 2 && l.gen[1].iteration == 20 && l.gen[2].iteration == 10);
    sk_gen_list_free(&l);
    assert_int_equal(l.hidden_errno, 0);
    assert_int_equal(sk_gen_scan(dir, 1, &l, NULL), 0);
    assert_int_equal(l.count, 1);
    sk_gen_list_free(&l);
    for (int i = 8; i > 6; i--) { /* no directories: left out, and the newer one is told of */
        snprintf(path, sizeof path, "%s/gen-000%d-000000000001-0", dir, i);
        assert_int_equal(sk_io_replace(path, "x", 1, NULL), 0);
    }
    for (int rank = -1; rank < 2; rank++) {
        assert_int_equal(sk_gen_scan(dir, rank, &l, NULL), 0);
        assert_true(l.hidden_errno == ENOTDIR && l.hidden.incarnation == 8);
        sk_gen_list_free(&l);
    }
    for (int i = 8; i > 6; i--) {
        snprintf(path, sizeof path, "%s/gen-000%d-000000000001-0", dir, i);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(sk_gen_remove(dir, (struct sk_gen){2, 15, 0}, 0, NULL), 0);
    assert_int_equal(sk_gen_scan(dir, -1, &l, NULL), 0);
    assert_int_equal(l.count, 3); /* rank 1's part is still there */
    sk_gen_list_free(&l);
    snprintf(path, sizeof path, "%s/nowhere", dir);
    assert_int_equal(sk_gen_scan(path, -1, &l, NULL), 0);
    assert_int_equal(l.count, 0);
}

/* Where there is no directory, or no path, it is said, and nothing is made. */
static void test_no_place_for_generations(void **state)
{
    (void)state;
    struct sk_gen g = {1, 10, 0};
    struct sk_gen_list l = {0};
    struct sk_slot *s = NULL;
    struct saikai_error err = {0};
    int rank = 0, *ranks = &rank;
    size_t n = 7;
    char file[128], deep[PATH_MAX + 8];
    snprintf(file, sizeof file, "%s/file", dir);
    assert_int_equal(sk_io_replace(file, "x", 1, NULL), 0);
    assert_int_equal(sk_gen_scan(file, -1, &l, &err), SAIKAI_EIO);
    assert_true(strstr(err.text, "cannot read directory") && strstr(err.text, file) && !l.count);
    assert_true(sk_gen_commit(file, g, 0, file, 0, &err) < 0);
    assert_int_equal(access(file, F_OK), 0);
    memset(deep, 'd', sizeof deep);
    deep[0] = '/';
    deep[PATH_MAX - 20] = 0; /* neither a generation nor anything else has room behind it */
    for (int i = 0; i < 7; i++) {
        memset(&err, 0, sizeof err);
        int rc = i == 0   ? sk_gen_commit(deep, g, 0, file, 1, &err)
                 : i == 1 ? sk_gen_remove(deep, g, 0, &err)
                 : i == 2 ? sk_gen_remove_all(deep, g, &err)
                 : i == 3 ? sk_gen_ranks(deep, g, &ranks, &n, &err)
                 : i == 4 ? sk_slot_new(deep, 1, 0, 0, 100, &s, &err)
                 : i == 5 ? sk_gen_file(deep, g, 0, file, sizeof file, &err)
                          : sk_gen_dir(deep, g, file, sizeof file, &err);
        assert_int_equal(rc, SAIKAI_EINVAL);
        assert_int_equal(err.code, rc);
    }
    assert_true(ranks == &rank && n == 7 && !s);
    struct sk_job j = {.name = "wave"};
    j.store.b[0] = 1;
    deep[PATH_MAX - 20] = 'd';
    deep[PATH_MAX - 6] = 0; /* the name of the file has room, a temporary one has not */
    assert_int_equal(sk_job_claim(deep, &j, &err), SAIKAI_EINVAL);
    deep[PATH_MAX - 6] = 'd';
    deep[PATH_MAX - 2] = 0;
    assert_int_equal(sk_job_replace(deep, &j, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_job_load(deep, &j, &err), SAIKAI_EINVAL);
}

/* ---- containers ---- */

static double small[40];
static int32_t step = 77;
static char note[1500000];

static void write_container(const char *path)
{
    struct sk_piece p[3] = {
        {.name = "small", .type = SAIKAI_F64, .ndims = 2, .dims = {5, 8}, .data = small, .size_bytes = sizeof small},
        {.name = "step", .type = SAIKAI_I32, .data = &step, .size_bytes = sizeof step},
        {.name = "note", .type = SAIKAI_U8, .ndims = 1, .dims = {sizeof note}, .data = note,
         .size_bytes = sizeof note},
    };
    struct sk_skc_index *x = NULL;
    uint64_t n = 0;
    struct sk_skc_header h = {.iteration = 5, .incarnation = 1, .rank = 0, .nranks = 1};
    for (int i = 0; i < 40; i++)
        small[i] = i * 0.1;
    for (size_t i = 0; i < sizeof note; i++)
        note[i] = (char)(i * 7 + i / 1000);
    assert_int_equal(sk_container_layout(p, 3, &x, &n, NULL), 0);
    assert_int_equal(x->chunk_count, 4); /* the note is longer than a chunk */
    uint8_t *map = malloc(n);
    assert_non_null(map);
    memset(map, 0xee, n); /* what a reused slot holds */
    for (int i = 0; i < 3; i++)
        memcpy(map + x->chunks[x->vars[i].first_chunk].offset, p[i].data, p[i].size_bytes);
    assert_int_equal(sk_container_seal(map, n, &h, x, NULL, NULL), 0);
    assert_int_equal(sk_io_replace(path, map, n, NULL), 0);
    free(map);
    sk_skc_index_free(x);
}

/* 1: everything reads back right; 0: an error says so. Anything else fails the test. */
static int read_back(const char *path)
{
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    static char out[sizeof note];
    int rc = sk_container_open(path, &c, &err);
    const struct {
        const char *name;
        const void *data;
        size_t n;
    } expect[] = {{"small", small, sizeof small}, {"step", &step, sizeof step}, {"note", note, sizeof note}};
    for (int i = 0; !rc && i < 3; i++) {
        const struct sk_skc_var *v = sk_skc_find(c->index, expect[i].name);
        if (!v) {
            rc = SAIKAI_ENOENT; /* a name with a flipped bit has a wrong checksum and never gets here */
            fail_msg("a variable is gone without an error");
        }
        rc = sk_container_read(c, v, out, &err);
        if (!rc && memcmp(out, expect[i].data, expect[i].n))
            fail_msg("wrong data was returned for %s", expect[i].name);
    }
    sk_container_close(c);
    if (rc && !strstr(err.text, path))
        fail_msg("the error does not name the file: %s", err.text);
    return !rc;
}

static void test_container_round_trip_and_copy(void **state)
{
    (void)state;
    char path[128], copy[128];
    struct sk_container *c = NULL;
    void *a, *b;
    size_t na, nb;
    snprintf(path, sizeof path, "%s/c.skc", dir);
    snprintf(copy, sizeof copy, "%s/copy.skc", dir);
    write_container(path);
    assert_true(read_back(path));
    assert_int_equal(sk_container_open(path, &c, NULL), 0);
    assert_int_equal(sk_container_verify(c, NULL), 0);
    assert_int_equal(sk_container_copy(c, copy, 1, NULL), 0);
    sk_container_close(c);
    assert_int_equal(sk_io_slurp(path, 1 << 24, &a, &na, NULL), 0);
    assert_int_equal(sk_io_slurp(copy, 1 << 24, &b, &nb, NULL), 0);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    assert_null(memmem(a, na, "\xee\xee\xee\xee\xee\xee\xee\xee", 8)); /* nothing of the slot's past */
    free(a);
    free(b);
}

static void flip(int fd, off_t at, uint8_t mask)
{
    uint8_t v;
    assert_int_equal(pread(fd, &v, 1, at), 1);
    v ^= mask;
    assert_int_equal(pwrite(fd, &v, 1, at), 1);
}

static void test_bit_flips_everywhere(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/c.skc", dir);
    write_container(path);
    int fd = open(path, O_RDWR);
    off_t size = lseek(fd, 0, SEEK_END), harmless = 0, found = 0;
    for (off_t at = 0; at < size; at += at < 1000 || at > size - 1000 ? 1 : 9973) {
        flip(fd, at, (uint8_t)(1u << at % 8));
        if (read_back(path))
            harmless++; /* padding between chunks: nothing is stored there */
        else
            found++;
        flip(fd, at, (uint8_t)(1u << at % 8));
    }
    close(fd);
    printf("%lld flips found, %lld in padding\n", (long long)found, (long long)harmless);
    assert_true(found > 10 * harmless);
    assert_true(harmless <= 3 * SK_SKC_ALIGN);
    assert_true(read_back(path));
}

static void test_truncation_everywhere(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/c.skc", dir);
    write_container(path);
    struct sk_container *c = NULL;
    int fd = open(path, O_RDWR);
    off_t size = lseek(fd, 0, SEEK_END);
    for (off_t n = size - 1; n >= 0; n -= n > size - 300 || n < 300 ? 1 : 50000) {
        assert_int_equal(ftruncate(fd, n), 0);
        assert_int_equal(sk_container_open(path, &c, NULL), SAIKAI_EDAMAGED);
    }
    assert_int_equal(ftruncate(fd, size + 1), 0);
    assert_true(sk_container_open(path, &c, NULL) < 0);
    close(fd);
}

static void test_a_damaged_container_is_not_copied(void **state)
{
    (void)state;
    char path[128], copy[128];
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    snprintf(path, sizeof path, "%s/c.skc", dir);
    snprintf(copy, sizeof copy, "%s/copy.skc", dir);
    write_container(path);
    int fd = open(path, O_RDWR);
    flip(fd, 100000, 1);
    close(fd);
    assert_int_equal(sk_container_open(path, &c, NULL), 0);
    assert_int_equal(sk_container_copy(c, copy, 1, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "'note'"));
    assert_int_equal(access(copy, F_OK), -1);
    sk_container_close(c);
}

/* ---- slots ---- */

static void test_slot_life(void **state)
{
    (void)state;
    struct sk_slot *s = NULL;
    struct sk_gen g = {1, 5, 0};
    char path[256];
    assert_int_equal(sk_slot_new(dir, 1, 0, 0, 10000, &s, NULL), 0);
    memset(s->map, 7, 10000);
    assert_int_equal(sk_slot_commit(s, dir, g, 0, 1, NULL), 0);
    assert_int_equal(sk_gen_file(dir, g, 0, path, sizeof path, NULL), 0);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(sk_slot_retire(s, dir, g, 0, NULL), 0);
    assert_int_equal(access(path, R_OK), -1);
    assert_int_equal(s->map[9999], 7); /* same pages */
    assert_int_equal(sk_slot_resize(s, 50000, NULL), 0);
    memset(s->map, 8, 50000);
    assert_true(sk_slot_resize(s, (size_t)1 << 60, NULL) < 0);
    assert_int_equal(s->size_bytes, 50000);
    s->map[49999] = 9;
    sk_slot_free(s, 0);
    sk_slot_clean(dir, 1, 0, 2); /* its own incarnation's stay */
    snprintf(path, sizeof path, "%s/slot-0001-000000-0.tmp", dir);
    assert_int_equal(access(path, F_OK), 0);
    static const struct {
        const char *name;
        int stays;
    } others[] = {{"copy-0001-000000.tmp", 0}, {"copy-0001-000001.tmp", 1}, {"copy-0001-000002.tmp", 0},
                  {"slot-0001-000003-7.tmp", 0}, {"copy-0002-000000.tmp", 1}, {"copy-0001-000000.tmp.x", 1}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char other[128];
        snprintf(other, sizeof other, "%s/%s", dir, others[i].name);
        assert_int_equal(sk_io_replace(other, "x", 1, NULL), 0);
    }
    sk_slot_clean(dir, 2, 0, 2);
    assert_int_equal(access(path, F_OK), -1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char other[128];
        snprintf(other, sizeof other, "%s/%s", dir, others[i].name);
        assert_int_equal(access(other, F_OK), others[i].stays ? 0 : -1);
    }
}

static int syncs;
static int no_truncation(const char *op, const char *path)
{
    (void)path;
    syncs += !strcmp(op, "fsync");
    return strcmp(op, "truncate") ? 0 : ENOSPC;
}

/* A slot that cannot be made as it should be: its file goes, or it stays as it was. */
static void test_slots_that_fail(void **state)
{
    (void)state;
    struct sk_slot *s = NULL;
    struct sk_gen g = {1, 5, 0};
    struct saikai_error err = {0};
    struct stat sb;
    char path[128], folder[128];
    snprintf(path, sizeof path, "%s/slot-0001-000000-0.tmp", dir);
    sk_io_hook = no_truncation;
    int rc = sk_slot_new(dir, 1, 0, 0, 10000, &s, &err);
    sk_io_hook = NULL;
    assert_true(rc == SAIKAI_ENOSPC && !s && strstr(err.text, path));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(sk_slot_new(dir, 1, 0, 0, 10000, &s, &err), 0);
    memset(s->map, 7, 10000);
    sk_io_hook = no_truncation;
    rc = sk_slot_resize(s, 20000, &err); /* nor is there a way back */
    int same = sk_slot_resize(s, 10000, &err), less = sk_slot_resize(s, 5000, NULL);
    sk_io_hook = NULL;
    assert_true(rc == SAIKAI_EIO && same == 0 && less == SAIKAI_ENOSPC && s->size_bytes == 10000);
    assert_true(strstr(err.text, path) && strstr(err.text, "lost its space"));
    assert_true(s->map[0] == 7 && s->map[9999] == 7);
    assert_int_equal(sk_slot_retire(s, dir, g, 0, &err), SAIKAI_ENOENT); /* there is no such generation */
    assert_int_equal(access(path, F_OK), 0);
    for (int sync = 0; sync < 2; sync++) {
        syncs = 0;
        sk_io_hook = no_truncation;
        rc = sk_slot_commit(s, dir, g, 0, sync, &err);
        sk_io_hook = NULL;
        assert_int_equal(rc, 0);
        assert_int_equal(syncs, sync ? 4 : 0); /* what was mapped, the file, and two directories */
        assert_int_equal(sk_slot_retire(s, dir, g, 0, &err), 0);
        assert_int_equal(access(path, F_OK), 0);
        assert_int_equal(sk_gen_dir(dir, g, folder, sizeof folder, NULL) || !access(folder, F_OK), 0); /* it held nothing else */
    }
    assert_int_equal(sk_slot_resize(s, 0, &err), 0);
    assert_true(!s->map && stat(path, &sb) == 0 && sb.st_size == 0);
    assert_int_equal(sk_slot_commit(s, dir, g, 0, 1, &err), 0); /* nothing is mapped */
    sk_slot_free(s, 0);
}

/* ---- state ---- */

static void test_state(void **state)
{
    (void)state;
    struct sk_state s = {.incarnation = 4, .first_incarnation = 2, .finished = 1}, t;
    struct sk_gen g = {3, 100, 0}, other = {3, 200, 1};
    assert_int_equal(sk_state_load(dir, &t, NULL), 0);
    assert_int_equal(t.incarnation, 0);
    sk_state_count(&s, g, 7, 1);
    sk_state_count(&s, g, 7, 0);
    sk_state_count(&s, other, 8, 0);
    s.trying = (struct sk_tried){.gen = other, .files = 9};
    s.trying_start = 4;
    assert_int_equal(sk_state_save(dir, &s, NULL), 0);
    assert_int_equal(sk_state_load(dir, &t, NULL), 0);
    assert_int_equal(t.incarnation, 4);
    assert_int_equal(t.first_incarnation, 2);
    assert_int_equal(t.finished, 1);
    assert_int_equal(t.tried_count, 2);
    assert_int_equal(sk_state_tried(&t, g)->deaths, 1);
    assert_int_equal(sk_state_tried(&t, g)->unexplained, 1);
    assert_int_equal(sk_state_tried(&t, g)->files, 7);
    assert_int_equal(sk_gen_key(t.trying.gen), sk_gen_key(other));
    assert_int_equal(t.trying.files, 9);
    assert_int_equal(t.trying_start, 4);
    sk_state_untry(&t, g);
    assert_null(sk_state_tried(&t, g));
    assert_non_null(sk_state_tried(&t, other));
    for (int i = 0; i < 2 * SK_STATE_TRIED; i++)
        sk_state_count(&t, (struct sk_gen){1, i, 0}, 0, 1);
    assert_int_equal(t.tried_count, SK_STATE_TRIED);
    assert_int_equal(sk_state_save(dir, &t, NULL), 0);
    assert_int_equal(sk_state_load(dir, &s, NULL), 0);
    assert_int_equal(s.tried_count, SK_STATE_TRIED);
}

static void test_what_counts_against_a_generation(void **state)
{
    (void)state;
    struct sk_state s = {.incarnation = 4};
    struct sk_gen g = {3, 100, 0};
    struct saikai_error err = {0};
    assert_false(sk_state_refuses(&s, g, 5, 0));
    sk_state_count(&s, g, 5, 1);
    assert_false(sk_state_refuses(&s, g, 5, 2));
    sk_state_count(&s, g, 5, 0); /* half a death */
    assert_false(sk_state_refuses(&s, g, 5, 2));
    sk_state_count(&s, g, 5, 0);
    assert_true(sk_state_refuses(&s, g, 5, 2));
    assert_true(sk_state_refuses(&s, g, 0, 2));
    assert_false(sk_state_refuses(&s, g, 6, 2)); /* its files are others now */
    sk_state_count(&s, g, 6, 1);
    assert_int_equal(sk_state_tried(&s, g)->deaths, 1);
    assert_int_equal(sk_state_tried(&s, g)->unexplained, 0);
    /* by hand */
    assert_int_equal(sk_state_mark(&s, g, 1, &err), 0);
    assert_true(sk_state_refuses(&s, g, 7, 100));
    sk_state_untry(&s, g);
    assert_true(sk_state_refuses(&s, g, 7, 100));
    for (int i = 0; i < 2 * SK_STATE_TRIED; i++)
        sk_state_count(&s, (struct sk_gen){1, i, 0}, 0, 1);
    assert_true(sk_state_refuses(&s, g, 0, 100));
    assert_int_equal(sk_state_mark(&s, g, 0, &err), 0);
    assert_null(sk_state_tried(&s, g));
    assert_int_equal(sk_state_mark(&s, g, 0, &err), 0);
    for (int i = 0; i < SK_STATE_TRIED; i++)
        assert_int_equal(sk_state_mark(&s, (struct sk_gen){2, i, 0}, 1, &err), 0);
    assert_int_equal(sk_state_mark(&s, g, 1, &err), SAIKAI_ENOMEM);
    sk_state_count(&s, g, 1, 1); /* no room, no harm */
    assert_null(sk_state_tried(&s, g));
}

/* An entry without any death refuses nothing, however few are too many; behind the checksum there is nothing. */
static void test_limits_of_a_state(void **state)
{
    (void)state;
    struct sk_state s = {.incarnation = 4, .tried_count = 1}, t;
    struct sk_gen g = {3, 100, 0};
    struct saikai_error err = {0};
    char path[128], twice[8192];
    void *text;
    size_t n;
    s.tried[0] = (struct sk_tried){.gen = g, .files = 5};
    assert_false(sk_state_refuses(&s, g, 5, 0));
    s.tried[0].deaths = 1;
    assert_true(sk_state_refuses(&s, g, 5, 0) && sk_state_refuses(&s, g, 5, 1) && !sk_state_refuses(&s, g, 5, 2));
    s.tried[0].unexplained = 2;
    assert_true(sk_state_refuses(&s, g, 5, 2) && !sk_state_refuses(&s, g, 5, 3));
    s.tried[0].files = 0; /* nobody knows of which files that was */
    assert_true(sk_state_refuses(&s, g, 5, 2));
    assert_int_equal(sk_state_save(dir, &s, NULL), 0);
    snprintf(path, sizeof path, "%s/state", dir);
    assert_int_equal(sk_io_slurp(path, 4096, &text, &n, NULL), 0);
    assert_int_equal(sk_state_decode(text, n, &t, &err), 0);
    static const char *const behind[] = {"\n", "finished 1\n", "x"};
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        snprintf(twice, sizeof twice, "%.*s%s", (int)n, (char *)text, behind[i]);
        assert_int_equal(sk_state_decode(twice, strlen(twice), &t, &err), SAIKAI_EDAMAGED);
        assert_non_null(strstr(err.text, "is not one of a state file"));
    }
    assert_int_equal(sk_state_decode(text, n - 1, &t, &err), SAIKAI_EDAMAGED);
    assert_int_equal(sk_state_decode("", 0, &t, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "truncated"));
    free(text);
}

static void test_damaged_state(void **state)
{
    (void)state;
    struct sk_state s = {.incarnation = 4, .first_incarnation = 2}, t, before;
    struct saikai_error err = {0};
    char path[128];
    void *text;
    size_t n;
    assert_int_equal(sk_state_save(dir, &s, NULL), 0);
    snprintf(path, sizeof path, "%s/state", dir);
    assert_int_equal(sk_io_slurp(path, 4096, &text, &n, NULL), 0);
    memset(&t, 0x5a, sizeof t);
    before = t; /* what cannot be read changes nothing */
    for (size_t i = 0; i < n; i++) {
        assert_true(sk_state_decode(text, i, &t, &err) < 0);
        assert_memory_equal(&t, &before, sizeof t);
    }
    for (size_t bit = 0; bit < 8 * n; bit++) {
        ((uint8_t *)text)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        int rc = sk_state_decode(text, n, &t, &err);
        /* a checksum in capital letters is the same number */
        if (rc)
            assert_memory_equal(&t, &before, sizeof t);
        else
            assert_true(t.incarnation == 4 && t.first_incarnation == 2);
        t = before;
        ((uint8_t *)text)[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    ((char *)text)[20]++;
    assert_int_equal(sk_io_replace(path, text, n, NULL), 0);
    assert_int_equal(sk_state_load(dir, &t, &err), SAIKAI_EDAMAGED);
    assert_memory_equal(&t, &before, sizeof t);
    assert_true(strstr(err.text, "remove it") && strstr(err.text, ": line 2 is not one of a state file"));
    char far[PATH_MAX + 8] = "/";
    memset(far + 1, 'f', PATH_MAX);
    assert_int_equal(sk_state_load(far, &t, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_state_save(far, &t, &err), SAIKAI_EINVAL);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
        cmocka_unit_test(remember_open_files),
        TEST(test_names_and_order),
        TEST(test_scan),
        TEST(test_a_directory_that_vanishes_is_made_anew),
        TEST(test_container_round_trip_and_copy),
        TEST(test_bit_flips_everywhere),
        TEST(test_truncation_everywhere),
        TEST(test_a_damaged_container_is_not_copied),
        TEST(test_slot_life),
        TEST(test_state),
        TEST(test_what_counts_against_a_generation),
        TEST(test_no_place_for_generations),
        TEST(test_slots_that_fail),
        TEST(test_limits_of_a_state),
        TEST(test_damaged_state),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
