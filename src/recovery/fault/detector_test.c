/* Verdicts on made-up reports and a made-up clock: ends, silence, hangs, late starts, and what must
 * not be taken for a fault. */
#include "recovery/fault/detector.h"

#include "backbone/keeper_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <signal.h>
#include <string.h>

enum { N = 4 };
static const int seat[N] = {0, 0, 1, 1};
static const struct sk_detector_config config = {
    .n_ranks = N, .n_hosts = 2, .heartbeat_s = 0.5, .node_timeout_s = 4, .start_timeout_s = 60};

static struct sk_detector *begin(const struct sk_detector_config *c)
{
    struct sk_detector *d = sk_detector_new(c, seat, 100);
    assert_non_null(d);
    for (uint32_t r = 0; r < N; r++)
        sk_detector_heard(d, &(struct sk_message){.kind = SK_MSG_HELLO, .rank = r}, 100);
    return d;
}

static void beat(struct sk_detector *d, uint32_t rank, uint64_t progress, double now)
{
    struct sk_message m = {.kind = SK_MSG_BEAT, .rank = rank};
    m.at = (struct sk_progress){.progress = progress,
                                .state = SK_KEEPER_INITIALISED,
                                .complete_iteration = -1,
                                .restored_iteration = -1};
    sk_detector_heard(d, &m, now);
}

static void ended(struct sk_detector *d, uint32_t rank, enum sk_exit_how how, uint32_t code,
                  uint32_t ordered, double now)
{
    struct sk_message m = {
        .kind = SK_MSG_EXIT, .rank = rank, .how = how, .code = code, .ordered = ordered};
    m.at.complete_iteration = m.at.restored_iteration = -1;
    sk_detector_heard(d, &m, now);
}

/* Let time pass in steps of 0.25 s in which the ranks of mask beat; the time of the verdict, or
 * end. */
static double pass(struct sk_detector *d, double from, double to, unsigned mask, uint64_t progress,
                   enum sk_job *job, struct sk_fault *f)
{
    for (double t = from; t < to; t += 0.25) {
        for (uint32_t r = 0; r < N; r++)
            if (mask & 1u << r)
                beat(d, r, progress, t);
        *job = sk_detector_check(d, t, f);
        if (*job != SK_JOB_RUNS)
            return t;
    }
    return to;
}

static void all_zero_exits_are_success_whatever_the_launcher_says(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    for (uint32_t r = 0; r < N; r++) {
        assert_int_equal(sk_detector_check(d, 100.1, &f), SK_JOB_RUNS);
        ended(d, r, SK_EXIT_CODE, 0, 0, 100.1);
    }
    sk_detector_launcher_ended(d, 137 << 8, 100.2);
    assert_int_equal(sk_detector_check(d, 101, &f), SK_JOB_DONE);
    sk_detector_free(d);
}

static void a_killed_rank_is_a_fault_at_once(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    ended(d, 2, SK_EXIT_SIGNAL, SIGKILL, 0, 100.1);
    ended(d, 3, SK_EXIT_CODE, 15, 0, 100.1); /* its neighbour noticed through MPI */
    assert_int_equal(sk_detector_check(d, 100.1, &f), SK_JOB_FAULT);
    assert_ptr_equal(f.kind, &sk_fault_signal);
    assert_int_equal(f.rank, 2);
    assert_int_equal(f.host, 1);
    assert_int_equal(f.code, SIGKILL);
    sk_detector_free(d);
}

