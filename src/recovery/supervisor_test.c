/* The supervisor against a world with a clock of its own: keepers that beat, die, fall silent or
 * obey. */
#include "recovery/supervisor.h"

#include "backbone/keeper_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, HOSTS = 3 };

struct world {
    struct sk_supervisor *s;
    double now;
    uint32_t incarnation; /* of the newest start */
    int starts, abandoned, kills, releases, signals, requests;
    double started_at[16];
    int seat[N];
    uint32_t asked;  /* bits of the newest request */
    int silent_host; /* -1: none */
    int mute_host;   /* does not answer probes; -1: none */
    int obeys;       /* keepers die when ordered to */
    int alive[N];
    struct sk_progress at; /* what all ranks say */
    char said[4096];
    int start_fails;
    struct sk_past past; /* what the newest start was told */
};

static void say_beat(struct world *w, int rank, enum sk_message_kind kind)
{
    struct sk_message m = {
        .kind = kind, .incarnation = w->incarnation, .rank = (uint32_t)rank, .at = w->at};
    snprintf(m.host, sizeof m.host, "h%d", w->seat[rank]);
    if (w->seat[rank] != w->silent_host)
        sk_supervisor_heard(w->s, &m, w->now);
}

static void say_exit(struct world *w, int rank, uint32_t how, uint32_t code, uint32_t ordered)
{
    struct sk_message m = {.kind = SK_MSG_EXIT,
                           .incarnation = w->incarnation,
                           .rank = (uint32_t)rank,
                           .at = w->at,
                           .how = how,
                           .code = code,
                           .ordered = ordered};
    w->alive[rank] = 0;
    if (w->seat[rank] != w->silent_host)
        sk_supervisor_heard(w->s, &m, w->now);
}

static int start(void *arg, uint32_t incarnation, const struct sk_past *past,
                 const struct sk_hosts *h, const int *seat, struct saikai_error *err)
{
    struct world *w = arg;
    w->past = *past;
    if (w->start_fails)
        return sk_fail(err, SAIKAI_EIO, "no launcher today");
    w->incarnation = incarnation;
    w->started_at[w->starts++ % 16] = w->now;
    memcpy(w->seat, seat, sizeof w->seat);
    for (int r = 0; r < N; r++)
        w->alive[r] = 2; /* says hello at the next step */
    return 0;
}

static void abandon(void *arg, uint32_t incarnation, int urgent)
{
    ((struct world *)arg)->abandoned++;
}

/* Keepers that die by order report with the next step, not within the call, as in life. */
static void send_order(void *arg, const struct sk_message *m)
{
    struct world *w = arg;
    w->kills += m->kind == SK_MSG_KILL;
    w->releases += m->kind == SK_MSG_RELEASE;
    w->signals += m->kind == SK_MSG_SIGNAL;
    w->requests += m->kind == SK_MSG_REQUEST;
    w->asked = m->kind == SK_MSG_REQUEST ? m->number : w->asked;
    if (m->kind == SK_MSG_KILL && m->incarnation == w->incarnation && w->obeys && w->alive[m->rank])
        w->alive[m->rank] = -1;
}

static void probe(void *arg, char *answers)
{
    const struct world *w = arg;
    for (int h = 0; h < HOSTS; h++)
        answers[h] = h != w->mute_host && h != w->silent_host;
}

static void say(void *arg, int level, const char *line)
{
    struct world *w = arg;
    size_t n = strlen(w->said);
    snprintf(w->said + n, sizeof w->said - n, "%s\n", line);
}

static const struct sk_supervisor_ops ops = {start, abandon, send_order, probe, say};

static void step(struct world *w)
{
    for (int r = 0; r < N; r++) {
        if (w->alive[r] == 2) {
            w->alive[r] = 1;
            say_beat(w, r, SK_MSG_HELLO);
        } else if (w->alive[r] == 1) {
            say_beat(w, r, SK_MSG_BEAT);
        } else if (w->alive[r] == -1) {
            say_exit(w, r, SK_EXIT_SIGNAL, SIGKILL, 1);
        }
    }
    sk_supervisor_tick(w->s, w->now);
}

