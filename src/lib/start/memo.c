/* The state of a store in its places. */
#include "lib/start/memo.h"

#include "base/file/io.h"
#include "base/log.h"
#include "base/file/patience.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A state on its way to or from the prefix, for a thread that may hang there. */
struct errand {
    char root[PATH_MAX];
    struct sk_id lease;
    struct sk_state state;
};

static int bring(void *arg, struct saikai_error *err)
{
    struct errand *e = arg;
    int rc = sk_lease_check(e->root, e->lease, 1, err);
    if (rc && rc != SAIKAI_ENOENT) /* where there is none, nobody else's state is in danger */
        return rc;
    return sk_state_save(e->root, &e->state, err);
}

static int fetch(void *arg, struct saikai_error *err)
{
    struct errand *e = arg;
    return sk_state_load(e->root, &e->state, err);
}

/* 1: there are two places for it. */
static int apart(const struct sk_session *s)
{
    return sk_place_is_apart(&s->place);
}

static int with_prefix(struct sk_session *s, int (*fn)(void *, struct saikai_error *), struct sk_state *state,
                       struct saikai_error *err)
{
    struct errand *e = calloc(1, sizeof *e);
    if (!e)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the state of %s", s->place.prefix_root);
    snprintf(e->root, sizeof e->root, "%s", s->place.prefix_root);
    e->lease = s->place.lease_token;
    e->state = *state;
    int rc = sk_patience_call(s->place.patience, s->place.prefix_root, fn, free, e, err);
    if (rc == SAIKAI_ETIMEDOUT)
        return rc;
    *state = e->state;
    free(e);
    return rc;
}

/* The mark of a state that the prefix does not have. */
static int mark_path(const struct sk_session *s, char out[PATH_MAX])
{
    return sk_io_path(out, PATH_MAX, NULL, "%s/state.ahead", s->place.local_root);
}

static void mark_ahead(struct sk_session *s, int ahead)
{
    char path[PATH_MAX];
    if (mark_path(s, path))
        return;
    int fd = ahead ? sk_io_open(path, O_WRONLY | O_CREAT, 0600, NULL) : -1;
    if (fd >= 0)
        close(fd);
    if (!ahead)
        sk_io_unlink(path, NULL);
}

int sk_memo_save(struct sk_session *s, struct saikai_error *err)
{
    struct saikai_error far = {0}, near = {0};
    if (s->place.prefix_lost || sk_lease_is_lost(s->place.lease)) /* it is another job's state by now */
        return 0;
    if (!apart(s))
        return sk_state_save(s->place.local_root, &s->who.state, err);
    int near_rc = sk_state_save(s->place.local_root, &s->who.state, &near);
    int rc = with_prefix(s, bring, &s->who.state, &far);
    if (rc && !near_rc) {
        mark_ahead(s, 1);
        if (!s->who.state_behind)
            sk_log(SK_LOG_WARN, "%s; going on with what is in %s, until the prefix takes files again", far.text,
                   s->place.local_root);
        s->who.state_behind = 1;
        return 0;
    }
    if (rc)
        return sk_fail(err, rc, "%s, and %s", far.text, near.text);
    s->who.state_behind = 0;
    mark_ahead(s, 0);
    return 0;
}

int sk_memo_read(struct sk_session *s, struct sk_state *now)
{
    memset(now, 0, sizeof *now);
    return apart(s) ? with_prefix(s, fetch, now, NULL) : sk_state_load(s->place.local_root, now, NULL);
}

void sk_memo_catch_up(struct sk_session *s)
{
    struct saikai_error err;
    if (s->g->rank == 0 && s->who.state_behind && !sk_memo_save(s, &err) && !s->who.state_behind)
        sk_log(SK_LOG_NOTICE, "the prefix %s is back", s->place.prefix_root);
}

void sk_memo_unread(struct sk_session *s)
{
    struct saikai_error err = {0};
    if (s->g->rank || s->who.state.unread_before)
        return;
    s->who.state.unread_before = s->who.incarnation;
    if (sk_memo_save(s, &err))
        sk_log(SK_LOG_WARN, "%s: the next start may not know that earlier generations could not be read", err.text);
}

void sk_memo_is_safe(struct sk_session *s)
{
    struct saikai_error err = {0};
    if (s->g->rank || !s->who.state.unread_before)
        return;
    s->who.state.unread_before = 0;
    if (sk_memo_save(s, &err)) /* the next start keeps more than it must */
        sk_log(SK_LOG_WARN, "%s", err.text);
}

/* This node's copy; *ahead: the prefix does not have it. */
static void look_here(struct sk_session *s, struct sk_state *state, int *ahead)
{
    char path[PATH_MAX];
    struct saikai_error why = {0};
    memset(state, 0, sizeof *state);
    if (sk_state_load(s->place.local_root, state, &why)) /* it is as it was */
        sk_log(SK_LOG_INFO, "rank %d: %s", s->g->rank, why.text);
    *ahead = state->incarnation && !mark_path(s, path) && !access(path, F_OK);
}

