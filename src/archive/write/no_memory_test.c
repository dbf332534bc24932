/* Wherever memory runs out while archives are made and read: SAIKAI_ENOMEM and nothing else, nothing is left behind, and what
 * comes back is right. */
#include "archive/read/extract.h"
#include "archive/write/schemes.h"
#include "archive/write/create.h"
#include "archive/read/content.h"
#include "archive/read/inside.h"
#include "archive/plan/repeats.h"
#include "archive/plan/values_testing.h"
#include "base/host/no_memory_testing.h"
#include "store/form/coded.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/host/open_files_testing.h"

static char dir[64];

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-no-memory-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static const char *at(const char *name)
{
    static char path[4][128];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, 128, "%s/%s", dir, name);
    return p;
}

struct job {
    struct made m;
    struct sk_archive_options o;
    const char *previous;
};

static int create(void *arg, struct saikai_error *err)
{
    struct job *j = arg;
    struct sk_archive_options o = j->o;
    o.no_sync = 1;
    o.threads = 1;
    o.previous = j->previous;
    return sk_archive_create(at("new.ska"), j->m.in, (size_t)j->m.count, &o, NULL, err);
}

static int extract(void *arg, struct saikai_error *err)
{
    (void)arg;
    return sk_archive_extract(at("new.ska"), at("back"), &(struct sk_extract_options){.no_sync = 1, .threads = 1}, NULL, err);
}

/* All files are back. */
static void is_back(void *arg)
{
    struct job *j = arg;
    for (int i = 0; i < j->m.count; i++) {
        char path[256];
        void *back;
        size_t n;
        snprintf(path, sizeof path, "%s/back/%s", dir, j->m.name[i]);
        assert_int_equal(sk_io_slurp(path, 1 << 28, &back, &n, NULL), 0);
        assert_int_equal(n, j->m.data[i].len);
        assert_memory_equal(back, j->m.data[i].data, n);
        free(back);
    }
}

static void is_archived(void *arg)
{
    struct saikai_error err = {0};
    if (extract(arg, &err))
        fail_msg("after allocation %ld: %s", no_memory.fails, err.text);
    is_back(arg);
    sk_io_rmtree(at("back"), NULL);
}

static void no_traces(void *arg)
{
    (void)arg;
    sk_io_unlink(at("new.ska"), NULL);
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));)
        assert_null(strstr(e->d_name, "tmp"));
    closedir(d);
}

static void not_back(void *arg)
{
    (void)arg;
    sk_io_rmtree(at("back"), NULL);
}

static void inputs(struct made *m)
{
    for (int i = 0; i < m->count; i++)
        m->in[i] = (struct sk_archive_input){m->name[i], m->name[i], m->data[i].data, m->data[i].len};
}

/* Files that a reader knows, and bytes. */
static void make(struct job *j)
{
    static const uint8_t head[] = {'C', 'D', 'F', 1, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0, 1, 'x', 0, 0, 0, 0, 0, 5, 220,
                                   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0, 1, 0, 0, 0, 1, 'v', 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
                                   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 46, 224, 0, 0, 0, 80};
    *j = (struct job){0};
    made_seed = 4;
    made_file(&j->m, "v.nc", NULL);
    sk_buf_put(&j->m.data[0], head, sizeof head);
    for (uint64_t i = 0; i < 1500; i++)
        made_put(&j->m.data[0], &(struct made_variable){.type = SAIKAI_F64, .big_endian = 1}, 7 + (double)i * 0.001);
    made_file(&j->m, "records", NULL);
    records(&j->m, 40, 2000, words);
    made_file(&j->m, "prose", NULL);
    made_bytes(&j->m, 70000, prose);
    made_file(&j->m, "again", NULL);
    again(&j->m, 1, 0, j->m.data[1].len);
    made_file(&j->m, "deep/name", NULL);
    made_bytes(&j->m, 20000, dense);
    inputs(&j->m);
}

