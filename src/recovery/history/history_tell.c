/* The lease of a store tells under which `saikai run` its job is, also when that has just died. */
#include "recovery/history/history_tell.h"

#include "base/file/io.h"
#include "base/log.h"
#include "store/event/kept.h"
#include "store/owner/lease.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void add(void *arg, const char *dir, const char *job)
{
    const struct sk_event *f = arg;
    struct saikai_event e;
    struct saikai_error err = {0};
    struct sk_buf line = {0};
    int given_up = !strcmp(f->answer, "given-up");
    int rc = sk_event_begin(&e, "mw.fault", given_up ? SAIKAI_EVENT_FATAL : SAIKAI_EVENT_ERROR, &err);
    e.time_ms = f->at_ms;
    e.rank = f->rank >= 0 && f->rank < INT_MAX ? (int)f->rank : -1;
    snprintf(e.host, sizeof e.host, "%s", f->node);
    snprintf(e.job, sizeof e.job, "%s", job);
    sk_event_put(&e, "kind", "%s", f->fault);
    sk_event_put(&e, "answer", "%s", f->answer);
    sk_event_put(&e, "start", "%lld", (long long)f->start + 1);
    sk_event_put(&e, "model", "%s", f->model);
    sk_event_put(&e, "what", "%s", f->what);
    sk_event_put(&e, "then", "%s", f->then);
    if (!rc)
        rc = sk_event_print(&e, &line, &err);
    if (!rc)
        rc = sk_events_add(dir, line.data, line.len, 0, &err);
    sk_buf_free(&line);
    if (rc)
        sk_log(SK_LOG_DEBUG, "the fault is not among the events of job %s: %s", job, err.text);
}

static void look(const char *dir, uint64_t run, sk_history_store *each, void *arg)
{
    struct sk_owner o = {0};
    sk_lease_look(dir, 3600, &o);
    if (run && o.run == run)
        each(arg, dir, o.name);
}

void sk_history_stores(const char *prefix, uint64_t run, sk_history_store *each, void *arg)
{
    char dir[PATH_MAX], path[PATH_MAX];
    look(prefix, run, each, arg);
    DIR *d = sk_io_path(dir, sizeof dir, NULL, "%s/jobs", prefix) ? NULL : opendir(dir);
    for (struct dirent *at; d && (at = readdir(d));)
        if (*at->d_name != '.' && !sk_io_path(path, sizeof path, NULL, "%s/%s", dir, at->d_name))
            look(path, run, each, arg);
    if (d)
        closedir(d);
}

void sk_history_tell(const char *prefix, uint64_t run, const struct sk_event *e)
{
    struct sk_event own = *e;
    sk_history_stores(prefix, run, add, &own);
}
