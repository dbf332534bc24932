/* The keeper's loop: waits for the program's end, for signals and for messages. */
#include "daemon/keeper.h"

#include "backbone/keeper_page.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/network/lastwords.h"
#include "daemon/above.h"
#include "daemon/rank/bare.h"
#include "daemon/rank/key.h"
#include "daemon/child.h"
#include "daemon/print/print.h"
#include "daemon/rank/told.h"
#include "daemon/way.h"
#include "recovery/family.h"
#include "store/owner/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* How often what needs an answer is said again, how long a program killed by order waits for its answer, and how long its own children may take to
 * die. */
static const double repeat_s = 0.1, ordered_linger_s = 1.0, family_s = 0.5;
/* How often the key is looked for that is not on this host yet, and the layer is looked at during a repair. */
static const double key_look_s = 0.1, repair_look_s = 0.02;
/* And while a rank with the layer begins, that the first fault finds the launcher knowing that it can be repaired; not for ever, since a program
 * may never say so. */
static const double begin_look_s = 0.05, begins_s = 60;
/* A turn that takes so much longer than it waits: this process was stopped, and nobody's silence counts. */
static const double own_gap_s = 1;
/* Where each rank is two processes, and after a repair: after how long a process counts as waiting that looks for messages and finds none, and how often it is
 * looked at. */
static const double waits_s = 30, waits_look_s = 1;
/* How long a process may be in a call that cannot be left when it is to leave; all who live have come there, so it ends at once, or waits for the dead
 * one. And what counts of a turn at most: this process itself may have had to wait for a core. */
static const double bound_s = 3, bound_turn_s = 0.1;
/* Where ranks are on several hosts and others may go on without this one: how long what it had sent may be on its way, and how often that is looked at. */
static const double unsent_s = 10, unsent_look_s = 0.005;

struct keeper {
    const struct sk_link_settings *s;
    uint32_t rank, id; /* id: as whom it reports, another one where it takes the place of a dead process */
    uint32_t repair;   /* that it was born in; 0: none */
    int waits, needed; /* a warm spare that has no rank so far; and without which the ranks do not come out of MPI_Init */
    struct sk_way *way; /* NULL: the key is not there yet */
    double key_until;     /* when that is given up */
    double key_at;        /* when it was found */
    struct sk_keeper_page *page;
    int page_fd, signals;
    int above; /* can be read when `saikai run` has ended; -1: that is not to be seen from here */
    sigset_t old_mask;
    pid_t parent, program;
    double begins_until;     /* when the layer is no longer looked at more often for that; 0: there is none */
    double heard, next_beat; /* when the launcher was last heard; when the next beat is due */
    int gone, ordered, released, ended, orphaned; /* orphaned: nobody is left who could read; ended: the MPI's launcher sent SIGTERM while the program ran */
    int apart, unsent; /* ranks are on several hosts; what the program had sent has not arrived after all that time */
    struct sk_lastwords_others others; /* whose ends nobody waits for */
    struct sk_bare bare;
    struct sk_print *print; /* of a rank that is two processes */
    int twin;               /* the other one of them */
    int status;      /* of waitpid, when gone */
    int start_errno; /* the program could not be executed */
    double gone_at, next_report;
    int events_fd;       /* what the layer wants to outlive the program, -1: nothing */
    uint32_t told_world; /* what the layer said of itself in the newest beat */
    int told_differ;     /* that messages of twins differ, too */
    uint32_t looks, finds; /* of its page, at the look before … */
    uint32_t bound;      /* of its page, at the look before … */
    double bound_at, bound_for; /* … which was then; and for how long it has been the same, in a call that is to be left */
    double look_at, waits_since; /* … and the next one; since when it has found nothing */
};

/* Which signal tells that the parent died: one that nobody sends for another reason. */
static int parent_died(void)
{
    return SIGRTMAX - 1;
}

