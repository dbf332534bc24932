/* What the session asks of an engine, one question after the other, without its threads: what each one leaves in the parts, and what is
 * suspected of files and told of them. */
#include "lib/engine/engine_parts.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/log.h"
#include "lib/engine/archiver.h"
#include "lib/engine/heal/heal.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { PAGE = 4096, BYTES = 9000, THIS = 3 };

static char dir[] = "/tmp/saikai-engine-XXXXXX", local[64], prefix[64], said[4096];
static struct sk_engine *e;

static void note(void *arg, int level, const char *line)
{
    (void)arg;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%d %s\n", level, line);
}

static int start(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(local, sizeof local, "%s/local", dir);
    snprintf(prefix, sizeof prefix, "%s/prefix", dir);
    sk_log_set(note, NULL, SK_LOG_DEBUG);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sk_log_set(NULL, NULL, SK_LOG_NOTICE);
    return sk_io_rmtree(dir, NULL);
}

static int set_up(void **state)
{
    (void)state;
    struct sk_engine_config c = {.local_root = local, .prefix_root = prefix, .incarnation = THIS, .nranks = 1, .keep_local = 1, .keep_prefix = 2};
    *said = 0;
    e = calloc(1, sizeof *e);
    assert_true(e && !sk_io_mkdirs(local, NULL) && !sk_ledger_new(4, &e->ledger, NULL));
    sk_keep_set(&e->keep, &c);
    sk_threads_set(&e->threads);
    return sk_where_set(&e->where, &c);
}

static int tear_down(void **state)
{
    (void)state;
    sk_io_hook = NULL;
    sk_ledger_free(e->ledger);
    sk_engine_free_parts(e);
    return sk_io_rmtree(local, NULL) || (!access(prefix, F_OK) && sk_io_rmtree(prefix, NULL));
}

static struct sk_gen gen_of(int64_t seq)
{
    return (struct sk_gen){THIS, 10 * seq, 0};
}

static int64_t add_to_ledger(void)
{
    int64_t seq;
    assert_int_equal(sk_ledger_add(e->ledger, gen_of(sk_ledger_count(e->ledger) + 1), sk_now(), &seq, NULL), 0);
    return seq;
}

/* One that is committed, whole in its file; base: what it says that it builds on. */
static struct sk_held *put(int64_t seq, int64_t base)
{
    struct sk_piece p = {.name = "u", .type = SAIKAI_U8, .ndims = 1, .dims = {BYTES}, .size_bytes = BYTES};
    struct sk_skc_header h = {.iteration = gen_of(seq).iteration, .incarnation = THIS, .nranks = 1};
    struct sk_skc_index *index;
    uint64_t size;
    assert_int_equal(sk_container_layout(&p, 1, &index, &size, NULL), 0);
    assert_int_equal(sk_shelf_new(&e->shelf, &e->where, &e->stock, SK_SLOT_FULL, size, NULL), 0);
    struct sk_held *x = e->stock.all;
    memset(x->slot->map + index->chunks[0].offset, (int)seq, BYTES);
    assert_int_equal(sk_container_seal(x->slot->map, size, &h, index, &x->file_hash, NULL), 0);
    struct sk_container *c = NULL;
    char path[128];
    assert_int_equal(sk_slot_commit(x->slot, local, gen_of(seq), 0, 0, NULL), 0);
    assert_int_equal(sk_gen_file(local, gen_of(seq), 0, path, sizeof path, NULL), 0);
    assert_int_equal(sk_container_open(path, &c, NULL), 0);
    x->index_hash = c->trailer.index_hash;
    sk_container_close(c);
    sk_skc_index_free(index);
    x->seq = seq;
    x->size_bytes = size;
    x->gen = gen_of(seq);
    x->base = base ? gen_of(base) : (struct sk_gen){0};
    x->stage = COMMITTED;
    sk_stock_committed(&e->stock, x);
    return x;
}

