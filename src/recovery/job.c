/* The loop of `saikai run`: prepares hub, keys and hosts, and carries events to the supervisor and
 * its wishes to launcher and keepers. */
#include "recovery/job.h"

#include "backbone/events.h"
#include "backbone/frame/tree.h"
#include "backbone/keeper_page.h"
#include "base/clock.h"
#include "base/file/io.h"
#include "base/file/patience.h"
#include "base/hash.h"
#include "base/host/starved.h"
#include "base/id.h"
#include "base/log.h"
#include "base/aside/log_aside.h"
#include "recovery/answer/means.h"
#include "recovery/beside/beside.h"
#include "recovery/family.h"
#include "recovery/feed.h"
#include "recovery/history/history_tell.h"
#include "recovery/keyring.h"
#include "recovery/output/forwarder.h"
#include "recovery/fault/learning.h"
#include "recovery/launch/heir.h"
#include "recovery/launch/launcher.h"
#include "recovery/launch/probe.h"
#include "recovery/launch/process.h"
#include "recovery/settings.h"
#include "recovery/source/watch.h"
#include "recovery/supervisor.h"
#include "store/owner/owner.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

/* How long a host may take to answer that it is there: a connection's first try, not its second. */
static const double probe_s = 0.7;
/* How long a restart may wait for the store to take a line about the fault. */
static const double history_wait_s = 2;

struct job {
    const struct sk_job_options *o;
    struct sk_job_options twice; /* o, where ranks are two processes */
    const struct sk_config *config;
    const struct sk_launcher_ops *form;
    enum sk_mpi mpi;
    int spares; /* of the first start: others report as later numbers */
    struct sk_recovery_means means; /* to be repaired without a restart */
    char launcher[PATH_MAX], keeper[PATH_MAX], yield[PATH_MAX];
    int has_hosts;
    struct sk_hub *hub;
    struct sk_link_settings link; /* for the keepers; the incarnation is filled in at each start */
    struct sk_keyring *keyring;
    struct sk_heir *heir; /* takes away what this process leaves when it is killed; NULL: nobody does */
    const struct sk_hosts *hosts; /* the supervisor's, as of the newest start */
    const int *seat;
    struct sk_feed *feed;
    struct sk_processes *launchers;
    struct sk_probe *probe;
    struct sk_supervisor *supervisor;
    struct sk_learning *learning; /* NULL: nothing is learnt */
    struct sk_watch *watch;       /* sources of events; NULL: none */
    struct sk_forwarder *forwarder;   /* to an output; NULL: there is none */
    char above[SK_LIFE_TEXT + 24]; /* who this is, for the leases of stores … */
    uint64_t number;               /* … and its number there */
    struct sk_patience *patience; /* with the prefix, where the history is */
    struct sk_command then; /* argv of the starts after the first, NULL: as the first */
    double deadline;        /* 0: none */
    struct sk_starved starved; /* as of … */
    double starved_at;
    int signals, hurried; /* hurried: who wants the end does not wait for a reader */
    sigset_t old_mask;
};

/* ---- what the supervisor asks for ---- */

/* So few ranks cost the launcher hardly anything, and their nodes less without another process. */
enum { SERVED_LEAST = 16 };

/* 1: keepers are to speak through a service of their node; one rank alone needs nobody to speak for it. */
static int wants_service(const struct job *j, const struct sk_hosts *h)
{
    const char *how = sk_config_text(j->config, "backbone.service");
    int active = 0;
    for (int i = 0; i < h->n; i++)
        active += h->host[i].state == SK_HOST_ACTIVE;
    if (!strcmp(how, "on"))
        return j->o->n_ranks > 1;
    return !strcmp(how, "auto") && j->o->n_ranks >= SERVED_LEAST && j->o->n_ranks > active;
}