static int block_signals(struct keeper *k, struct saikai_error *err)
{
    static const int caught[] = {SIGCHLD, SIGTERM, SIGINT,   SIGHUP,  SIGQUIT,
                                 SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM, SIGCONT};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        sigaddset(&set, caught[i]);
    sigaddset(&set, parent_died());
    sigprocmask(SIG_BLOCK, &set, &k->old_mask);
    k->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return k->signals < 0 ? sk_fail_errno(err, errno, "cannot wait for signals") : 0;
}

/* What the layer says of itself, or what is to be seen of it. */
static uint32_t world_of(const struct keeper *k)
{
    uint32_t w = atomic_load(&k->page->world);
    int waits = k->look_at - k->waits_since > waits_s && !k->gone;
    if (k->unsent || k->bound_for > bound_s)
        return SK_WORLD_WORD(SK_WORLD_CANNOT, k->unsent ? SK_WORLD_UNSENT : SK_WORLD_BOUND, SK_WORLD_EPOCH(w));
    return waits && SK_WORLD_STATE(w) == SK_WORLD_READY && SK_WORLD_REASON(w) == SK_WORLD_FINE
               ? SK_WORLD_WORD(SK_WORLD_READY, SK_WORLD_WAITS, SK_WORLD_EPOCH(w)) : w;
}

static struct sk_message message(const struct keeper *k, enum sk_message_kind kind)
{
    struct sk_message m = {.kind = kind, .incarnation = k->s->incarnation, .rank = k->id};
    const struct sk_keeper_page *p = k->page;
    m.at = (struct sk_progress){
        .progress = atomic_load(&p->progress),
        .iteration = atomic_load(&p->iteration),
        .complete_count = atomic_load(&p->complete_count),
        .complete_iteration = atomic_load(&p->complete_iteration),
        .restored_iteration = atomic_load(&p->restored_iteration),
        .state = atomic_load(&p->state),
        .world = world_of(k),
        .printed = sk_print_count(k->print),
        .differ.n = atomic_load_explicit(&p->differ, memory_order_acquire),
    };
    if (m.at.differ.n)
        m.at.differ = (struct sk_differ){m.at.differ.n, p->differ_how, p->differ_to, p->differ_tag, p->differ_number, p->differ_iteration};
    return m;
}

static void send(struct keeper *k, const struct sk_message *m)
{
    if (k->way)
        sk_way_send(k->way, m);
}

static void say_hello(struct keeper *k)
{
    struct sk_message m = message(k, SK_MSG_HELLO);
    if (gethostname(m.host, sizeof m.host - 1))
        strcpy(m.host, "?");
    m.pid = (uint32_t)k->program;
    send(k, &m);
}

/* A script that does not pass on how its program died ends with 0, and so does a rank that leaves before MPI_Finalize: the others wait for both. */
static int is_unended(const struct keeper *k)
{
    return !WIFSIGNALED(k->status) && !WEXITSTATUS(k->status) && atomic_load(&k->page->within);
}

static void report_exit(struct keeper *k, double now)
{
    struct sk_message m = message(k, SK_MSG_EXIT);
    m.ordered = (uint32_t)k->ordered;
    m.ended = (uint32_t)k->ended;
    if (k->start_errno) {
        m.how = SK_EXIT_NO_START;
        m.code = (uint32_t)k->start_errno;
    } else if (WIFSIGNALED(k->status)) {
        m.how = SK_EXIT_SIGNAL;
        m.code = (uint32_t)WTERMSIG(k->status);
    } else {
        m.how = is_unended(k) ? SK_EXIT_UNENDED : SK_EXIT_CODE;
        m.code = (uint32_t)WEXITSTATUS(k->status);
    }
    send(k, &m);
    k->next_report = now + repeat_s;
}

/* Others that go on use the memory for something else that they had given MPI for what the dead one sent: so nobody hears of the death before that has
 * arrived. 1: it is to be looked again. */
static int is_under_way(struct keeper *k, double now)
{
    int matters = k->apart && !k->ordered && !k->start_errno && (WIFSIGNALED(k->status) || WEXITSTATUS(k->status) || is_unended(k));
    if (!matters || !sk_lastwords_unsent(&k->others))
        return k->apart = 0;
    k->unsent = now - k->gone_at > unsent_s;
    k->apart = !k->unsent;
    k->next_report = now + unsent_look_s;
    return k->apart;
}