/* ---- handing over ---- */

static void what_is_submitted(void **state)
{
    (void)state;
    struct sk_skc_header h = {.iteration = 20, .base_incarnation = THIS, .base_iteration = 10, .base_place = 4, .run_id = 77};
    struct sk_skc_index *index = calloc(1, sizeof *index);
    struct sk_wish *wishes = calloc(1, sizeof *wishes);
    struct sk_slot stranger = {.size_bytes = 1};
    assert_int_equal(sk_shelf_new(&e->shelf, &e->where, &e->stock, SK_SLOT_DELTA, PAGE, NULL), 0);
    struct sk_held *x = e->stock.all;
    x->stage = TAKEN;
    sk_engine_submit(e, &stranger, 5, gen_of(5), &h, NULL, NULL, NULL); /* nobody's: nothing happens */
    assert_true(x->stage == TAKEN && !x->seq && !sk_stock_next(&e->stock));
    sk_engine_submit(e, x->slot, 2, gen_of(2), &h, index, wishes, (struct sk_saver *)&h);
    assert_true(x->stage == SUBMITTED && x->seq == 2 && x->gen.iteration == 20 && x->gen.incarnation == THIS);
    assert_true(x->base.incarnation == THIS && x->base.iteration == 10 && x->base.place == 4);
    assert_true(x->given.header.run_id == 77 && x->given.index == index && x->given.wishes == wishes && x->given.pending == (struct sk_saver *)&h);
    assert_ptr_equal(sk_stock_next(&e->stock), x);
    x->given.pending = NULL;
    free(index);
    x->given.index = NULL;
}

static void what_is_complete(void **state)
{
    (void)state;
    struct sk_engine_status st;
    sk_engine_complete(e, 3);
    sk_engine_complete(e, 2); /* it was known */
    assert_int_equal(e->stock.complete_seq, 3);
    sk_engine_complete(e, 4);
    assert_int_equal(e->stock.complete_seq, 4);
    sk_engine_archive(e, 4);
    sk_engine_status(e, &st);
    assert_true(e->copying.wanted_seq == 4 && !st.archive_idle);
    e->copying.wanted_seq = 0;
    e->copying.busy = 1;
    sk_engine_status(e, &st);
    assert_false(st.archive_idle);
    e->copying.busy = 0;
    sk_engine_status(e, &st);
    assert_true(st.archive_idle && !st.committed_seq && !st.archived_seq && !st.failures && !st.breaks && !st.damages && !st.last_error.code);
    free(e->where.prefix_root);
    e->where.prefix_root = NULL;
    sk_engine_archive(e, 4); /* there is no prefix */
    assert_int_equal(e->copying.wanted_seq, 0);
    sk_engine_expect(e, 5, 6);
    assert_true(e->shelf.wanted_bytes[SK_SLOT_FULL] == 5 && e->shelf.wanted_bytes[SK_SLOT_DELTA] == 6 && e->shelf.prepare);
    sk_engine_set_share(e, 0.25);
    sk_engine_hash_files(e);
    assert_true(e->shelf.share == 0.25 && e->sealing.hash_files == 1);
}

/* What is told of it, and what the others were told of. */
static void what_is_reported(void **state)
{
    (void)state;
    struct sk_engine_status st;
    struct saikai_error err = {.code = SAIKAI_EIO, .text = "why"};
    struct sk_ledger_entry in;
    int64_t seq = add_to_ledger();
    sk_ledger_mark(e->ledger, seq, SK_LEDGER_COMMITTED);
    e->stock.committed_seq = seq;
    e->copying.archived_seq = 9;
    sk_engine_fail(e, &err);
    sk_engine_close_lineage(e);
    e->trouble.damages = 5;
    sk_engine_status(e, &st);
    assert_true(st.committed_seq == seq && st.archived_seq == 9 && st.failures == 1 && st.breaks == 1 && st.damages == 5);
    assert_true(st.last_error.code == SAIKAI_EIO && !strcmp(st.last_error.text, "why") && e->sealing.tip.spoiled);
    assert_int_equal(e->stock.told_seq, 0);
    sk_engine_report(e, &st);
    assert_true(e->stock.told_seq == seq && st.committed_seq == seq);
    assert_true(!sk_ledger_find(e->ledger, seq, &in, NULL) && (in.states & 1u << SK_LEDGER_TOLD) && !(in.states & 1u << SK_LEDGER_COPIED));
    sk_engine_note_archived(e, seq);
    assert_true(!sk_ledger_find(e->ledger, seq, &in, NULL) && (in.states & 1u << SK_LEDGER_COPIED));
}

