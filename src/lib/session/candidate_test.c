/* What a candidate leaves behind in the session, number by number: the counts, the clock, what slots are made ready for the next time, and
 * what the file holds. */
#include "lib/whole/session_testing.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "lib/engine/engine_parts.h"
#include "store/form/lineage.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { CELLS = 50000, BYTES = CELLS * sizeof(double) };

static const char *config;
static double *u;

static int with_session(struct sk_group *g, int (*body)(struct sk_session *s))
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    int restored;
    int64_t at;
    CHECK(!world_session(g, world_config("schedule.first=no; redundancy.scheme=none; store.scrub=0s; schedule.poll=1000s; %s", config), &s, &err));
    CHECK(!world_protect(s, u, CELLS, &err) && !sk_session_restart(s, &restored, &at, &err));
    int rc = body(s);
    return world_leave(s, rc, 0);
}

static int run_body(struct sk_group *g, void *arg)
{
    return with_session(g, (int (*)(struct sk_session *))arg);
}

static void run(const char *with, int (*body)(struct sk_session *s))
{
    config = with;
    u = calloc(CELLS, sizeof *u);
    assert_non_null(u);
    world_start(1, run_body, (void *)body);
    free(u);
    world_anew();
}

/* The slots that the engine was told to have ready. */
static int expects(struct sk_session *s, uint64_t full, uint64_t delta)
{
    struct sk_engine *e = s->levels.engine;
    sk_threads_lock(&e->threads);
    uint64_t f = e->shelf.wanted_bytes[SK_SLOT_FULL], d = e->shelf.wanted_bytes[SK_SLOT_DELTA];
    sk_threads_unlock(&e->threads);
    if (f != full || d != delta)
        fprintf(stderr, "slots of %llu and %llu bytes are wanted, not %llu and %llu\n", (unsigned long long)f, (unsigned long long)d,
                (unsigned long long)full, (unsigned long long)delta);
    return f == full && d == delta;
}

/* ---- counts and times ---- */

static int counts(struct sk_session *s)
{
    struct saikai_error err = {0};
    const struct sk_capture *c = &s->capture;
    CHECK(!c->checkpoints && !c->failed && !c->bytes_last && !s->clock.last_checkpoint_tick && s->measured.cost_seconds == 0);
    for (int64_t it = 1; it < 10; it++)
        CHECK(sk_session_candidate(s, 0, it, &err) == 0 && s->clock.tick == (uint64_t)it);
    CHECK(!c->checkpoints && c->blocked_seconds == 0 && s->clock.last_iteration == 9);
    double paused = s->measured.paused, before = sk_now();
    CHECK(sk_session_candidate(s, 3, 10, &err) == 1);
    double after = sk_now(), spent = c->blocked_seconds;
    CHECK(c->checkpoints == 1 && !c->failed && c->bytes_last > BYTES && c->bytes_last < BYTES + 65536);
    CHECK(spent > 0 && spent <= after - before && s->measured.cost_seconds == spent && fabs(s->measured.paused - paused - spent) < 1e-9);
    CHECK(s->measured.last_checkpoint_at >= before && s->measured.last_checkpoint_at <= after - spent + 1e-6);
    CHECK(s->clock.tick == 10 && s->clock.last_checkpoint_tick == 10 && s->clock.due_tick == UINT64_MAX);
    CHECK(expects(s, c->bytes_last, 0));
    CHECK(sk_session_candidate(s, 0, 11, &err) == 0 && s->clock.last_checkpoint_tick == 10 && c->checkpoints == 1);
    CHECK(!sk_session_wait(s, &err));
    struct sk_ledger_entry e;
    CHECK(!sk_ledger_find(s->levels.ledger, 1, &e, &err) && e.gen.place == 3 && e.gen.iteration == 10 && e.gen.incarnation == 1);
    CHECK(e.captured_at == s->measured.last_checkpoint_at && sk_ledger_count(s->levels.ledger) == 1);
    /* one that fails counts, and costs, but says nothing of what one costs */
    double cost = s->measured.cost_seconds;
    CHECK(sk_session_capture_files(s, 0, 20, 0, &err) == SAIKAI_ESTATE);
    CHECK(!strcmp(err.text, "rank 0: iteration 20 is not saved (the generation before stays): the program says that its files are not valid"));
    CHECK(c->checkpoints == 2 && c->failed == 1 && s->measured.cost_seconds == cost && s->measured.costs[0] == 0);
    CHECK(sk_ledger_count(s->levels.ledger) == 2 && sk_ledger_find(s->levels.ledger, 2, &e, NULL) == 0 && (e.states & 1u << SK_LEDGER_LOST));
    CHECK(sk_session_candidate(s, 0, 30, &err) == 1 && s->measured.costs[0] == cost && c->checkpoints == 3 && c->failed == 1);
    return 0;
}

