/* Names, manifests and methods: what a method or an output gets wrong is found, and costs what it must. */
#include "output/kept_there.h"
#include "output/manifest.h"
#include "output/outlet.h"

#include "base/file/io.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64];

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-output-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static const char *in(const char *name)
{
    static char path[4][PATH_MAX];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

static void write_file(const char *path, const char *text, int mode)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, (mode_t)mode), 0);
}

static void assert_file(const char *path, const char *text)
{
    void *data;
    size_t n;
    assert_int_equal(sk_io_slurp(path, 1000, &data, &n, NULL), 0);
    assert_string_equal(data, text);
    free(data);
}

/* ---- names ---- */

static void names_cannot_lead_elsewhere(void **state)
{
    static const char *const good[] = {"a", "a/b", "A-9_.+@%/x.y", "a/b.c/d"};
    static const char *const bad[] = {"", "/a", "a/", "a//b", ".", "..", "a/../b", "a/.b", ".a", "a b", "a\nb", "a\\b", "a*", "a/\xc3\xa4", "a$b", NULL};
    char longest[SK_OUTLET_NAME + 1];
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(sk_outlet_is_name(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(sk_outlet_is_name(bad[i]));
    memset(longest, 'a', sizeof longest);
    longest[SK_OUTLET_NAME] = 0;
    assert_false(sk_outlet_is_name(longest));
    longest[SK_OUTLET_NAME - 1] = 0;
    assert_true(sk_outlet_is_name(longest));
}

static void a_directory_has_one_base(void **state)
{
    static const struct {
        const char *told, *dir, *base;
    } rows[] = {
        {"", "/scratch/me/run 1/saikai-store", "scratch/me/run%201/saikai-store"},
        {"", "/scratch/me/./saikai-store/", "scratch/me/saikai-store"},
        {"", "//a///b", "a/b"},
        {"", "/a/.hidden/b%c", "a/%2Ehidden/b%25c"},
        {"", "/a/\xc3\xa4", "a/%C3%A4"},
        {"mine/heat", "/anywhere", "mine/heat"},
    };
    char out[SK_OUTLET_NAME], long_dir[PATH_MAX];
    struct saikai_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(sk_outlet_base(rows[i].told, rows[i].dir, out, sizeof out, &err), 0);
        assert_string_equal(out, rows[i].base);
    }
    assert_int_equal(sk_outlet_base("../x", "/a", out, sizeof out, &err), SAIKAI_ECONFIG);
    memset(long_dir, 'x', 1000);
    long_dir[0] = '/';
    long_dir[1000] = 0;
    assert_int_equal(sk_outlet_base("", long_dir, out, sizeof out, &err), SAIKAI_ECONFIG);
    assert_int_equal(chdir(dir), 0); /* a relative one is the same as its absolute path */
    char absolute[SK_OUTLET_NAME];
    assert_int_equal(sk_outlet_base("", "store", out, sizeof out, &err), 0);
    assert_int_equal(sk_outlet_base("", in("store"), absolute, sizeof absolute, &err), 0);
    assert_string_equal(out, absolute);
    assert_int_equal(chdir("/"), 0);
}

/* ---- manifests ---- */

static void a_manifest_is_as_it_was_or_damaged(void **state)
{
    struct sk_manifest m = {0}, back;
    struct sk_buf b = {0};
    (void)state;
    assert_int_equal(sk_manifest_add(&m, "rank-000000.skc", 1234567890123ULL, 0xfedcba9876543210ULL, NULL), 0);
    assert_int_equal(sk_manifest_add(&m, "a.ska", 0, 1, NULL), 0);
    assert_int_equal(sk_manifest_add(&m, "../x", 1, 1, NULL), SAIKAI_EINVAL);
    assert_int_equal(sk_manifest_add(&m, ".x", 1, 1, NULL), SAIKAI_EINVAL);
    assert_int_equal(sk_manifest_add(&m, "a b", 1, 1, NULL), SAIKAI_EINVAL);
    assert_int_equal(sk_manifest_add(&m, "", 1, 1, NULL), SAIKAI_EINVAL);
    assert_int_equal(sk_manifest_encode(&m, &b, NULL), 0);
    assert_int_equal(sk_manifest_decode(b.data, b.len, &back, NULL), 0);
    assert_int_equal(back.n, 2);
    assert_memory_equal(back.file, m.file, 2 * sizeof *m.file);
    sk_manifest_free(&back);
    for (size_t i = 0; i < b.len; i++) { /* any byte, and any end */
        for (int bit = 0; bit < 8; bit++) {
            b.data[i] ^= (uint8_t)(1 << bit);
            int rc = sk_manifest_decode(b.data, b.len, &back, NULL);
            if (!rc) { /* the checksum itself: other digits of the same number */
                assert_true(i > b.len - 18);
                sk_manifest_free(&back);
            }
            b.data[i] ^= (uint8_t)(1 << bit);
        }
        assert_int_equal(sk_manifest_decode(b.data, i, &back, NULL), SAIKAI_EDAMAGED);
    }
    sk_buf_put(&b, "x", 1);
    assert_int_equal(sk_manifest_decode(b.data, b.len, &back, NULL), SAIKAI_EDAMAGED);
    sk_buf_free(&b);
    sk_manifest_free(&m);
    assert_int_equal(sk_manifest_encode(&m, &b, NULL), 0); /* one without files says nothing */
    assert_int_equal(sk_manifest_decode(b.data, b.len, &back, NULL), SAIKAI_EDAMAGED);
    sk_buf_free(&b);
}

/* ---- methods ---- */

static struct sk_outlet outlet_of(const struct sk_method_ops *m, const char *place)
{
    struct sk_outlet o = {.method = m};
    snprintf(o.place, sizeof o.place, "%s", place);
    snprintf(o.label, sizeof o.label, "%s:%s", m->name, place);
    return o;
}

/* What each method must do. */
static void use(const struct sk_outlet *o)
{
    struct saikai_error err = {0};
    struct sk_outlet_names l;
    write_file(in("one"), "first", 0600);
    write_file(in("two"), "the second one", 0600);
    assert_int_equal(sk_outlet_list(o, "a/", &l, &err), 0);
    assert_int_equal(l.n, 0);
    sk_outlet_names_free(&l);
    assert_int_equal(sk_outlet_get(o, "a/b/x", in("back"), &err), SAIKAI_ENOENT);
    assert_int_equal(access(in("back"), F_OK), -1);
    assert_int_equal(sk_outlet_put(o, "a/b/x", in("one"), &err), 0);
    assert_int_equal(sk_outlet_put(o, "a/b/y", in("two"), &err), 0);
    assert_int_equal(sk_outlet_put(o, "ab/z", in("two"), &err), 0);
    assert_int_equal(sk_outlet_put(o, "a/../z", in("two"), &err), SAIKAI_EINVAL);
    assert_int_equal(sk_outlet_put(o, "a/w", in("is-not-there"), &err), SAIKAI_EIO);
    assert_int_equal(sk_outlet_list(o, "a/", &l, &err), 0);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.at[0].name, "a/b/x");
    assert_int_equal(l.at[0].size_bytes, 5);
    assert_string_equal(l.at[1].name, "a/b/y");
    assert_int_equal(l.at[1].size_bytes, 14);
    sk_outlet_names_free(&l);
    assert_int_equal(sk_outlet_get(o, "a/b/x", in("back"), &err), 0);
    assert_file(in("back"), "first");
    assert_int_equal(unlink(in("back")), 0);
    assert_int_equal(sk_outlet_put(o, "a/b/x", in("two"), &err), 0); /* in place of what was there */
    void *data;
    size_t n;
    assert_int_equal(sk_outlet_get_bytes(o, "a/b/x", 100, dir, &data, &n, &err), 0);
    assert_string_equal(data, "the second one");
    free(data);
    assert_int_not_equal(sk_outlet_get_bytes(o, "a/b/x", 5, dir, &data, &n, &err), 0); /* more than there may be */
    assert_int_equal(sk_outlet_put_bytes(o, "a/c", "xyz", 3, dir, &err), 0);
    assert_int_equal(sk_outlet_remove(o, "a/b/x", &err), 0);
    assert_int_equal(sk_outlet_remove(o, "a/b/x", &err), 0);
    assert_int_equal(sk_outlet_list(o, "a/", &l, &err), 0);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.at[0].name, "a/b/y");
    assert_string_equal(l.at[1].name, "a/c");
    sk_outlet_names_free(&l);
}

