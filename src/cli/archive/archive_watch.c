/* saikai archive create --watch: the sets of a running program, each when it is finished. */
#include "cli/archive/archive_watch.h"

#include "archive/write/create.h"
#include "base/file/io.h"
#include "base/log.h"
#include "cli/archive/archive_inputs.h"
#include "cli/archive/archive_left.h"
#include "cli/archive/archive_own.h"
#include "cli/archive/archive_say.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
    stop = 1;
}

static double seconds(struct timespec t)
{
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* When anything in a tree changed last (contents, names, modes), and how many files it has. Archives that go into it are none of its
 * files. */
static double last_change(const char *path, int depth, long *files, struct cli_archive_own *own)
{
    struct stat st;
    if (lstat(path, &st) || depth > 256 || cli_archive_own_is(own, path, &st))
        return 0;
    double last =
        seconds(st.st_mtim) > seconds(st.st_ctim) ? seconds(st.st_mtim) : seconds(st.st_ctim);
    if (!S_ISDIR(st.st_mode)) {
        *files += S_ISREG(st.st_mode);
        return last;
    }
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        char sub[4096];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
            sk_io_path(sub, sizeof sub, NULL, "%s/%s", path, e->d_name))
            continue;
        double t = last_change(sub, depth + 1, files, own);
        last = t > last ? t : last;
    }
    if (d)
        closedir(d);
    return last;
}

struct watching {
    struct cli_archive_watch w;
    const struct sk_archive_options *o;
    char last[4096]; /* the archive made last, "": none */
    int said;        /* that archives go into what is watched */
};

/* With --previous at the start: the newest archive there. */
static void find_last(struct watching *g)
{
    DIR *d = opendir(g->w.out);
    double newest = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[4096];
        struct stat st;
        size_t n = strlen(e->d_name);
        if (n < 4 || strcmp(e->d_name + n - 4, ".ska") ||
            sk_io_path(path, sizeof path, NULL, "%s/%s", g->w.out, e->d_name) || stat(path, &st) ||
            seconds(st.st_mtim) <= newest)
            continue;
        newest = seconds(st.st_mtim);
        memcpy(g->last, path, sizeof path);
    }
    if (d)
        closedir(d);
}

/* The archive of a set, or the first free name after it and those that followed it: *taken is the
 * last that exists, "" when none does. */
static int names_of(const struct watching *g, const char *set, char taken[4096], char next[4096],
                    struct saikai_error *err)
{
    int rc = sk_io_path(next, 4096, err, "%s/%s.ska", g->w.out, set);
    *taken = 0;
    for (int k = 2; !rc && !access(next, F_OK); k++) {
        memcpy(taken, next, 4096);
        rc = sk_io_path(next, 4096, err, "%s/%s~%d.ska", g->w.out, set, k);
    }
    return rc;
}

/* Build on the one made last; where that cannot be read, stand alone. */
static int create_one(struct watching *g, const char *out, const struct archive_inputs *in,
                      struct sk_archive_stats *st, struct saikai_error *err)
{
    struct sk_archive_options o = *g->o;
    o.entries = in->entries;
    o.entry_count = in->entry_count;
    o.leave_out = in->leave_out;
    o.leave_arg = in->leave_arg;
    struct saikai_error why = {0};
    o.previous = g->w.previous && *g->last ? g->last : NULL;
    int rc = sk_archive_create(out, in->list, in->n, &o, st, &why);
    if (o.previous && (rc == SAIKAI_EDAMAGED || rc == SAIKAI_EFORMAT || rc == SAIKAI_ENOENT)) {
        sk_log(SK_LOG_WARN, "%s; %s is to stand alone", why.text, out);
        o.previous = NULL;
        rc = sk_archive_create(out, in->list, in->n, &o, st, &why);
    }
    if (rc)
        *err = why;
    return rc;
}

