/* Taking a lease from nobody or from a dead holder, the thread that renews it, and noticing that it
 * was lost. */
#include "store/owner/lease.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/own/own.h"
#include "base/log.h"
#include "base/file/patience.h"
#include "store/owner/board.h"
#include "store/owner/job.h"
#include "store/owner/lease_file.h"
#include "store/note.h"
#include "store/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct sk_lease {
    char dir[PATH_MAX], path[PATH_MAX];
    struct sk_owner self;
    struct sk_job job; /* to be made dir's, when that is nobody's (any more); without a name: none is */
    double timeout, period;
    int held; /* the file was made */
    char taken_by[400];
    struct sk_id seen; /* another holder, of which only its renewing tells whether it lives … */
    struct timespec renewed; /* … and what it was last seen to do */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int runs, ends, ended; /* of the thread */
    int left;              /* the thread frees it */
    int urged; /* to look now */
    _Atomic int lost;
    _Atomic unsigned tries; /* so often it was looked at */
    _Atomic uint32_t begun; /* the start of the job, 0: not known */
    struct sk_board board; /* what else is written at each renewal, while the lease is held */
    int posted;            /* something ever was */
    struct sk_lease *next; /* in `mine` */
};

/* Leases of this process: a file that names this process but none of these was left by a session that is no more. */
static struct sk_lease *mine;
static pthread_mutex_t mine_lock = PTHREAD_MUTEX_INITIALIZER;

static int is_mine(struct sk_id token)
{
    int found = 0;
    pthread_mutex_lock(&mine_lock);
    for (struct sk_lease *l = mine; l; l = l->next)
        found |= sk_id_same(l->self.token, token);
    pthread_mutex_unlock(&mine_lock);
    return found;
}

/* Make the thread look now, when the lease is of this process: 1 lost (and why), 0 not (and how often it has looked), -1 it is not
 * of this process. */
static int urge(struct sk_id token, unsigned *tries, struct saikai_error *err)
{
    int rc = -1;
    pthread_mutex_lock(&mine_lock);
    for (struct sk_lease *l = mine; l && rc < 0; l = l->next)
        if (sk_id_same(l->self.token, token)) {
            rc = atomic_load(&l->lost);
            *tries = atomic_load(&l->tries);
            if (rc)
                sk_fail(err, SAIKAI_EBUSY, "%s", l->taken_by);
            pthread_mutex_lock(&l->lock);
            l->urged = 1;
            pthread_cond_broadcast(&l->wake);
            pthread_mutex_unlock(&l->lock);
        }
    pthread_mutex_unlock(&mine_lock);
    return rc;
}

static void enlist(struct sk_lease *l, int in)
{
    pthread_mutex_lock(&mine_lock);
    struct sk_lease **at = &mine;
    while (*at && *at != l)
        at = &(*at)->next;
    if (in) {
        l->next = mine;
        mine = l;
    } else if (*at) {
        *at = l->next;
    }
    pthread_mutex_unlock(&mine_lock);
}

static enum sk_owner_state state_of(const char *dir, const struct sk_owner *o, const struct sk_owner *self,
                                    struct timespec renewed, double timeout_s)
{
    enum sk_owner_state s = sk_owner_state(o, self);
    if (s == SK_OWNER_LIVES && o->life.pid == self->life.pid && sk_life_goes_on(&o->life) > 0)
        return is_mine(o->token) ? SK_OWNER_LIVES : SK_OWNER_DEAD;
    return s == SK_OWNER_UNKNOWN && sk_lease_file_age(dir, renewed) > timeout_s ? SK_OWNER_DEAD : s;
}

/* ---- taking ---- */

/* Starters of one store look and write one after another, where the file system has locks: they lock the file `job`, which
 * stays. Without locks, what is written is looked at again. */
static int guard(const char *dir)
{
    char path[PATH_MAX];
    struct flock f = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int fd = sk_io_path(path, sizeof path, NULL, "%s/" SK_JOB_FILE, dir) ? -1 : sk_own(open(path, O_RDWR | O_CLOEXEC), SK_OWN_GOES);
    if (fd < 0)
        return -1;
    for (int i = 0; i < 500; i++) { /* it is held for milliseconds */
        if (!fcntl(fd, F_OFD_SETLK, &f))
            return fd;
        if (errno != EAGAIN && errno != EACCES)
            break;
        sk_sleep(0.01);
    }
    sk_own_close(fd);
    return -1;
}

