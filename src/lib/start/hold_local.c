/* Taking the node-local directories: by the first rank of each node, then by the others. */
#include "lib/start/hold_local.h"

#include "base/file/io.h"
#include "base/log.h"
#include "lib/levels/neighbours.h"
#include "lib/start/incarnation.h"
#include "lib/start/notice.h"
#include "store/form/container.h"
#include "store/owner/private.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long processes of the start before may take to die: a launcher starts again when they are told to, not when they are
 * gone. On a busy machine, with much memory to give back, that takes long. */
static const double dying_s = 30;

/* What each rank knows of a store that is in the nodes' directories alone. */
struct known {
    struct sk_id store;
    int64_t newest;
    int adopted;
};

/* The file `job` of this node's directory was lost or damaged: every container says the same. The newest that can be read;
 * 0: there is none, or it was written before stores had ids. */
static int read_store(const struct sk_session *s, struct sk_id *store)
{
    struct sk_gen_list l = {0};
    int found = 0;
    if (sk_gen_scan(s->place.local_root, s->g->rank, &l, NULL))
        return 0;
    for (size_t i = 0; !found && i < l.count; i++) {
        char path[PATH_MAX];
        struct sk_container *c = NULL;
        found = !sk_gen_file(s->place.local_root, l.gen[i], s->g->rank, path, sizeof path, NULL) &&
                !sk_container_open(path, &c, NULL) && !sk_id_none(c->header.store);
        if (found)
            *store = c->header.store;
        sk_container_close(c);
    }
    sk_gen_list_free(&l);
    return found;
}

/* Without a prefix: the store is that of the newest generation, found on whichever node; what lies on others of another one
 * was left by jobs of the same name that shared no node with it. */
