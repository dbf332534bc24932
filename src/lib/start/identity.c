/* Which job this is, and where in the prefix its generations are.
 *
 * A job is known by its name: job.name, else one made from program, arguments and directory. The first job that saves in a
 * prefix has the directory itself, each other one jobs/<name> in it; the file `job` there says whose it is (store/owner/job.h), and
 * a lease that it is in use (store/owner/lease.h). */
#include "lib/start/identity.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/file/io.h"
#include "base/log.h"
#include "base/file/patience.h"
#include "lib/start/hold_local.h"
#include "lib/start/places.h"
#include "store/event/kept.h"
#include "store/form/whose.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory of all jobs in a prefix but the first one. */
static const char jobs[] = "jobs";

/* ---- the name ---- */

/* "./rest" when path lies below base: what is moved together stays the same job. */
static void put_relative(struct sk_buf *b, const char *path, const char *base)
{
    size_t n = strlen(base);
    int below = n > 1 && !strncmp(path, base, n) && (path[n] == '/' || !path[n]);
    sk_buf_printf(b, "%s%s", below ? "." : "", below ? path + n : path);
    sk_buf_put_u8(b, 0);
}

/* The arguments of this process, as they were given, separated by zeros. */
static void put_arguments(struct sk_buf *b, char *command, size_t cap)
{
    char text[65536];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    size_t first = n > 0 ? strlen(text) + 1 : 0, used = 0;
    if (n > 0 && first < (size_t)n)
        sk_buf_put(b, text + first, (size_t)n - first);
    for (ssize_t i = 0; i < n && used + 1 < cap; i++)
        command[used++] = text[i] ? text[i] : ' ';
    while (used && command[used - 1] == ' ')
        used--;
    command[used] = 0;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void make_name(struct sk_job *j, const char *program, const char *prefix, const char *cwd)
{
    char exe[PATH_MAX];
    struct sk_buf b = {0};
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = 0;
    char *gone = strstr(exe, " (deleted)"); /* it was built anew meanwhile */
    if (gone && !gone[10])
        *gone = 0;
    /* Below the working directory the prefix moves with it; else the directory is part of the name. */
    size_t length = strlen(cwd);
    int inside = *prefix && length > 1 && !strncmp(prefix, cwd, length) && prefix[length] == '/';
    put_relative(&b, *exe ? exe : program, inside ? cwd : "/");
    put_relative(&b, cwd, inside ? cwd : "/");
    put_arguments(&b, j->command, sizeof j->command);
    snprintf(j->name, sizeof j->name, "%.60s-%012llx", base_of(program),
             (unsigned long long)(sk_hash64(b.data, b.len) & 0xffffffffffff));
    for (char *p = j->name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("-_.+", *p))
            *p = '_';
    if (*j->name == '.')
        *j->name = '_';
    sk_buf_free(&b);
}

static int name_job(struct sk_session *s, struct sk_start *st, const char *program, struct saikai_error *err)
{
    const char *given = sk_config_text(s->config, "job.name");
    char cwd[PATH_MAX], from[PATH_MAX];
    if (!getcwd(cwd, sizeof cwd))
        return sk_fail_errno(err, errno, "cannot find the working directory");
    make_name(&st->job, program, st->prefix, cwd);
    st->job.since_ms = sk_wall_ms();
    if (*given && !sk_job_name_ok(given))
        return sk_fail(err, SAIKAI_ECONFIG, "job.name '%.60s' is no plain name of 1 to %d characters", given, SK_JOB_NAME_MAX);
    if (*given)
        snprintf(st->job.name, sizeof st->job.name, "%s", given);
    snprintf(from, sizeof from, "%s", *st->prefix ? st->prefix : cwd);
    return *given ? sk_io_path(st->old_local, sizeof st->old_local, err, "%s", given)
                  : sk_io_path(st->old_local, sizeof st->old_local, err, "%.60s-%012llx", base_of(program),
                               (unsigned long long)(sk_hash64(from, strlen(from)) & 0xffffffffffff));
}

/* ---- the place ---- */

static int is_any(void *arg, const char *root, struct sk_gen g)
{
    (void)arg;
    (void)root;
    (void)g;
    return 1;
}

/* 1: an older version saved there: it said nowhere whose the directory is. */
static int was_used(const char *dir)
{
    struct sk_gen_list l = {0};
    char path[PATH_MAX];
    int used = !sk_io_path(path, sizeof path, NULL, "%s/state", dir) && !access(path, F_OK);
    if (!used && !sk_gen_scan_if(dir, is_any, NULL, &l, NULL))
        used = l.count > 0;
    sk_gen_list_free(&l);
    return used;
}

/* 1: the disk is full, read-only or not there: what is missing now may be possible later. */
static int is_passing(int e)
{
    return e == ENOSPC || e == EDQUOT || e == EROFS || e == EACCES || e == ENOENT;
}

/* Nothing can be written to dir now. The store is made all the same, with its id in the nodes' own directories alone; the start
 * that can write gives it to the prefix. */
static int claim_later(const char *dir, struct sk_job *j, const struct saikai_error *why)
{
    j->unclaimed = 1;
    snprintf(j->place, sizeof j->place, "%s", dir);
    sk_log(SK_LOG_WARN, "%s; the job is known on its nodes alone until the prefix takes files", why->text);
    return 0;
}

/* The file `job` was lost, as by a purge: what else says which store this is. 1: it is found. */
static int find_store(const char *dir, const struct sk_job *j, struct sk_id *store)
{
    struct sk_state st;
    struct sk_owner last = {0};
    if (!sk_state_load(dir, &st, NULL) && !sk_id_none(st.store)) {
        *store = st.store;
        return 1;
    }
    sk_lease_look(dir, 0, &last); /* of a start that was killed */
    if (strcmp(last.name, j->name) || sk_id_none(last.store))
        return 0;
    *store = last.store;
    return 1;
}

static int claim(const char *dir, const char *user, struct sk_job *j, struct saikai_error *err)
{
    struct stat sb;
    struct sk_job made = *j;
    struct saikai_error why = {0};
    int waiting = sk_local_unclaimed(user, j->name, dir, &made.store), lost = !waiting && find_store(dir, j, &made.store);
    if (!waiting && !lost) { /* as for a copy: who else goes on from these generations, and whether, cannot be known */
        made.store = sk_id_random();
        lost = (made.former_count = sk_whose(dir, made.former, SK_JOB_FORMER)) > 0;
    }
    int rc = stat(dir, &sb) ? sk_fail_errno(&why, errno, "cannot look at %s", dir) : 0;
    if (!rc) {
        made.inode = (uint64_t)sb.st_ino;
        made.adopted = !waiting && was_used(dir);
        snprintf(made.place, sizeof made.place, "%s", dir);
        rc = sk_job_claim(dir, &made, &why);
    }
    if (!rc && made.adopted)
        sk_log(SK_LOG_NOTICE, "%s %s: from now on it is the store of job %s", dir,
               lost ? "has lost the file that says whose it is" : "was made by an older version", made.name);
    if (rc && rc != SAIKAI_EEXIST && is_passing(why.sys_errno))
        rc = claim_later(dir, &made, &why);
    if (!rc)
        *j = made;
    else if (err)
        *err = why;
    return rc;
}

/* Load dir's job if it is of this name: 0; SAIKAI_ENOENT: nobody's; SAIKAI_EEXIST: another one's. */
static int look(const char *dir, struct sk_job *j, struct saikai_error *err)
{
    struct sk_job found;
    int rc = sk_job_load(dir, &found, err);
    if (!rc && strcmp(found.name, j->name))
        return SAIKAI_EEXIST;
    if (!rc)
        *j = found;
    return rc;
}

/* The place that this `saikai run` used at its start before, whatever the program is called by now. */
static int find_of_run(const char *root, uint64_t run, char *place, size_t cap, struct sk_job *j)
{
    char dir[PATH_MAX];
    struct sk_state state;
    struct sk_job found;
    if (!sk_state_load(root, &state, NULL) && state.run == run && !sk_job_load(root, &found, NULL)) {
        *j = found;
        return !sk_io_path(place, cap, NULL, "%s", root);
    }
    if (sk_io_path(dir, sizeof dir, NULL, "%s/%s", root, jobs))
        return 0;
    DIR *d = opendir(dir);
    int is_found = 0;
    for (struct dirent *e; d && !is_found && (e = readdir(d));)
        if (*e->d_name != '.' && !sk_io_path(place, cap, NULL, "%s/%s", dir, e->d_name) &&
            !sk_state_load(place, &state, NULL) && state.run == run && !sk_job_load(place, &found, NULL)) {
            *j = found;
            is_found = 1;
        }
    if (d)
        closedir(d);
    return is_found;
}

/* 1: nothing says any more whose dir is but the lease of a start that was killed, and there are generations of another job. */
static int was_anothers(const char *dir, const struct sk_job *j)
{
    struct sk_owner last = {0};
    sk_lease_look(dir, 0, &last);
    return *last.name && strcmp(last.name, j->name) && was_used(dir);
}

/* The directory of this job below root: where it is already, else root when it is nobody's, else one of its own. */
static int find_place(const char *root, const char *user, char *place, size_t cap, struct sk_job *j, struct saikai_error *err)
{
    int rc = sk_io_path(place, cap, err, "%s", root), of_root = rc ? rc : look(root, j, err);
    if (of_root == SAIKAI_ENOENT && was_anothers(root, j))
        of_root = SAIKAI_EEXIST;
    if (rc || !of_root || (of_root != SAIKAI_ENOENT && of_root != SAIKAI_EEXIST))
        return of_root;
    if ((rc = sk_io_path(place, cap, err, "%s/%s/%s", root, jobs, j->name)))
        return rc;
    rc = look(place, j, err);
    if (rc != SAIKAI_ENOENT)
        return rc == SAIKAI_EEXIST ? sk_fail(err, SAIKAI_EDAMAGED, "%s belongs to another job", place) : rc;
    if (of_root == SAIKAI_ENOENT) {
        rc = claim(root, user, j, err);
        if (!rc)
            return sk_io_path(place, cap, err, "%s", root);
        if (rc != SAIKAI_EEXIST)
            return rc;
        return find_place(root, user, place, cap, j, err); /* somebody was faster */
    }
    struct saikai_error why = {0};
    sk_io_mkdirs_lasting(place, &why); /* what is wrong with it, the claim finds */
    if ((rc = claim(place, user, j, err)) == SAIKAI_EEXIST)
        rc = look(place, j, err);
    return rc;
}

/* A store that was moved is the same, one that was copied is a new one that may read what it was copied with. */
static int follow(const char *place, struct sk_job *j, struct saikai_error *err)
{
    struct stat sb;
    struct saikai_error why = {0};
    if (j->unclaimed || !strcmp(place, j->place))
        return 0;
    if (stat(place, &sb))
        return sk_fail_errno(err, errno, "cannot look at %s", place);
    if ((uint64_t)sb.st_ino != j->inode) {
        memmove(j->former + 1, j->former, (SK_JOB_FORMER - 1) * sizeof *j->former);
        j->former[0] = j->store;
        j->former_count += j->former_count < SK_JOB_FORMER;
        j->store = sk_id_random();
        sk_log(SK_LOG_NOTICE, "%s is a copy of %s: a store of its own from now on, without that one's node-local copies",
               place, j->place);
    }
    snprintf(j->place, sizeof j->place, "%s", place);
    j->inode = (uint64_t)sb.st_ino;
    int rc = sk_job_replace(place, j, &why);
    if (rc && is_passing(why.sys_errno))
        rc = 0; /* found again at the next start */
    if (rc && err)
        *err = why;
    return rc;
}

/* ---- others' generations ---- */

struct aside {
    const struct sk_job *mine;
    const char *own_place;
    size_t length; /* of the program's name within the job's */
    int64_t newest;
    char *text;
    size_t cap;
};

/* Jobs of the same program, which ended without finishing or with other arguments, may be what the user means. */
static void consider(struct aside *a, const char *dir)
{
    struct sk_job j;
    struct sk_state st;
    struct sk_gen_list l = {0};
    struct sk_owner o;
    if (!strcmp(dir, a->own_place) || sk_job_load(dir, &j, NULL) || j.since_ms < a->newest ||
        strncmp(j.name, a->mine->name, a->length + 1) || sk_lease_look(dir, 30, &o) || sk_state_load(dir, &st, NULL) ||
        sk_gen_scan_if(dir, is_any, NULL, &l, NULL))
        return;
    if (l.count) {
        a->newest = j.since_ms;
        snprintf(a->text, a->cap,
                 "; %zu generation%s of '%.100s' (newest: iteration %lld) %s in %.200s: to go on from there set job.name=%s%s",
                 l.count, l.count > 1 ? "s" : "", *j.command ? j.command : j.name, (long long)l.gen[0].iteration,
                 l.count > 1 ? "are" : "is", dir, j.name, st.finished ? " and restart.mode=always" : "");
    }
    sk_gen_list_free(&l);
}

static void look_aside(struct aside *a, const char *root)
{
    char dir[PATH_MAX], path[PATH_MAX];
    const char *hash = strrchr(a->mine->name, '-');
    a->length = hash ? (size_t)(hash - a->mine->name) : 0;
    if (!hash || strlen(hash) != 13 || was_used(a->own_place))
        return;
    consider(a, root);
    DIR *d = sk_io_path(dir, sizeof dir, NULL, "%s/%s", root, jobs) ? NULL : opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (*e->d_name != '.' && !sk_io_path(path, sizeof path, NULL, "%s/%s", dir, e->d_name))
            consider(a, path);
    if (d)
        closedir(d);
}

/* ---- all of it ---- */

/* What is done in the prefix, by a thread that may hang there. */
struct errand {
    struct sk_start st;
    struct sk_owner self;
    char user[PATH_MAX], place[PATH_MAX], aside[600];
    int again, named; /* a restart of the same `saikai run`; the user named the job */
    int tells;        /* a refusal is an event (events.least) */
    double timeout;
    struct sk_lease *lease;
};

static void drop(void *arg)
{
    struct errand *e = arg;
    sk_lease_release(e->lease);
    free(e);
}

static int go_there(void *arg, struct saikai_error *err)
{
    struct errand *e = arg;
    struct sk_job *j = &e->st.job;
    int again = e->again && find_of_run(e->st.prefix, e->self.run, e->place, sizeof e->place, j);
    int rc = again ? 0 : find_place(e->st.prefix, e->user, e->place, sizeof e->place, j, err);
    if (!rc)
        rc = follow(e->place, j, err);
    if (!rc && !e->named) {
        struct aside a = {.mine = j, .own_place = e->place, .text = e->aside, .cap = sizeof e->aside};
        look_aside(&a, e->st.prefix);
    }
    return rc ? sk_places_refuse(err, rc) : 0;
}

/* Among the events of the job that has the store: whoever looks after that one sees who wanted it. What cannot be told is left. */
static void tell_refusal(const struct errand *e, const char *why)
{
    struct saikai_event event;
    struct sk_buf line = {0};
    if (sk_event_begin(&event, "mw.refused", SAIKAI_EVENT_WARNING, NULL))
        return;
    snprintf(event.host, sizeof event.host, "%.*s", (int)sizeof event.host - 1, e->self.host);
    snprintf(event.job, sizeof event.job, "%.*s", (int)sizeof event.job - 1, e->self.name);
    sk_event_put(&event, "pid", "%lld", (long long)e->self.life.pid);
    sk_event_put(&event, "user", "%s", e->self.user);
    sk_event_put(&event, "what", "%s", why);
    if (!sk_event_print(&event, &line, NULL))
        sk_events_add(e->place, line.data, line.len, 0, NULL);
    sk_buf_free(&line);
}

static int take_lease(void *arg, struct saikai_error *err)
{
    struct errand *e = arg;
    struct saikai_error why = {0};
    int rc = sk_lease_take(e->place, &e->self, e->timeout, &e->lease, &why);
    if (!rc)
        sk_lease_of(e->lease, &e->st.job);
    if (rc == SAIKAI_EBUSY && e->tells)
        tell_refusal(e, why.text);
    if (rc && err)
        *err = why;
    return rc;
}

/* The lease may have to wait for a silent holder, which is no sign of a prefix that hangs. */
static int wait_for_lease(struct sk_session *s, struct errand *e, struct saikai_error *err)
{
    double limit = sk_config_time(s->config, "store.prefix_timeout");
    struct sk_patience *p = NULL;
    int rc = sk_patience_new(limit > 0 ? limit + 1.5 * e->timeout : 0, &p, err);
    if (!rc)
        rc = sk_patience_call(p, e->place, take_lease, drop, e, err);
    sk_patience_free(p);
    return rc;
}

/* This process, as a lease names it. */
static void introduce(struct sk_session *s, const char *name, struct sk_owner *self)
{
    sk_owner_self(name, s->page ? getenv(SK_RUN_ENV) : NULL, s->page ? s->page->incarnation : 0, self);
    s->who.run = self->run;
}

int sk_identity_wait(struct sk_session *s, const struct sk_start *st, struct saikai_error *err)
{
    struct sk_owner self;
    introduce(s, st->job.name, &self);
    self.store = st->job.store;
    return sk_lease_take_later(st->prefix, &self, sk_config_time(s->config, "store.lease_timeout"), &st->job, &s->place.lease, err);
}

int sk_identity_find(struct sk_session *s, struct sk_start *st, struct saikai_error *err)
{
    struct errand *e = calloc(1, sizeof *e);
    if (!e)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to find the job's place in %s", st->prefix);
    int resumes = s->page && s->page->incarnation > 0;
    e->st = *st;
    introduce(s, st->job.name, &e->self);
    e->named = *sk_config_text(s->config, "job.name") != 0;
    e->again = resumes && e->self.run && !e->named; /* a name is enough, and a run may have several jobs */
    e->timeout = sk_config_time(s->config, "store.lease_timeout");
    e->tells = SAIKAI_EVENT_WARNING >= sk_severity_parse(sk_config_text(s->config, "events.least"));
    sk_local_user(s, e->user, sizeof e->user);
    int rc = sk_patience_call(s->place.patience, st->prefix, go_there, drop, e, err);
    if (rc == SAIKAI_ETIMEDOUT)
        return rc;
    if (!rc && !e->st.job.unclaimed) {
        e->self.store = e->st.job.store;
        snprintf(e->self.name, sizeof e->self.name, "%s", e->st.job.name);
        rc = wait_for_lease(s, e, err);
        if (rc == SAIKAI_ETIMEDOUT)
            return rc;
    }
    if (!rc)
        rc = sk_io_path(e->st.prefix, sizeof e->st.prefix, err, "%s", e->place);
    if (!rc) {
        *st = e->st;
        s->place.lease = e->lease;
        snprintf(s->who.aside, sizeof s->who.aside, "%s", e->aside);
        free(e);
    } else {
        drop(e);
    }
    if (!rc && !st->job.adopted)
        *st->old_local = 0;
    return rc ? rc : sk_job_local_name(&st->job, st->local, sizeof st->local, err);
}

int sk_identity_name(struct sk_session *s, struct sk_start *st, const char *program, struct saikai_error *err)
{
    int rc = name_job(s, st, program, err);
    if (rc || *st->prefix)
        return rc;
    st->job.store = sk_id_random(); /* the nodes' own directories say whose they are */
    if (!getcwd(st->job.place, sizeof st->job.place))
        *st->job.place = 0;
    return sk_io_path(st->local, sizeof st->local, err, "%s-alone", st->job.name);
}
