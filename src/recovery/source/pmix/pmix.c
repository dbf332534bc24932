/* What the job's launcher tells by PMIx, where that is PRRTE: the mpirun of Open MPI 5. A process for each launcher listens
 * (pmix_reader.c), since libpmix hangs, crashes and prints as it likes, and is not made to be begun twice. mpirun of Open MPI 4 must be
 * left alone: it dies of a tool that connects. */
#include "recovery/source/pmix/pmix_reader.h"
#include "recovery/source/source.h"

#include "base/clock.h"
#include "recovery/launch/launcher.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* How often a launcher is looked for, and the first and longest time between two tries to reach its server, which may have just begun. */
static const double search_s = 1, first_s = 0.25, longest_s = 2;

/* A launcher whose job is coming to its end has still something to say when the next one has begun. */
enum { MOST_SEEN = 64, WORDS_AT_ONCE = 64, LAUNCHERS = 4 };

struct listening {
    pid_t launcher; /* 0: to none */
    double began, again_at, wait_s;
    pid_t reader; /* 0: there is none now */
    int fd, connected, ended;
    double reader_began;
    char why[256]; /* why the server could not be reached the last time */
};

struct pmix {
    double searched;
    int n_seen;
    pid_t seen[MOST_SEEN]; /* launchers that are listened to, or were, or could not be */
    struct listening at[LAUNCHERS];
};

/* ---- where there is something to listen to ---- */

static const char *const programs[] = {"prte", "prterun"};
enum { N_PROGRAMS = sizeof programs / sizeof *programs };

static int is_prrte(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    for (int i = 0; i < N_PROGRAMS; i++)
        if (!strcmp(name, programs[i]))
            return 1;
    return 0;
}

/* Open MPI's mpirun becomes the program of PRRTE that is beside it or in PATH. */
static int launcher_tells(const struct sk_source_view *v)
{
    char real[PATH_MAX], other[PATH_MAX + 16];
    if (!v->launcher || !realpath(v->launcher, real))
        return 0;
    char *name = strrchr(real, '/') + 1;
    if (is_prrte(real))
        return 1;
    if (strncmp(name, "mpirun", 6) && strncmp(name, "mpiexec", 7))
        return 0;
    if (strstr(name, "hydra") || strstr(name, sk_launcher_mpich.name))
        return 0;
    *name = 0;
    for (int i = 0; i < N_PROGRAMS; i++) {
        snprintf(other, sizeof other, "%s%s", real, programs[i]);
        if (!access(other, X_OK) || !sk_find_program(programs[i], other, sizeof other))
            return 1;
    }
    return 0;
}

static int is_off(const struct sk_source_view *v)
{
    return !strcmp(sk_config_text(v->config, "events.pmix"), "none");
}

static int is_here(const struct sk_source_view *v)
{
    return sk_pmix_built() && !is_off(v) && launcher_tells(v);
}

/* ---- launchers: children of `saikai run`, as this process is one ---- */

static int runs_prrte(pid_t pid)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    return is_prrte(path);
}

static int was_seen(const struct pmix *s, pid_t pid)
{
    for (int i = 0; i < s->n_seen; i++)
        if (s->seen[i] == pid)
            return 1;
    return 0;
}

/* One that was not seen before among the children that a thread has; 0: none. */
static pid_t new_of_thread(const struct pmix *s, pid_t parent, const char *thread)
{
    char path[96];
    long pid;
    pid_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)parent, thread);
    FILE *f = fopen(path, "re");
    while (f && !found && fscanf(f, "%ld", &pid) == 1)
        if (!was_seen(s, (pid_t)pid) && runs_prrte((pid_t)pid))
            found = (pid_t)pid;
    if (f)
        fclose(f);
    return found;
}

static pid_t new_launcher(const struct pmix *s)
{
    char path[64];
    pid_t found = 0, parent = getppid();
    snprintf(path, sizeof path, "/proc/%d/task", (int)parent);
    DIR *d = opendir(path);
    for (struct dirent *e; d && !found && (e = readdir(d));)
        if (*e->d_name != '.')
            found = new_of_thread(s, parent, e->d_name);
    if (d)
        closedir(d);
    return found;
}