static void run(struct world *w, double seconds)
{
    int code;
    for (double end = w->now + seconds; w->now < end && !sk_supervisor_ended(w->s, &code);
         w->now += 0.05)
        step(w);
}

static struct sk_supervisor_config config(void)
{
    return (struct sk_supervisor_config){
        .detector = {.n_ranks = N, .heartbeat_s = 0.5, .node_timeout_s = 4, .start_timeout_s = 60},
        .retries = 100,
        .no_progress = 3,
        .short_life_s = 3,
        .grace_s = 5,
        .stop_grace_s = 25,
        .command = "saikai run -n 4 -- ./solver",
    };
}

static struct world *begin_with(const struct sk_supervisor_config *c, int mute_host)
{
    struct world *w = calloc(1, sizeof *w);
    struct sk_hosts h = {0};
    struct saikai_error err = {0};
    int *seat = calloc(N, sizeof *seat);
    for (int i = 0; i < HOSTS; i++) {
        char name[8];
        snprintf(name, sizeof name, "h%d", i);
        assert_int_equal(sk_hosts_add(&h, name, 2, &err), 0);
    }
    assert_int_equal(sk_hosts_place(&h, 1, N, seat, &err), 0);
    w->now = 1000;
    w->silent_host = -1;
    w->mute_host = mute_host;
    w->obeys = 1;
    w->at = (struct sk_progress){.complete_iteration = -1, .restored_iteration = -1};
    w->s = sk_supervisor_new(c, &ops, w, &h, seat);
    assert_non_null(w->s);
    sk_supervisor_start(w->s, w->now);
    run(w, 1);
    return w;
}

static struct world *begin(const struct sk_supervisor_config *c)
{
    return begin_with(c, -1);
}

static void finish(struct world *w)
{
    sk_supervisor_free(w->s);
    free(w);
}

static int exit_code(struct world *w)
{
    int code = -1;
    return sk_supervisor_ended(w->s, &code) ? code : -1;
}

static void a_job_that_ends_well_ends_with_zero(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    for (int r = 0; r < N; r++)
        say_exit(w, r, SK_EXIT_CODE, 0, 0);
    assert_int_equal(w->releases, N); /* each may leave at once */
    sk_supervisor_launcher_ended(w->s, 0, 137 << 8, w->now);
    run(w, 1);
    assert_int_equal(exit_code(w), 0);
    assert_int_equal(w->starts, 1);
    assert_string_equal(w->said, "");
    finish(w);
}

static void a_killed_rank_restarts_the_job_at_once(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    w->at.state = SK_KEEPER_INITIALISED;
    w->at.complete_iteration = 40;
    w->at.complete_count = 4;
    run(w, 0.5);
    double died = w->now;
    say_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
    assert_int_equal(w->releases, 0); /* it has to wait for the others */
    run(w, 1);
    assert_int_equal(w->starts, 2);
    assert_int_equal(w->incarnation, 1);
    assert_true(w->started_at[1] - died <= 0.11);
    assert_int_equal(w->abandoned, 1);
    assert_int_equal(w->releases, N);
    assert_non_null(strstr(w->said, "rank 2 on h1 was killed by signal 9"));
    assert_non_null(strstr(w->said, "restart 1, from iteration 40"));
    finish(w);
}

/* Another job has the store: nothing is tried again, also when the ranks die in another way than by their own exit. */
static void a_refused_job_ends_at_once(void **state)
{
    for (int killed = 0; killed < 2; killed++) {
        struct sk_supervisor_config c = config();
        struct world *w = begin(&c);
        int code = -1;
        run(w, 0.2);
        w->at.state = SK_KEEPER_REFUSED;
        run(w, 0.2);
        say_exit(w, 0, killed ? SK_EXIT_SIGNAL : SK_EXIT_CODE, killed ? SIGKILL : SK_RUN_REFUSED, 0);
        run(w, 2);
        assert_int_equal(w->starts, 1);
        assert_true(sk_supervisor_ended(w->s, &code));
        assert_int_equal(code, SK_RUN_REFUSED);
        assert_non_null(strstr(w->said, "belongs to a job that is running"));
        finish(w);
    }
}