/* The launcher with a keeper before each rank, told by its environment where to report, by which key, and what is known of the past. */
static int start(void *arg, uint32_t incarnation, const struct sk_past *past,
                 const struct sk_hosts *h, const int *seat, struct saikai_error *err)
{
    struct job *j = arg;
    struct sk_command c = {.hosts_fd = -1};
    char link[SK_LINK_TEXT_MAX];
    int incomplete = 0;
    struct sk_launch launch = {
        .n_ranks = j->o->n_ranks,
        .program = incarnation && j->then.argv ? j->then.argv : j->o->program,
        .keeper = j->keeper,
        .launcher = j->launcher,
        .hosts = j->has_hosts ? h : NULL,
        .seat = seat,
        .extra = sk_config_text(j->config, "run.mpirun_args"),
        .mpi = j->mpi,
        .yield = *j->yield ? j->yield : NULL,
        .survives = *j->means.world != 0,
        .warm = sk_supervisor_warm(j->supervisor),
    };
    j->means.warm = launch.warm;
    j->link.incarnation = incarnation;
    j->link.past = *past;
    j->link.service = (uint32_t)wants_service(j, h);
    j->link.remaining_ms = 0;
    if (j->deadline > 0) /* at least 1: 0 would mean no limit */
        j->link.remaining_ms = (uint64_t)fmax(1, (j->deadline - sk_now()) * 1000);
    j->hosts = h;
    j->seat = seat;
    char learnt[SK_LEARNT_TEXT];
    sk_learning_started(j->learning, h, seat, j->o->n_ranks, sk_now());
    sk_learning_print(j->learning, learnt);
    int rc = sk_hub_admit(j->hub, incarnation, (uint32_t)j->o->n_ranks + (*j->means.world ? SK_IN_PLACE_MOST + j->spares : 0), err);
    if (!rc)
        rc = sk_keyring_leave(j->keyring, incarnation, sk_now(), &j->link, err);
    sk_keyring_await(j->keyring, (uint32_t)j->o->n_ranks, (uint32_t)j->means.warm);
    sk_link_settings_print(&j->link, link);
    sk_command_set(&c, "%s=%s", SK_LINK_ENV, link);
    sk_command_set(&c, "%s=%d", SK_LAST_END_ENV, sk_supervisor_last_end(j->supervisor));
    sk_command_set(&c, "%s=%s", SK_RUN_ENV, j->above);
    sk_means_export(&j->means, j->config, j->o->n_ranks, j->has_hosts, &c);
    if (*learnt)
        sk_command_set(&c, "%s=%s", SK_LEARNT_ENV, learnt);
    if (!rc)
        rc = sk_command_build(j->form, &launch, &c, err);
    int input = rc ? -1 : sk_feed_start(j->feed, &incomplete, err);
    if (!rc && input < 0)
        rc = input;
    if (incomplete)
        sk_log(SK_LOG_WARN, "standard input was too long to be kept: this start sees only its end");
    sk_log(SK_LOG_INFO, "start %u: %d ranks of %s by %s", incarnation + 1, j->o->n_ranks,
           launch.program[0], j->launcher);
    if (j->has_hosts)
        sk_means_say_where_spares_wait(&j->means, h, seat, j->o->n_ranks);
    /* On one host the keepers see our end, and a launcher whose ranks have died takes away what they had; one that is killed, or asked to end
     * at the same time, leaves files and memory of the MPI behind. The ranks on other hosts end at once only when it is killed. */
    if (!rc)
        rc = sk_process_start(j->launchers, incarnation, &c, input, &j->old_mask, j->has_hosts ? SIGKILL : 0, err);
    if (!rc)
        sk_heir_tell_group(j->heir, sk_process_pid(j->launchers, incarnation));
    if (input >= 0)
        close(input);
    sk_command_free(&c);
    return rc;
}

static void abandon(void *arg, uint32_t incarnation, int urgent)
{
    struct job *j = arg;
    sk_process_abandon(j->launchers, incarnation,
                       urgent ? 0 : sk_config_time(j->config, "run.grace"), sk_now());
}

static void send_message(void *arg, const struct sk_message *m)
{
    struct job *j = arg;
    sk_hub_send(j->hub, m);
}

static void say(void *arg, int level, const char *line)
{
    sk_log(level, "%s", line);
}

static void probe(void *arg, char *answers)
{
    struct job *j = arg;
    sk_probe_ask(j->probe, probe_s, answers);
}

struct keep {
    char dir[PATH_MAX];
    uint64_t run;
    int makes; /* the prefix: nobody else does */
    struct sk_event e;
};

