/* Where the state of a store is kept, and which of several copies counts. Ranks are threads, each on a node of its own. */
#include "lib/start/memo.h"

#include "base/file/io.h"
#include "base/log.h"
#include "group/loop.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 3 };

static char dir[64], said[8192];

static void note(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    size_t n = strlen(said);
    snprintf(said + n, sizeof said - n, "%s\n", line);
}

static int make_dir(void **state)
{
    (void)state;
    said[0] = 0;
    strcpy(dir, "/tmp/saikai-memo-XXXXXX");
    sk_log_set(note, NULL, SK_LOG_INFO);
    return !mkdtemp(dir);
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static void shell(const char *command)
{
    char whole[256];
    snprintf(whole, sizeof whole, "cd %s && %s", dir, command);
    assert_int_equal(system(whole), 0);
}

/* A session with these places alone. prefix "": none; "=": it is the local directory. */
static int open_session(struct sk_session *s, struct sk_group *g, const char *prefix)
{
    *s = (struct sk_session){.g = g};
    snprintf(s->place.local_root, sizeof s->place.local_root, "%s/local%d", dir, g->rank);
    if (*prefix == '=')
        strcpy(s->place.prefix_root, s->place.local_root);
    else if (*prefix)
        snprintf(s->place.prefix_root, sizeof s->place.prefix_root, "%s/%s", dir, prefix);
    snprintf(s->place.host, sizeof s->place.host, "node%d", g->rank);
    return sk_io_mkdirs(s->place.local_root, NULL) || (*s->place.prefix_root && *prefix != '/' && sk_io_mkdirs(s->place.prefix_root, NULL)) ||
           sk_patience_new(0, &s->place.patience, NULL);
}

static void close_session(struct sk_session *s)
{
    sk_patience_free(s->place.patience);
}

static int has(const char *path)
{
    char whole[128];
    snprintf(whole, sizeof whole, "%s/%s", dir, path);
    return !access(whole, F_OK);
}

static struct sk_state in(const char *below)
{
    char root[128];
    struct sk_state st = {0};
    snprintf(root, sizeof root, "%s/%s", dir, below);
    assert_int_equal(sk_state_load(root, &st, NULL), 0);
    return st;
}

static void put(const char *below, uint32_t incarnation, uint32_t first)
{
    char root[128];
    struct sk_state st = {.incarnation = incarnation, .first_incarnation = first};
    snprintf(root, sizeof root, "%s/%s", dir, below);
    assert_int_equal(sk_io_mkdirs(root, NULL), 0);
    assert_int_equal(sk_state_save(root, &st, NULL), 0);
}

/* ---- saving ---- */

static void it_is_saved_in_both_places(void **state)
{
    (void)state;
    struct sk_group g = {.size = 1};
    struct sk_session s;
    struct sk_state now;
    struct saikai_error err = {0};
    assert_int_equal(open_session(&s, &g, "prefix"), 0);
    s.who.state.incarnation = 5;
    assert_int_equal(sk_memo_save(&s, &err), 0);
    assert_true(in("prefix").incarnation == 5 && in("local0").incarnation == 5);
    assert_false(has("local0/state.ahead") || s.who.state_behind);
    put("prefix", 6, 1); /* the tools have changed it */
    assert_int_equal(sk_memo_read(&s, &now), 0);
    assert_int_equal(now.incarnation, 6);
    close_session(&s);
    /* one place: one file */
    for (int same = 0; same < 2; same++) {
        shell("rm -rf local0 prefix");
        assert_int_equal(open_session(&s, &g, same ? "=" : ""), 0);
        s.who.state.incarnation = 7;
        assert_int_equal(sk_memo_save(&s, &err), 0);
        assert_int_equal(in("local0").incarnation, 7);
        assert_false(has("prefix"));
        put("local0", 8, 1);
        assert_int_equal(sk_memo_read(&s, &now), 0);
        assert_int_equal(now.incarnation, 8);
        close_session(&s);
    }
}

/* While the prefix takes no files, the copy here is ahead of it, which is said once; when it is back, it catches up. */
static void a_prefix_that_takes_no_files(void **state)
{
    (void)state;
    struct sk_group g = {.size = 1};
    struct sk_session s;
    struct saikai_error err = {0};
    assert_int_equal(open_session(&s, &g, "prefix"), 0);
    s.who.state.incarnation = 5;
    sk_memo_catch_up(&s); /* nothing to catch up with */
    assert_false(has("prefix/state"));
    shell("rmdir prefix && touch prefix");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sk_memo_save(&s, &err), 0);
        assert_true(s.who.state_behind && has("local0/state.ahead") && in("local0").incarnation == 5);
        char *once = strstr(said, "; going on with what is in ");
        assert_true(once && !strstr(once + 1, "; going on with what is in "));
    }
    sk_memo_catch_up(&s);
    assert_true(s.who.state_behind && !strstr(said, "is back"));
    shell("rm prefix && mkdir prefix");
    g.rank = 1;
    sk_memo_catch_up(&s); /* is rank 0's affair */
    assert_true(s.who.state_behind && !has("prefix/state"));
    g.rank = 0;
    sk_memo_catch_up(&s);
    assert_non_null(strstr(said, "prefix is back"));
    assert_true(!s.who.state_behind && !has("local0/state.ahead") && in("prefix").incarnation == 5);
    shell("rm -r prefix local0 && touch prefix local0"); /* nobody takes it */
    assert_true(sk_memo_save(&s, &err) < 0);
    assert_non_null(strstr(err.text, "prefix"));
    assert_non_null(strstr(err.text, "local0"));
    shell("rm prefix local0 && mkdir prefix local0");
    s.place.prefix_lost = 1; /* it is another job's by now: neither place is written */
    assert_int_equal(sk_memo_save(&s, &err), 0);
    assert_false(has("prefix/state") || has("local0/state"));
    close_session(&s);
}