/* Others wait for it; what is behind it may be another one's death. */
static void a_rank_that_leaves_before_mpi_ends_is_a_fault(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    char text[300];
    struct sk_hosts none = {0};
    ended(d, 1, SK_EXIT_UNENDED, 0, 0, 100.1);
    assert_int_equal(sk_detector_rank_ended_well(d, 1), 0);
    assert_int_equal(sk_detector_check(d, 100.6, &f), SK_JOB_RUNS);
    assert_int_equal(sk_detector_check(d, 101, &f), SK_JOB_RUNS);
    assert_int_equal(sk_detector_check(d, 101.2, &f), SK_JOB_FAULT);
    assert_true(f.kind == &sk_fault_unended && f.rank == 1 && sk_fault_means(&f, SK_FAULT_OF_PROCESS));
    assert_int_equal(sk_fault_exit_code(&f, 1), SK_RUN_FAILED);
    sk_fault_describe(&f, &none, "solver", text, sizeof text);
    assert_non_null(strstr(text, "rank 1 on ? exited with code 0 before MPI_Finalize"));
    sk_detector_free(d);
    d = begin(&config);
    ended(d, 1, SK_EXIT_UNENDED, 0, 0, 100.1);
    ended(d, 2, SK_EXIT_SIGNAL, SIGSEGV, 0, 100.2);
    assert_int_equal(sk_detector_check(d, 100.3, &f), SK_JOB_FAULT);
    assert_true(f.kind == &sk_fault_signal && f.rank == 2);
    sk_detector_free(d);
}

/* All of a program that does without MPI_Finalize; one with an error is one as ever. */
static void all_may_leave_before_mpi_ends(void **state)
{
    for (int bad = 0; bad < 2; bad++) {
        struct sk_detector *d = begin(&config);
        struct sk_fault f;
        for (uint32_t r = 0; r < N; r++) {
            assert_int_equal(sk_detector_check(d, 100.3, &f), SK_JOB_RUNS);
            ended(d, r, bad && r == 2 ? SK_EXIT_CODE : SK_EXIT_UNENDED, bad && r == 2 ? 5 : 0, 0, 100.3);
        }
        assert_int_equal(sk_detector_check(d, 101.4, &f), bad ? SK_JOB_FAULT : SK_JOB_DONE);
        assert_true(!bad || (f.kind == &sk_fault_exit && f.rank == 2 && f.code == 5));
        sk_detector_free(d);
    }
}