/* ---- what stays ---- */

static void what_was_archived_lets_others_go(void **state)
{
    static const struct {
        enum sk_earlier earlier;
        uint32_t spare_before;
        int any, again; /* something was archived before; retention is done anew */
    } rows[] = {
        {SK_EARLIER_UNUSED, 0, 0, 1}, {SK_EARLIER_UNUSED, 0, 1, 0}, {SK_EARLIER_RESUMED, 0, 0, 0},
        {SK_EARLIER_RESUMED, 2, 0, 1}, {SK_EARLIER_RESUMED, 2, 1, 0}, {SK_EARLIER_STAY, 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sk_engine_set_earlier(e, rows[i].earlier);
        sk_engine_spare(e, rows[i].spare_before);
        e->keep.any_archived = rows[i].any;
        e->keep.retired_seq = e->stock.complete_seq = 5;
        e->keep.pruned_request = e->keep.pruned_seq = 6;
        sk_engine_archived(e, 6);
        assert_true(e->keep.any_archived == 1 && e->keep.pruned_request == 6 && !sk_keep_prunes(&e->keep));
        if (sk_keep_is_due(&e->keep, &e->stock) != rows[i].again)
            fail_msg("row %zu", i);
        sk_engine_archived(e, 7);
        assert_true(e->keep.pruned_request == 7 && sk_keep_prunes(&e->keep));
    }
    static const struct {
        enum sk_earlier earlier;
        uint32_t spare_before;
        int any, may;
    } goes[] = {
        {SK_EARLIER_UNUSED, 0, 0, 0}, {SK_EARLIER_UNUSED, 0, 1, 1}, {SK_EARLIER_RESUMED, 0, 0, 1}, {SK_EARLIER_RESUMED, 1, 0, 0},
        {SK_EARLIER_RESUMED, 1, 1, 1}, {SK_EARLIER_STAY, 0, 1, 0},
    };
    for (size_t i = 0; i < sizeof goes / sizeof *goes; i++) {
        sk_engine_set_earlier(e, goes[i].earlier);
        sk_engine_spare(e, goes[i].spare_before);
        e->keep.any_archived = goes[i].any;
        if (sk_engine_may_remove_earlier(e) != goes[i].may)
            fail_msg("row %zu", i);
    }
}

/* As often as it was held it is released, and then retention looks again. */
static void holds(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    char text[160];
    struct sk_held *x = put(1, 0);
    e->keep.retired_seq = e->stock.complete_seq = 1;
    assert_int_equal(sk_engine_hold(e, gen_of(1), &err), 0);
    assert_int_equal(sk_engine_hold(e, gen_of(1), &err), 0);
    assert_int_equal(x->users.holds, 2);
    sk_engine_release(e, gen_of(1));
    assert_true(x->users.holds == 1 && !sk_keep_is_due(&e->keep, &e->stock));
    sk_engine_release(e, gen_of(1));
    assert_true(x->users.holds == 0 && sk_keep_is_due(&e->keep, &e->stock));
    e->keep.retired_seq = 1;
    sk_engine_release(e, gen_of(1)); /* once too often */
    sk_engine_release(e, gen_of(2));
    assert_true(x->users.holds == 0 && !sk_keep_is_due(&e->keep, &e->stock));
    assert_int_equal(sk_engine_hold(e, gen_of(2), &err), SAIKAI_ENOENT);
    snprintf(text, sizeof text, "%s has no generation gen-0003-000000000020-0 of rank 0", local);
    assert_string_equal(err.text, text);
    x->replaced = 1;
    assert_int_equal(sk_engine_hold(e, gen_of(1), &err), SAIKAI_ENOENT);
}

static void what_is_lent(void **state)
{
    (void)state;
    struct sk_source a, b, none = {0};
    struct sk_held *x = put(1, 0);
    e->keep.retired_seq = e->stock.complete_seq = 1;
    sk_engine_lend(e, gen_of(2), &a);
    assert_memory_equal(&a, &none, sizeof a);
    sk_engine_lend(e, gen_of(1), &a);
    assert_true(a.map == x->slot->map && a.size_bytes == x->slot->size_bytes && x->users.lent == 1);
    x->hash_known = 1;
    sk_engine_lend(e, gen_of(1), &b);
    assert_true(x->users.lent == 2);
    assert_true(memcmp(&a, &b, sizeof a)); /* now with its checksum */
    sk_engine_take_back(e, &none);
    assert_int_equal(x->users.lent, 2);
    sk_engine_take_back(e, &a);
    assert_true(x->users.lent == 1 && !sk_keep_is_due(&e->keep, &e->stock));
    sk_engine_take_back(e, &b);
    assert_true(x->users.lent == 0 && sk_keep_is_due(&e->keep, &e->stock));
    sk_engine_take_back(e, &b);
    assert_int_equal(x->users.lent, 0);
    char path[128];
    assert_int_equal(sk_gen_file(local, gen_of(1), 0, path, sizeof path, NULL), 0);
    assert_int_equal(truncate(path, 100), 0);
    sk_engine_lend(e, gen_of(1), &a); /* somebody cut it */
    assert_true(!a.map && x->users.lent == 0);
}

/* ---- what is suspected ---- */

static void doubts_add_up(void **state)
{
    (void)state;
    struct sk_doubt *d = &e->healing.doubt;
    sk_engine_scrub_suspects(e, gen_of(1), 0, "one");
    assert_true(d->any && !d->all && sk_same_gen(d->gen, gen_of(1)) && !d->parity.incarnation);
    sk_engine_scrub_suspects(e, gen_of(1), 0, "again");
    assert_true(d->any && !d->all);
    sk_engine_scrub_suspects(e, gen_of(2), 0, "another"); /* of two, all are looked at */
    assert_true(d->any && d->all);
    memset(d, 0, sizeof *d);
    sk_engine_suspect(e);
    assert_true(d->any && d->all && !d->gen.incarnation);
}

/* A parity file counts when it protects something, and this start made it; of each it is said once. */
static void doubts_of_parity(void **state)
{
    (void)state;
    struct sk_doubt *d = &e->healing.doubt;
    struct sk_parity_set sets[2] = {{gen_of(1), THIS}, {gen_of(2), THIS - 1}};
    e->healing.list_stale = 0;
    sk_engine_protecting(e, sets, 2);
    assert_true(e->healing.sets == 2 && e->healing.list_stale && e->healing.set != sets && !memcmp(e->healing.set, sets, sizeof sets));
    sk_engine_scrub_suspects(e, gen_of(2), 1, "it is an earlier start's");
    sk_engine_scrub_suspects(e, gen_of(3), 1, "it protects nothing");
    assert_true(!d->any && !d->parity.incarnation);
    for (int again = 0; again < 2; again++) {
        sk_engine_scrub_suspects(e, gen_of(1), 1, "file: parity block 3 is damaged");
        assert_true(d->any && !d->all && !d->gen.incarnation && sk_same_gen(d->parity, gen_of(1)));
        e->healing.list_stale = 0;
        sk_threads_lock(&e->threads);
        sk_engine_examine(e);
        sk_threads_unlock(&e->threads);
        assert_true(!d->any && !d->parity.incarnation && e->trouble.damages == 1 && !e->trouble.breaks && !e->sealing.busy && e->healing.list_stale);
        assert_string_equal(said, "1 rank 0: file: parity block 3 is damaged: a checkpoint is made soon, and protected anew\n");
    }
    sk_engine_protecting(e, NULL, 0);
    assert_int_equal(e->healing.sets, 0);
    sk_engine_scrub_suspects(e, gen_of(1), 1, "it protects no more");
    assert_false(d->any);
}

static void damage(int64_t seq, const char *root)
{
    char path[128];
    struct stat sb;
    assert_int_equal(sk_gen_file(root, gen_of(seq), 0, path, sizeof path, NULL), 0);
    assert_int_equal(stat(path, &sb), 0);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0 && pwrite(fd, "XYZ", 3, sb.st_size / 2) == 3);
    close(fd);
}