static int keep_event(void *arg, struct saikai_error *err)
{
    const struct keep *k = arg;
    int rc = sk_history_add(k->dir, &k->e, err);
    if (rc == SAIKAI_ENOENT && k->makes && !sk_io_mkdirs(k->dir, err))
        rc = sk_history_add(k->dir, &k->e, err);
    sk_history_tell(k->dir, k->run, &k->e);
    return rc;
}

/* Where there is a store, in its history. */
static void record(void *arg, struct sk_event *e)
{
    struct job *j = arg;
    struct saikai_error err = {0};
    struct timespec now;
    struct keep *k = malloc(sizeof *k);
    const char *dir = sk_config_text(j->config, "store.prefix");
    if (!k || !j->patience || !strcmp(dir, "none")) {
        free(k);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    e->at_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    snprintf(e->command, sizeof e->command, "%.*s", (int)sizeof e->command - 1, j->o->command ? j->o->command : j->o->program[0]);
    k->e = *e;
    k->run = j->number;
    k->makes = j->means.copies.ranks > 0;
    snprintf(k->dir, sizeof k->dir, "%s", dir);
    int rc = sk_patience_call(j->patience, dir, keep_event, free, k, &err);
    if (rc != SAIKAI_ETIMEDOUT)
        free(k);
    if (rc && rc != SAIKAI_ENOENT)
        sk_log(SK_LOG_WARN, "the history of the store misses this fault: %s", err.text);
}

static void suffer(void *arg, const struct sk_fault *f, const struct sk_hosts *h, int counts)
{
    struct job *j = arg;
    sk_learning_fault(j->learning, f, h, counts, sk_now());
}

/* They look for the key where the keepers of the start did. */
static int admit(void *arg, uint32_t incarnation, const struct sk_message *order, struct saikai_error *err)
{
    struct job *j = arg;
    struct sk_link_settings again = j->link;
    int rc = sk_keyring_leave(j->keyring, incarnation, sk_now(), &again, err);
    if (!rc && strcmp(again.key_file, j->link.key_file))
        rc = sk_fail(err, SAIKAI_EAUTH, "the key of this run cannot be left where it was");
    sk_keyring_expect(j->keyring, order, j->hosts, j->seat);
    return rc;
}

/* The launcher has our standard output and error. */
static int unread(void *arg)
{
    struct pollfd out[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
    (void)arg;
    return poll(out, 2, 0) > 0 && (out[0].revents | out[1].revents) & POLLERR;
}

/* 1: what reads our output has not taken what is there: a launcher that has the rest of it is not hung. */
static int is_full(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 0;
}

static const struct sk_supervisor_ops ops = {start, abandon, send_message, probe, say, record, suffer, admit, unread};

/* ---- what comes from outside ---- */

static int is_listed(const char *list, int number)
{
    const char *name = sigabbrev_np(number);
    size_t n = name ? strlen(name) : 0;
    for (const char *p = list; n && *p; p += strcspn(p, ","), p += *p == ',') {
        p += strspn(p, " ");
        const char *q = strncmp(p, "SIG", 3) ? p : p + 3;
        if (!strncmp(q, name, n) && (!q[n] || q[n] == ',' || q[n] == ' '))
            return 1;
    }
    return 0;
}

static void take_signals(struct job *j, double now)
{
    struct signalfd_siginfo info;
    while (read(j->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int n = (int)info.ssi_signo;
        if (n == SIGCHLD)
            continue;
        sk_log(SK_LOG_INFO, "signal %d (%s) came", n, sigabbrev_np(n));
        j->hurried |= n == SIGTERM || n == SIGINT || n == SIGHUP || n == SIGQUIT;
        sk_supervisor_signal(j->supervisor, n,
                             is_listed(sk_config_text(j->config, "schedule.signals"), n),
                             is_listed(sk_config_text(j->config, "schedule.stop_signals"), n), now);
    }
}

static void note_ended(struct job *j, double now)
{
    uint32_t incarnation;
    int status;
    while (sk_process_ended(j->launchers, &incarnation, &status))
        sk_supervisor_launcher_ended(j->supervisor, incarnation, status, now);
}

/* How long the launcher may be stopped before that is said, and how often it is looked at. */
static const double stopped_s = 10, look_s = 1;

static void look_at_launcher(struct job *j, double now)
{
    uint32_t incarnation = sk_supervisor_incarnation(j->supervisor);
    pid_t pid = sk_process_stopped(j->launchers, incarnation, stopped_s, now);
    if (pid)
        sk_log(SK_LOG_WARN, "the MPI launcher (process %d) has been stopped for %g s by a signal: waiting until it goes on "
                            "('kill -CONT %d' lets it, '^C' here ends the job)", (int)pid, stopped_s, (int)pid);
}

/* How often it is asked what this process waited for a processor. */
static const double starved_every_s = 0.25;

/* Before what came is looked at: whoever was not heard meanwhile may have spoken. */
static void note_starved(struct job *j, double now)
{
    double most = now - j->starved_at;
    if (most < starved_every_s)
        return;
    j->starved_at = now;
    sk_supervisor_deaf(j->supervisor, fmin(most, sk_starved_since(&j->starved)));
}

static void turn(struct job *j, double until)
{
    struct sk_wait waits[1 + SK_FEED_WAITS] = {{.fd = j->signals}};
    struct sk_message m;
    double now = sk_now();
    sk_feed_waits(j->feed, waits + 1);
    until = fmin(until, now + look_s);
    sk_hub_wait(j->hub, waits, 1 + SK_FEED_WAITS, until > now ? until - now : 0);
    now = sk_now();
    note_starved(j, now);
    while (sk_hub_receive(j->hub, &m))
        sk_supervisor_heard(j->supervisor, &m, now);
    sk_supervisor_slower(j->supervisor, sk_hub_pace(j->hub));
    take_signals(j, now);
    note_ended(j, now);
    look_at_launcher(j, now);
    if (!j->hurried && is_full())
        sk_process_is_waited_for(j->launchers, now);
    sk_process_tick(j->launchers, now);
    if (j->hosts)
        sk_keyring_tick(j->keyring, j->hub, j->hosts, j->seat, j->o->n_ranks, now, &j->old_mask);
    sk_feed_pump(j->feed, waits + 1);
    sk_watch_tick(j->watch, now);
}

/* Time between two looks at all ranks, for each of them: however many messages come, looking takes a small part of one core; and at
 * most, so that what falls silent is noticed in time. */
static const double look_rank_s = 1e-6, look_most_s = 0.4;

static int find_host(void *arg, const char *host, int *n)
{
    const struct job *j = arg;
    *n = j->hosts ? j->hosts->n : 0;
    return j->hosts ? sk_hosts_find(j->hosts, host) : -1;
}

/* Services of nodes form a tree where the job begins on more hosts than its arity. */
static int grow_tree(struct job *j, const int *seat, struct saikai_error *err)
{
    int used = 0;
    for (int r = 0; r < j->o->n_ranks; r++)
        used = seat[r] >= used ? seat[r] + 1 : used;
    int64_t arity = sk_config_int(j->config, "backbone.arity");
    if (arity && (arity < SK_TREE_LEAST || arity > SK_TREE_MOST))
        return sk_fail(err, SAIKAI_ECONFIG, "backbone.arity: %lld is neither 0 nor a number from %d to %d", (long long)arity, SK_TREE_LEAST,
                       SK_TREE_MOST);
    return !arity || used <= arity ? 0 : sk_hub_grow_tree(j->hub, (int)arity, find_host, j, err);
}

static int loop(struct job *j)
{
    int code, services;
    double begun = sk_now(), due = begun, looked = 0, pace = fmin(look_rank_s * j->o->n_ranks, look_most_s);
    sk_supervisor_start(j->supervisor, sk_now());
    while (!sk_supervisor_ended(j->supervisor, &code)) {
        turn(j, fmin(due, fmin(sk_process_next(j->launchers), sk_keyring_next(j->keyring))));
        due = looked + pace; /* something may have come */
        if (sk_now() < due)
            continue;
        sk_supervisor_tick(j->supervisor, sk_now());
        sk_learning_tick(j->learning, sk_now()); /* after the next start has begun */
        looked = sk_now();
        due = fmax(sk_supervisor_next(j->supervisor, looked), looked + pace);
    }
    /* The launchers still have the ranks' last words to pass on, and their own files to remove. */
    while (sk_process_count(j->launchers))
        turn(j, fmin(sk_now() + 1, sk_process_next(j->launchers)));
    uint64_t frames = sk_hub_frames(j->hub, &services);
    sk_log(SK_LOG_INFO, "%llu messages of the nodes came in %.1f s, through %d services of nodes", (unsigned long long)frames,
           sk_now() - begun, services);
    return code;
}

/* ---- beginning ---- */

static int is_ignored(int number)
{
    struct sigaction now;
    return !sigaction(number, NULL, &now) && now.sa_handler == SIG_IGN;
}

static int block_signals(struct job *j, struct saikai_error *err)
{
    static const int caught[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        if (caught[i] != SIGHUP || !is_ignored(SIGHUP)) /* nohup: the terminal may go */
            sigaddset(&set, caught[i]);
    sigprocmask(SIG_BLOCK, &set, &j->old_mask);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTIN, SIG_IGN);
    signal(SIGTSTP, SIG_IGN); /* keepers that hear nothing would end the job */
    j->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return j->signals < 0 ? sk_fail_errno(err, errno, "cannot wait for signals") : 0;
}

/* The address that the hosts can reach: by the route to the first of them that is not this one. */
static int own_address(const struct sk_hosts *h, char address[64], struct saikai_error *err)
{
    int rc = 0;
    for (int i = 0; i < h->n; i++) {
        rc = sk_address_towards(h->host[i].name, address, err);
        if (rc || strncmp(address, "127.", 4))
            return rc;
    }
    return rc;
}

static int open_hub(struct job *j, const struct sk_hosts *h, struct saikai_error *err)
{
    char address[64] = "127.0.0.1";
    const char *told = sk_config_text(j->config, "run.address");
    int rc = 0;
    if (*told)
        rc = sk_address_of(told, address, err);
    else if (j->has_hosts)
        rc = own_address(h, address, err);
    if (rc)
        return rc;
    uint8_t job[SK_KEY_BYTES];
    rc = sk_keyring_new(j->config, j->has_hosts, !j->form->hosts, &j->link, job,
                        &j->keyring, err);
    if (!rc)
        sk_keyring_set_heir(j->keyring, j->heir);
    if (!rc) /* this address alone: whoever reaches another one of this host has no business here */
        rc = sk_hub_open(address, sk_config_time(j->config, "run.node_timeout"), job, &j->hub, err);
    explicit_bzero(job, sizeof job);
    return rc ? rc : sk_hub_settings(j->hub, &j->link, err);
}

/* Who is to be started, and where. It may ask the scheduler, and a signal ends it as it does any program. */
static int find(struct job *j, struct sk_hosts *h, struct saikai_error *err)
{
    const char *wanted = sk_config_text(j->config, "run.mpirun");
    int rc = sk_launcher_choose(j->o->launcher, wanted, j->o->program[0], &j->form, &j->mpi, err);
    if (!rc)
        rc = sk_launcher_find(j->form, wanted, j->launcher, sizeof j->launcher, err);
    if (!rc)
        rc = sk_find_keeper(j->config, j->keeper, sizeof j->keeper, err);
    if (!rc)
        sk_find_yield(j->config, j->keeper, j->yield, sizeof j->yield);
    struct sk_recovery_for f = {j->form, j->launcher, j->keeper, j->o->n_ranks, 0, j->mpi};
    if (!rc)
        rc = sk_means_find(&j->means, j->config, &f, err);
    if (!rc)
        rc = sk_job_hosts(j->o, j->form, h, &j->has_hosts, err);
    f.has_hosts = j->has_hosts;
    if (!rc)
        rc = sk_means_count(&j->means, j->config, &f, err);
    if (!rc && !j->has_hosts)
        rc = sk_job_allow_files(j->o->n_ranks, err);
    return rc;
}

/* What has to be taken away again: from here on no signal ends this process before that is done. */
static int prepare(struct job *j, struct sk_hosts *h, int **seat, struct saikai_error *err)
{
    int rc = block_signals(j, err);
    if (rc)
        return rc;
    j->spares = j->means.warm;
    if (j->means.copies.ranks) {
        j->twice = *j->o;
        j->twice.n_ranks = j->means.copies.processes;
        j->o = &j->twice;
    }
    *seat = calloc((size_t)j->o->n_ranks, sizeof **seat);
    j->feed = sk_feed_new(STDIN_FILENO);
    j->launchers = sk_processes_new();
    j->probe = sk_probe_new(h);
    if (!j->probe || !*seat || !j->feed || !j->launchers)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for %d ranks", j->o->n_ranks);
    rc = sk_hosts_place(h, j->o->spares, j->o->n_ranks, *seat, err);
    if (!rc)
        rc = sk_means_place(&j->means, h, j->has_hosts, *seat, err);
    if (!rc) { /* before the hub has threads */
        j->heir = sk_heir_new();
        rc = sk_watch_new(j->config, h, j->has_hosts, j->launcher, j->number, &j->watch, err);
    }
    if (!rc)
        rc = sk_forwarder_new(j->config, j->number, &j->forwarder, err);
    if (!rc)
        rc = open_hub(j, h, err);
    return rc ? rc : grow_tree(j, *seat, err);
}

/* Who wants it to end does not wait for a reader of its last lines. */
static int is_to_leave(void *arg)
{
    (void)arg;
    return sk_beside_pending();
}

int sk_job_run(const struct sk_job_options *o, const struct sk_config *config,
               struct saikai_error *err)
{
    struct job j = {.o = o, .config = config, .signals = -1, .then = {.hosts_fd = -1}};
    struct sk_hosts hosts = {0};
    int *seat = NULL, code = -1;
    struct sk_supervisor_config sc;
    sk_family_spare_present();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct sk_id number = sk_id_random();
    j.number = (uint64_t)number.b[0] + 1 + sk_hash64(number.b, sizeof number.b) / 2;
    int rc = sk_job_is_somewhere(err);
    if (!rc)
        rc = sk_job_allow_files(0, err);
    if (!rc)
        rc = sk_command_split(&j.then, "run.then", sk_config_text(config, "run.then"), err);
    if (!rc)
        rc = sk_command_check(o->program, err);
    if (!rc)
        rc = sk_command_check(j.then.argv, err);
    if (!rc)
        rc = sk_forwarder_bring_back(config, err);
    if (!rc)
        rc = find(&j, &hosts, err);
    if (!rc)
        rc = sk_export_settings(config, err);
    if (!rc)
        rc = prepare(&j, &hosts, &seat, err);
    if (rc)
        goto out;
    sk_owner_above(j.number, j.above);
    j.deadline = sk_job_deadline(config);
    rc = sk_job_settings(j.o, config, j.deadline, &sc, &j.link, err);
    if (!rc)
        rc = sk_patience_new(history_wait_s, &j.patience, err);
    if (rc)
        goto out;
    j.learning = sk_learning_new(config, o->program[0], &hosts);
    sk_means_tell(&j.means, &sc);
    snprintf(j.link.rank_env, sizeof j.link.rank_env, "%s", j.form->rank_env);
    j.supervisor = sk_supervisor_new(&sc, &ops, &j, &hosts, seat);
    seat = NULL;
    if (!j.supervisor) {
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for %d ranks", o->n_ranks);
        goto out;
    }
    sk_log_aside_begin(); /* a reader that stands still must not make the ranks believe that this process is gone */
    int ended_by = is_to_leave(NULL);
    code = ended_by ? 128 + ended_by : loop(&j); /* before anything of the job has begun: there is nothing to save */
    sk_forwarder_finish(j.forwarder);
    j.forwarder = NULL;
out:
    sk_forwarder_free(j.forwarder);
    sk_watch_free(j.watch);
    sk_family_kill(0, 2);
    sk_learning_free(j.learning, sk_now());
    sk_supervisor_free(j.supervisor);
    sk_processes_free(j.launchers);
    sk_probe_free(j.probe);
    sk_patience_free(j.patience);
    sk_hub_close(j.hub);
    sk_keyring_free(j.keyring);
    sk_heir_free(j.heir);
    sk_feed_free(j.feed);
    sk_command_free(&j.then);
    sk_hosts_free(&hosts);
    sk_means_free(&j.means);
    free(seat);
    sk_log_aside_end(is_to_leave, NULL);
    if (j.signals >= 0)
        close(j.signals);
    return rc ? rc : code;
}