static void each_count(void **state)
{
    (void)state;
    run("schedule.every=10; capture.tracker=full", counts);
}

/* Advice counts in ticks: after a checkpoint, due or not, the next turn of it is due. */
static int follows_advice(struct sk_session *s)
{
    struct saikai_error err = {0};
    s->measured.advice.now = (struct sk_advice){4, 5};
    s->measured.advice.policy.every = 5; /* whatever is measured */
    sk_clock_set_due(&s->clock, 4);
    sk_clock_plan(&s->clock, 4);
    for (int64_t it = 1; it < 20; it++) {
        int due = it == 4 || it == 9 || it == 14;
        CHECK(sk_session_candidate(s, 0, it, &err) == due);
        CHECK(!due || (s->clock.due_tick == (uint64_t)it + 5 && s->clock.last_checkpoint_tick == (uint64_t)it));
        CHECK(s->clock.next_tick > s->clock.tick && s->clock.next_tick <= s->clock.due_tick);
        if (it == 17) { /* the program makes one by itself */
            CHECK(!sk_session_capture(s, 0, it, &err));
            CHECK(s->clock.due_tick == 19 && s->clock.last_checkpoint_tick == 17);
            s->measured.advice.now.every = 0;
            CHECK(!sk_session_capture(s, 0, it, &err) && s->clock.due_tick == UINT64_MAX); /* no more are advised */
        }
    }
    return 0;
}

static void the_next_by_advice(void **state)
{
    (void)state;
    run("schedule.every=0", follows_advice);
}

static int starts_at_once(struct sk_session *s)
{
    struct saikai_error err = {0};
    CHECK(sk_session_due(s, 0, 5, &err) == 1 && s->capture.checkpoints == 0); /* it is only told so */
    CHECK(sk_session_due(s, 0, 6, &err) == 0);
    s->clock.now_tick = s->clock.tick + 1;
    s->clock.next_tick = 0;
    CHECK(sk_session_due(s, 0, 7, &err) == 1 && sk_session_due(s, 0, 8, &err) == 0);
    s->ending.halted = 1;
    CHECK(sk_session_due(s, 0, 9, &err) == SAIKAI_ESTATE);
    CHECK(!strcmp(err.text, "the program is at its end, as a signal asked for") && s->clock.last_iteration == 8);
    return 0;
}

static int starts_late(struct sk_session *s)
{
    struct saikai_error err = {0};
    CHECK(sk_session_due(s, 0, 5, &err) == 0 && sk_session_due(s, 0, 6, &err) == 0);
    return 0;
}

static void the_first_one(void **state)
{
    (void)state;
    run("schedule.first=yes", starts_at_once);
    run("schedule.first=no", starts_late);
}

/* ---- slots for the next time ---- */

/* A checkpoint at the next iteration of so many cells that are other than they were; how large it was. */
static int64_t of_changes(struct sk_session *s, int64_t *it, size_t cells)
{
    struct saikai_error err = {0};
    for (size_t i = 0; i < cells; i++)
        u[i] += 1;
    CHECK(!sk_session_capture(s, 0, ++*it, &err) && !sk_session_wait(s, &err));
    return (int64_t)s->capture.bytes_last;
}