/* Only the MPI's launcher can tell a rank that leaves too early from one that ends well, and it ends the others for it. */
static void who_left_is_blamed_and_not_whom_the_launcher_ended(void **state)
{
    static const struct {
        uint32_t ended;  /* by the launcher: its neighbours' SIGTERM is */
        double left_at;  /* rank 1, with 0 */
        int blamed;
    } cases[] = {{1, 100.5, 1}, {1, 102.5, 1}, {0, 102.5, 0}, {1, 100, 0}, {1, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_detector *d = begin(&config);
        struct sk_fault f;
        for (double t = 100; t < 103.25; t += 0.25) {
            sk_detector_time(d, t);
            if (t == cases[i].left_at)
                ended(d, 1, SK_EXIT_CODE, 0, 0, t);
            if (t == cases[i].left_at + 0.25) /* it had nothing to wait for */
                ended(d, 3, SK_EXIT_CODE, 0, 0, t);
        }
        for (uint32_t r = 0; r < N; r += 2) {
            struct sk_message m = {.kind = SK_MSG_EXIT, .rank = r, .how = SK_EXIT_SIGNAL, .code = SIGTERM, .ended = cases[i].ended};
            sk_detector_heard(d, &m, 103.25);
        }
        assert_int_equal(sk_detector_check(d, 103.4, &f), cases[i].left_at > 0 ? SK_JOB_FAULT : SK_JOB_RUNS);
        assert_int_equal(sk_detector_check(d, 103.6, &f), SK_JOB_FAULT);
        assert_int_equal(f.rank, cases[i].blamed);
        assert_ptr_equal(f.kind, cases[i].blamed ? &sk_fault_unended : &sk_fault_signal);
        sk_detector_free(d);
    }
}

/* … or MPICH's, which ends their keepers as well. One that was killed is to blame itself. */
static void who_left_before_the_launcher_did_is_blamed(void **state)
{
    for (int killed = 0; killed < 2; killed++) {
        struct sk_detector *d = begin(&config);
        struct sk_fault f;
        ended(d, 2, SK_EXIT_CODE, 0, 0, 100.1);
        sk_detector_launcher_ended(d, killed ? SIGKILL : 9 << 8, 100.3);
        assert_int_equal(sk_detector_check(d, 100.7, &f), SK_JOB_FAULT);
        assert_ptr_equal(f.kind, killed ? &sk_fault_launcher : &sk_fault_unended);
        assert_int_equal(f.rank, killed ? -1 : 2);
        sk_detector_free(d);
    }
}

/* … unless another one died. */
static void a_death_explains_more_than_who_left(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    ended(d, 1, SK_EXIT_CODE, 0, 0, 100.1);
    struct sk_message m = {.kind = SK_MSG_EXIT, .rank = 0, .how = SK_EXIT_SIGNAL, .code = SIGTERM, .ended = 1};
    sk_detector_heard(d, &m, 100.2);
    ended(d, 2, SK_EXIT_SIGNAL, SIGSEGV, 0, 100.3);
    assert_int_equal(sk_detector_check(d, 100.3, &f), SK_JOB_FAULT);
    assert_true(f.kind == &sk_fault_signal && f.rank == 2);
    sk_detector_free(d);
}

static void the_launchers_sigterm_is_not_blamed(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    ended(d, 0, SK_EXIT_SIGNAL, SIGTERM, 0, 100.1);
    ended(d, 3, SK_EXIT_CODE, 7, 0, 100.15);
    assert_int_equal(sk_detector_check(d, 100.45, &f), SK_JOB_FAULT);
    assert_int_equal(f.rank, 3);
    assert_ptr_equal(f.kind, &sk_fault_exit);
    assert_int_equal(f.code, 7);
    sk_detector_free(d);
}

/* … and its word is here before that of the rank that was killed, as their hosts are. */
static void a_neighbour_that_exits_waits_for_what_made_it(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    ended(d, 3, SK_EXIT_CODE, 14, 0, 100.1);
    assert_int_equal(sk_detector_check(d, 100.2, &f), SK_JOB_RUNS);
    ended(d, 0, SK_EXIT_SIGNAL, SIGTERM, 0, 100.2); /* the launcher has heard of it as well */
    ended(d, 2, SK_EXIT_SIGNAL, SIGKILL, 0, 100.3);
    assert_int_equal(sk_detector_check(d, 100.3, &f), SK_JOB_FAULT);
    assert_true(f.kind == &sk_fault_signal && f.rank == 2);
    sk_detector_free(d);
    d = begin(&config);
    ended(d, 3, SK_EXIT_CODE, 14, 0, 100.1);
    ended(d, 1, SK_EXIT_CODE, 15, 0, 100.15);
    assert_int_equal(sk_detector_check(d, 100.39, &f), SK_JOB_RUNS);
    assert_int_equal(sk_detector_check(d, 100.42, &f), SK_JOB_FAULT); /* it was its own */
    assert_true(f.kind == &sk_fault_exit && f.rank == 3 && f.code == 14);
    sk_detector_free(d);
}

/* One of two ranks that talked to each other is killed, and the other one's word of its broken pipe is here first. */
static void a_broken_pipe_waits_for_what_broke_it(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    ended(d, 0, SK_EXIT_SIGNAL, SIGPIPE, 0, 100.1);
    assert_int_equal(sk_detector_check(d, 100.2, &f), SK_JOB_RUNS);
    assert_true(sk_detector_next(d, 100.2) < 100.45);
    sk_detector_launcher_ended(d, 141 << 8, 100.05);
    assert_int_equal(sk_detector_check(d, 100.39, &f), SK_JOB_RUNS);
    ended(d, 2, SK_EXIT_SIGNAL, SIGKILL, 0, 100.39);
    assert_int_equal(sk_detector_check(d, 100.39, &f), SK_JOB_FAULT);
    assert_int_equal(f.rank, 2);
    assert_int_equal(f.code, SIGKILL);
    sk_detector_free(d);
}

static void a_broken_pipe_alone_is_the_fault(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    ended(d, 0, SK_EXIT_SIGNAL, SIGPIPE, 0, 100.1);
    sk_detector_launcher_ended(d, 141 << 8, 100.15);
    assert_int_equal(sk_detector_check(d, 100.2, &f), SK_JOB_RUNS);
    assert_int_equal(sk_detector_check(d, 100.45, &f), SK_JOB_FAULT);
    assert_ptr_equal(f.kind, &sk_fault_signal);
    assert_int_equal(f.code, SIGPIPE);
    sk_detector_free(d);
}

static void what_died_by_order_is_no_fault(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    ended(d, 1, SK_EXIT_SIGNAL, SIGKILL, 1, 100.1);
    assert_int_equal(sk_detector_check(d, 100.2, &f), SK_JOB_RUNS);
    sk_detector_free(d);
}

static void ranks_that_all_died_by_order_are_no_success(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    for (uint32_t r = 0; r < N; r++)
        ended(d, r, SK_EXIT_SIGNAL, SIGKILL, 1, 100.1);
    assert_int_equal(sk_detector_check(d, 100.2, &f), SK_JOB_FAULT);
    sk_detector_free(d);
}

static void a_silent_host_is_lost_after_the_node_timeout(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    enum sk_job job;
    pass(d, 100, 110, 0xf, 0, &job, &f);
    assert_int_equal(job, SK_JOB_RUNS);
    double t = pass(d, 110, 120, 0x3, 0, &job, &f); /* host 1 heard last at 109.75 */
    assert_int_equal(job, SK_JOB_FAULT);
    assert_ptr_equal(f.kind, &sk_fault_lost_node);
    assert_int_equal(f.host, 1);
    assert_true(t - 109.75 > 4 && t - 109.75 <= 5);
    assert_true(sk_detector_rank_silent(d, 2, t));
    assert_false(sk_detector_rank_silent(d, 0, t));
    sk_detector_free(d);
}

static void three_seconds_of_silence_are_forgiven(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    enum sk_job job;
    pass(d, 100, 110, 0xf, 0, &job, &f);
    pass(d, 110, 113.75, 0x3, 0, &job, &f); /* with half a second to connect again */
    assert_int_equal(job, SK_JOB_RUNS);
    pass(d, 113.75, 120, 0xf, 0, &job, &f);
    assert_int_equal(job, SK_JOB_RUNS);
    sk_detector_free(d);
}

static void one_silent_keeper_is_not_a_lost_host(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    enum sk_job job;
    pass(d, 100, 120, 0x7, 0, &job, &f);
    assert_int_equal(job, SK_JOB_FAULT);
    assert_ptr_equal(f.kind, &sk_fault_silent_rank);
    assert_int_equal(f.rank, 3);
    sk_detector_free(d);
}

static void our_own_absence_is_nobodys_silence(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    enum sk_job job;
    pass(d, 100, 105, 0xf, 0, &job, &f);
    assert_int_equal(sk_detector_check(d, 125, &f), SK_JOB_RUNS); /* we were stopped for 20 s */
    double t = pass(d, 125.25, 140, 0x3, 0, &job, &f);
    assert_int_equal(job, SK_JOB_FAULT); /* host 1 is silent in its own right */
    assert_true(t > 128);
    sk_detector_free(d);
}

static void a_standstill_is_a_hang_when_asked_for(void **state)
{
    struct sk_detector_config c = config;
    struct sk_fault f;
    enum sk_job job;
    struct sk_detector *d = begin(&c);
    pass(d, 100, 200, 0xf, 5, &job, &f);
    assert_int_equal(job, SK_JOB_RUNS); /* off */
    sk_detector_free(d);
    c.hang_timeout_s = 10;
    d = begin(&c);
    pass(d, 100, 109, 0xf, 5, &job, &f);
    pass(d, 109, 118, 0xf, 6, &job, &f);
    assert_int_equal(job, SK_JOB_RUNS);
    double t = pass(d, 118, 130, 0xf, 6, &job, &f);
    assert_int_equal(job, SK_JOB_FAULT);
    assert_ptr_equal(f.kind, &sk_fault_hang);
    assert_true(t > 119 && t <= 119.5);
    sk_detector_free(d);
}

static void a_program_without_the_library_cannot_hang(void **state)
{
    struct sk_detector_config c = config;
    c.hang_timeout_s = 1;
    struct sk_detector *d = begin(&c);
    struct sk_fault f;
    for (double t = 100; t < 110; t += 0.5) {
        for (uint32_t r = 0; r < N; r++)
            sk_detector_heard(d, &(struct sk_message){.kind = SK_MSG_BEAT, .rank = r}, t);
        assert_int_equal(sk_detector_check(d, t, &f), SK_JOB_RUNS);
    }
    sk_detector_free(d);
}

/* What a rank's keeper says while time passes; the verdict's time, or `to`. */
static double stay(struct sk_detector *d, double from, double to, uint64_t progress, uint32_t keeper_state, enum sk_job *job,
                   struct sk_fault *f)
{
    for (double t = from; t < to; t += 0.25) {
        for (uint32_t r = 0; r < N; r++)
            sk_detector_heard(d,
                              &(struct sk_message){.kind = SK_MSG_BEAT,
                                                   .rank = r,
                                                   .at = {.progress = progress, .state = keeper_state}},
                              t);
        *job = sk_detector_check(d, t, f);
        if (*job != SK_JOB_RUNS)
            return t;
    }
    return to;
}

static void only_what_is_between_candidates_can_hang(void **state)
{
    struct sk_detector_config c = config;
    struct sk_fault f;
    enum sk_job job;
    c.hang_timeout_s = 1;
    struct sk_detector *d = begin(&c);
    stay(d, 100, 200, 0, SK_KEEPER_INITIALISED, &job, &f); /* a long set-up */
    assert_int_equal(job, SK_JOB_RUNS);
    stay(d, 200, 200.5, 1, SK_KEEPER_INITIALISED, &job, &f);
    stay(d, 200.5, 201, 2, SK_KEEPER_INITIALISED, &job, &f);
    stay(d, 201, 300, 2, SK_KEEPER_ENDING, &job, &f); /* the last copy to a slow disk */
    assert_int_equal(job, SK_JOB_RUNS);
    stay(d, 300, 400, 2, SK_KEEPER_FINALIZED, &job, &f); /* the program's output */
    assert_int_equal(job, SK_JOB_RUNS);
    assert_true(sk_detector_next(d, 400) > 400.1); /* and nobody is woken for nothing */
    sk_detector_free(d);
    d = begin(&c);
    stay(d, 100, 150, 0, SK_KEEPER_INITIALISED, &job, &f);
    double t = stay(d, 150, 160, 1, SK_KEEPER_INITIALISED, &job, &f);
    assert_int_equal(job, SK_JOB_FAULT);
    assert_ptr_equal(f.kind, &sk_fault_hang);
    assert_true(t > 151 && t <= 151.5);
    sk_detector_free(d);
}

static void a_set_up_has_a_limit_of_its_own(void **state)
{
    struct sk_detector_config c = config;
    struct sk_fault f;
    enum sk_job job;
    c.setup_timeout_s = 10;
    struct sk_detector *d = begin(&c);
    double t = stay(d, 100, 150, 0, SK_KEEPER_NONE, &job, &f);
    assert_int_equal(job, SK_JOB_FAULT);
    assert_ptr_equal(f.kind, &sk_fault_long_setup);
    assert_true(t > 110 && t <= 110.5);
    sk_detector_free(d);
    d = begin(&c);
    stay(d, 100, 109, 0, SK_KEEPER_INITIALISED, &job, &f);
    stay(d, 109, 200, 1, SK_KEEPER_INITIALISED, &job, &f);
    assert_int_equal(job, SK_JOB_RUNS);
    sk_detector_free(d);
}

static void a_job_has_stopped_when_all_ranks_have(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_message m = {.kind = SK_MSG_BEAT, .at.state = SK_KEEPER_STOPPED};
    for (uint32_t r = 0; r < N; r++) {
        assert_false(sk_detector_all_stopped(d));
        m.rank = r;
        sk_detector_heard(d, &m, 100);
    }
    assert_true(sk_detector_all_stopped(d));
    sk_detector_free(d);
}

static void a_rank_that_never_comes_is_noticed(void **state)
{
    struct sk_detector *d = sk_detector_new(&config, seat, 100);
    struct sk_fault f;
    enum sk_job job;
    for (uint32_t r = 0; r < 3; r++)
        sk_detector_heard(d, &(struct sk_message){.kind = SK_MSG_HELLO, .rank = r}, 100);
    double t = pass(d, 100, 200, 0x7, 0, &job, &f);
    assert_int_equal(job, SK_JOB_FAULT);
    assert_ptr_equal(f.kind, &sk_fault_late_start);
    assert_int_equal(f.rank, 3);
    assert_true(t > 160 && t < 161);
    assert_int_equal(sk_detector_rank_runs(d, 3), -1);
    sk_detector_free(d);
}

static void a_launcher_that_leaves_ranks_owed_is_a_fault(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    sk_detector_check(d, 100.5, &f);
    sk_detector_launcher_ended(d, 0, 100.5);
    assert_int_equal(sk_detector_check(d, 100.6, &f),
                     SK_JOB_RUNS); /* reports may be on their way */
    assert_false(sk_detector_rank_went_along(d, 0, 100.6));
    assert_int_equal(sk_detector_check(d, 101.2, &f), SK_JOB_FAULT);
    assert_ptr_equal(f.kind, &sk_fault_launcher);
    assert_true(sk_detector_rank_went_along(d, 0, 101.2));
    beat(d, 0, 0, 101.2); /* it did not: it answers */
    assert_false(sk_detector_rank_went_along(d, 0, 101.3));
    sk_detector_free(d);
}

static void ranks_that_stay_after_their_work_are_noticed_when_asked_for(void **state)
{
    struct sk_detector_config c = config;
    c.finish_timeout_s = 5;
    struct sk_detector *d = begin(&c);
    struct sk_fault f;
    enum sk_job job = SK_JOB_RUNS;
    ended(d, 0, SK_EXIT_CODE, 0, 0, 101);
    double t;
    for (t = 101; t < 120 && job == SK_JOB_RUNS; t += 0.5) {
        for (uint32_t r = 1; r < N; r++) {
            struct sk_message m = {.kind = SK_MSG_BEAT, .rank = r, .at.state = SK_KEEPER_FINALIZED};
            sk_detector_heard(d, &m, t);
        }
        job = sk_detector_check(d, t, &f);
    }
    assert_int_equal(job, SK_JOB_STUCK_AT_END);
    assert_true(t > 106 && t < 108);
    sk_detector_free(d);
}

static void progress_is_the_farthest_of_all_ranks(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_message m = {.kind = SK_MSG_BEAT, .rank = 1};
    assert_true(sk_detector_progress(d).complete_iteration == -1);
    m.at = (struct sk_progress){
        .complete_iteration = 40, .complete_count = 2, .restored_iteration = 20};
    sk_detector_heard(d, &m, 100);
    beat(d, 2, 9, 100);
    struct sk_progress p = sk_detector_progress(d);
    assert_true(p.complete_iteration == 40 && p.complete_count == 2 && p.restored_iteration == 20 &&
                p.progress == 9);
    assert_int_equal(p.state, SK_KEEPER_INITIALISED);
    sk_detector_free(d);
}

/* Its keepers speak one after the other in each heartbeat. */
static void keepers_of_a_lost_node_need_not_fall_silent_together(void **state)
{
    struct sk_detector *d = begin(&config);
    enum sk_job job = SK_JOB_RUNS;
    struct sk_fault f;
    beat(d, 2, 1, 110);
    beat(d, 3, 1, 110.4);
    for (double t = 110.5; job == SK_JOB_RUNS && t < 130; t += 0.1) {
        beat(d, 0, 1, t);
        beat(d, 1, 1, t);
        job = sk_detector_check(d, t, &f);
    }
    assert_int_equal(job, SK_JOB_FAULT);
    assert_ptr_equal(f.kind, &sk_fault_lost_node);
    assert_int_equal(f.host, 1);
    sk_detector_free(d);
}

static void ranks_in_a_row_live(void **state)
{
    struct sk_detector *d = begin(&config);
    enum sk_job job;
    struct sk_fault f;
    for (double t = 100; t < 120; t += 0.25) {
        beat(d, 0, 1, t);
        sk_detector_live(d, 1, UINT32_MAX - 1, 0, t); /* whoever there is of them */
        assert_int_equal(sk_detector_check(d, t, &f), SK_JOB_RUNS);
    }
    double t = 120;
    for (job = SK_JOB_RUNS; job == SK_JOB_RUNS && t < 140; t += 0.25) {
        sk_detector_live(d, 0, 2, 0, t);
        job = sk_detector_check(d, t, &f);
    }
    assert_int_equal(job, SK_JOB_FAULT);
    assert_ptr_equal(f.kind, &sk_fault_lost_node);
    assert_int_equal(f.host, 1);
    sk_detector_free(d);
}

/* What waited on its way is a sign of life of the time when it was said: a rank that says no more is lost as soon after it as one that
 * speaks here itself; what came later and is older takes nothing back. */
static void what_was_passed_on_is_as_old_as_it_was_said(void **state)
{
    struct sk_message late = {.kind = SK_MSG_BEAT, .incarnation = 1, .rank = 2, .age_ms = 1500};
    double noticed[2] = {0};
    for (int passed = 0; passed < 2; passed++) {
        struct sk_detector *d = begin(&config);
        struct sk_fault f;
        double t = 100, last = passed ? 101.5 : 100;
        for (uint32_t r = 0; r < 4; r++)
            beat(d, (int)r, 1, 99.9);
        for (; t < 130; t += 0.125) {
            beat(d, 0, 1, t);
            beat(d, 1, 1, t);
            if (t == last && passed) {
                sk_detector_heard(d, &late, t);
                sk_detector_live(d, 3, 1, 1.5, t);
                late.age_ms = 9000;
                sk_detector_heard(d, &late, t);
            } else if (t == last) {
                sk_detector_live(d, 2, 2, 0, t);
            }
            if (sk_detector_check(d, t, &f) == SK_JOB_FAULT)
                break;
        }
        assert_int_equal(f.host, 1);
        noticed[passed] = t;
        sk_detector_free(d);
    }
    assert_true(noticed[0] == noticed[1]);
}

/* A launcher that gets a processor in a third of the time hears what came meanwhile late; it notices a silence by so much later. */
static void time_without_a_processor_is_nobodys_silence(void **state)
{
    struct sk_detector *d = begin(&config);
    enum sk_job job = SK_JOB_RUNS;
    struct sk_fault f;
    double t = 100;
    for (; job == SK_JOB_RUNS && t < 130; t += 0.3) {
        sk_detector_deaf(d, 0.2);
        beat(d, 0, 1, t);
        beat(d, 1, 1, t);
        job = sk_detector_check(d, t, &f);
    }
    assert_int_equal(job, SK_JOB_FAULT);
    assert_ptr_equal(f.kind, &sk_fault_lost_node);
    assert_true(t > 100 + 3 * 4.5 && t < 100 + 3 * 4.5 + 2);
    assert_true(f.seconds > 4.4 && f.seconds < 5.5);
    sk_detector_free(d);
}

/* What is heard after our own absence is not heard in the future: a silence that begins then is noticed as soon as any. */
static void an_absence_lengthens_no_silence_after_it(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    enum sk_job job;
    pass(d, 100, 105, 0xf, 0, &job, &f);
    for (uint32_t r = 0; r < N; r++)
        beat(d, r, 1, 125); /* heard before the first look */
    assert_int_equal(sk_detector_check(d, 125, &f), SK_JOB_RUNS);
    double t = pass(d, 125.25, 160, 0x3, 1, &job, &f);
    assert_int_equal(job, SK_JOB_FAULT);
    assert_true(t > 129 && t < 130.5);
    sk_detector_free(d);
}

static void who_is_told_to_speak_seldom_has_a_heartbeat_more(void **state)
{
    struct sk_detector *d = begin(&config);
    struct sk_fault f;
    enum sk_job job;
    pass(d, 100, 110, 0xf, 0, &job, &f);
    sk_detector_slower(d, 2);
    sk_detector_slower(d, 1); /* some may not have heard of it */
    double t = pass(d, 110, 120, 0x3, 0, &job, &f); /* host 1 heard last at 109.75 */
    assert_int_equal(job, SK_JOB_FAULT);
    assert_true(t > 109.75 + 5 && t <= 109.75 + 5.5);
    sk_detector_free(d);
}

/* In each of the six numbers, also when the rank that was the farthest falls back, as a process that is made again does. */
static void progress_falls_back_with_the_rank_that_was_the_farthest(void **state)
{
    struct sk_detector *d = begin(&config);
    for (uint32_t i = 0; i < 6; i++) {
        uint64_t v[6] = {0};
        v[i] = 9;
        struct sk_message far = {.kind = SK_MSG_BEAT, .rank = i % N}, near = {.kind = SK_MSG_BEAT, .rank = (i + 1) % N};
        far.at = (struct sk_progress){.progress = v[0], .iteration = (int64_t)v[1], .complete_count = v[2],
                                      .complete_iteration = (int64_t)v[3], .restored_iteration = (int64_t)v[4], .state = (uint32_t)v[5]};
        sk_detector_heard(d, &far, 100);
        struct sk_progress p = sk_detector_progress(d);
        assert_true((i == 0) == (p.progress == 9) && (i == 1) == (p.iteration == 9) && (i == 2) == (p.complete_count == 9));
        assert_true((i == 3) == (p.complete_iteration == 9) && (i == 4) == (p.restored_iteration == 9) && (i == 5) == (p.state == 9));
        far.at = (struct sk_progress){.iteration = 1};
        sk_detector_heard(d, &near, 100);
        sk_detector_heard(d, &far, 100);
        p = sk_detector_progress(d);
        assert_true(p.progress == 0 && p.iteration == 1 && p.complete_count == 0);
        assert_true(p.complete_iteration == 0 && p.restored_iteration == 0 && p.state == 0);
        far.at.iteration = 0;
        sk_detector_heard(d, &far, 100);
    }
    sk_detector_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_zero_exits_are_success_whatever_the_launcher_says),
        cmocka_unit_test(a_killed_rank_is_a_fault_at_once),
        cmocka_unit_test(a_rank_that_leaves_before_mpi_ends_is_a_fault),
        cmocka_unit_test(all_may_leave_before_mpi_ends),
        cmocka_unit_test(who_left_is_blamed_and_not_whom_the_launcher_ended),
        cmocka_unit_test(who_left_before_the_launcher_did_is_blamed),
        cmocka_unit_test(a_death_explains_more_than_who_left),
        cmocka_unit_test(the_launchers_sigterm_is_not_blamed),
        cmocka_unit_test(a_neighbour_that_exits_waits_for_what_made_it),
        cmocka_unit_test(a_broken_pipe_waits_for_what_broke_it),
        cmocka_unit_test(a_broken_pipe_alone_is_the_fault),
        cmocka_unit_test(what_died_by_order_is_no_fault),
        cmocka_unit_test(ranks_that_all_died_by_order_are_no_success),
        cmocka_unit_test(a_silent_host_is_lost_after_the_node_timeout),
        cmocka_unit_test(three_seconds_of_silence_are_forgiven),
        cmocka_unit_test(one_silent_keeper_is_not_a_lost_host),
        cmocka_unit_test(our_own_absence_is_nobodys_silence),
        cmocka_unit_test(a_standstill_is_a_hang_when_asked_for),
        cmocka_unit_test(a_program_without_the_library_cannot_hang),
        cmocka_unit_test(only_what_is_between_candidates_can_hang),
        cmocka_unit_test(a_set_up_has_a_limit_of_its_own),
        cmocka_unit_test(a_job_has_stopped_when_all_ranks_have),
        cmocka_unit_test(a_rank_that_never_comes_is_noticed),
        cmocka_unit_test(a_launcher_that_leaves_ranks_owed_is_a_fault),
        cmocka_unit_test(ranks_that_stay_after_their_work_are_noticed_when_asked_for),
        cmocka_unit_test(progress_is_the_farthest_of_all_ranks),
        cmocka_unit_test(keepers_of_a_lost_node_need_not_fall_silent_together),
        cmocka_unit_test(ranks_in_a_row_live),
        cmocka_unit_test(what_was_passed_on_is_as_old_as_it_was_said),
        cmocka_unit_test(time_without_a_processor_is_nobodys_silence),
        cmocka_unit_test(an_absence_lengthens_no_silence_after_it),
        cmocka_unit_test(who_is_told_to_speak_seldom_has_a_heartbeat_more),
        cmocka_unit_test(progress_falls_back_with_the_rank_that_was_the_farthest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