static void an_archive_is_made_or_not(void **state)
{
    (void)state;
    struct job j;
    make(&j);
    assert_true(no_memory_sweep(create, is_archived, no_traces, &j) > 40);
    for (j.o.scheme = SK_SCHEME_AGNOSTIC_BLOCK; j.o.scheme <= SK_SCHEME_AWARE; j.o.scheme++) {
        j.o.codec_f64 = "zstd";
        assert_true(no_memory_sweep(create, is_archived, no_traces, &j) > 20);
    }
    made_free(&j.m);
}

static void one_that_builds_on_another_is_made_or_not(void **state)
{
    (void)state;
    struct job j;
    make(&j);
    assert_int_equal(create(&j, NULL), 0);
    assert_int_equal(rename(at("new.ska"), at("old.ska")), 0);
    for (size_t i = 0; i < 20000; i += 900)
        j.m.data[4].data[i]++;
    j.previous = at("old.ska");
    char previous[128];
    snprintf(previous, sizeof previous, "%s", at("old.ska"));
    j.previous = previous;
    assert_true(no_memory_sweep(create, is_archived, no_traces, &j) > 40);
    assert_int_equal(create(&j, NULL), 0);
    assert_true(no_memory_sweep(extract, is_back, not_back, &j) > 20);
    made_free(&j.m);
}

static int read_inside(void *arg, struct saikai_error *err)
{
    struct job *j = arg;
    struct sk_inside *s = NULL;
    static uint8_t to[100000];
    int rc = sk_inside_new(0, &s, err);
    if (!rc)
        rc = sk_inside_add(s, at("new.ska"), err);
    for (int i = 0; i < j->m.count && !rc; i++) {
        size_t n = j->m.data[i].len < 5000 ? j->m.data[i].len : 5000;
        rc = sk_inside_read(s, (size_t)i, j->m.data[i].len - n, to, n, err);
        if (!rc)
            assert_memory_equal(to, j->m.data[i].data + j->m.data[i].len - n, n);
    }
    sk_inside_release(s);
    return rc;
}

static void files_are_read_where_they_lie_or_not(void **state)
{
    (void)state;
    struct job j;
    make(&j);
    assert_int_equal(create(&j, NULL), 0);
    assert_true(no_memory_sweep(read_inside, NULL, NULL, &j) > 15);
    made_free(&j.m);
}

static int nobody_is_at_fault(void *arg, const char *archive, const struct saikai_error *why)
{
    (void)arg;
    fail_msg("%s: %s", archive, why->text);
    return 0;
}

static int check(void *arg, struct saikai_error *err)
{
    struct sk_inside *s = NULL;
    int rc = sk_inside_new(0, &s, err);
    if (!rc)
        rc = sk_inside_add(s, at("new.ska"), err);
    if (!rc)
        rc = sk_inside_check_rest(s, nobody_is_at_fault, NULL, arg, err);
    sk_inside_release(s);
    return rc;
}

/* That memory is out is not taken for damage. */
static void archives_are_checked_or_not(void **state)
{
    (void)state;
    struct job j;
    make(&j);
    assert_int_equal(create(&j, NULL), 0);
    assert_true(no_memory_sweep(check, NULL, NULL, &j) > 15);
    made_free(&j.m);
}

/* ---- generations ---- */

static const struct sk_gen gen = {2, 7, 1};

/* A rank's container in an archive, opened; another archive of the set is missing, which is told. */
static int look_at_generation(void *arg, struct saikai_error *err)
{
    struct sk_content *c = NULL;
    struct sk_container *x = NULL;
    (void)arg;
    int rc = sk_content_load(at("store"), gen, 0, &c, err);
    if (!rc) {
        assert_true(c->count == 1 && c->ranks[0] == 3 && c->troubles == 1 && c->trouble[0].missing);
        assert_non_null(strstr(c->trouble[0].text, "2-of-2.ska"));
        rc = sk_content_open_alone(c, 0, &x, err);
    }
    if (x)
        sk_container_close(x);
    sk_content_free(c);
    return rc;
}