static int expects_deltas(struct sk_session *s)
{
    struct saikai_error err = {0};
    int64_t it = 0, n = of_changes(s, &it, CELLS);
    CHECK(n > BYTES && expects(s, (uint64_t)n, 0) && !s->capture.delta_room);
    n = of_changes(s, &it, 1);
    CHECK(n > 4096 && n < 40000);
    uint64_t room = (uint64_t)(n + n / 16);
    CHECK(expects(s, 0, room) && s->capture.delta_room == room);
    /* as large as before: it comes down to what is needed by a quarter of the rest each time */
    for (int i = 0; i < 3; i++) {
        int64_t same = of_changes(s, &it, 1);
        CHECK(same == n);
        room -= (room - (uint64_t)n + 3) / 4;
        CHECK(expects(s, 0, room));
    }
    int64_t more = of_changes(s, &it, CELLS / 10);
    CHECK(more > n && more < BYTES / 5);
    CHECK(expects(s, 0, (uint64_t)(more + more / 16)));
    /* more than a quarter has changed: soon all is saved again */
    n = of_changes(s, &it, CELLS * 3 / 10);
    CHECK(n > BYTES / 4 && n < BYTES / 2);
    CHECK(expects(s, BYTES + BYTES / 8, (uint64_t)(n + n / 16)));
    n = of_changes(s, &it, CELLS);
    CHECK(n > BYTES && expects(s, (uint64_t)n, 0));
    return 0;
}

static void slots_for_deltas(void **state)
{
    (void)state;
    run("capture.tracker=hash; capture.max_changed=0.5; capture.max_ratio=100; store.prefix=none", expects_deltas);
}

/* What is coded is a file of its own, and its slot is free again: nothing else is wanted than was. */
static int expects_nothing(struct sk_session *s)
{
    struct saikai_error err = {0};
    for (int64_t it = 0; it < 2;)
        CHECK(of_changes(s, &it, CELLS) > BYTES && expects(s, 0, 0));
    return 0;
}

static void coded_ones_give_their_slots_back(void **state)
{
    (void)state;
    run("codec.chains=*=zstd", expects_nothing);
}

/* ---- files of the program ---- */

static int put(struct sk_session *s, const char *name, const char *text)
{
    struct saikai_error err = {0};
    char path[PATH_MAX];
    CHECK(!sk_session_file_path(s, name, path, sizeof path, &err) && !sk_io_replace(path, text, strlen(text), &err));
    return 0;
}

/* Behind the variables, in the order of their names, however many there are; what begins with a dot is none of them. */
static int saves_files(struct sk_session *s)
{
    struct saikai_error err = {0};
    char path[PATH_MAX], name[16];
    CHECK(sk_session_files_begin(s, 10, &err) == 1);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "f%02d", i * 7 % 40);
        CHECK(!put(s, name, i ? name : "the first")); /* f00 has another text */
    }
    CHECK(!put(s, "empty", ""));
    CHECK(!sk_session_file_path(s, "empty", path, sizeof path, &err));
    strcpy(strrchr(path, '/') + 1, ".hidden");
    CHECK(!sk_io_replace(path, "x", 1, &err));
    CHECK(!sk_session_files_end(s, 1, &err) && !sk_session_wait(s, &err) && !s->capture.in_files);
    *strrchr(path, '/') = 0;
    CHECK(access(path, F_OK)); /* the program's folder is gone */
    CHECK(s->capture.checkpoints == 1 && !s->capture.failed);
    struct sk_container *c = NULL;
    char file[256], text[16];
    world_path(file, world_local(), 1, 10, 0);
    CHECK(!sk_container_open(file, &c, &err));
    CHECK(c->index->var_count == 42 && !strcmp(c->index->vars[0].name, "u") && c->index->vars[0].kind != SK_SKC_FILE);
    CHECK(!strcmp(c->index->vars[1].name, "empty") && c->index->vars[1].raw_bytes == 0 && c->index->vars[1].kind == SK_SKC_FILE);
    for (int i = 0; i < 40; i++) {
        const struct sk_skc_var *v = &c->index->vars[2 + i];
        snprintf(name, sizeof name, "f%02d", i);
        const char *holds = i ? name : "the first";
        CHECK(!strcmp(v->name, name) && v->kind == SK_SKC_FILE && v->type == SAIKAI_U8 && v->ndims == 1 && v->dims[0] == strlen(holds));
        CHECK(v->raw_bytes == strlen(holds) && !sk_container_read(c, v, text, &err) && !memcmp(text, holds, strlen(holds)));
    }
    CHECK(c->header.iteration == 10 && c->header.place == 0 && c->header.incarnation == 1 && c->header.rank == 0 && c->header.nranks == 1);
    CHECK(c->header.run_id == s->who.run_id && !c->header.base_incarnation && !memcmp(&c->header.store, &s->who.job.store, sizeof c->header.store));
    CHECK(llabs((long long)(sk_wall_ms() - (int64_t)c->header.created_ms)) < 60000);
    sk_container_close(c);
    /* one without files has none of these */
    CHECK(sk_session_candidate(s, 0, 20, &err) == 1 && !sk_session_wait(s, &err));
    world_path(file, world_local(), 1, 20, 0);
    CHECK(!sk_container_open(file, &c, &err));
    CHECK(c->index->var_count == 1);
    sk_container_close(c);
    return 0;
}