static void lose(int64_t seq)
{
    char path[128];
    assert_int_equal(sk_gen_file(local, gen_of(seq), 0, path, sizeof path, NULL), 0);
    assert_int_equal(unlink(path), 0);
}

static void examine(int64_t seq)
{
    *said = 0;
    e->keep.retired_seq = e->stock.complete_seq;
    if (seq)
        sk_engine_scrub_suspects(e, gen_of(seq), 0, "");
    else
        sk_engine_suspect(e);
    sk_threads_lock(&e->threads);
    sk_engine_examine(e);
    sk_threads_unlock(&e->threads);
    assert_true(!e->healing.doubt.any && !e->sealing.busy);
}

/* Only what is damaged is told, and marked; whether the next checkpoint has to help depends on who builds on it. */
static void what_is_damaged(void **state)
{
    (void)state;
    struct sk_held *a = put(1, 0), *b = put(2, 1), *c = put(3, 0);
    e->stock.complete_seq = 3;
    examine(0);
    assert_true(!*said && !a->health.damaged && !b->health.damaged && !c->health.damaged && sk_keep_is_due(&e->keep, &e->stock));
    assert_true(a->health.looked && b->health.looked && c->health.looked);
    damage(1, local);
    examine(2); /* another one is suspected */
    assert_true(!*said && !a->health.damaged && !a->health.looked && b->health.looked);
    examine(1);
    assert_true(a->health.damaged && !b->health.damaged && a->users.holds == 0 && !e->trouble.damages && !e->sealing.tip.spoiled);
    assert_true(strstr(said, "1 rank 0: generation gen-0003-000000000010-0 is damaged in memory: ") && strstr(said, ": newer ones do not need it\n"));
    examine(1); /* it is known */
    assert_true(!*said);
    damage(3, local);
    examine(0);
    assert_true(c->health.damaged && e->trouble.damages == 1 && e->trouble.breaks == 1 && e->sealing.tip.spoiled);
    assert_true(strstr(said, "gen-0003-000000000030-0 is damaged") && strstr(said, ": the next checkpoint is made soon and in full\n"));
    assert_null(strstr(said, "gen-0003-000000000010-0"));
}