static void a_start_is_told_what_went_before(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    w->at.state = SK_KEEPER_INITIALISED;
    assert_true(!w->past.faults && !w->past.ms && !w->past.last_candidates);
    for (int i = 0; i < 2; i++) {
        w->at.progress = (uint64_t)(70 - 30 * i);
        w->at.complete_count = 1;
        run(w, 2);
        say_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
        run(w, 1);
        assert_int_equal(w->starts, 2 + i);
        assert_int_equal(w->past.faults, 1 + i);
        assert_true(w->past.ms > 2900 + 2800 * (uint64_t)i && w->past.ms < 3200 + 3200 * (uint64_t)i);
        assert_int_equal(w->past.last_candidates, 70 - 30 * i);
    }
    w->at.progress = 0; /* dies in its set-up: that tells nothing about how far it gets */
    run(w, 0.2);
    say_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
    run(w, 1);
    assert_int_equal(w->past.faults, 3);
    assert_int_equal(w->past.last_candidates, 40);
    finish(w);
}

static void the_next_start_is_told_how_this_one_ended(void **state)
{
    (void)state;
    static const struct {
        int how, code, last_end;
    } deaths[] = {
        {SK_EXIT_SIGNAL, SIGSEGV, SK_LAST_END_BY_ITSELF},
        {SK_EXIT_CODE, 3, SK_LAST_END_BY_ITSELF},
        {SK_EXIT_SIGNAL, SIGTERM, SK_LAST_END_FROM_OUTSIDE},
        {SK_EXIT_SIGNAL, SIGKILL, SK_LAST_END_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++) {
        struct sk_supervisor_config c = config();
        struct world *w = begin(&c);
        assert_int_equal(sk_supervisor_last_end(w->s), SK_LAST_END_UNKNOWN);
        w->at.complete_count = 1;
        run(w, 0.5);
        say_exit(w, 2, deaths[i].how, deaths[i].code, 0);
        run(w, 1);
        assert_int_equal(w->starts, 2);
        assert_int_equal(sk_supervisor_last_end(w->s), deaths[i].last_end);
        finish(w);
    }
}

static void no_start_before_all_are_gone(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    w->obeys = 0;
    say_exit(w, 0, SK_EXIT_SIGNAL, SIGSEGV, 0);
    run(w, 2);
    assert_int_equal(w->starts, 1);
    assert_true(w->kills > 3 * 10); /* the order is repeated, in case it was lost */
    w->obeys = 1;
    run(w, 0.3);
    assert_int_equal(w->starts, 2);
    finish(w);
}

static void ranks_that_do_not_die_hold_the_job_for_the_grace_time_only(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    w->obeys = 0;
    double died = w->now;
    say_exit(w, 0, SK_EXIT_SIGNAL, SIGSEGV, 0);
    run(w, 7);
    assert_int_equal(w->starts, 2);
    assert_true(w->started_at[1] - died > 4.9 && w->started_at[1] - died < 5.3);
    finish(w);
}

static void a_lost_host_is_replaced_by_a_spare(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    w->silent_host = 1;
    double lost = w->now;
    run(w, 6);
    assert_int_equal(w->starts, 2);
    assert_true(w->started_at[1] - lost <= 5);
    static const int want[N] = {0, 0, 2, 2};
    assert_memory_equal(w->seat, want, sizeof want);
    assert_non_null(strstr(w->said, "h2 takes the place of h1"));
    finish(w);
}

static void a_host_that_answers_no_more_is_replaced_whatever_was_noticed_first(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    w->silent_host = 1;
    say_exit(w, 0, SK_EXIT_CODE, 17,
             0); /* its MPI noticed the loss of the peer before us, and the launcher, too */
    sk_supervisor_launcher_ended(w->s, 0, 0, w->now);
    run(w, 1);
    assert_int_equal(w->starts, 2);
    static const int want[N] = {0, 0, 2, 2};
    assert_memory_equal(w->seat, want, sizeof want);
    finish(w);
}

static void a_dead_spare_is_not_used(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    w->mute_host = 2;
    w->silent_host = 1;
    run(w, 6);
    assert_int_equal(w->starts, 2);
    static const int want[N] = {0, 0, 0, 0};
    assert_memory_equal(w->seat, want, sizeof want);
    assert_non_null(strstr(w->said, "spare host h2 does not answer"));
    finish(w);
}

static void hosts_that_never_answered_are_not_suspected(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin_with(&c, 1); /* a firewall */
    say_exit(w, 0, SK_EXIT_CODE, 17, 0);
    run(w, 1);
    assert_int_equal(w->starts, 2);
    static const int want[N] = {0, 0, 1, 1};
    assert_memory_equal(w->seat, want, sizeof want);
    finish(w);
}

static void an_outage_of_three_seconds_is_not_fenced(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    w->silent_host = 1;
    run(w, 3.4);
    w->silent_host = -1;
    run(w, 10);
    assert_int_equal(w->starts, 1);
    assert_int_equal(w->kills, 0);
    finish(w);
}

static void what_comes_back_from_an_earlier_start_is_told_to_leave(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    w->silent_host = 1;
    run(w, 6);
    int kills = w->kills;
    struct sk_message m = {.kind = SK_MSG_HELLO, .incarnation = 0, .rank = 3, .host = "h1"};
    sk_supervisor_heard(w->s, &m, w->now);
    assert_int_equal(w->kills, kills + 1);
    m.kind = SK_MSG_EXIT;
    int releases = w->releases;
    sk_supervisor_heard(w->s, &m, w->now);
    assert_int_equal(w->releases, releases + 1);
    /* Its host is a spare from now on: it takes the place of the next one that is lost. */
    w->silent_host = 2;
    run(w, 6);
    assert_int_equal(w->starts, 3);
    static const int want[N] = {0, 0, 1, 1};
    assert_memory_equal(w->seat, want, sizeof want);
    finish(w);
}

static void a_fault_that_repeats_without_progress_ends_the_job(void **state)
{
    struct sk_supervisor_config c = config();
    c.backoff_s = 2;
    struct world *w = begin(&c);
    w->at.state = SK_KEEPER_INITIALISED;
    for (int i = 0; i < 3; i++) {
        say_exit(w, 1, SK_EXIT_CODE, 3, 0);
        run(w, 4);
    }
    assert_int_equal(exit_code(w), 3);
    assert_int_equal(w->starts, 3);
    assert_true(w->started_at[1] - w->started_at[0] < 1.5); /* the first restart does not wait */
    assert_true(w->started_at[2] - w->started_at[1] > 5.9); /* the second does, for two seconds */
    assert_non_null(strstr(w->said, "run.no_progress"));
    finish(w);
}

/* A start that dies right after a checkpoint is complete has not told of it: the next one goes on from there. */
static void what_the_next_start_goes_on_from_is_progress(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    w->at.state = SK_KEEPER_INITIALISED;
    for (int i = 0; i < 8; i++) {
        w->at.restored_iteration = 10 * i;
        run(w, 0.5);
        say_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
        run(w, 1);
        assert_int_equal(exit_code(w), -1);
    }
    for (int i = 0; i < 2; i++) { /* and from the same one again is none */
        say_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
        run(w, 5);
    }
    assert_int_equal(exit_code(w), 128 + SIGKILL);
    finish(w);
}

static void progress_makes_faults_count_anew(void **state)
{
    struct sk_supervisor_config c = config();
    c.retries = 7;
    struct world *w = begin(&c);
    w->at.state = SK_KEEPER_INITIALISED;
    for (int i = 0; i < 8; i++) {
        w->at.complete_iteration += 10;
        w->at.complete_count = 1;
        run(w, 0.2);
        say_exit(w, 1, SK_EXIT_SIGNAL, SIGBUS, 0);
        run(w, 1);
    }
    assert_int_equal(w->starts, 8);
    assert_int_equal(exit_code(w), 128 + SIGBUS);
    assert_non_null(strstr(w->said, "run.retries"));
    finish(w);
}

static void a_program_that_cannot_be_executed_is_not_tried_again(void **state)
{
    static const struct {
        int error, code;
    } cases[] = {{ENOENT, 127}, {EACCES, 126}};
    for (int i = 0; i < 2; i++) {
        struct sk_supervisor_config c = config();
        struct world *w = begin(&c);
        for (int r = 0; r < N; r++)
            say_exit(w, r, SK_EXIT_NO_START, (uint32_t)cases[i].error, 0);
        run(w, 2);
        assert_int_equal(w->starts, 1);
        assert_int_equal(exit_code(w), cases[i].code);
        finish(w);
    }
}

static void a_launcher_that_fails_before_any_rank_started_ends_the_job(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = calloc(1, sizeof *w);
    struct sk_hosts h = {0};
    assert_int_equal(sk_hosts_add(&h, "h0", 0, NULL), 0);
    w->s = sk_supervisor_new(&c, &ops, w, &h, calloc(N, sizeof(int)));
    w->now = 10;
    sk_supervisor_start(w->s, 10);
    sk_supervisor_launcher_ended(w->s, 0, 1 << 8, 10.1);
    for (w->now = 10.1; w->now < 13; w->now += 0.05)
        sk_supervisor_tick(w->s, w->now);
    assert_int_equal(exit_code(w), SK_RUN_FAILED);
    assert_int_equal(w->starts, 1);
    finish(w);
}

static void a_launcher_that_cannot_be_started_ends_the_job(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    w->start_fails = 1;
    say_exit(w, 0, SK_EXIT_SIGNAL, SIGSEGV, 0);
    run(w, 1);
    assert_int_equal(exit_code(w), SK_RUN_FAILED);
    assert_non_null(strstr(w->said, "no launcher today"));
    finish(w);
}

static void the_users_signal_is_passed_and_ends_the_job(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    sk_supervisor_signal(w->s, SIGTERM, 0, 0, w->now);
    assert_int_equal(w->signals, N);
    for (int r = 0; r < N; r++)
        say_exit(w, r, SK_EXIT_SIGNAL, SIGTERM, 0);
    run(w, 1);
    assert_int_equal(exit_code(w), 128 + SIGTERM);
    assert_int_equal(w->starts, 1);
    finish(w);
}

static void a_program_that_ends_well_after_a_signal_has_its_own_code(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    sk_supervisor_signal(w->s, SIGTERM, 0, 0, w->now);
    run(w, 1);
    for (int r = 0; r < N; r++)
        say_exit(w, r, SK_EXIT_CODE, 0, 0);
    run(w, 1);
    assert_int_equal(exit_code(w), 0);
    finish(w);
}

static void a_program_that_ignores_the_signal_is_killed(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    sk_supervisor_signal(w->s, SIGINT, 0, 0, w->now);
    run(w, 4.8);
    assert_int_equal(w->kills, 0);
    run(w, 1);
    assert_true(w->kills >= N);
    assert_int_equal(exit_code(w), 128 + SIGINT);
    finish(w);
    w = begin(&c); /* a second signal does not wait */
    sk_supervisor_signal(w->s, SIGINT, 0, 0, w->now);
    run(w, 0.2);
    sk_supervisor_signal(w->s, SIGINT, 0, 0, w->now);
    run(w, 0.5);
    assert_int_equal(exit_code(w), 128 + SIGINT);
    finish(w);
}

/* A job with something to save. */
static struct world *begin_with_library(struct sk_supervisor_config *c)
{
    struct world *w = begin(c);
    w->at.state = SK_KEEPER_INITIALISED;
    w->at.progress = 50;
    w->at.iteration = 50;
    w->at.complete_iteration = 40;
    w->at.complete_count = 1;
    run(w, 0.5);
    return w;
}

static void a_job_is_saved_before_it_ends(void **state)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    for (int i = 0; i < 3; i++) {
        struct sk_supervisor_config c = config();
        struct world *w = begin_with_library(&c);
        sk_supervisor_signal(w->s, numbers[i], 0, 1, w->now);
        assert_int_equal(w->signals, 0); /* which would kill it */
        assert_int_equal(w->requests, N);
        assert_int_equal(w->asked & SK_REQUEST_BITS,
                         SK_REQUEST_CHECKPOINT | SK_REQUEST_STOP | SK_REQUEST_END);
        assert_int_equal(w->asked >> SK_REQUEST_SIGNAL, numbers[i]);
        run(w, 20);
        assert_int_equal(w->kills, 0);
        w->at.complete_iteration = 57;
        w->at.state = SK_KEEPER_STOPPED;
        run(w, 1);
        assert_int_equal(exit_code(w), 128 + numbers[i]);
        assert_int_equal(w->starts, 1);
        assert_non_null(strstr(w->said, "all is saved"));
        assert_non_null(strstr(w->said, "to go on from iteration 57, type:\nsaikai run -n 4 -- ./solver\n"));
        finish(w);
    }
}