static void report_when_sent(struct keeper *k, double now)
{
    if (!sk_print_is_settled(k->print, now - k->gone_at))
        k->next_report = now + unsent_look_s;
    else if (!k->apart || !is_under_way(k, now))
        report_exit(k, now);
}

/* From now on a spare waits, and its end is nobody's affair. */
static void look_whether_it_is_needed(struct keeper *k)
{
    if (!k->needed || atomic_load(&k->page->within) != SK_WITHIN_SPARE)
        return;
    k->needed = 0;
    sk_way_close(k->way);
    k->way = NULL;
}

static void reap(struct keeper *k, double now)
{
    siginfo_t info = {0};
    if (!k->gone && !waitid(P_PID, (id_t)k->program, &info, WEXITED | WNOHANG | WNOWAIT) &&
        info.si_pid) {
        /* As long as the program has not been waited for, its process group is surely its own. */
        sk_family_kill(k->program, family_s);
        waitpid(k->program, &k->status, 0);
        k->gone = 1;
        k->gone_at = now;
        look_whether_it_is_needed(k);
        report_when_sent(k, now);
    }
    if (k->gone)
        sk_family_kill(0, 0);
}

static void kill_program(struct keeper *k, int ordered)
{
    if (k->gone)
        return;
    k->ordered = ordered;
    sk_family_kill(k->program, family_s);
}