static int refuse(const struct sk_lease *l, const struct sk_owner *o, struct saikai_error *err)
{
    char who[320];
    int between = sk_life_goes_on(&o->life) == 0;
    if (!between && o->run && o->run == l->self.run && o->start == l->self.start)
        return sk_fail(err, SAIKAI_EBUSY,
                       "%s is in use by another part of this start of job %s: %s. Give saikai_init all ranks (MPI_COMM_WORLD), or each "
                       "part a name of its own (saikai_init(comm, \"job.name=…\"))",
                       l->dir, o->name, sk_owner_describe(o, who, sizeof who));
    return sk_fail(err, SAIKAI_EBUSY,
                   "job %s is running already in %s%s: %s. Wait for its end, give this one another name (job.name), or start "
                   "it in another directory",
                   o->name, l->dir, between ? " (it is about to be started again)" : "",
                   sk_owner_describe(o, who, sizeof who));
}

/* In place of a dead holder's: by renaming, and then by looking whether somebody else did so, too. */
static int replace(struct sk_lease *l, const struct sk_buf *b, struct saikai_error *err)
{
    struct sk_owner now;
    int rc = sk_io_replace(l->path, b->data, b->len, err);
    if (rc)
        return rc;
    rc = sk_lease_file_read(l->path, &now, NULL);
    return rc || sk_id_same(now.token, l->self.token) ? 0 : SAIKAI_EEXIST;
}

/* One look: 0 taken; SAIKAI_EBUSY refused; SAIKAI_EEXIST look again; else an error of the file system. */
static int try_once(struct sk_lease *l, double timeout_s, struct sk_owner *o, struct timespec *renewed,
                    struct saikai_error *err)
{
    struct sk_buf b = {0};
    int rc = sk_owner_encode(&l->self, &b, err), fd = rc ? -1 : guard(l->dir);
    int there = rc ? rc : sk_lease_file_read(l->path, o, renewed);
    if (!rc && there == SAIKAI_ENOENT) {
        rc = sk_note_create(l->dir, SK_LEASE_FILE, &b, err);
    } else if (!rc && there == SAIKAI_EDAMAGED) { /* nobody's: one that is held is whole */
        rc = replace(l, &b, err);
    } else if (!rc && there) {
        rc = sk_fail(err, SAIKAI_EIO, "cannot read %s", l->path);
    } else if (!rc) {
        enum sk_owner_state s = state_of(l->dir, o, &l->self, *renewed, timeout_s);
        rc = s == SK_OWNER_DEAD ? replace(l, &b, err) : s == SK_OWNER_LIVES ? refuse(l, o, err) : SAIKAI_EEXIST;
    }
    sk_own_close(fd);
    sk_buf_free(&b);
    return rc;
}

static int same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Until it is taken, or its holder is seen to live: one that is elsewhere and renews it does. */
static int take(struct sk_lease *l, double timeout_s, struct saikai_error *err)
{
    struct sk_owner o = {0}, first = {0};
    struct timespec renewed = {0}, seen = {0};
    double end = sk_now() + 2 * timeout_s + 5;
    int told = 0;
    for (;;) {
        int rc = try_once(l, timeout_s, &o, &renewed, err);
        if (rc != SAIKAI_EEXIST)
            return rc;
        if (!sk_id_same(first.token, o.token)) {
            first = o;
            seen = renewed;
        } else if (!same_time(seen, renewed) || sk_now() > end) {
            return refuse(l, &o, err);
        } else if (!told++) {
            char who[320];
            sk_log(SK_LOG_NOTICE, "waiting up to %g s: %s was in use by %s", timeout_s, l->dir,
                   sk_owner_describe(&o, who, sizeof who));
        }
        sk_sleep(timeout_s < 2 ? timeout_s / 20 : 0.1);
    }
}

/* ---- renewing ---- */

/* From now on this job is not the one that may write there. */
static void lose(struct sk_lease *l, const char *why)
{
    snprintf(l->taken_by, sizeof l->taken_by, "%.120s %.270s", l->dir, why);
    atomic_store(&l->lost, 1);
    sk_log(SK_LOG_ERROR, "%s: this job writes nothing there any more", l->taken_by);
}