static void files_are_saved_in_order(void **state)
{
    (void)state;
    run("schedule.every=10; capture.tracker=full; store.prefix=none", saves_files);
}

static char cut_path[PATH_MAX];

/* When its slot is made, the program's file is there already: then somebody cuts it. */
static int cuts(const char *op, const char *path)
{
    if (!strcmp(op, "open") && strstr(path, "/slot-") && *cut_path) {
        int rc = truncate(cut_path, 0);
        *cut_path = 0;
        return rc;
    }
    return 0;
}

static int loses_a_file(struct sk_session *s)
{
    struct saikai_error err = {0};
    static char text[20000];
    memset(text, 'x', sizeof text - 1);
    CHECK(sk_session_files_begin(s, 10, &err) == 1 && !put(s, "table", text));
    CHECK(!sk_session_file_path(s, "table", cut_path, sizeof cut_path, &err));
    sk_io_hook = cuts;
    int rc = sk_session_files_end(s, 1, &err);
    sk_io_hook = NULL;
    CHECK(rc == SAIKAI_EDAMAGED && !*cut_path && strstr(err.text, "iteration 10 is not saved"));
    CHECK(strstr(err.text, "somebody cut the file 'table' while it was saved") && s->capture.failed == 1);
    CHECK(sk_session_files_begin(s, 20, &err) == 1 && !put(s, "table", text) && !sk_session_files_end(s, 1, &err) && !sk_session_wait(s, &err));
    return 0;
}

static void a_file_that_is_cut_meanwhile(void **state)
{
    (void)state;
    run("schedule.every=10; store.prefix=none", loses_a_file);
}

static int no_slots(const char *op, const char *path)
{
    return !strcmp(op, "open") && strstr(path, "/local/") && strstr(path, "/slot-") ? ENOSPC : 0;
}

/* Only changes were to be saved, and there is no room for them: all of it goes to the prefix, and nothing builds on it here. */
static int has_no_room(struct sk_session *s)
{
    struct saikai_error err = {0};
    struct sk_container *c = NULL;
    char file[256];
    int64_t it = 0;
    double *back = malloc(BYTES);
    CHECK(of_changes(s, &it, CELLS) > 0 && of_changes(s, &it, 1) < BYTES);
    sk_engine_drain(s->levels.engine);
    sk_io_hook = no_slots;
    int64_t n = of_changes(s, &it, 1);
    if (n < BYTES)
        n = of_changes(s, &it, 1); /* a slot was ready */
    sk_io_hook = NULL;
    CHECK(n == BYTES && s->capture.direct_told && s->capture.failed == 0);
    world_path(file, "prefix", 1, it, 0);
    CHECK(back && !sk_container_open(file, &c, &err) && c->index->var_count == 1 && !c->header.base_incarnation);
    CHECK(!sk_container_read(c, &c->index->vars[0], back, &err) && !memcmp(back, u, BYTES));
    sk_container_close(c);
    free(back);
    CHECK(of_changes(s, &it, 1) > BYTES && of_changes(s, &it, 1) < BYTES);
    return 0;
}

static void changes_without_room_go_to_the_prefix_whole(void **state)
{
    (void)state;
    run("capture.tracker=hash; capture.max_ratio=100; store.archive_every=0", has_no_room);
}

