/* Measures each store's directory on a node, and judges from its lock and its prefix whether
 * anybody still wants it. */
#include "store/leftovers.h"

#include "base/clock.h"
#include "base/file/denied.h"
#include "base/file/io.h"
#include "base/order.h"
#include "store/owner/hold.h"
#include "store/state.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *sk_leftover_state_name(enum sk_leftover_state s)
{
    static const char *const names[] = {"in use", "wanted", "finished", "store gone", "unknown"};
    return names[s];
}

/* Bytes in memory or on disk, and when something was written last. */
static void measure(struct sk_leftover *l, const char *dir, int depth, time_t *newest)
{
    DIR *d = opendir(dir);
    l->unread |= !d && errno != ENOENT;
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[PATH_MAX];
        struct stat sb;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
            sk_io_path(path, sizeof path, NULL, "%s/%s", dir, e->d_name) || lstat(path, &sb))
            continue;
        l->bytes += 512 * (uint64_t)sb.st_blocks;
        *newest = sb.st_mtime > *newest ? sb.st_mtime : *newest;
        if (S_ISDIR(sb.st_mode) && depth < 4)
            measure(l, path, depth + 1, newest);
    }
    if (d)
        closedir(d);
}

/* Cut the last part of a path off, and return it. */
static const char *cut(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return "";
    *slash = 0;
    return slash + 1;
}

/* The store is not in its place. It was removed if what the prefix stood in is there; else perhaps its file system is not. */
static enum sk_leftover_state judge_missing(const char *place)
{
    char at[PATH_MAX];
    snprintf(at, sizeof at, "%s", place);
    cut(at);
    char *slash = strrchr(at, '/');
    if (slash && !strcmp(slash, "/jobs")) { /* one of several jobs in a prefix */
        cut(at);
        cut(at);
    }
    return !*at || access(at, R_OK | X_OK) ? SK_LEFTOVER_UNKNOWN : SK_LEFTOVER_GONE;
}

static enum sk_leftover_state judge_store(const struct sk_leftover *l, int alone)
{
    struct sk_job there;
    struct sk_state st;
    const char *root = alone ? l->path : l->job.place;
    int rc = alone ? 0 : sk_job_load(root, &there, NULL);
    if (rc == SAIKAI_ENOENT && l->job.unclaimed)
        return SK_LEFTOVER_WANTED;
    if (rc)
        return rc == SAIKAI_ENOENT ? judge_missing(root) : SK_LEFTOVER_UNKNOWN;
    if (!alone && !sk_id_same(there.store, l->job.store))
        return SK_LEFTOVER_GONE;
    return !sk_state_load(root, &st, NULL) && st.finished ? SK_LEFTOVER_FINISHED : SK_LEFTOVER_WANTED;
}

static void judge(struct sk_leftover *l)
{
    struct sk_hold *h = NULL;
    struct saikai_error err = {0};
    size_t n = strlen(l->path);
    int alone = n > 6 && !strcmp(l->path + n - 6, "-alone");
    char lock[PATH_MAX];
    sk_job_load(l->path, &l->job, NULL); /* where it says nothing its name stays "" */
    int lives = !sk_io_path(lock, sizeof lock, NULL, "%s/" SK_HOLD_FILE, l->path) && !access(lock, F_OK) &&
                sk_hold_alone(l->path, &h, &err) == SAIKAI_EBUSY;
    int told = *l->job.name && (alone || *l->job.place); /* whose it is */
    l->state = lives ? SK_LEFTOVER_LIVES : told ? judge_store(l, alone) : SK_LEFTOVER_UNKNOWN;
    sk_hold_release(h, NULL);
}

static int youngest_first(const void *a, const void *b)
{
    double x = ((const struct sk_leftover *)a)->age_s, y = ((const struct sk_leftover *)b)->age_s;
    return SK_ORDER(x, y);
}

int sk_leftovers_scan(const char *user, const char *own, struct sk_leftovers *out, struct saikai_error *err)
{
    struct sk_leftovers l = {0};
    size_t cap = 0;
    int rc = 0;
    DIR *d = opendir(user);
    if (!d && errno != ENOENT)
        return sk_fail_at(err, errno, user, "cannot read directory %s", user);
    for (struct dirent *e; !rc && d && (e = readdir(d));) {
        struct stat sb;
        char path[PATH_MAX];
        if (*e->d_name == '.' || (own && !strcmp(e->d_name, own)) ||
            sk_io_path(path, sizeof path, NULL, "%s/%s", user, e->d_name) || lstat(path, &sb) || !S_ISDIR(sb.st_mode) ||
            sb.st_uid != geteuid())
            continue;
        if (l.count == cap) {
            cap = cap ? 2 * cap : 8;
            struct sk_leftover *p = realloc(l.dir, cap * sizeof *p);
            if (!p) {
                rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to list %s", user);
                break;
            }
            l.dir = p;
        }
        struct sk_leftover *x = &l.dir[l.count++];
        time_t newest = sb.st_mtime;
        memset(x, 0, sizeof *x);
        strcpy(x->path, path);
        measure(x, path, 0, &newest);
        x->age_s = (double)sk_wall_ms() / 1000 - (double)newest;
        judge(x);
    }
    if (d)
        closedir(d);
    if (rc) {
        free(l.dir);
        return rc;
    }
    if (l.count)
        qsort(l.dir, l.count, sizeof *l.dir, youngest_first);
    *out = l;
    return 0;
}

void sk_leftovers_free(struct sk_leftovers *l)
{
    free(l->dir);
    *l = (struct sk_leftovers){0};
}

int sk_leftover_remove(const struct sk_leftover *d, struct saikai_error *err)
{
    static const char *const last[] = {SK_JOB_FILE, NULL};
    struct sk_hold *h = NULL;
    struct sk_job now;
    int rc = access(d->path, F_OK) ? SAIKAI_ENOENT : sk_hold_alone(d->path, &h, err);
    if (rc == SAIKAI_ENOENT)
        return 0;
    if (rc)
        return rc;
    /* under the lock: is it still what was judged? */
    if (*d->job.name && (sk_job_load(d->path, &now, NULL) || !sk_id_same(now.store, d->job.store))) {
        sk_hold_release(h, NULL);
        return sk_fail(err, SAIKAI_EBUSY, "%s became another job's meanwhile", d->path);
    }
    DIR *dir = opendir(d->path);
    if (!dir)
        rc = sk_fail_at(err, errno, d->path, "cannot read directory %s", d->path);
    for (struct dirent *e; !rc && dir && (e = readdir(dir));) {
        char path[PATH_MAX];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || !strcmp(e->d_name, SK_HOLD_FILE) ||
            !strcmp(e->d_name, SK_JOB_FILE))
            continue; /* these go last, so that nobody takes it while it is half empty */
        rc = sk_io_path(path, sizeof path, err, "%s/%s", d->path, e->d_name);
        if (!rc)
            rc = sk_io_rmtree(path, err);
    }
    if (dir)
        closedir(dir);
    sk_hold_release(h, rc ? NULL : last);
    return rc;
}

size_t sk_leftovers_beyond(const struct sk_leftovers *l, double age_s, uint64_t most, char *drop)
{
    uint64_t sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct sk_leftover *d = &l->dir[i];
        drop[i] = 0;
        if (d->state != SK_LEFTOVER_GONE)
            continue;
        if (d->age_s > age_s || d->bytes > most || sum > most - d->bytes)
            n += (size_t)(drop[i] = 1);
        else
            sum += d->bytes;
    }
    return n;
}