static void lose_to(struct sk_lease *l, const struct sk_owner *o, const char *how)
{
    char who[320], why[400];
    snprintf(why, sizeof why, "%s %s", how, sk_owner_describe(o, who, sizeof who));
    lose(l, why);
}

static struct sk_job job_of(struct sk_lease *l)
{
    pthread_mutex_lock(&l->lock);
    struct sk_job j = l->job;
    pthread_mutex_unlock(&l->lock);
    return j;
}

/* Make dir this job's, should it be nobody's. *own is what is written then. */
static int claim(struct sk_lease *l, struct sk_job *own)
{
    struct stat sb;
    if (sk_io_mkdirs_lasting(l->dir, NULL) || stat(l->dir, &sb))
        return SAIKAI_EIO;
    snprintf(own->place, sizeof own->place, "%s", l->dir);
    own->inode = (uint64_t)sb.st_ino;
    own->unclaimed = 0;
    return sk_job_claim(l->dir, own, NULL);
}

/* The directory is this job's, or becomes it: 0; SAIKAI_EBUSY: another store is there; else it may be possible later. */
static int find_job_there(struct sk_lease *l)
{
    struct sk_job found, own = job_of(l);
    char why[400];
    if (!*own.name)
        return 0; /* whose it is, is another's affair */
    int rc = sk_job_load(l->dir, &found, NULL);
    if (rc == SAIKAI_ENOENT && !(rc = claim(l, &own)))
        found = own;
    if (rc)
        return rc == SAIKAI_EEXIST ? SAIKAI_EIO : rc; /* somebody was faster: whose it is, the next look tells */
    if (sk_id_same(found.store, l->self.store))
        return 0;
    snprintf(why, sizeof why, "is by now the store of job %s, which was begun anew while it was away", found.name);
    lose(l, why);
    return SAIKAI_EBUSY;
}

/* `job` alone may be gone: file systems are purged of what is old. */
static void keep_job(struct sk_lease *l)
{
    struct sk_job found, own = job_of(l);
    if (*own.name && sk_job_load(l->dir, &found, NULL) == SAIKAI_ENOENT)
        claim(l, &own);
}

/* The file is gone, and maybe all that was there: somebody may have had the store and left it; else both are made again, `job` first, so
 * that the files which follow are of a store that is known. */
static void make_again(struct sk_lease *l)
{
    struct sk_buf b = {0};
    struct sk_state now;
    uint32_t begun = atomic_load(&l->begun);
    if (access(l->dir, W_OK))
        return;
    if (begun && !sk_state_load(l->dir, &now, NULL) && now.incarnation > begun)
        lose(l, "was used by a later start of this job while this one was silent");
    else if (!find_job_there(l) && !sk_owner_encode(&l->self, &b, NULL) && !sk_note_create(l->dir, SK_LEASE_FILE, &b, NULL))
        l->held = 1;
    sk_buf_free(&b);
}

/* A failure of the file system passes, or the job has other troubles; only another holder is a loss. */
static void renew(struct sk_lease *l)
{
    struct sk_owner now;
    int rc = sk_lease_file_read(l->path, &now, NULL);
    if (!rc && !sk_id_same(now.token, l->self.token))
        lose_to(l, &now, "was taken over, since this job was silent for too long, by");
    else if (!rc && !utimensat(AT_FDCWD, l->path, NULL, 0)) /* the file system's own time */
        keep_job(l);
    else if (rc == SAIKAI_ENOENT)
        make_again(l);
}

/* Nothing is held so far. */
static void join(struct sk_lease *l)
{
    struct sk_owner o;
    struct timespec renewed;
    struct saikai_error why = {0};
    if (find_job_there(l))
        return;
    int rc = try_once(l, l->timeout, &o, &renewed, &why);
    if (rc == SAIKAI_EEXIST && sk_id_same(l->seen, o.token) && !same_time(l->renewed, renewed))
        rc = SAIKAI_EBUSY; /* elsewhere, and it renews it */
    if (rc == SAIKAI_EEXIST) {
        l->seen = o.token;
        l->renewed = renewed;
    }
    l->held = !rc;
    if (!rc)
        sk_log(SK_LOG_INFO, "%s is in use by this job from now on", l->dir);
    else if (rc == SAIKAI_EBUSY)
        lose_to(l, &o, "is in use by now by");
}