static int look_at_file(void *arg, struct saikai_error *err)
{
    struct sk_content *c = NULL;
    (void)arg;
    int rc = sk_content_of_file(at("made.skc"), &c, err);
    if (!rc)
        assert_true(c->count == 1 && c->ranks[0] == 3);
    sk_content_free(c);
    return rc;
}

static void generations_are_looked_at_or_not(void **state)
{
    (void)state;
    static uint8_t data[1000];
    struct saikai_error err = {0};
    struct sk_skc_header h = {.run_id = 5, .iteration = gen.iteration, .place = gen.place, .incarnation = gen.incarnation, .rank = 3, .nranks = 4};
    struct sk_piece p = {.name = "v", .type = SAIKAI_U8, .ndims = 1, .dims = {sizeof data}, .data = data, .size_bytes = sizeof data};
    struct sk_archive_input in = {.path = at("made.skc"), .name = "rank-000003.skc"};
    if (sk_container_write(in.path, &h, &p, NULL, 1, 0, NULL, NULL, &err) || sk_io_mkdirs(at("store/gen-0002-000000000007-1"), &err) ||
        sk_archive_create(at("store/gen-0002-000000000007-1/set-000001.1-of-2.ska"), &in, 1, &(struct sk_archive_options){.no_sync = 1, .threads = 1}, NULL, &err))
        fail_msg("%s", err.text);
    assert_true(no_memory_sweep(look_at_generation, NULL, NULL, NULL) > 10);
    assert_true(no_memory_sweep(look_at_file, NULL, NULL, NULL) > 1);
}

static void numbers_as_text_are_archived_or_not(void **state)
{
    (void)state;
    struct job j = {0};
    struct sk_ska a = {0};
    made_seed = 5;
    made_file(&j.m, "table", NULL);
    for (int i = 0; i < 4000; i++)
        sk_buf_printf(&j.m.data[0], "%5d %d %.5f %g\n", i, i % 7, 1e-5 * (double)(i * 7919 % 99991), 1e-3 * (double)(i * 104729 % 9973));
    inputs(&j.m);
    assert_int_equal(create(&j, NULL), 0);
    assert_int_equal(sk_archive_open(at("new.ska"), &a, NULL), 0);
    assert_int_equal(a.needs, SK_SKA_TEXT);
    sk_ska_free(&a);
    assert_true(no_memory_sweep(create, is_archived, no_traces, &j) > 20);
    assert_int_equal(create(&j, NULL), 0);
    assert_true(no_memory_sweep(extract, is_back, not_back, &j) > 10);
    made_free(&j.m);
}

static void rows_are_archived_or_not(void **state)
{
    (void)state;
    struct job j = {0};
    struct sk_ska a = {0};
    made_seed = 6;
    made_file(&j.m, "bodies", NULL);
    for (int i = 0; i < 6000; i++) {
        double at[2] = {1 + 1e-5 * i + 1e-9 * (double)(i * 7919 % 99991), 5 - 1e-4 * (double)(i * 104729 % 9973)};
        sk_buf_put_u64(&j.m.data[0], (uint64_t)i);
        sk_buf_put(&j.m.data[0], at, sizeof at);
    }
    inputs(&j.m);
    assert_int_equal(create(&j, NULL), 0);
    assert_int_equal(sk_archive_open(at("new.ska"), &a, NULL), 0);
    assert_int_equal(a.needs, SK_SKA_ROWS);
    sk_ska_free(&a);
    assert_true(no_memory_sweep(create, is_archived, no_traces, &j) > 20);
    assert_int_equal(create(&j, NULL), 0);
    assert_true(no_memory_sweep(extract, is_back, not_back, &j) > 10);
    made_free(&j.m);
}

/* Directories and links beside the files: all of them, or no archive. */
static void links_are_back(void *arg)
{
    struct saikai_error err = {0};
    char to[64];
    if (extract(arg, &err))
        fail_msg("after allocation %ld: %s", no_memory.fails, err.text);
    for (int i = 0; i < 12; i++) {
        char name[24];
        snprintf(name, sizeof name, "back/link%d", i);
        ssize_t n = readlink(at(name), to, sizeof to);
        assert_true(n == 5 && !memcmp(to, "prose", 5));
    }
    assert_int_equal(access(at("back/empty"), F_OK), 0);
    is_back(arg);
    sk_io_rmtree(at("back"), NULL);
}