static int agree_store(struct sk_session *s, const struct sk_start *st, struct saikai_error *err)
{
    struct known mine = {0}, *all = malloc((size_t)s->g->size * sizeof *all);
    struct sk_job here;
    int rc = sk_group_verdict(s->g, all ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for what the ranks know"), err);
    if (!rc)
        rc = sk_incarnation_scan(s, &mine.newest, err);
    if (!sk_job_load(s->place.local_root, &here, NULL))
        mine.store = here.store;
    else if (!read_store(s, &mine.store))
        mine.adopted = mine.newest > 0;
    rc = sk_group_verdict(s->g, rc, err);
    if (!rc && (rc = sk_group_allgather(s->g, &mine, all, sizeof mine)))
        sk_fail(err, rc, "the ranks cannot tell each other what they hold");
    struct known best = {.newest = -1};
    for (int r = 0; !rc && r < s->g->size; r++) {
        if (all[r].newest > best.newest || (all[r].newest == best.newest && sk_id_none(best.store)))
            best = all[r];
    }
    if (!rc) {
        s->who.job.adopted = best.adopted;
        s->who.job.store = sk_id_none(best.store) ? st->job.store : best.store;
    }
    free(all);
    return rc;
}

/* ---- when the prefix does not say which store it is ---- */

void sk_local_user(const struct sk_session *s, char *out, size_t cap)
{
    const char *given = sk_config_text(s->config, "store.local");
    char real[PATH_MAX];
    *out = 0;
    if (sk_session_has_local(s) && realpath(given, real) && sk_private_dir(real, 0, out, cap, NULL))
        *out = 0;
}

/* What is known of a store on this node. */
struct trace {
    int64_t newest; /* start, -1: nothing is known */
    struct sk_job job;
    char local[160];
};

/* The directories of this user whose job has this name and, unless it is "", this place; the one started last. */
static void find_trace(const char *user, const char *name, const char *place, int unclaimed, struct trace *out)
{
    DIR *d = *user ? opendir(user) : NULL;
    out->newest = -1;
    for (struct dirent *e; d && (e = readdir(d));) {
        char dir[PATH_MAX];
        struct sk_job j;
        struct sk_state st = {0};
        if (*e->d_name == '.' || sk_io_path(dir, sizeof dir, NULL, "%s/%s", user, e->d_name) || sk_job_load(dir, &j, NULL) ||
            strcmp(j.name, name) || (unclaimed && !j.unclaimed) || strlen(e->d_name) >= sizeof out->local)
            continue;
        size_t n = strlen(place);
        int there = !strncmp(j.place, place, n) && (!j.place[n] || !strncmp(j.place + n, "/jobs/", 6));
        sk_state_load(dir, &st, NULL); /* one that cannot be read tells of no start */
        if (there && (int64_t)st.incarnation > out->newest) {
            *out = (struct trace){.newest = st.incarnation, .job = j};
            strcpy(out->local, e->d_name);
        }
    }
    if (d)
        closedir(d);
}

int sk_local_unclaimed(const char *user, const char *name, const char *place, struct sk_id *store)
{
    struct trace *t = calloc(1, sizeof *t);
    if (!t)
        return 0;
    find_trace(user, name, place, 1, t);
    int found = t->newest >= 0;
    if (found)
        *store = t->job.store;
    free(t);
    return found;
}

int sk_local_find(struct sk_session *s, struct sk_start *st, struct saikai_error *err)
{
    char user[PATH_MAX];
    struct trace *all = calloc((size_t)s->g->size + 1, sizeof *all);
    int rc = sk_group_verdict(s->g, all ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for what the nodes know"), err), best = 0;
    sk_local_user(s, user, sizeof user);
    if (!rc)
        find_trace(user, st->job.name, st->prefix, 0, &all[s->g->size]);
    if (!rc && (rc = sk_group_allgather(s->g, &all[s->g->size], all, sizeof *all)))
        sk_fail(err, rc, "the ranks cannot tell each other what they hold");
    for (int r = 1; !rc && r < s->g->size; r++)
        best = all[r].newest > all[best].newest ? r : best;
    if (!rc && all[best].newest < 0)
        rc = SAIKAI_ENOENT;
    if (!rc) {
        st->job = all[best].job;
        *st->old_local = 0;
        snprintf(st->local, sizeof st->local, "%s", all[best].local);
        rc = sk_io_path(st->prefix, sizeof st->prefix, err, "%s", all[best].job.place);
    }
    free(all);
    return rc;
}

/* What this node's directory says of itself, for tools. */
static int mark(struct sk_session *s, struct saikai_error *err)
{
    struct sk_job here;
    if (!sk_job_load(s->place.local_root, &here, NULL) && sk_id_same(here.store, s->who.job.store) &&
        !strcmp(here.place, s->who.job.place) && here.unclaimed == s->who.job.unclaimed)
        return 0;
    return sk_job_replace(s->place.local_root, &s->who.job, err);
}

/* A directory that takes nothing now ends no start: what is saved goes to the prefix until there is room. Local. */
static int go_on_without(struct sk_session *s, int rc, int first, const struct saikai_error *why, struct saikai_error *err)
{
    if (rc != SAIKAI_ENOSPC && !(rc == SAIKAI_ENOENT && !first)) { /* there is no lock to join where none could be made */
        if (rc && err)
            *err = *why;
        return rc;
    }
    if (!s->place.hold && (rc = sk_hold_later(s->place.local_root, &s->place.hold, err)))
        return rc;
    if (first)
        sk_log(SK_LOG_WARN, "the node-local directory %s on %s takes nothing (%s): %s", s->place.local_root, s->place.host, why->text,
               *s->place.prefix_root ? "checkpoints are written to the prefix, which the program waits for, until there is room (free some, or set store.local)"
                                     : "nothing is saved until there is room, and there is no prefix (free some, or set store.local or store.prefix)");
    return 0;
}

int sk_local_take(struct sk_session *s, struct sk_start *st, struct saikai_error *err)
{
    int *leader = NULL, rc = 0;
    if (!sk_session_has_local(s))
        return 0;
    if ((rc = sk_neighbours(s->g, s->place.host, s->place.local_root, &leader, err)))
        return rc;
    int first = leader[s->g->rank] == s->g->rank;
    free(leader);
    struct saikai_error why = {0};
    if (first) {
        rc = sk_hold_first(s->place.local_root, dying_s, &s->place.hold, &why);
        rc = go_on_without(s, rc, 1, &why, err);
    }
    rc = sk_group_verdict(s->g, rc, err);
    if (!rc && !first) {
        rc = sk_hold_join(s->place.local_root, &s->place.hold, &why);
        rc = go_on_without(s, rc, 0, &why, err);
    }
    rc = sk_group_verdict(s->g, rc, err);
    if (!rc && !*s->place.prefix_root)
        rc = agree_store(s, st, err);
    if (!rc && first) {
        rc = mark(s, &why);
        rc = go_on_without(s, rc, 1, &why, err);
    }
    rc = sk_group_verdict(s->g, rc, err);
    if (!rc && first)
        sk_notice_leftovers(s);
    return rc;
}

void sk_local_release(struct sk_session *s, int remove)
{
    static const char *const last[] = {SK_JOB_FILE, NULL};
    sk_hold_release(s->place.hold, remove ? last : NULL);
    s->place.hold = NULL;
}