/* Whoever has lost the lease of the prefix changes nothing there. */
static void the_holder_alone_writes(void **state)
{
    (void)state;
    struct sk_group g = {.size = 1};
    struct sk_session s;
    struct sk_lease *lease;
    struct sk_owner self;
    struct saikai_error err = {0};
    assert_int_equal(open_session(&s, &g, "prefix"), 0);
    sk_owner_self("job", NULL, 1, &self);
    assert_int_equal(sk_lease_take(s.place.prefix_root, &self, 3600, &lease, &err), 0);
    s.who.state.incarnation = 5;
    s.place.lease_token = sk_id_random();
    assert_int_equal(sk_memo_save(&s, &err), 0);
    assert_true(s.who.state_behind && !has("prefix/state") && in("local0").incarnation == 5);
    s.place.lease_token = sk_lease_token(lease);
    assert_int_equal(sk_memo_save(&s, &err), 0);
    assert_true(!s.who.state_behind && in("prefix").incarnation == 5);
    sk_lease_release(lease);
    close_session(&s);
}

static void it_goes_with_the_copies(void **state)
{
    (void)state;
    struct sk_group g = {.size = 1};
    struct sk_session s;
    assert_int_equal(open_session(&s, &g, "prefix"), 0);
    put("prefix", 3, 1);
    put("local0", 3, 1);
    shell("touch local0/state.ahead local0/other");
    sk_memo_remove_local(&s);
    assert_true(!has("local0/state") && !has("local0/state.ahead") && has("local0/other") && has("prefix/state"));
    close_session(&s);
}

/* What could not be read stays until something newer is safe. The first start that could not is the one that counts. */
static void what_could_not_be_read_is_remembered(void **state)
{
    (void)state;
    struct sk_group g = {.size = 1};
    struct sk_session s;
    assert_int_equal(open_session(&s, &g, "prefix"), 0);
    s.who.incarnation = 4;
    s.who.state.incarnation = 4;
    sk_memo_is_safe(&s); /* nothing was wrong: nothing is written */
    assert_false(has("prefix/state"));
    g.rank = 1;
    sk_memo_unread(&s);
    assert_false(has("prefix/state") || s.who.state.unread_before);
    g.rank = 0;
    sk_memo_unread(&s);
    assert_int_equal(in("prefix").unread_before, 4);
    s.who.incarnation = 5;
    sk_memo_unread(&s);
    assert_int_equal(s.who.state.unread_before, 4);
    g.rank = 1;
    sk_memo_is_safe(&s);
    assert_int_equal(in("prefix").unread_before, 4);
    g.rank = 0;
    sk_memo_is_safe(&s);
    assert_true(!in("prefix").unread_before && !s.who.state.unread_before);
    close_session(&s);
}