/* Whatever the program makes of it: this start did not end by itself. */
static void leave_mark(const struct keeper *k, int number)
{
    char path[SK_KEEPER_MARK_BYTES];
    memcpy(path, k->page->stop_mark, sizeof path);
    path[sizeof path - 1] = 0;
    if (!*path || (number != SIGTERM && number != SIGINT && number != SIGHUP && number != SIGQUIT))
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

static void pass_signal(struct keeper *k, int number)
{
    if (k->gone || number <= 0 || number >= SIGRTMAX || number == SIGCHLD)
        return;
    leave_mark(k, number);
    kill(-k->program, number);
}

/* Nobody is left who could want the program to go on, or to release this process. */
static void end_with_parent(struct keeper *k)
{
    kill_program(k, 0);
    k->released = k->orphaned = 1;
    sk_key_file_remove(k->s->key_file, k->s->nonce); /* nobody else may be left to do that */
}

static void take_signals(struct keeper *k, double now)
{
    struct signalfd_siginfo info;
    while (read(k->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int n = (int)info.ssi_signo;
        k->ended |= n == SIGTERM && !k->gone && (pid_t)info.ssi_pid == k->parent;
        if (n != parent_died())
            pass_signal(k, n);
        else if (getppid() != k->parent) /* not merely the thread of the parent that had started us */
            end_with_parent(k);
    }
    reap(k, now);
}

/* Tell the layer who is dead. What the library starts after that is a start later than the one before. */
static void take_repair(struct keeper *k, const struct sk_message *m)
{
    struct sk_keeper_page *p = k->page;
    if (k->gone || m->number <= atomic_load(&p->repair) || m->n_dead > SK_REPAIR_MOST)
        return;
    for (uint32_t i = 0; i < m->n_dead; i++)
        p->repair_rank[i] = (uint16_t)m->dead[i];
    p->repair_dead = m->n_dead;
    p->repair_first = m->first;
    p->incarnation = k->s->incarnation + m->number;
    atomic_store_explicit(&p->repair, m->number, memory_order_release);
}

/* Where the lead is dead, this process's output goes on where that one's has ended. */
static void take_output(struct keeper *k, const struct sk_message *m)
{
    for (uint32_t i = 0; i < m->n_dead; i++)
        if ((int)m->dead[i] == k->twin && sk_print_join(k->print, m->printed[i]))
            sk_log(SK_LOG_WARN, "process %u: part of what its dead twin had yet to print is held no longer, and lacks in the output", k->rank);
}

static void take_message(struct keeper *k, const struct sk_message *m, double now)
{
    switch (m->kind) {
    case SK_MSG_RELEASE:
        k->released = k->gone;
        break;
    case SK_MSG_KILL:
        kill_program(k, 1);
        k->next_report = now; /* when it was gone already, the report was lost or crossed the order:
                                 say it again */
        break;
    case SK_MSG_SIGNAL:
        pass_signal(k, (int)m->number);
        break;
    case SK_MSG_REQUEST:
        atomic_fetch_or(&k->page->requests, m->number);
        break;
    case SK_MSG_REPAIR:
        take_repair(k, m);
        take_output(k, m);
        break;
    default:
        break;
    }
}

static void check_orphaned(struct keeper *k, double now)
{
    double silent = now - k->heard;
    if (silent * 1000 < k->s->orphan_timeout_ms || k->gone || !k->way)
        return;
    sk_log(SK_LOG_ERROR,
           "rank %u has not heard `saikai run` at %s for %.0f s and ends (if it never did: set "
           "run.address)",
           k->rank, k->s->endpoint, silent);
    end_with_parent(k);
}

/* 1: everything is done and said. */
static int finished(const struct keeper *k, double now)
{
    if (!k->gone)
        return 0;
    return (k->released && (k->orphaned || sk_print_is_out(k->print))) || (k->ordered && now - k->gone_at > ordered_linger_s) ||
           (now - k->heard) * 1000 > k->s->orphan_timeout_ms;
}

/* ---- the link ---- */

/* Open the link as soon as there is a key; 0 also when there is none yet. */
static int try_link(struct keeper *k, double now)
{
    struct saikai_error err = {0};
    uint8_t job[SK_KEY_BYTES];
    char host[256] = "?";
    if (k->way || (k->waits && !k->needed))
        return 0;
    int rc = sk_run_key_find(k->s, job, &err);
    if (!rc) {
        rc = sk_way_open(k->s, k->id, job, &k->way, &err);
        explicit_bzero(job, sizeof job);
        k->heard = k->key_at = now;
        if (!rc)
            say_hello(k);
    } else if (rc == SAIKAI_ENOENT && now < k->key_until) {
        return 0;
    } else if (rc == SAIKAI_ENOENT) {
        gethostname(host, sizeof host - 1);
        sk_fail(&err, rc,
                "the key of this run is not on host %s: its file %s is not seen there, and nothing "
                "was brought there by run.agent; let all hosts see store.prefix, or put a file of "
                "your own on all of them and name it with `saikai run --key-file`",
                host, k->s->key_file);
    }
    if (rc)
        sk_log(SK_LOG_ERROR, "rank %u: %s", k->rank, err.text);
    return rc;
}

/* A warm spare has got a rank: from now on it is reported. */
static void look_at_spare(struct keeper *k, double now)
{
    look_whether_it_is_needed(k);
    uint32_t id = k->waits ? atomic_load(&k->page->joined) : 0;
    if (k->waits && !k->needed && k->gone)
        k->released = 1; /* nobody knows of it */
    if (!id || k->gone)
        return;
    k->waits = 0;
    k->id = id;
    k->rank = k->page->rank;
    k->repair = atomic_load(&k->page->repair);
    k->heard = k->next_beat = now;
    k->key_until = now + k->s->orphan_timeout_ms / 1000.0;
}

/* The layer's memory of what chance decided, where no other rank of this host could have it. */
static void keep_events(struct keeper *k)
{
    uint32_t told = atomic_load(&k->page->events);
    char path[64];
    if (k->gone || !told || k->events_fd >= 0)
        return;
    snprintf(path, sizeof path, "/proc/%u/fd/%u", k->page->events_process, told - 1);
    k->events_fd = open(path, O_RDWR | O_CLOEXEC);
    atomic_store(&k->page->events_kept, (uint32_t)(k->events_fd + 1));
}

/* The layer has heard of a repair, or is to hear of it, and is not back yet: how far it is must be told at once. */
static int is_repaired(const struct keeper *k)
{
    uint32_t w = atomic_load(&k->page->world), repair = atomic_load(&k->page->repair);
    return !k->gone && repair && w != SK_WORLD_WORD(SK_WORLD_READY, SK_WORLD_FINE, repair) && SK_WORLD_STATE(w) != SK_WORLD_OVER;
}

static int begins(const struct keeper *k, double now)
{
    uint32_t state = SK_WORLD_STATE(atomic_load(&k->page->world));
    return !k->gone && (!k->waits || k->needed) && now < k->begins_until && (state == SK_WORLD_NONE || state == SK_WORLD_OUTSIDE);
}

/* A process that computes does not look; one that waits does, and for whom it waits does not, or finds something. So when all wait, nobody
 * ever goes on: that is for the launcher to find. */
static void look_whether_it_waits(struct keeper *k, double now)
{
    if (now < k->look_at)
        return;
    uint32_t looks = atomic_load(&k->page->looks), finds = atomic_load(&k->page->finds);
    if (looks == k->looks || finds != k->finds || k->gone)
        k->waits_since = now;
    k->looks = looks;
    k->finds = finds;
    k->look_at = now + waits_look_s;
}

/* A repair is wanted, and the process does not come out of the call in which it makes a communicator. */
static void look_whether_it_is_bound(struct keeper *k, double now)
{
    uint32_t bound = atomic_load(&k->page->bound), w = atomic_load(&k->page->world);
    int is_to_leave = !k->gone && SK_WORLD_STATE(w) == SK_WORLD_READY && atomic_load(&k->page->repair) > SK_WORLD_EPOCH(w);
    k->bound_for = is_to_leave && bound & 1 && bound == k->bound ? k->bound_for + fmin(now - k->bound_at, bound_turn_s) : 0;
    k->bound = bound;
    k->bound_at = now;
}

/* It would be another job: with more ranks than were asked for. */
static void look_whether_it_is_bare(struct keeper *k, double now)
{
    if (k->gone || !sk_bare_found(&k->bare, k->program, atomic_load(&k->page->world), now))
        return;
    k->start_errno = SK_EXIT_BARE;
    kill_program(k, 0);
}

/* The first difference is told with the next turn, the number of the others with each beat. */
static int differs_newly(const struct keeper *k)
{
    return !k->told_differ && atomic_load_explicit(&k->page->differ, memory_order_acquire);
}

static double next_turn(const struct keeper *k, double now)
{
    double due = k->gone && k->next_report < k->next_beat ? k->next_report : k->next_beat;
    if (is_repaired(k) && due > now + repair_look_s)
        due = now + repair_look_s;
    if (begins(k, now) && due > now + begin_look_s)
        due = now + begin_look_s;
    if (!k->way && (!k->waits || k->needed) && due > now + key_look_s) /* a spare that gets a rank sends a signal */
        due = now + key_look_s;
    return due > now ? due - now : 0;
}

/* 0, or why the rank was ended before it was heard of. */
static int keep(struct keeper *k)
{
    double now = sk_now();
    int rc;
    k->heard = k->next_beat = now;
    k->begins_until = getenv(SK_WORLD_LIBRARY_ENV) ? now + begins_s : 0;
    k->key_until = now + k->s->orphan_timeout_ms / 1000.0;
    rc = try_link(k, now);
    reap(k, now);
    while (!rc && !finished(k, now)) {
        struct sk_wait waits[3] = {{.fd = k->signals}, {.fd = k->released ? -1 : k->above}, {.fd = sk_print_fd(k->print)}};
        struct sk_message m;
        double before = now;
        sk_way_wait(k->way, waits, 3, next_turn(k, now));
        now = sk_now();
        if (waits[1].ready) /* before the MPI's launcher, which ends with it, sends signals that were to be passed on */
            end_with_parent(k);
        if (now - before > k->s->heartbeat_ms / 1000.0 + own_gap_s)
            k->heard += now - before;
        if (waits[2].ready)
            sk_print_take(k->print);
        take_signals(k, now);
        while (k->way && sk_way_receive(k->way, &m)) {
            k->heard = now;
            take_message(k, &m, now);
        }
        reap(k, now);
        keep_events(k);
        look_whether_it_waits(k, now);
        look_whether_it_is_bound(k, now);
        look_whether_it_is_bare(k, now);
        if (k->apart && !k->gone)
            sk_lastwords_look(&k->others, now);
        if (k->way && sk_way_mend(k->way, now))
            say_hello(k);
        if (k->gone && now >= k->next_report)
            report_when_sent(k, now);
        if (now >= k->next_beat || world_of(k) != k->told_world || differs_newly(k)) {
            struct sk_message beat = message(k, SK_MSG_BEAT);
            if ((now - k->heard) * 1000 > 1.5 * k->s->heartbeat_ms)
                say_hello(k); /* the first may be lost, or we were cut off: say who we are */
            send(k, &beat);
            k->told_world = beat.at.world;
            k->told_differ = beat.at.differ.n > 0;
            k->next_beat = now + k->s->heartbeat_ms / 1000.0;
        }
        check_orphaned(k, now);
        look_at_spare(k, now);
        rc = try_link(k, now);
    }
    if (rc)
        kill_program(k, 0);
    sk_run_key_remove(k->s, k->key_at + 5 * key_look_s);
    return rc;
}

int sk_keeper_run(const struct sk_link_settings *s, const struct sk_keeper_place *place, char **argv)
{
    uint32_t rank = place->rank;
    struct saikai_error err = {0};
    struct keeper k = {.s = s, .rank = rank, .id = place->id, .repair = place->repair, .waits = place->waits, .needed = place->waits,
                       .page_fd = -1, .signals = -1, .events_fd = -1, .apart = sk_told_apart(), .above = sk_above_open(getenv(SK_RUN_ENV)), .parent = getppid(), .bare = sk_bare_begin(sk_now())};
    sk_family_spare_present();
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* what the program leaves behind comes to us, to be ended */
    int second, rc = block_signals(&k, &err);
    k.twin = sk_child_twin(rank, &second);
    if (!rc)
        rc = sk_keeper_page_make(rank, s->incarnation + place->repair, &k.page_fd, &k.page, &err);
    if (rc)
        goto out;
    prctl(PR_SET_PDEATHSIG, parent_died());
    if (getppid() != k.parent)
        goto out;
    k.page->last_end = sk_told_last_end();
    if (s->remaining_ms)
        k.page->deadline_ms = (int64_t)(sk_now() * 1000) + (int64_t)s->remaining_ms;
    k.page->past_ms = (int64_t)s->past.ms;
    k.page->past_candidates = s->past.last_candidates;
    k.page->past_faults = s->past.faults;
    k.page->past_lost_seconds = (float)s->past.lost_ms / 1000;
    k.page->past_down_seconds = (float)s->past.down_ms / 1000;
    sk_told_learnt(k.page);
    if (k.apart)
        sk_lastwords_look(&k.others, sk_now());
    atomic_store(&k.page->repair, place->repair);
    if (k.twin >= 0)
        rc = sk_print_begin(STDOUT_FILENO, second, &k.print, &err);
    if (rc)
        goto out;
    /* The program first: making the link takes longer than starting it. */
    struct sk_child child = {.rank_env = s->rank_env, .rank = rank, .repair = place->repair, .start = k.page->incarnation + 1,
                             .page_fd = k.page_fd, .mask = &k.old_mask, .output = k.print ? sk_print_of_program(k.print) : -1};
    rc = sk_child_start(&child, argv, &k.program, &k.start_errno, &err);
    if (rc)
        goto out;
    sk_child_has_streams();
    if (k.print && (rc = sk_print_started(k.print, &err)))
        goto out; /* the program goes with its keeper */
    if (keep(&k))
        k.program = 0; /* it has been told why */
out:
    if (rc)
        sk_log(SK_LOG_ERROR, "rank %u: %s", rank, err.text);
    sk_print_end(k.print);
    sk_way_close(k.way);
    sk_keeper_page_unmap(k.page);
    if (k.page_fd >= 0)
        close(k.page_fd);
    if (k.above >= 0)
        close(k.above);
    if (k.events_fd >= 0)
        close(k.events_fd);
    return rc || !k.program ? SK_KEEPER_FAILED : sk_child_exit_alike(k.start_errno, k.status);
}