/* The newest one builds on it. */
static void what_the_newest_builds_on(void **state)
{
    (void)state;
    struct sk_held *a = put(1, 0);
    put(2, 1);
    damage(1, local);
    examine(1);
    assert_true(a->health.damaged && e->trouble.damages == 1 && e->trouble.breaks == 1 && e->sealing.tip.spoiled);
}

/* A file that lost its name has it again from its descriptor; a damaged one from the prefix, when that has the very same. */
static void what_is_healed(void **state)
{
    (void)state;
    struct sk_held *a = put(1, 0);
    lose(1);
    examine(0);
    assert_true(!a->health.damaged && !e->trouble.damages && !a->slot && sk_where_has_file(&e->where, gen_of(1)));
    assert_non_null(strstr(said, ": it is written anew from memory\n"));
    examine(0);
    assert_true(!*said && !a->health.damaged);
    struct sk_held *b = put(2, 0), *c = put(3, 2), *d = put(4, 0);
    char from[128], to[160];
    for (int64_t seq = 2; seq <= 4; seq++) {
        struct sk_container *k = NULL;
        assert_int_equal(sk_gen_file(local, gen_of(seq), 0, from, sizeof from, NULL), 0);
        assert_int_equal(sk_io_mkdirs(prefix, NULL), 0);
        snprintf(to, sizeof to, "%s/copy.tmp", prefix);
        assert_int_equal(sk_container_open(from, &k, NULL), 0);
        assert_int_equal(sk_container_copy(k, to, 0, NULL), 0);
        sk_container_close(k);
        assert_int_equal(sk_gen_commit(prefix, gen_of(seq), 0, to, 0, NULL), 0);
        damage(seq, local);
    }
    d->index_hash ^= 1; /* what is in the prefix is another one of that name */
    b->users.lent = 1;  /* and somebody reads the slot */
    examine(2);
    assert_true(!b->health.damaged && b->slot && b->users.lent == 1 && !e->trouble.damages);
    assert_non_null(strstr(said, "gen-0003-000000000020-0 is damaged in memory: "));
    assert_non_null(strstr(said, ": it is written anew from the copy in the prefix\n"));
    b->users.lent = 0;
    examine(0);
    assert_true(!b->health.damaged && c->health.damaged && d->health.damaged); /* what builds on others is not as it is there */
    assert_int_equal(e->trouble.damages, 1); /* of the newest one */
    assert_null(strstr(said, "written anew"));
    damage(2, local);
    damage(2, prefix);
    examine(2);
    assert_true(b->health.damaged);
    assert_null(strstr(said, "written anew"));
}