static void what_does_not_save_itself_in_time_is_killed(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin_with_library(&c);
    sk_supervisor_signal(w->s, SIGTERM, 0, 1, w->now);
    run(w, 24.8);
    assert_int_equal(w->kills, 0);
    run(w, 1);
    assert_int_equal(exit_code(w), 128 + SIGTERM);
    assert_non_null(strstr(w->said, "schedule.stop_grace"));
    assert_non_null(strstr(w->said, "to go on from iteration 40"));
    finish(w);
    c.stop_grace_s = 0; /* as long as it takes */
    w = begin_with_library(&c);
    sk_supervisor_signal(w->s, SIGTERM, 0, 1, w->now);
    run(w, 1000);
    assert_int_equal(w->kills, 0);
    sk_supervisor_signal(w->s, SIGTERM, 0, 1, w->now); /* but a second one is meant */
    run(w, 0.5);
    assert_int_equal(exit_code(w), 128 + SIGTERM);
    finish(w);
}

static void a_signal_that_comes_twice_at_once_is_one(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin_with_library(&c);
    sk_supervisor_signal(w->s, SIGINT, 0, 1, w->now);
    sk_supervisor_signal(w->s, SIGINT, 0, 1, w->now + 0.01);
    run(w, 5);
    assert_int_equal(w->kills, 0);
    sk_supervisor_signal(w->s, SIGINT, 0, 1, w->now);
    run(w, 0.5);
    assert_int_equal(exit_code(w), 128 + SIGINT);
    finish(w);
}