static void a_directory_keeps_what_it_is_given(void **state)
{
    struct saikai_error err = {0};
    struct sk_outlet o = outlet_of(&sk_method_directory, in("place"));
    struct sk_outlet_names l;
    (void)state;
    write_file(in("one"), "first", 0600);
    assert_int_equal(sk_outlet_put(&o, "a", in("one"), &err), SAIKAI_EIO); /* what is not mounted is not made */
    assert_non_null(strstr(err.text, "place"));
    assert_int_equal(sk_outlet_list(&o, "a", &l, &err), SAIKAI_EIO);
    assert_int_equal(mkdir(in("place"), 0700), 0);
    use(&o);
    assert_int_equal(access(in("place/a/b"), F_OK), 0);
    assert_int_equal(sk_outlet_remove(&o, "a/b/y", &err), 0);
    assert_int_equal(access(in("place/a/b"), F_OK), -1); /* with the directory that is empty now, and no more */
    assert_int_equal(access(in("place/a/c"), F_OK), 0);
    assert_int_equal(sk_outlet_remove(&o, "ab/z", &err), 0);
    assert_int_equal(sk_outlet_remove(&o, "a/c", &err), 0);
    assert_int_equal(access(in("place"), F_OK), 0);
    struct sk_outlet relative = outlet_of(&sk_method_directory, "place");
    assert_int_equal(sk_outlet_put(&relative, "a", in("one"), &err), SAIKAI_EIO);
}