static int no_new_name(const char *op, const char *path)
{
    return !strcmp(op, "rename") && strstr(path, local) ? EIO : 0;
}

/* What is written anew and cannot take its place leaves nothing behind. */
static void what_cannot_be_healed(void **state)
{
    (void)state;
    char tmp[PATH_MAX];
    struct sk_held *a = put(1, 0);
    lose(1);
    sk_io_hook = no_new_name;
    examine(0);
    sk_io_hook = NULL;
    assert_true(a->health.damaged && a->slot && !sk_where_has_file(&e->where, gen_of(1)) && !strstr(said, "written anew"));
    assert_int_equal(sk_where_tmp(&e->where, local, 2, tmp, NULL), 0);
    assert_true(access(tmp, F_OK));
}

/* ---- what earlier starts left ---- */

static void what_is_adopted(void **state)
{
    (void)state;
    struct sk_held *a = put(1, 0);
    uint64_t hash = a->index_hash;
    sk_stock_drop(&e->stock, a, 0);
    e->healing.list_stale = 0;
    sk_engine_adopt(e, gen_of(1));
    a = e->stock.all;
    assert_true(a && !a->next && a->stage == COMMITTED && sk_same_gen(a->gen, gen_of(1)) && !a->slot && !a->seq && !a->base.incarnation);
    assert_true(a->index_hash == hash && e->healing.list_stale);
    e->healing.list_stale = 0;
    sk_engine_adopt(e, gen_of(1)); /* it is known */
    assert_true(e->stock.all == a && !a->next && !e->healing.list_stale);
    sk_engine_adopt(e, (struct sk_gen){0});
    assert_true(e->stock.all == a && !a->next);
    sk_engine_adopt(e, gen_of(2)); /* one that cannot be read, which the scrub will find */
    assert_true(e->stock.all != a && e->stock.all->next == a && !e->stock.all->index_hash && sk_same_gen(e->stock.all->gen, gen_of(2)));
}

/* ---- copies ---- */