/* While another job may still hold the place, or the prefix is away, it is looked at so often at least. */
static const double longest_join_s = 0.5;

/* Until it is time, or somebody is in a hurry; 1: the end. */
static int rest(struct sk_lease *l)
{
    const struct timespec until = sk_clock_after(!l->held && l->period > longest_join_s ? longest_join_s : l->period);
    while (!l->ends && !l->urged && !pthread_cond_timedwait(&l->wake, &l->lock, &until))
        ;
    l->urged = 0;
    return l->ends;
}

static void destroy(void *lease)
{
    struct sk_lease *l = lease;
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->wake);
    sk_board_free(&l->board);
    free(l);
}

/* What was posted is of a job that has the store. */
static void write_board(struct sk_lease *l)
{
    if (l->held && !atomic_load(&l->lost))
        sk_board_write(&l->board);
}

static void *run(void *arg)
{
    struct sk_lease *l = arg;
    pthread_mutex_lock(&l->lock);
    while (!atomic_load(&l->lost) && !rest(l)) {
        pthread_mutex_unlock(&l->lock);
        if (l->held)
            renew(l);
        else
            join(l);
        atomic_fetch_add(&l->tries, 1);
        write_board(l);
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    write_board(l);
    pthread_mutex_lock(&l->lock);
    l->ended = 1;
    int left = l->left;
    pthread_cond_broadcast(&l->wake);
    pthread_mutex_unlock(&l->lock);
    if (left)
        destroy(l);
    return NULL;
}

/* No signal of the program's is for this thread. */
static int start_thread(struct sk_lease *l, struct saikai_error *err)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int e = pthread_create(&l->thread, NULL, run, l);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (e)
        return sk_fail_errno(err, e, "cannot start the thread that renews %s", l->path);
    pthread_detach(l->thread);
    l->runs = 1;
    return 0;
}

static int make(const char *dir, const struct sk_owner *self, double timeout_s, struct sk_lease **out,
                struct saikai_error *err)
{
    struct sk_lease *l = calloc(1, sizeof *l);
    pthread_condattr_t attr;
    if (!l)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a lease");
    l->self = *self;
    l->timeout = timeout_s;
    l->period = timeout_s / 6;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&l->wake, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&l->lock, NULL);
    sk_board_init(&l->board);
    enlist(l, 1);
    *out = l;
    int rc = sk_io_path(l->dir, sizeof l->dir, err, "%s", dir);
    return rc ? rc : sk_io_path(l->path, sizeof l->path, err, "%s/" SK_LEASE_FILE, dir);
}

int sk_lease_take(const char *dir, const struct sk_owner *self, double timeout_s, struct sk_lease **out,
                  struct saikai_error *err)
{
    struct sk_lease *l = NULL;
    struct saikai_error why = {0};
    int rc = make(dir, self, timeout_s, &l, &why);
    if (!rc)
        rc = take(l, timeout_s, &why);
    if (rc == SAIKAI_ENOSPC || rc == SAIKAI_EIO || rc == SAIKAI_ENOENT) {
        sk_log(SK_LOG_WARN, "%s; going on without a lease of %s until it takes files", why.text, dir);
        rc = 0;
    } else if (l) {
        l->held = !rc;
    }
    if (!rc)
        rc = start_thread(l, &why);
    if (rc) {
        sk_lease_release(l);
        return sk_fail(err, rc, "%s", why.text);
    }
    *out = l;
    return 0;
}

int sk_lease_take_later(const char *dir, const struct sk_owner *self, double timeout_s, const struct sk_job *job,
                        struct sk_lease **out, struct saikai_error *err)
{
    struct sk_lease *l = NULL;
    int rc = make(dir, self, timeout_s, &l, err);
    if (!rc) {
        l->job = *job;
        rc = start_thread(l, err);
    }
    if (rc)
        sk_lease_release(l);
    else
        *out = l;
    return rc;
}

void sk_lease_begun(struct sk_lease *l, uint32_t incarnation)
{
    if (l)
        atomic_store(&l->begun, incarnation);
}

void sk_lease_of(struct sk_lease *l, const struct sk_job *job)
{
    pthread_mutex_lock(&l->lock);
    l->job = *job;
    pthread_mutex_unlock(&l->lock);
}