/* The libpmix that the launcher has loaded: its server then speaks as the library does. */
static void find_library(const struct sk_source_view *v, pid_t launcher, char *out, size_t cap)
{
    const char *set = sk_config_text(v->config, "events.pmix");
    char path[64], line[PATH_MAX + 128];
    snprintf(out, cap, "%s", sk_is_auto(set) ? "libpmix.so.2" : set);
    if (!sk_is_auto(set))
        return;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)launcher);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        const char *at = strchr(line, '/');
        line[strcspn(line, "\n")] = 0;
        if (at && strstr(at, "/libpmix.so")) {
            snprintf(out, cap, "%s", at);
            break;
        }
    }
    if (f)
        fclose(f);
}

/* ---- the process that listens ---- */

static void begin_reader(const struct sk_source_view *v, struct listening *s)
{
    char library[PATH_MAX];
    int p[2];
    find_library(v, s->launcher, library, sizeof library);
    if (pipe2(p, O_CLOEXEC))
        return;
    fcntl(p[0], F_SETFL, O_NONBLOCK);
    fcntl(p[1], F_SETFL, O_NONBLOCK);
    pid_t self = getpid(), pid = fork();
    if (!pid) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self || null < 0)
            _exit(1);
        for (int i = 1; i < NSIG; i++) /* whoever handles a crash of ours has nothing to do with this one */
            signal(i, SIG_DFL);
        dup2(null, STDOUT_FILENO); /* a server sends what it prints to its tools, and libpmix prints that */
        dup2(null, STDERR_FILENO);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        sk_pmix_read(library, s->launcher, p[1]);
    }
    close(p[1]);
    if (pid < 0) {
        close(p[0]);
        return;
    }
    s->reader = pid;
    s->fd = p[0];
    s->reader_began = sk_now();
    s->connected = 0;
}

static void end_reader(struct listening *s)
{
    if (!s->reader)
        return;
    if (!waitpid(s->reader, NULL, WNOHANG)) {
        kill(s->reader, SIGKILL);
        waitpid(s->reader, NULL, 0);
    }
    close(s->fd);
    s->reader = 0;
}

/* ---- what it tells ---- */

static void add_fields(struct saikai_event *e, const struct sk_pmix_word *w)
{
    sk_event_put(e, "event", "%s", w->event);
    if (*w->space)
        sk_event_put(e, "namespace", "%s", w->space);
    if (w->rank >= 0)
        sk_event_put(e, "proc", "%d", w->rank);
    if (w->has_status)
        sk_event_put(e, "status", "%d", w->status);
    if (*w->text)
        sk_event_put(e, "message", "%s", w->text);
    if (w->left_s > 0) {
        char deadline[48];
        snprintf(deadline, sizeof deadline, "deadline=%lld", w->left_s);
        sk_event_take(e, deadline, NULL);
    }
}

static void tell(const struct sk_source_view *v, struct listening *s, const struct sk_pmix_word *w, struct sk_teller *t)
{
    int of_host = w->meaning == SK_PMIX_DOWN || w->meaning == SK_PMIX_LEAVING;
    int at = *w->host ? sk_hosts_find(v->hosts, w->host) : -1;
    int with_ranks = at >= 0 && v->hosts->host[at].state != SK_HOST_SPARE;
    const char *host = at >= 0 ? v->hosts->host[at].name : w->host;
    struct saikai_event e;
    char why[340];
    if (w->meaning == SK_PMIX_END)
        s->ended = 1;
    if ((w->meaning == SK_PMIX_END && !w->status) || (w->meaning == SK_PMIX_LOST && s->ended))
        return;
    if (sk_event_begin(&e, of_host ? "hw.pmix" : w->meaning == SK_PMIX_SAVE ? "mw." SK_EVENT_NOTICE : "mw.pmix", w->severity, NULL))
        return;
    snprintf(why, sizeof why, "the launcher says %s%s%s", w->event, *w->text ? ": " : "", w->text);
    add_fields(&e, w);
    if (w->meaning == SK_PMIX_SAVE)
        sk_event_put(&e, "reason", "%s", why);
    if (w->meaning == SK_PMIX_DOWN) {
        sk_event_put(&e, SK_NODE_FIELD, "%s", SK_NODE_UNWELL);
        sk_event_put(&e, SK_NODE_WHY, "%s", why);
    }
    sk_teller_tell(t, &e, host);
    if (of_host && with_ranks)
        sk_teller_notice(t, host, why);
}