static void a_command_does_as_it_says(void **state)
{
    static const char script[] = "#!/bin/sh\n"
                                 "cd \"$(dirname \"$0\")/place\" || exit 1\n"
                                 "case $1 in\n"
                                 "put) mkdir -p \"$(dirname \"$2\")\" && cp \"$3\" \"$2\" ;;\n"
                                 "get) [ -e \"$2\" ] || exit 3; cp \"$2\" \"$3\" ;;\n"
                                 "list) find . -type f -printf '%s %P\\n' ;;\n" /* also what was not asked for */
                                 "remove) rm -f \"$2\" ;;\n"
                                 "*) exit 9 ;;\n"
                                 "esac\n";
    struct saikai_error err = {0};
    char place[PATH_MAX];
    struct sk_outlet_names l;
    (void)state;
    write_file(in("keep"), script, 0700);
    assert_int_equal(mkdir(in("place"), 0700), 0);
    snprintf(place, sizeof place, "sh %s", in("keep"));
    struct sk_outlet o = outlet_of(&sk_method_command, place);
    use(&o);
    struct sk_outlet fails = outlet_of(&sk_method_command, "echo one >&2; echo 'the bucket is gone' >&2; exit 7 #");
    assert_int_equal(sk_outlet_list(&fails, "a", &l, &err), SAIKAI_EIO);
    assert_non_null(strstr(err.text, "the bucket is gone (exit code 7)"));
    struct sk_outlet mute = outlet_of(&sk_method_command, "exit 7 #");
    assert_int_equal(sk_outlet_put(&mute, "a", in("one"), &err), SAIKAI_EIO);
    assert_non_null(strstr(err.text, "ended with 7"));
    struct sk_outlet killed = outlet_of(&sk_method_command, "kill -9 $$ #");
    assert_int_equal(sk_outlet_put(&killed, "a", in("one"), &err), SAIKAI_EIO);
    assert_non_null(strstr(err.text, "signal 9"));
    struct sk_outlet nonsense = outlet_of(&sk_method_command, "echo some words; #");
    assert_int_equal(sk_outlet_list(&nonsense, "a", &l, &err), SAIKAI_EIO);
    assert_non_null(strstr(err.text, "no line 'BYTES NAME'"));
    struct sk_outlet lies = outlet_of(&sk_method_command, "true #"); /* says that it has what it does not give */
    assert_int_equal(sk_outlet_get(&lies, "a", in("back"), &err), SAIKAI_EIO);
}