static void ranks_that_heard_a_signal_themselves_end_the_job(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin_with_library(&c);
    w->at.state = SK_KEEPER_STOPPED;
    run(w, 1);
    assert_int_equal(exit_code(w), 128 + SIGTERM);
    assert_int_equal(w->starts, 1);
    finish(w);
}

static void nothing_is_saved_before_the_first_candidate(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    w->at.state = SK_KEEPER_INITIALISED;
    run(w, 0.5);
    sk_supervisor_signal(w->s, SIGTERM, 0, 1, w->now);
    assert_int_equal(w->signals, N);
    assert_int_equal(w->requests, 0);
    run(w, 6);
    assert_int_equal(exit_code(w), 128 + SIGTERM);
    finish(w);
}

/* It may have files of its own: as long as it lives for a while each time, it is started again. */
static void a_program_without_the_library_may_be_getting_on(void **state)
{
    struct sk_supervisor_config c = config();
    c.retries = 9;
    struct world *w = begin(&c);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(exit_code(w), -1);
        run(w, 4);
        say_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
        run(w, 0.5);
    }
    assert_int_equal(w->starts, 10);
    assert_int_equal(exit_code(w), 128 + SIGKILL);
    assert_non_null(strstr(w->said, "run.retries"));
    assert_non_null(strstr(w->said, "restart 1, from whatever the program itself has kept"));
    finish(w);
}

