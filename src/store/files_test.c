/* The small files of a store, byte by byte and at every bound: notes, whose it is, its state; names of generations and slots. */
#include "base/file/io.h"
#include "base/hash.h"
#include "store/gen.h"
#include "store/note.h"
#include "store/owner/job.h"
#include "store/owner/owner.h"
#include "store/slot.h"
#include "store/state.h"

#include <dirent.h>
#include <errno.h>
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
    strcpy(dir, "/tmp/saikai-files-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    sk_io_hook = NULL;
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

/* ---- notes ---- */

static char taken[4][SK_NOTE_VALUE + 64];
static int take(void *arg, const char *key, const char *value)
{
    int *n = arg;
    if (!strcmp(key, "bad"))
        return -1;
    snprintf(taken[*n % 4], sizeof taken[0], "%s=%s", key, value);
    ++*n;
    return 0;
}

/* A note of this text, with its checksum. */
static int decode(const char *text, struct saikai_error *err)
{
    struct sk_buf b = {0};
    int n = 0;
    sk_buf_put(&b, text, strlen(text));
    sk_note_end(&b);
    int rc = sk_note_decode((char *)b.data, b.len, "title 1", take, &n, err);
    sk_buf_free(&b);
    return rc ? rc : n;
}

static void a_note_is_these_lines(void **state)
{
    (void)state;
    struct sk_buf b = {0};
    struct saikai_error err = {0};
    char longer[2000], value[2000];
    int n = 0;
    sk_note_begin(&b, "title 1");
    sk_note_put(&b, "a", "one two");
    sk_note_put(&b, "b", "\t\x7f\n ~\xc3");
    sk_note_put(&b, "c", "");
    size_t before = b.len;
    sk_note_end(&b);
    assert_memory_equal(b.data, "title 1\na one two\nb ??? ~\xc3\nc \ncheck ", before + 6);
    assert_int_equal(b.len, before + 6 + 16 + 1);
    assert_int_equal(sk_note_decode((char *)b.data, b.len, "title 1", take, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_string_equal(taken[1], "b=??? ~\xc3");
    assert_string_equal(taken[2], "c=");
    assert_int_equal(sk_note_decode((char *)b.data, b.len, "title 2", take, &n, &err), SAIKAI_EFORMAT);
    for (size_t k = 0; k < b.len; k++)
        assert_int_equal(sk_note_decode((char *)b.data, k, "title 1", take, &n, &err), k && k < 8 ? SAIKAI_EFORMAT : SAIKAI_EDAMAGED);
    b.data[b.len - 2] ^= 1;
    assert_int_equal(sk_note_decode((char *)b.data, b.len, "title 1", take, &n, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "checksum"));
    b.data[b.len - 2] ^= 1;
    sk_buf_put(&b, "d e\n", 4); /* nothing comes behind the checksum */
    assert_int_equal(sk_note_decode((char *)b.data, b.len, "title 1", take, &n, &err), SAIKAI_EDAMAGED);
    sk_buf_free(&b);
    assert_int_equal(decode("title 1\nx y\n", &err), 1);
    assert_int_equal(decode("title 1\nno-space\n", &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "line 2 "));
    assert_int_equal(decode("title 1\nx y\nbad y\n", &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "line 3 "));
    assert_int_equal(decode("title 1\ncheck 12 3\n", &err), 1); /* a key like any other */
    /* as long as it may be */
    memset(value, 'v', sizeof value);
    value[SK_NOTE_VALUE + 200] = 0;
    sk_note_begin(&b, "title 1");
    sk_note_put(&b, "k", value);
    assert_int_equal(b.len, 8 + 2 + SK_NOTE_VALUE - 1 + 1);
    sk_buf_free(&b);
    snprintf(longer, sizeof longer, "title 1\nk %.*s\n", SK_NOTE_VALUE + 61, value);
    assert_int_equal(decode(longer, &err), 1);
    snprintf(longer, sizeof longer, "title 1\nk %.*s\n", SK_NOTE_VALUE + 62, value);
    assert_int_equal(decode(longer, &err), SAIKAI_EDAMAGED);
}

static int refuse_links(const char *op, const char *path)
{
    (void)path;
    return strcmp(op, "link") ? 0 : EPERM;
}

static int refuse_all(const char *op, const char *path)
{
    (void)path;
    return strcmp(op, "link") ? 0 : EIO;
}

static void a_note_is_made_once(void **state)
{
    (void)state;
    struct sk_buf b = {0};
    struct saikai_error err = {0};
    void *text;
    size_t n;
    struct stat st;
    sk_buf_put(&b, "first\n", 6);
    assert_int_equal(sk_note_create(dir, "note", &b, &err), 0);
    b.data[0] = 'F';
    assert_int_equal(sk_note_create(dir, "note", &b, &err), SAIKAI_EEXIST);
    assert_int_equal(sk_io_slurp(at("note"), 100, &text, &n, NULL), 0);
    assert_int_equal(n, 6);
    assert_memory_equal(text, "first\n", 6);
    free(text);
    assert_int_equal(stat(at("note"), &st), 0);
    assert_int_equal(st.st_nlink, 1); /* its temporary name is gone */
    sk_io_hook = refuse_links; /* where there are no second names */
    assert_int_equal(sk_note_create(dir, "note", &b, &err), SAIKAI_EEXIST);
    assert_int_equal(sk_note_create(dir, "other", &b, &err), 0);
    sk_io_hook = refuse_all;
    assert_int_equal(sk_note_create(dir, "third", &b, &err), SAIKAI_EIO);
    sk_io_hook = NULL;
    assert_int_equal(access(at("other"), F_OK), 0);
    assert_int_not_equal(access(at("third"), F_OK), 0);
    assert_int_equal(sk_note_create(at("none"), "note", &b, &err), SAIKAI_ENOENT);
    assert_int_equal(sk_io_unlink(at("note"), NULL), 0);
    assert_int_equal(sk_io_unlink(at("other"), NULL), 0);
    assert_int_equal(rmdir(dir), 0); /* nothing else is left */
    assert_int_equal(mkdir(dir, 0700), 0);
    sk_buf_free(&b);
}

static int link_and_lose_the_answer(const char *op, const char *path)
{
    char name[64] = "", tmp[160];
    if (strcmp(op, "link"))
        return 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, ".tmp"))
            snprintf(name, sizeof name, "%.60s", e->d_name);
    closedir(d);
    snprintf(tmp, sizeof tmp, "%s/%s", dir, name);
    assert_int_equal(link(tmp, path), 0);
    return EEXIST;
}

/* The server made the name, and said so to nobody; it was asked again. */
static void an_answer_that_is_lost(void **state)
{
    (void)state;
    struct sk_buf b = {0};
    struct saikai_error err = {0};
    struct stat st;
    sk_buf_put(&b, "mine\n", 5);
    sk_io_hook = link_and_lose_the_answer;
    int rc = sk_note_create(dir, "note", &b, &err);
    sk_io_hook = NULL;
    assert_int_equal(rc, 0);
    assert_int_equal(stat(at("note"), &st), 0);
    assert_true(st.st_size == 5 && st.st_nlink == 1);
    sk_buf_free(&b);
}

/* ---- jobs ---- */

static void a_job_is_as_it_was(void **state)
{
    (void)state;
    static struct sk_job j, back;
    struct saikai_error err = {0};
    char name[256];
    j = (struct sk_job){.name = "wave", .store = {{1, 2}}, .former = {{{3}}, {{4}}}, .former_count = 2, .unclaimed = 1, .adopted = 1,
                        .place = "/prefix/wave", .inode = UINT64_MAX, .command = "./wave 7", .since_ms = -12};
    assert_int_equal(sk_job_load(dir, &back, &err), SAIKAI_ENOENT);
    assert_int_equal(sk_job_claim(dir, &j, &err), 0);
    assert_int_equal(sk_job_claim(dir, &j, &err), SAIKAI_EEXIST);
    assert_int_equal(sk_job_load(dir, &back, &err), 0);
    assert_string_equal(back.name, "wave");
    assert_true(sk_id_same(back.store, j.store) && sk_id_same(back.former[0], j.former[0]) && sk_id_same(back.former[1], j.former[1]));
    assert_int_equal(back.former_count, 2);
    assert_true(back.unclaimed == 1 && back.adopted == 1);
    assert_string_equal(back.place, "/prefix/wave");
    assert_true(back.inode == UINT64_MAX);
    assert_string_equal(back.command, "./wave 7");
    assert_int_equal(back.since_ms, -12);
    assert_int_equal(sk_job_local_name(&j, name, sizeof name, &err), 0);
    assert_string_equal(name, "wave-010200000000");
    assert_true(sk_job_accepts(&j, j.store) && sk_job_accepts(&j, j.former[1]) && sk_job_accepts(&j, (struct sk_id){{0}}));
    assert_false(sk_job_accepts(&j, (struct sk_id){{5}}));
    j.adopted = j.unclaimed = j.former_count = 0;
    *j.place = *j.command = 0;
    assert_false(sk_job_accepts(&j, (struct sk_id){{0}}));
    assert_int_equal(sk_job_replace(dir, &j, &err), 0);
    assert_int_equal(sk_job_load(dir, &back, &err), 0);
    assert_true(!back.adopted && !back.unclaimed && !back.former_count && !*back.place && !*back.command);
    /* more former ones than there are is damage */
    static struct sk_job many;
    many = j;
    many.former_count = SK_JOB_FORMER;
    for (int i = 0; i < SK_JOB_FORMER; i++)
        many.former[i].b[0] = (uint8_t)(i + 1);
    assert_int_equal(sk_job_replace(dir, &many, &err), 0);
    assert_int_equal(sk_job_load(dir, &back, &err), 0);
    assert_int_equal(back.former_count, SK_JOB_FORMER);
    assert_int_equal(sk_io_replace(at("job"), "x", 1, NULL), 0);
    assert_int_equal(sk_job_load(dir, &back, &err), SAIKAI_EFORMAT);
    assert_non_null(strstr(err.text, "remove it"));
}

static int decode_job(const char *lines, struct sk_job *j)
{
    struct sk_buf b = {0};
    sk_note_begin(&b, "saikai-job 1");
    sk_buf_put(&b, lines, strlen(lines));
    sk_note_end(&b);
    int rc = sk_job_decode((char *)b.data, b.len, j, NULL);
    sk_buf_free(&b);
    return rc;
}

#define ID "00000000000000000000000000000001"

static void a_job_has_its_bounds(void **state)
{
    (void)state;
    static struct sk_job j;
    static const struct {
        const char *lines;
        int rc;
    } cases[] = {{"name a\nstore " ID "\n", 0}, {"name a\n", SAIKAI_EDAMAGED}, {"store " ID "\n", SAIKAI_EDAMAGED}, {"name a b\nstore " ID "\n", SAIKAI_EDAMAGED},
                 {"name a\nstore " ID "\nlater what it says\n", 0}, {"name a\nstore 1\n", SAIKAI_EDAMAGED}, {"name a\nstore " ID "\ninode 12x\n", SAIKAI_EDAMAGED},
                 {"name a\nstore " ID "\ninode x\n", SAIKAI_EDAMAGED}, {"name a\nstore " ID "\nsince 5 \n", SAIKAI_EDAMAGED}, {"name a\nstore " ID "\nsince -5\n", 0},
                 {"name a\nstore " ID "\nunclaimed 0\nadopted 2\n", 0}, {"name .a\nstore " ID "\n", SAIKAI_EDAMAGED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (decode_job(cases[i].lines, &j) != cases[i].rc)
            fail_msg("case %zu", i);
    assert_int_equal(decode_job(cases[10].lines, &j), 0);
    assert_true(!j.unclaimed && !j.adopted);
    char lines[2000] = "name a\nstore " ID "\n";
    for (int i = 0; i < SK_JOB_FORMER + 1; i++) {
        assert_int_equal(decode_job(lines, &j), 0);
        strcat(lines, "former " ID "\n");
    }
    assert_int_equal(decode_job(lines, &j), SAIKAI_EDAMAGED);
    /* names */
    char name[SK_JOB_NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[SK_JOB_NAME_MAX + 1] = 0;
    assert_false(sk_job_name_ok(name));
    name[SK_JOB_NAME_MAX] = 0;
    assert_true(sk_job_name_ok(name));
    static const char *const bad[] = {"", ".", ".x", "a/b", "a b", "a\t", "a\x7f", "\x01"}, *const good[] = {"a", "a.b", "a~!", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(sk_job_name_ok(bad[i]));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(sk_job_name_ok(good[i]));
}

/* ---- holders ---- */

static void a_holder_is_as_it_was(void **state)
{
    (void)state;
    struct sk_owner o, back;
    struct sk_buf b = {0};
    struct saikai_error err = {0};
    char above[SK_LIFE_TEXT + 24], text[320];
    sk_owner_self("wave", sk_owner_above(0xabc, above), 7, &o);
    o.store = (struct sk_id){{5}};
    assert_true(o.run == 0xabc && o.start == 7 && o.life.pid == getpid() && o.above.pid == getpid() && *o.host && *o.user);
    assert_int_equal(sk_owner_encode(&o, &b, &err), 0);
    assert_int_equal(sk_owner_decode((char *)b.data, b.len, &back, &err), 0);
    assert_true(sk_id_same(back.token, o.token) && sk_id_same(back.store, o.store));
    assert_string_equal(back.name, "wave");
    assert_string_equal(back.host, o.host);
    assert_string_equal(back.user, o.user);
    assert_true(back.since_ms == o.since_ms && back.run == 0xabc && back.start == 7);
    assert_true(back.life.pid == o.life.pid && back.above.pid == o.above.pid);
    assert_int_equal(sk_owner_state(&back, &o), SK_OWNER_LIVES);
    sk_owner_describe(&back, text, sizeof text);
    assert_non_null(strstr(text, o.host));
    assert_non_null(strstr(text, " of saikai run "));
    for (size_t k = 0; k < b.len; k++)
        assert_true(sk_owner_decode((char *)b.data, k, &back, &err) < 0);
    b.len = 0;
    o.run = 0; /* under no launcher */
    assert_int_equal(sk_owner_encode(&o, &b, &err), 0);
    assert_int_equal(sk_owner_decode((char *)b.data, b.len, &back, &err), 0);
    assert_true(!back.run && !back.start && !back.above.pid);
    b.len = 0;
    o.token = (struct sk_id){{0}}; /* of nobody */
    assert_int_equal(sk_owner_encode(&o, &b, &err), 0);
    assert_int_equal(sk_owner_decode((char *)b.data, b.len, &back, &err), SAIKAI_EDAMAGED);
    sk_buf_free(&b);
    /* of another start, an earlier one of the same run, another store */
    struct sk_owner self, other;
    sk_owner_self("wave", above, 7, &self);
    other = self;
    other.start = 6;
    assert_int_equal(sk_owner_state(&other, &self), SK_OWNER_DEAD);
    other.run++;
    assert_int_equal(sk_owner_state(&other, &self), SK_OWNER_LIVES);
    other.store.b[3]++;
    assert_int_equal(sk_owner_state(&other, &self), SK_OWNER_DEAD);
}

/* ---- the state ---- */

static int decode_state(const char *text, struct sk_state *s, struct saikai_error *err)
{
    struct sk_buf b = {0};
    sk_buf_put(&b, text, strlen(text));
    sk_buf_printf(&b, "check %016llx\n", (unsigned long long)sk_hash64(b.data, b.len));
    int rc = sk_state_decode((char *)b.data, b.len, s, err);
    sk_buf_free(&b);
    return rc;
}

static void each_version_of_a_state_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int rc;
    } cases[] = {{"saikai-state 1\nincarnation 5\n", 0},
                 {"saikai-state 1\ntried gen-0001-000000000005-0 2\n", 0},
                 {"saikai-state 1\ntried gen-0001-000000000005-0 0\n", SAIKAI_EDAMAGED},
                 {"saikai-state 1\ntried gen-0001-000000000005-0 2 1 0 0000000000000000\n", SAIKAI_EDAMAGED},
                 {"saikai-state 1\nrun 0000000000000001\n", SAIKAI_EDAMAGED},
                 {"saikai-state 1\nstore " ID "\n", SAIKAI_EDAMAGED},
                 {"saikai-state 1\ntrying gen-0001-000000000005-0 1 0000000000000001\n", SAIKAI_EDAMAGED},
                 {"saikai-state 2\nincarnation 5\n", SAIKAI_EFORMAT},
                 {"saikai-state 5\nincarnation 5\n", SAIKAI_EFORMAT},
                 {"saikai-state 3\nstore " ID "\nrun 0000000000000001\n", 0},
                 {"saikai-state 3\nunread_before 3\n", SAIKAI_EDAMAGED},
                 {"saikai-state 4\nunread_before 3\n", 0},
                 {"saikai-state 4\nunread_before 32767\n", 0},
                 {"saikai-state 4\nunread_before 32768\n", SAIKAI_EDAMAGED},
                 {"saikai-state 3\nincarnation 32767\n", 0},
                 {"saikai-state 3\nincarnation 32768\n", SAIKAI_EDAMAGED},
                 {"saikai-state 3\nincarnation 32767\nfirst_incarnation 32768\n", SAIKAI_EDAMAGED},
                 {"saikai-state 3\nincarnation 5\nfirst_incarnation 5\n", 0},
                 {"saikai-state 3\nincarnation 5\nfirst_incarnation 6\n", SAIKAI_EDAMAGED},
                 {"saikai-state 3\nincarnation 5x\n", SAIKAI_EDAMAGED},
                 {"saikai-state 3\nfinished 2\n", 0},
                 {"saikai-state 3\nfinished 1x\n", SAIKAI_EDAMAGED},
                 {"saikai-state 3\nwhat 1\n", SAIKAI_EDAMAGED},
                 {"saikai-state 3\ntried gen-0001-000000000005-0 0 0 1 00000000000000ff\n", 0},
                 {"saikai-state 3\ntried gen-0001-000000000005-0 -1 0 1 00000000000000ff\n", SAIKAI_EDAMAGED},
                 {"saikai-state 3\ntried gen-0001-000000000005-0 0 -1 1 00000000000000ff\n", SAIKAI_EDAMAGED},
                 {"saikai-state 3\ntried gen-0001-000000000005-0 0 0 1\n", SAIKAI_EDAMAGED},
                 {"saikai-state 3\ntried gen-0001-000000000005-64 0 0 1 00000000000000ff\n", SAIKAI_EDAMAGED},
                 {"saikai-state 3\ntrying gen-0001-000000000005-0 32767 0000000000000001\n", 0},
                 {"saikai-state 3\ntrying gen-0001-000000000005-0 32768 0000000000000001\n", SAIKAI_EDAMAGED},
                 {"saikai-state 3\ntrying gen-x 1 0000000000000001\n", SAIKAI_EDAMAGED}};
    struct sk_state s;
    struct saikai_error err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (decode_state(cases[i].text, &s, &err) != cases[i].rc)
            fail_msg("case %zu: %s", i, err.text);
    assert_int_equal(decode_state(cases[1].text, &s, &err), 0);
    assert_int_equal(s.tried[0].deaths, 2);
    assert_int_equal(decode_state(cases[9].text, &s, &err), 0);
    assert_true(s.run == 1 && s.store.b[15] == 1);
    assert_int_equal(decode_state(cases[11].text, &s, &err), 0);
    assert_int_equal(s.unread_before, 3);
    assert_int_equal(decode_state(cases[20].text, &s, &err), 0);
    assert_int_equal(s.finished, 1);
    assert_int_equal(decode_state(cases[23].text, &s, &err), 0);
    assert_true(s.tried[0].bad == 1 && s.tried[0].files == 255);
    assert_int_equal(decode_state("saikai-state 3\nincarnation 5\nwhat\n", &s, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "line 3 "));
    /* no more tried ones than there is room for */
    struct sk_buf b = {0};
    sk_buf_printf(&b, "saikai-state 3\n");
    for (int i = 0; i < SK_STATE_TRIED + 1; i++) {
        assert_int_equal(decode_state((char *)b.data, &s, &err), 0);
        assert_int_equal(s.tried_count, i);
        sk_buf_printf(&b, "tried gen-0001-%012d-0 1 0 0 0000000000000001\n", i);
    }
    assert_int_equal(decode_state((char *)b.data, &s, &err), SAIKAI_EDAMAGED);
    sk_buf_free(&b);
}

static void a_state_is_these_bytes(void **state)
{
    (void)state;
    struct sk_state s = {.incarnation = 4, .first_incarnation = 2, .run = 0xabc, .store = {{1}}}, back;
    void *text;
    size_t n;
    s.trying = (struct sk_tried){.gen = {3, 7, 1}, .files = 9};
    s.trying_start = 4;
    sk_state_count(&s, (struct sk_gen){2, 5, 0}, 255, 1);
    assert_int_equal(sk_state_save(dir, &s, NULL), 0);
    assert_int_equal(sk_io_slurp(at("state"), 4096, &text, &n, NULL), 0);
    static const char expected[] = "saikai-state 3\nincarnation 4\nfirst_incarnation 2\nfinished 0\nrun 0000000000000abc\n"
                                   "store 01000000000000000000000000000000\ntried gen-0002-000000000005-0 1 0 0 00000000000000ff\n"
                                   "trying gen-0003-000000000007-1 4 0000000000000009\ncheck ";
    assert_int_equal(n, sizeof expected - 1 + 17);
    assert_memory_equal(text, expected, sizeof expected - 1);
    free(text);
    s.unread_before = 3;
    assert_int_equal(sk_state_save(dir, &s, NULL), 0);
    assert_int_equal(sk_io_slurp(at("state"), 4096, &text, &n, NULL), 0);
    assert_memory_equal(text, "saikai-state 4\n", 15);
    free(text);
    assert_int_equal(sk_state_load(dir, &back, NULL), 0);
    assert_int_equal(back.unread_before, 3);
    assert_true(back.run == 0xabc && back.store.b[0] == 1);
}

/* ---- generations ---- */

static void generations_are_listed(void **state)
{
    (void)state;
    struct sk_gen_list l;
    struct saikai_error err = {0};
    int *ranks;
    size_t n;
    for (int g = 1; g <= 40; g++)
        for (int r = 0; r < (g == 7 ? 150 : 1); r++) {
            assert_int_equal(sk_io_replace(at("tmp"), "x", 1, NULL), 0);
            assert_int_equal(sk_gen_commit(dir, (struct sk_gen){1, g, 0}, 149 - r, at("tmp"), g == 3, &err), 0);
        }
    assert_int_equal(sk_gen_scan(dir, -1, &l, &err), 0);
    assert_int_equal(l.count, 40);
    for (size_t i = 0; i < l.count; i++)
        assert_int_equal(l.gen[i].iteration, 40 - (int64_t)i);
    sk_gen_list_free(&l);
    assert_int_equal(sk_gen_scan(dir, 0, &l, &err), 0);
    assert_int_equal(l.count, 1);
    assert_int_equal(l.gen[0].iteration, 7);
    sk_gen_list_free(&l);
    assert_int_equal(sk_gen_ranks(dir, (struct sk_gen){1, 7, 0}, &ranks, &n, &err), 0);
    assert_int_equal(n, 150);
    for (int r = 0; r < 150; r++)
        assert_int_equal(ranks[r], r);
    free(ranks);
    assert_int_equal(sk_gen_ranks(dir, (struct sk_gen){1, 99, 0}, &ranks, &n, &err), 0);
    assert_int_equal(n, 0);
    free(ranks);
    assert_int_equal(sk_gen_remove(dir, (struct sk_gen){1, 7, 0}, 149, &err), 0);
    assert_int_equal(sk_gen_remove(dir, (struct sk_gen){1, 7, 0}, 149, &err), 0);
    assert_int_equal(access(at("gen-0001-000000000007-0"), F_OK), 0);
    assert_int_equal(sk_gen_remove_all(dir, (struct sk_gen){1, 7, 0}, &err), 0);
    assert_int_not_equal(access(at("gen-0001-000000000007-0"), F_OK), 0);
    assert_int_equal(sk_gen_remove(dir, (struct sk_gen){1, 8, 0}, 149, &err), 0);
    assert_int_not_equal(access(at("gen-0001-000000000008-0"), F_OK), 0);
    static const char *const no_rank[] = {"rank-.skc", "rank-1.skcx", "rank--1.skc", "rank-1", "Rank-1.skc"};
    for (size_t i = 0; i < sizeof no_rank / sizeof *no_rank; i++)
        assert_int_equal(sk_gen_file_rank(no_rank[i]), -1);
    assert_int_equal(sk_gen_file_rank("rank-000000.skc"), 0);
    assert_int_equal(sk_gen_commit(dir, (struct sk_gen){1, 50, 0}, 0, at("none"), 1, &err), SAIKAI_ENOENT);
    assert_int_equal(sk_gen_commit(dir, (struct sk_gen){1, 50, 0}, 0, at("none"), 0, &err), SAIKAI_ENOENT);
}

static void keys_have_the_order_of_generations(void **state)
{
    (void)state;
    static const struct sk_gen order[] = {{1, 0, 0}, {1, 0, 63}, {1, 1, 0}, {1, SK_GEN_MAX_ITERATION, 63}, {2, 0, 0}, {SK_GEN_MAX_INCARNATION, SK_GEN_MAX_ITERATION, 63}};
    int64_t before = 0;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int64_t key = sk_gen_key(order[i]);
        struct sk_gen g = sk_gen_of_key(key);
        assert_true(key > before);
        before = key;
        assert_true(g.incarnation == order[i].incarnation && g.iteration == order[i].iteration && g.place == order[i].place);
    }
    static const char *const bad[] = {"gen-0000-000000000001-0", "gen-32768-000000000001-0", "gen-0001-000000000001-64", "gen-0001--00000000001-0",
                                      "gen-0001-4398046511104-0", "gen-1-1-0", "gen-0001-000000000001-0x", "gen-0001-000000000001"};
    struct sk_gen g;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sk_gen_parse(bad[i], &g), -1);
    assert_int_equal(sk_gen_parse("gen-32767-4398046511103-63", &g), 0);
    assert_int_equal(g.iteration, SK_GEN_MAX_ITERATION);
}

/* ---- slots ---- */

static void a_slot_changes_its_size(void **state)
{
    (void)state;
    struct sk_slot *s = NULL;
    struct saikai_error err = {0};
    struct stat st;
    assert_int_equal(sk_slot_new(at("made"), 3, 12, 1, 0, &s, &err), 0); /* with its directory */
    assert_string_equal(s->tmp_path, at("made/slot-0003-000012-1.tmp"));
    assert_int_equal(s->size_bytes, 0);
    static const size_t sizes[] = {1, 4096, 4097, 10000, 4096, 4095, 20000, 20000, 1, 0, 8192};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t kept = s->size_bytes < sizes[i] ? s->size_bytes : sizes[i];
        assert_int_equal(sk_slot_resize(s, sizes[i], &err), 0);
        assert_int_equal(s->size_bytes, sizes[i]);
        assert_int_equal(stat(s->tmp_path, &st), 0);
        assert_int_equal(st.st_size, sizes[i]);
        assert_int_equal(sk_slot_is_whole(s), 1);
        for (size_t k = 0; k < kept; k++)
            assert_int_equal(s->map[k], (uint8_t)(k * 7 + 1));
        for (size_t k = 0; k < sizes[i]; k++)
            s->map[k] = (uint8_t)(k * 7 + 1);
    }
    assert_int_equal(sk_slot_is_named(s, s->tmp_path), 1);
    assert_int_equal(sk_slot_is_named(s, at("none")), 0);
    assert_int_equal(sk_io_replace(at("other"), "x", 1, NULL), 0);
    assert_int_equal(sk_slot_is_named(s, at("other")), 0);
    assert_int_equal(unlink(s->tmp_path), 0);
    assert_int_equal(sk_slot_is_whole(s), 0);
    sk_slot_free(s, 1);
    assert_int_equal(sk_slot_new(dir, 1, 0, 0, 100, &s, &err), 0);
    assert_int_equal(truncate(s->tmp_path, 50), 0);
    assert_int_equal(sk_slot_is_whole(s), 0);
    sk_slot_free(s, 1);
    assert_int_not_equal(access(at("slot-0001-000000-0.tmp"), F_OK), 0);
    sk_slot_free(NULL, 1);
}