/* Rank 0 takes the one that counts of the newest node-local one and the prefix's. */
static int choose(struct sk_session *s, const struct sk_state *local, int ahead, struct sk_memo *out, int *away,
                   struct saikai_error *err)
{
    struct saikai_error why = {0};
    struct sk_state far = {0};
    int rc = *away ? 0 : with_prefix(s, fetch, &far, &why);
    int resumes = s->page && s->page->incarnation > 0; /* the launcher starts again what it knows to be there */
    if (rc == SAIKAI_EINVAL) /* something else has its name */
        return sk_fail(err, rc, "%s", why.text);
    int damaged = rc == SAIKAI_EDAMAGED || rc == SAIKAI_EFORMAT;
    if (damaged) {
        sk_log(SK_LOG_WARN, "%s; going on from %s", why.text,
               local->incarnation ? "its copy" : "the generations that are there");
    } else if (rc) {
        *away = rc;
        *err = why;
    }
    /* where the prefix has none, the copy of one that was there is another store's */
    int believed = *away || ahead || resumes || far.incarnation || damaged;
    int nearer = local->incarnation > far.incarnation || (local->incarnation == far.incarnation && ahead);
    out->state = local->incarnation && believed && nearer ? *local : far;
    out->known = out->state.incarnation > 0;
    return 0;
}

/* Without a prefix, or a place of their own, all is in one file. */
static int find_alone(struct sk_session *s, struct sk_memo *out, struct saikai_error *err)
{
    struct saikai_error why = {0};
    int rc = s->g->rank ? 0 : sk_state_load(s->place.local_root, &out->state, &why);
    if (rc == SAIKAI_EDAMAGED || rc == SAIKAI_EFORMAT) {
        sk_log(SK_LOG_WARN, "%s; going on from the generations that are there", why.text);
        return 0;
    }
    return rc ? sk_fail(err, rc, "%s", why.text) : 0;
}

int sk_memo_find(struct sk_session *s, int *away, struct sk_memo *out, struct saikai_error *err)
{
    struct sk_state local;
    struct saikai_error why = {0};
    int ahead = 0, rc = 0;
    *out = (struct sk_memo){0};
    if (!apart(s)) {
        out->known = 1;
        return sk_group_verdict(s->g, find_alone(s, out, err), err);
    }
    look_here(s, &local, &ahead);
    int64_t mine = (int64_t)local.incarnation * 2 + ahead, key = mine;
    if ((rc = sk_group_allreduce(s->g, &key, 1, SK_OP_MAX)))
        return sk_fail(err, rc, "the ranks lost contact");
    int64_t holder = mine == key ? s->g->rank : s->g->size;
    int was_away = *away, bad = 0;
    if (!(rc = sk_group_allreduce(s->g, &holder, 1, SK_OP_MIN)) &&
        !(rc = sk_group_bcast(s->g, &local, sizeof local, (int)holder)) && s->g->rank == 0)
        bad = choose(s, &local, (int)(key & 1), out, away, &why);
    if (!rc && (bad = sk_group_verdict(s->g, bad, &why))) {
        if (err)
            *err = why;
        return bad;
    }
    if (!rc)
        rc = sk_group_bcast(s->g, &out->known, sizeof out->known, 0);
    if (rc)
        return sk_fail(err, rc, "the ranks lost contact");
    if (!was_away && (*away = sk_group_verdict(s->g, *away, &why)) && err)
        *err = why;
    return 0;
}

int sk_memo_share(struct sk_session *s, const char *hosts)
{
    struct sk_state copy = s->who.state;
    int behind = s->who.state_behind, first = 1;
    if (!apart(s))
        return 0;
    int rc = sk_group_bcast(s->g, &copy, sizeof copy, 0);
    if (!rc)
        rc = sk_group_bcast(s->g, &behind, sizeof behind, 0);
    for (int i = 0; i < s->g->rank; i++)
        first &= strcmp(hosts + (size_t)i * sizeof s->place.host, s->place.host) != 0;
    struct saikai_error why;
    if (rc || !first || s->g->rank == 0)
        return rc;
    if (sk_state_save(s->place.local_root, &copy, &why)) /* one copy less: no harm is done */
        sk_log(SK_LOG_INFO, "rank %d: %s", s->g->rank, why.text);
    else
        mark_ahead(s, behind);
    return 0;
}

void sk_memo_remove_local(struct sk_session *s)
{
    char path[PATH_MAX];
    mark_ahead(s, 0);
    if (!sk_io_path(path, sizeof path, NULL, "%s/state", s->place.local_root))
        sk_io_unlink(path, NULL);
}