/* ---- finding ---- */

struct found {
    const char *prefix;
    int away, resumes;     /* given */
    int rc, known, was_away; /* of rank 0, and whether it failed, of all ranks alike */
    struct sk_state state; /* of rank 0 */
};

static int find(struct sk_group *g, void *arg)
{
    struct found *f = arg;
    struct sk_session s;
    struct sk_memo m;
    struct saikai_error err = {0};
    struct sk_keeper_page page = {.incarnation = 1};
    int away = f->away, rc = open_session(&s, g, f->prefix);
    s.page = f->resumes ? &page : NULL;
    if (!rc) {
        rc = sk_memo_find(&s, &away, &m, &err);
        int64_t fails = rc < 0, v[6] = {fails, -fails, m.known, -m.known, away != 0, -(away != 0)};
        if (sk_group_allreduce(g, v, 6, SK_OP_MIN) || v[0] != -v[1] || v[2] != -v[3] || v[4] != -v[5])
            return -1;
        if (g->rank == 0) {
            f->rc = rc;
            f->known = m.known;
            f->was_away = away;
            f->state = m.state;
        }
    }
    close_session(&s);
    return 0;
}

static struct found found(const char *prefix, int away, int resumes)
{
    struct found f = {.prefix = prefix, .away = away, .resumes = resumes};
    said[0] = 0;
    assert_int_equal(sk_loop_run(N, find, &f), 0);
    return f;
}

static void expect(struct found f, uint32_t incarnation, uint32_t first, int known, int away)
{
    if (f.rc || f.state.incarnation != incarnation || f.state.first_incarnation != first || f.known != known || f.was_away != away)
        fail_msg("%d: incarnation %u (%u), known %d, away %d in place of %u (%u), %d, %d", f.rc, f.state.incarnation, f.state.first_incarnation,
                 f.known, f.was_away, incarnation, first, known, away);
}

static void the_newest_counts(void **state)
{
    (void)state;
    expect(found("prefix", 0, 0), 0, 0, 0, 0);
    put("prefix", 5, 1);
    expect(found("prefix", 0, 0), 5, 1, 1, 0);
    put("local1", 4, 2);
    expect(found("prefix", 0, 0), 5, 1, 1, 0);
    put("local1", 5, 2); /* the same start: the prefix is where people look */
    expect(found("prefix", 0, 0), 5, 1, 1, 0);
    shell("touch local1/state.ahead"); /* unless it is said to be behind */
    expect(found("prefix", 0, 0), 5, 2, 1, 0);
    shell("rm local1/state.ahead");
    put("local2", 6, 3);
    expect(found("prefix", 0, 0), 6, 3, 1, 0);
    put("local1", 6, 4);
    expect(found("prefix", 0, 0), 6, 4, 1, 0); /* of two the lower rank's … */
    shell("touch local2/state.ahead");
    expect(found("prefix", 0, 0), 6, 3, 1, 0); /* … unless one is ahead */
    shell("rm local2/state && mkdir local2/state"); /* what cannot be read is not there */
    expect(found("prefix", 0, 0), 6, 4, 1, 0);
}

/* Where the prefix has no state at all, a copy of one is another store's, unless somebody vouches for it. */
static void a_copy_alone(void **state)
{
    (void)state;
    put("local1", 6, 4);
    expect(found("prefix", 0, 0), 0, 0, 0, 0);
    expect(found("prefix", 0, 1), 6, 4, 1, 0); /* the launcher starts again what it knows */
    expect(found("prefix", SAIKAI_EIO, 0), 6, 4, 1, SAIKAI_EIO); /* the prefix cannot be asked */
    shell("touch local1/state.ahead");
    expect(found("prefix", 0, 0), 6, 4, 1, 0);
    shell("rm -r local1");
    expect(found("prefix", SAIKAI_EIO, 0), 0, 0, 0, SAIKAI_EIO);
}