/* All that came. 1: it was the last word of this launcher. */
static int hear(const struct sk_source_view *v, struct listening *s, struct sk_teller *t)
{
    struct sk_pmix_word w;
    int last = 0;
    for (int i = 0; i < WORDS_AT_ONCE && !last && read(s->fd, &w, sizeof w) == (ssize_t)sizeof w; i++) {
        if (w.kind == SK_PMIX_EVENT)
            tell(v, s, &w, t);
        if (w.kind == SK_PMIX_NOT_YET || w.kind == SK_PMIX_NEVER)
            snprintf(s->why, sizeof s->why, "%s", w.text);
        else /* the first event may come before the word that it listens */
            s->connected = 1;
        last = w.kind == SK_PMIX_NEVER || (w.kind == SK_PMIX_EVENT && w.meaning == SK_PMIX_LOST);
    }
    return last;
}

/* Nothing is heard of this launcher any more. */
static int finish(struct listening *s, int failed, struct saikai_error *err)
{
    int lives = !kill(s->launcher, 0); /* of one that has just ended there is nothing to say */
    end_reader(s);
    s->launcher = 0;
    if (!failed || !lives)
        return 0;
    return sk_fail(err, SAIKAI_EIO, "%s (events.pmix)", *s->why ? s->why : "libpmix does not answer within events.limit");
}

/* The reader of a launcher: it is begun, heard, begun again after a while when there was no server yet, and ended. */
static int attend(const struct sk_source_view *v, struct listening *s, struct sk_teller *t, struct saikai_error *err)
{
    double now = sk_now(), limit = sk_config_time(v->config, "events.limit");
    if (!s->reader) {
        if (now - s->began > limit || kill(s->launcher, 0))
            return finish(s, 1, err);
        if (now < s->again_at)
            return 0;
        begin_reader(v, s);
        s->again_at = now + s->wait_s;
        s->wait_s = fmin(2 * s->wait_s, longest_s);
        return 0;
    }
    int gone = waitpid(s->reader, NULL, WNOHANG) != 0; /* before the last words are read */
    int last = hear(v, s, t);
    if (last || (gone && s->connected))
        return finish(s, !s->connected, err);
    if (gone) {
        close(s->fd);
        s->reader = 0;
    } else if (!s->connected && now - s->reader_began > limit) {
        *s->why = 0;
        return finish(s, 1, err);
    }
    return 0;
}

/* In a free place, or in that of the one that began first. */
static void listen_to(struct pmix *s, pid_t launcher)
{
    struct listening *l = &s->at[0];
    for (int i = 0; i < LAUNCHERS && l->launcher; i++)
        if (!s->at[i].launcher || s->at[i].began < l->began)
            l = &s->at[i];
    end_reader(l);
    *l = (struct listening){.launcher = launcher, .began = sk_now(), .wait_s = first_s};
    if (s->n_seen == MOST_SEEN)
        memmove(s->seen, s->seen + 1, (size_t)--s->n_seen * sizeof *s->seen);
    s->seen[s->n_seen++] = launcher;
}

static int look(const struct sk_source_view *v, void **state, struct sk_teller *t, struct saikai_error *err)
{
    struct pmix *s = *state ? *state : (*state = calloc(1, sizeof *s));
    double now = sk_now();
    pid_t launcher = 0;
    int rc = 0;
    if (!s)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the events of PMIx");
    if (is_off(v))
        return sk_fail(err, SAIKAI_ECONFIG, "events.pmix is none");
    if (!launcher_tells(v))
        return sk_fail(err, SAIKAI_ENOTSUP, "%s is not the mpirun of an Open MPI 5: no other launcher tells events by PMIx",
                       v->launcher ? v->launcher : "the launcher");
    if (now - s->searched >= search_s) {
        s->searched = now;
        launcher = new_launcher(s);
    }
    if (launcher)
        listen_to(s, launcher);
    for (int i = 0; i < LAUNCHERS; i++)
        if (s->at[i].launcher && attend(v, &s->at[i], t, rc ? NULL : err))
            rc = SAIKAI_EIO;
    return rc;
}

static void end(void *state)
{
    struct pmix *s = state;
    for (int i = 0; i < LAUNCHERS; i++)
        end_reader(&s->at[i]);
    free(s);
}

const struct sk_source_ops sk_source_pmix = {
    .name = "pmix",
    .description = "what the job's launcher tells by PMIx, such as a rank that ended it or a node that is down: mpirun of Open MPI 5",
    .every_s = 0.25,
    .here = is_here,
    .look = look,
    .end = end,
};