static int archive_set(struct watching *g, char *path, const char *taken, const char *next,
                       struct saikai_error *err)
{
    struct cli_archive_own own;
    struct cli_archive_left left = {.command = "archive create", .waits = 1};
    struct archive_inputs in = {.follow = g->w.follow, .exclude = g->w.exclude, .own = &own, .leave_out = cli_archive_leave_out, .leave_arg = &left};
    struct sk_archive_stats stats;
    const char *out = *taken && !g->w.previous ? taken : next;
    cli_archive_own_directory(&own, g->w.out);
    int rc = cli_archive_inputs_gather(&path, 1, &in, err);
    if (!rc)
        rc = create_one(g, out, &in, &stats, err);
    if (rc == SAIKAI_EEXIST && out != next) /* others build on it */
        rc = create_one(g, out = next, &in, &stats, err);
    cli_archive_inputs_free(&in);
    if (rc == SAIKAI_ECHANGED || rc == SAIKAI_ENOENT) {
        sk_log(SK_LOG_INFO, "%s; it is looked at again later", err->text);
        return 0; /* it was not finished after all */
    }
    if (rc)
        return rc;
    cli_archive_left_say(&left, out);
    memcpy(g->last, out, sizeof g->last);
    if (!g->w.quiet)
        cli_archive_print_created(out, &stats);
    fflush(stdout);
    return 1;
}

/* 1: archived now; 0: nothing to do; or a code. */
static int visit_set(struct watching *g, const char *name, struct saikai_error *err)
{
    char path[4096], taken[4096], next[4096];
    struct stat st;
    struct timespec now;
    struct cli_archive_own own;
    long files = 0;
    int rc = sk_io_path(path, sizeof path, err, "%s/%s", g->w.dir, name);
    if (!rc)
        rc = names_of(g, name, taken, next, err);
    if (rc)
        return rc;
    if (stat(path, &st) || !S_ISDIR(st.st_mode))
        return 0;
    cli_archive_own_directory(&own, g->w.out);
    double changed = last_change(path, 0, &files, &own);
    if (!g->w.quiet && !g->said)
        cli_archive_own_say(&own, "archive create");
    g->said |= own.count > 0;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!files || seconds(now) - changed < g->w.settle_s)
        return 0;
    if (*taken && !stat(taken, &st) && seconds(st.st_mtim) > changed)
        return 0;
    return archive_set(g, path, taken, next, err);
}

/* One look at all sets; the number archived, or a code. */
static int visit_all(struct watching *g, struct saikai_error *err)
{
    struct dirent **names = NULL;
    int n = scandir(g->w.dir, &names, NULL, alphasort), done = 0, rc = 0;
    if (n < 0)
        return sk_fail_errno(err, errno, "cannot list %s", g->w.dir);
    for (int i = 0; i < n; i++) {
        if (rc >= 0 && !stop && names[i]->d_name[0] != '.' &&
            (g->w.count == 0 || done < g->w.count)) {
            rc = visit_set(g, names[i]->d_name, err);
            done += rc > 0;
        }
        free(names[i]);
    }
    free(names);
    return rc < 0 ? rc : done;
}

int cli_archive_watch(const struct cli_archive_watch *w, const struct sk_archive_options *o,
                  struct saikai_error *err)
{
    struct sigaction act = {.sa_handler = on_signal}, old_int, old_term;
    struct watching g = {.w = *w, .o = o};
    int rc = sk_io_mkdirs(w->out, err), fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (rc || fd < 0 ||
        inotify_add_watch(fd, w->dir,
                          IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB | IN_ONLYDIR) < 0) {
        rc = rc ? rc : sk_fail_errno(err, errno, "cannot watch %s", w->dir);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    stop = 0;
    if (w->previous)
        find_last(&g);
    sigaction(SIGINT, &act, &old_int);
    sigaction(SIGTERM, &act, &old_term);
    while (!stop) {
        char events[4096];
        struct pollfd p = {fd, POLLIN, 0};
        rc = visit_all(&g, err);
        if (rc < 0)
            break;
        if (w->count && (g.w.count -= rc) <= 0)
            break;
        /* new sets wake us; how long a known one has been quiet is looked at now and then */
        int wait_ms = w->settle_s > 4 ? 1000 : (int)(w->settle_s * 250) + 20;
        poll(&p, 1, wait_ms);
        while (read(fd, events, sizeof events) > 0)
            ;
    }
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
    close(fd);
    return rc < 0 ? rc : 0;
}