static void what_is_computed_again_is_said(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin_with_library(&c);
    w->at.iteration = 61;
    run(w, 2);
    say_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
    run(w, 1);
    assert_non_null(strstr(w->said, "restart 1, from iteration 40 or the newest generation that is whole (21 iterations, 2."));
    finish(w);
}

static void a_signal_while_waiting_ends_the_job_at_once(void **state)
{
    struct sk_supervisor_config c = config();
    c.backoff_s = 30;
    struct world *w = begin(&c);
    for (int i = 0; i < 2; i++) {
        say_exit(w, 1, SK_EXIT_CODE, 3, 0);
        run(w, 1);
    }
    assert_int_equal(exit_code(w), -1);
    sk_supervisor_signal(w->s, SIGTERM, 0, 0, w->now);
    run(w, 0.1);
    assert_int_equal(exit_code(w), 128 + SIGTERM);
    assert_int_equal(w->starts, 2);
    finish(w);
}

static void a_checkpoint_signal_is_a_request_where_the_library_is_used(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    sk_supervisor_signal(w->s, SIGUSR1, 1, 0, w->now);
    assert_int_equal(w->signals, N); /* no library: as it came */
    w->at.state = SK_KEEPER_INITIALISED;
    run(w, 0.2);
    sk_supervisor_signal(w->s, SIGUSR1, 1, 0, w->now);
    assert_int_equal(w->signals, N);
    assert_int_equal(w->requests, N);
    run(w, 10);
    assert_int_equal(exit_code(w), -1);
    finish(w);
}