/* One turn of the archiver, which ends when nothing is wanted any more. */
static int stop_after(const char *op, const char *path)
{
    (void)op;
    if (strstr(path, prefix))
        e->threads.stopping = 1;
    return 0;
}

static int no_room(const char *op, const char *path)
{
    stop_after(op, path);
    return strstr(path, prefix) && !strcmp(op, "write") ? ENOSPC : 0;
}

static void copy(int64_t seq, int (*hook)(const char *op, const char *path))
{
    *said = 0;
    sk_engine_archive(e, seq);
    e->threads.stopping = e->copying.ended = 0;
    sk_io_hook = hook;
    assert_null(sk_engine_archiver(e));
    sk_io_hook = NULL;
    assert_true(e->copying.ended && !e->copying.busy && !e->copying.wanted_seq);
}

static void copies(void **state)
{
    (void)state;
    struct sk_ledger_entry in;
    add_to_ledger();
    add_to_ledger();
    struct sk_held *a = put(1, 0), *b = put(2, 0);
    e->stock.complete_seq = e->keep.retired_seq = 2;
    copy(1, stop_after);
    assert_true(e->copying.archived_seq == 1 && !a->users.archiving && !*said && sk_keep_is_due(&e->keep, &e->stock));
    assert_true(!sk_ledger_find(e->ledger, 1, &in, NULL) && (in.states & 1u << SK_LEDGER_COPIED));
    char path[256];
    assert_true(!sk_gen_file(prefix, gen_of(1), 0, path, sizeof path, NULL) && !access(path, F_OK));
    /* it fails, and is said once as loud; the next one that works is said, too */
    copy(2, no_room);
    assert_true(e->copying.archived_seq == 1 && e->trouble.failures == 1 && e->copying.in_trouble == 1 && !b->users.archiving);
    assert_true(strstr(said, "1 rank 0: generation gen-0003-000000000020-0 is not archived: ") == said && strstr(said, "; the next one is tried again\n"));
    assert_true(!e->healing.doubt.any && e->trouble.last_error.code == SAIKAI_ENOSPC);
    copy(2, no_room);
    assert_true(e->trouble.failures == 2 && said[0] != '1');
    copy(2, stop_after);
    assert_true(e->copying.archived_seq == 2 && !e->copying.in_trouble);
    snprintf(path, sizeof path, "rank 0: the prefix %s takes files again: generation gen-0003-000000000020-0 is archived\n", prefix);
    assert_non_null(strstr(said, path));
    /* what cannot be read here is looked at */
    add_to_ledger();
    put(3, 0);
    damage(3, local);
    copy(3, stop_after);
    assert_true(e->healing.doubt.any && e->healing.doubt.all && e->trouble.failures == 3 && e->copying.archived_seq == 2);
    /* one that was written there is there */
    add_to_ledger();
    struct sk_held *f = put(4, 0);
    f->place = FAR;
    e->threads.stopping = 0;
    sk_engine_archive(e, 4);
    e->keep.pruned_request = e->keep.pruned_seq = 0;
    sk_io_hook = stop_after;
    sk_engine_archived(e, 4); /* pruning ends it */
    assert_null(sk_engine_archiver(e));
    sk_io_hook = NULL;
    assert_true(f->place == FAR_ARCHIVED && e->copying.archived_seq == 4 && !sk_ledger_find(e->ledger, 4, &in, NULL) && (in.states & 1u << SK_LEDGER_COPIED));
    f->place = HERE;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(what_is_submitted),
        cmocka_unit_test(remember_open_files),
        TEST(what_is_complete), TEST(what_is_reported), TEST(what_was_archived_lets_others_go), TEST(holds), TEST(what_is_lent),
        TEST(doubts_add_up), TEST(doubts_of_parity), TEST(what_is_damaged), TEST(what_the_newest_builds_on), TEST(what_is_healed), TEST(what_cannot_be_healed),
        TEST(what_is_adopted), TEST(copies),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, start, end);
}