static void what_the_dead_left_of_slots_goes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int stays;
    } files[] = {{"work-0001-000001", 0}, {"work-0002-000001", 1}, {"work-0001-000001x", 1}, {"restored-0001-000001", 0}, {"restored-0001-000000", 1},
                 {"restored-0001-000004", 0}, {"slot-0001-000001-3.tmp", 0}, {"slot-0001-000001.tmp", 1}, {"copy-0001-000001.tmp", 0}, {"copy-0001-1", 1},
                 {"slot-0001-000003-3.tmp", 1}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_int_equal(sk_io_replace(at(files[i].name), "x", 1, NULL), 0);
    sk_slot_clean(dir, 2, 1, 4);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if ((access(at(files[i].name), F_OK) == 0) != files[i].stays)
            fail_msg("%s", files[i].name);
    sk_slot_clean(at("none"), 2, 1, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
        cmocka_unit_test(remember_open_files),
        TEST(a_note_is_these_lines),
        TEST(a_note_is_made_once),
        TEST(an_answer_that_is_lost),
        TEST(a_job_is_as_it_was),
        TEST(a_job_has_its_bounds),
        TEST(a_holder_is_as_it_was),
        TEST(each_version_of_a_state_is_read),
        TEST(a_state_is_these_bytes),
        TEST(generations_are_listed),
        TEST(keys_have_the_order_of_generations),
        TEST(a_slot_changes_its_size),
        TEST(what_the_dead_left_of_slots_goes),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