static void nothing_is_restarted_after_the_end_of_the_time_slot(void **state)
{
    struct sk_supervisor_config c = config();
    c.deadline = 1003;
    struct world *w = begin(&c);
    run(w, 3);
    say_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    run(w, 1);
    assert_int_equal(w->starts, 1);
    assert_int_equal(exit_code(w), 128 + SIGKILL);
    finish(w);
}

static void strangers_are_ignored(void **state)
{
    struct sk_supervisor_config c = config();
    struct world *w = begin(&c);
    struct sk_message m = {.kind = SK_MSG_EXIT, .rank = N, .code = 1};
    sk_supervisor_heard(w->s, &m, w->now);
    m = (struct sk_message){.kind = SK_MSG_EXIT, .incarnation = 9, .rank = 0, .code = 1};
    sk_supervisor_heard(w->s, &m, w->now);
    m = (struct sk_message){.kind = SK_MSG_KILL, .rank = 0};
    sk_supervisor_heard(w->s, &m, w->now);
    run(w, 1);
    assert_int_equal(w->starts, 1);
    assert_int_equal(exit_code(w), -1);
    finish(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_ends_well_ends_with_zero),
        cmocka_unit_test(a_killed_rank_restarts_the_job_at_once),
        cmocka_unit_test(a_refused_job_ends_at_once),
        cmocka_unit_test(a_start_is_told_what_went_before),
        cmocka_unit_test(the_next_start_is_told_how_this_one_ended),
        cmocka_unit_test(no_start_before_all_are_gone),
        cmocka_unit_test(ranks_that_do_not_die_hold_the_job_for_the_grace_time_only),
        cmocka_unit_test(a_lost_host_is_replaced_by_a_spare),
        cmocka_unit_test(a_host_that_answers_no_more_is_replaced_whatever_was_noticed_first),
        cmocka_unit_test(a_dead_spare_is_not_used),
        cmocka_unit_test(hosts_that_never_answered_are_not_suspected),
        cmocka_unit_test(an_outage_of_three_seconds_is_not_fenced),
        cmocka_unit_test(what_comes_back_from_an_earlier_start_is_told_to_leave),
        cmocka_unit_test(a_fault_that_repeats_without_progress_ends_the_job),
        cmocka_unit_test(what_the_next_start_goes_on_from_is_progress),
        cmocka_unit_test(progress_makes_faults_count_anew),
        cmocka_unit_test(a_program_that_cannot_be_executed_is_not_tried_again),
        cmocka_unit_test(a_launcher_that_fails_before_any_rank_started_ends_the_job),
        cmocka_unit_test(a_launcher_that_cannot_be_started_ends_the_job),
        cmocka_unit_test(the_users_signal_is_passed_and_ends_the_job),
        cmocka_unit_test(a_program_that_ends_well_after_a_signal_has_its_own_code),
        cmocka_unit_test(a_program_that_ignores_the_signal_is_killed),
        cmocka_unit_test(a_job_is_saved_before_it_ends),
        cmocka_unit_test(what_does_not_save_itself_in_time_is_killed),
        cmocka_unit_test(a_signal_that_comes_twice_at_once_is_one),
        cmocka_unit_test(ranks_that_heard_a_signal_themselves_end_the_job),
        cmocka_unit_test(nothing_is_saved_before_the_first_candidate),
        cmocka_unit_test(a_program_without_the_library_may_be_getting_on),
        cmocka_unit_test(what_is_computed_again_is_said),
        cmocka_unit_test(a_signal_while_waiting_ends_the_job_at_once),
        cmocka_unit_test(a_checkpoint_signal_is_a_request_where_the_library_is_used),
        cmocka_unit_test(nothing_is_restarted_after_the_end_of_the_time_slot),
        cmocka_unit_test(strangers_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