static int nothing_is_left_out(void *arg, const char *path, const struct saikai_error *why)
{
    (void)arg;
    fail_msg("%s: %s", path, why->text);
    return 0;
}

static int all_classes(void *arg, const struct sk_ska_class *c)
{
    (void)arg, (void)c;
    return 1;
}

static int extract_some(void *arg, struct saikai_error *err)
{
    static const char *const members[] = {"hard", "empty"};
    (void)arg;
    struct sk_extract_options o = {.no_sync = 1, .threads = 1, .members = members, .member_count = 2, .wants_class = all_classes};
    int rc = sk_archive_extract(at("new.ska"), at("back"), &o, NULL, err);
    if (!rc)
        assert_int_equal(access(at("back/hard"), F_OK), 0);
    return rc;
}

static void links_are_archived_or_not(void **state)
{
    (void)state;
    struct job j = {0};
    struct sk_ska_entry e[14] = {{"empty", NULL, SK_ENTRY_DIRECTORY, 0755, 0}, [13] = {"hard", "prose", SK_ENTRY_HARD_LINK, 0, 0}};
    char name[12][24];
    for (int i = 0; i < 12; i++) {
        snprintf(name[i], sizeof name[i], "link%d", i);
        e[i + 1] = (struct sk_ska_entry){name[i], "prose", SK_ENTRY_SYMLINK, 0777, 0};
    }
    made_seed = 7;
    made_file(&j.m, "prose", NULL);
    made_bytes(&j.m, 3000, prose);
    inputs(&j.m);
    j.o.entries = e;
    j.o.entry_count = 14;
    assert_true(no_memory_sweep(create, links_are_back, no_traces, &j) > 15);
    j.o.leave_out = nothing_is_left_out;
    assert_true(no_memory_sweep(create, links_are_back, no_traces, &j) > 15);
    assert_int_equal(create(&j, NULL), 0);
    assert_true(no_memory_sweep(extract_some, NULL, not_back, &j) > 10);
    made_free(&j.m);
}

/* ---- fields of every kind ---- */

static int plan(void *arg, struct saikai_error *err)
{
    struct sk_ska_plan *p = arg;
    sk_ska_plan_uncut(p);
    return sk_ska_plan_cut(p, err);
}

static int write_plan(void *arg, struct saikai_error *err)
{
    struct sk_ska_plan *p = arg;
    struct sk_archive_stats st = {0};
    return sk_ska_plan_write(p, -1, "nowhere", &st, err);
}

static void fields_are_planned_or_not(void **state)
{
    (void)state;
    struct made m = {0};
    struct sk_ska_plan p;
    struct sk_feed_local feed;
    struct sk_archive_options o = {.quick = 1, .threads = 1, .no_sync = 1};
    grid = 0;
    physics(&m, "a", "Grid1", 7);
    mixture(&m, "b");
    made_plan(&m, &o, &feed, &p);
    p.unit_bytes = p.bytes_unit = 1 << 18;
    assert_true(no_memory_sweep(plan, NULL, NULL, &p) > 30);
    assert_true(no_memory_sweep(write_plan, NULL, NULL, &p) > 40);
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    made_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(an_archive_is_made_or_not),
        cmocka_unit_test(one_that_builds_on_another_is_made_or_not),
        cmocka_unit_test(files_are_read_where_they_lie_or_not),
        cmocka_unit_test(archives_are_checked_or_not),
        cmocka_unit_test(generations_are_looked_at_or_not),
        cmocka_unit_test(numbers_as_text_are_archived_or_not),
        cmocka_unit_test(rows_are_archived_or_not),
        cmocka_unit_test(links_are_archived_or_not),
        cmocka_unit_test(fields_are_planned_or_not),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