/* Names that lead elsewhere are not taken from a method. */
static void what_a_list_tells_is_looked_at(void **state)
{
    struct saikai_error err = {0};
    struct sk_outlet o = outlet_of(&sk_method_command, "printf '1 a/../../etc/passwd\\n2 /a/b\\n3 b/c\\n4 a/ok\\n5 a/.x\\n' #");
    struct sk_outlet_names l;
    (void)state;
    assert_int_equal(sk_outlet_list(&o, "a/", &l, &err), 0);
    assert_int_equal(l.n, 1);
    assert_string_equal(l.at[0].name, "a/ok");
    sk_outlet_names_free(&l);
}

/* ---- what is kept there ---- */

#define ONE "00000000000000000000000000000001"
#define TWO "00000000000000000000000000000002"

static void generations_are_read_from_names(void **state)
{
    struct sk_outlet o = outlet_of(&sk_method_command,
                                   "printf '%s\\n' '9 b/store' '1 b/" ONE "/job' '5 b/" ONE "/gen-0001-000000000010-0/rank-000000.skc' "
                                   "'6 b/" ONE "/gen-0001-000000000010-0/rank-000001.skc' '7 b/" ONE "/gen-0001-000000000010-0.complete' "
                                   "'8 b/" ONE "/gen-0002-000000000005-0/rank-000000.skc' '1 b/" TWO "/gen-0001-000000000020-0.complete' "
                                   "'3 b/" TWO "/gen-1/x' '3 b/short/gen-0001-000000000010-0/x' '3 b/jobs/heat/" ONE "/gen-0001-000000000010-0/x' #");
    struct sk_kept_there k;
    struct sk_id one, two;
    (void)state;
    assert_int_equal(sk_id_parse(ONE, &one), 0);
    assert_int_equal(sk_id_parse(TWO, &two), 0);
    assert_int_equal(sk_kept_there_list(&o, "b", &k, NULL), 0);
    assert_int_equal(k.n, 3);
    assert_true(sk_id_same(k.at[0].store, one));
    assert_int_equal(k.at[0].gen.incarnation, 2); /* the newest first */
    assert_false(k.at[0].whole);
    assert_int_equal(k.at[1].files, 2);
    assert_int_equal(k.at[1].size_bytes, 11);
    assert_true(k.at[1].whole);
    assert_true(sk_id_same(k.at[2].store, two));
    assert_true(k.at[2].whole);
    assert_non_null(sk_kept_there_find(&k, two, (struct sk_gen){1, 20, 0}));
    assert_null(sk_kept_there_find(&k, one, (struct sk_gen){1, 20, 0}));
    sk_kept_there_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_cannot_lead_elsewhere),
        cmocka_unit_test_setup_teardown(a_directory_has_one_base, begin, end),
        cmocka_unit_test(a_manifest_is_as_it_was_or_damaged),
        cmocka_unit_test_setup_teardown(a_directory_keeps_what_it_is_given, begin, end),
        cmocka_unit_test_setup_teardown(a_command_does_as_it_says, begin, end),
        cmocka_unit_test_setup_teardown(what_a_list_tells_is_looked_at, begin, end),
        cmocka_unit_test(generations_are_read_from_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