static int the_prefix_fails(const char *op, const char *path)
{
    return strstr(path, "/prefix/state") && strcmp(op, "mkdir") ? EIO : 0;
}

/* The prefix was there when the ranks looked, and fails when its state is read: it is away, on all ranks, and what a node knows is believed. */
static void it_fails_only_now(void **state)
{
    (void)state;
    put("prefix", 7, 1);
    put("local1", 6, 4);
    sk_io_hook = the_prefix_fails;
    struct found f = found("prefix", 0, 0);
    sk_io_hook = NULL;
    expect(f, 6, 4, 1, SAIKAI_EIO);
    shell("rm -r local1");
    sk_io_hook = the_prefix_fails;
    f = found("prefix", 0, 0);
    sk_io_hook = NULL;
    expect(f, 0, 0, 0, SAIKAI_EIO);
    expect(found("prefix", 0, 0), 7, 1, 1, 0);
}

static void damage_is_told(void **state)
{
    (void)state;
    put("prefix", 5, 1);
    shell("printf X | dd of=prefix/state bs=1 seek=20 conv=notrunc 2>/dev/null");
    expect(found("prefix", 0, 0), 0, 0, 0, 0);
    assert_non_null(strstr(said, "; going on from the generations that are there"));
    put("local2", 3, 2);
    expect(found("prefix", 0, 0), 3, 2, 1, 0);
    assert_non_null(strstr(said, "; going on from its copy"));
    shell("rm prefix/state && mkdir prefix/state"); /* something else has its name */
    assert_int_equal(found("prefix", 0, 0).rc, SAIKAI_EINVAL);
}

/* Without a prefix, or where both are one, there is one file, and it is believed. */
static void one_place(void **state)
{
    (void)state;
    for (int same = 0; same < 2; same++) {
        const char *prefix = same ? "=" : "";
        shell("rm -rf local*");
        expect(found(prefix, 0, 0), 0, 0, 1, 0);
        put("local0", 4, 2);
        put("local1", 9, 9); /* is nobody's: rank 0's counts */
        expect(found(prefix, 0, 0), 4, 2, 1, 0);
        shell("printf X | dd of=local0/state bs=1 seek=20 conv=notrunc 2>/dev/null");
        expect(found(prefix, 0, 0), 0, 0, 1, 0);
        assert_non_null(strstr(said, "; going on from the generations that are there"));
        shell("rm local0/state && mkdir local0/state");
        assert_int_equal(found(prefix, 0, 0).rc, SAIKAI_EINVAL);
    }
}

/* ---- copies on the nodes ---- */

static int share(struct sk_group *g, void *arg)
{
    const int *behind = arg;
    struct sk_session s;
    char hosts[N][sizeof s.place.host] = {"a", "b", "b"};
    int rc = open_session(&s, g, "prefix");
    strcpy(s.place.host, hosts[g->rank]);
    if (!rc && g->rank == 0) {
        s.who.state.incarnation = 7;
        s.who.state_behind = *behind;
    }
    rc = rc ? rc : sk_memo_share(&s, hosts[0]);
    close_session(&s);
    return rc;
}

/* The first rank of each other node writes it, and that the prefix is behind. */
static void every_node_has_a_copy(void **state)
{
    (void)state;
    for (int behind = 1; behind >= 0; behind--) {
        assert_int_equal(sk_loop_run(N, share, &behind), 0);
        assert_false(has("local0/state")); /* was written before */
        assert_int_equal(in("local1").incarnation, 7);
        assert_int_equal(has("local1/state.ahead"), behind);
        assert_false(has("local2/state")); /* the same node */
    }
    shell("rm -r local1 && mkdir -p local1/state");
    assert_int_equal(sk_loop_run(N, share, &(int){1}), 0); /* one copy less does no harm */
    assert_false(has("local1/state.ahead"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(it_is_saved_in_both_places, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_prefix_that_takes_no_files, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_holder_alone_writes, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(it_goes_with_the_copies, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_could_not_be_read_is_remembered, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_newest_counts, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_copy_alone, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(it_fails_only_now, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(damage_is_told, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(one_place, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(every_node_has_a_copy, make_dir, remove_dir),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