int sk_lease_post(struct sk_lease *l, const char *path, int open, const void *text, size_t bytes)
{
    if (!l || sk_board_post(&l->board, path, open, text, bytes))
        return -1;
    pthread_mutex_lock(&l->lock);
    if (!l->posted) { /* who looks finds something soon */
        l->posted = l->urged = 1;
        pthread_cond_broadcast(&l->wake);
    }
    pthread_mutex_unlock(&l->lock);
    return 0;
}

struct sk_id sk_lease_token(const struct sk_lease *l)
{
    return l ? l->self.token : (struct sk_id){0};
}

int sk_lease_check(const char *dir, struct sk_id token, double wait_s, struct saikai_error *err)
{
    char path[PATH_MAX], who[320];
    struct sk_owner now;
    unsigned tries = 0, first = 0;
    double end = sk_now() + wait_s;
    int rc = sk_id_none(token) ? 0 : sk_io_path(path, sizeof path, err, "%s/" SK_LEASE_FILE, dir);
    if (rc || sk_id_none(token))
        return rc;
    for (int n = 0;; n++) {
        rc = sk_lease_file_read(path, &now, NULL);
        if (!rc && sk_id_same(now.token, token))
            return 0;
        if (rc == SAIKAI_EIO)
            return sk_fail(err, rc, "cannot read %s", path);
        int lost = urge(token, &tries, err);
        first = n ? first : tries;
        if (lost > 0)
            return SAIKAI_EBUSY;
        if (sk_now() >= end || (!lost && tries > first + 1)) /* its own process has tried since, in vain */
            break;
        sk_sleep(0.01);
    }
    return rc ? sk_fail(err, SAIKAI_ENOENT, "%s is not there: who may write in %s is not known", path, dir)
              : sk_fail(err, SAIKAI_EBUSY, "%s is in use by %s: nothing of this job is written there", dir,
                        sk_owner_describe(&now, who, sizeof who));
}

int sk_lease_is_lost(struct sk_lease *l)
{
    return l && atomic_load(&l->lost);
}

/* How long the end waits for a file system that does not answer. */
enum { end_wait_s = 2 };

/* The thread ends at once, unless the file system keeps it: then it keeps what it needs. */
static int stop_thread(struct sk_lease *l)
{
    const struct timespec until = sk_clock_after(end_wait_s);
    pthread_mutex_lock(&l->lock);
    l->ends = 1;
    pthread_cond_broadcast(&l->wake);
    while (!l->ended && !pthread_cond_timedwait(&l->wake, &l->lock, &until))
        ;
    int ended = l->ended;
    l->left = !ended;
    pthread_mutex_unlock(&l->lock);
    return ended ? 0 : -1;
}

static int give_back(void *lease, struct saikai_error *err)
{
    struct sk_lease *l = lease;
    struct sk_owner now;
    int fd = guard(l->dir), rc = 0;
    if (!sk_lease_file_read(l->path, &now, NULL) && sk_id_same(now.token, l->self.token))
        rc = sk_io_unlink(l->path, err);
    sk_own_close(fd);
    return rc;
}

void sk_lease_release(struct sk_lease *l)
{
    struct sk_patience *p = NULL;
    int rc = 0;
    if (!l)
        return;
    enlist(l, 0);
    if (l->runs && stop_thread(l))
        return;
    if (l->held && !atomic_load(&l->lost)) /* without memory, as without a thread, it is waited for */
        rc = sk_patience_new(end_wait_s, &p, NULL) ? give_back(l, NULL) : sk_patience_call(p, l->dir, give_back, destroy, l, NULL);
    sk_patience_free(p);
    if (rc != SAIKAI_ETIMEDOUT) /* else it belongs to the call that hangs */
        destroy(l);
}

int sk_lease_look(const char *dir, double timeout_s, struct sk_owner *o)
{
    char path[PATH_MAX];
    struct sk_owner self;
    struct timespec renewed;
    sk_owner_self("", NULL, 0, &self);
    if (sk_io_path(path, sizeof path, NULL, "%s/" SK_LEASE_FILE, dir) || sk_lease_file_read(path, o, &renewed))
        return 0;
    self.store = o->store;
    return state_of(dir, o, &self, renewed, timeout_s) != SK_OWNER_DEAD;
}