/* A delta names what it builds on, and holds nothing else. */
static int saves_changes(struct sk_session *s)
{
    struct saikai_error err = {0};
    struct sk_container *c = NULL;
    char file[256];
    int64_t it = 0;
    CHECK(of_changes(s, &it, CELLS) > 0 && of_changes(s, &it, 1) > 0);
    world_path(file, world_local(), 1, 2, 0);
    CHECK(!sk_container_open(file, &c, &err));
    CHECK(c->header.iteration == 2 && c->header.base_iteration == 1 && c->header.base_place == 0 && c->header.base_incarnation == 1);
    CHECK(c->index->var_count == 2 && c->index->vars[1].kind == SK_SKC_CHANGES && !strcmp(c->index->vars[1].name, SK_LINEAGE_VAR));
    CHECK(c->index->vars[1].raw_bytes < 40000);
    sk_container_close(c);
    return 0;
}

static void changes_build_on_the_one_before(void **state)
{
    (void)state;
    run("capture.tracker=hash; capture.max_ratio=100; store.prefix=none", saves_changes);
}

/* ---- where there is no place ---- */

static int has_no_place(struct sk_session *s)
{
    struct saikai_error err = {0};
    CHECK(sk_session_candidate(s, 0, 10, &err) == 1 && !sk_session_wait(s, &err));
    s->place.prefix_lost = 1;
    CHECK(sk_session_candidate(s, 0, 20, &err) == SAIKAI_EBUSY);
    CHECK(strstr(err.text, "iteration 20 is not saved") && strstr(err.text, "another job has ") && strstr(err.text, s->place.prefix_root));
    CHECK(s->capture.failed == 1 && s->capture.checkpoints == 2);
    CHECK(sk_session_files_begin(s, 30, &err) == 1 && sk_session_files_end(s, 1, &err) == SAIKAI_EBUSY);
    s->place.prefix_lost = 0;
    CHECK(sk_session_candidate(s, 0, 40, &err) == 1 && s->capture.failed == 2);
    return 0;
}

/* What stands in the way is told again as it lasts, and ever more seldom; what comes later is told at once. */
static int has_no_place_for_long(struct sk_session *s)
{
    struct saikai_error err = {0};
    CHECK(sk_session_candidate(s, 0, 10, &err) == 1 && !sk_session_wait(s, &err));
    s->place.prefix_lost = 1;
    for (int i = 2; i < 9; i++)
        CHECK(sk_session_candidate(s, 0, 10 * i, &err) == SAIKAI_EBUSY);
    s->place.prefix_lost = 0;
    CHECK(sk_session_candidate(s, 0, 90, &err) == 1 && !sk_session_wait(s, &err));
    s->place.prefix_lost = 1;
    CHECK(sk_session_candidate(s, 0, 100, &err) == SAIKAI_EBUSY && s->capture.failed == 8);
    return 0;
}

static void a_lasting_trouble(void **state)
{
    static const int told[] = {20, 30, 50, 100}, not_told[] = {40, 60, 70, 80};
    (void)state;
    run("schedule.every=10; store.local=none", has_no_place_for_long);
    for (int i = 0; i < 4; i++) {
        char yes[64], no[64];
        snprintf(yes, sizeof yes, "iteration %d is not saved", told[i]);
        snprintf(no, sizeof no, "iteration %d is not saved", not_told[i]);
        world_expect(yes, 1);
        world_expect(no, 0);
    }
    world_expect("(4 in a row)", 1);
    world_expect("(8 in a row)", 0);
}

static int has_its_node(struct sk_session *s)
{
    struct saikai_error err = {0};
    s->place.prefix_lost = 1;
    CHECK(sk_session_candidate(s, 0, 10, &err) == 1 && !sk_session_wait(s, &err) && !s->capture.failed);
    return 0;
}

static void a_lost_prefix(void **state)
{
    (void)state;
    run("schedule.every=10; store.local=none", has_no_place);
    run("schedule.every=10", has_its_node);
}

static int setup(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-candidate-XXXXXX", SK_LOG_WARN);
}

static int teardown(void **state)
{
    (void)state;
    return world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(each_count),
        cmocka_unit_test(remember_open_files), /* the first session leaves open what all share */
        TEST(the_next_by_advice),
        TEST(the_first_one),
        TEST(slots_for_deltas),
        TEST(coded_ones_give_their_slots_back),
        TEST(files_are_saved_in_order),
        TEST(changes_build_on_the_one_before),
        TEST(a_file_that_is_cut_meanwhile),
        TEST(changes_without_room_go_to_the_prefix_whole),
        TEST(a_lost_prefix),
        TEST(a_lasting_trouble),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
