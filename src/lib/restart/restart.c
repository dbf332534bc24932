/* Restart, with or without a prefix that can be read. */
#include "lib/restart/restart.h"

#include "base/log.h"
#include "lib/restart/chosen.h"
#include "lib/restart/leftovers.h"
#include "lib/restart/restore.h"
#include "lib/start/memo.h"
#include "lib/start/places.h"

#include <stdio.h>
#include <string.h>

/* Collective: 0, or why a rank cannot list the prefix. */
static int look_at_prefix(struct sk_session *s, struct saikai_error *err)
{
    int64_t newest = 0;
    int rc = sk_group_verdict(s->g, sk_places_scan_prefix(s, &newest, err), err);
    s->place.prefix_away = rc != 0;
    return rc;
}

/* Collective: 1 when all ranks have the same newest generation on their nodes. */
static int alike_here(struct sk_session *s)
{
    struct sk_gen_list l = {0};
    int64_t newest = 0;
    if (!sk_gen_scan(s->place.local_root, s->g->rank, &l, NULL) && l.count)
        newest = sk_gen_key(l.gen[0]);
    sk_gen_list_free(&l);
    int64_t v[2] = {newest, -newest};
    return !sk_group_allreduce(s->g, v, 2, SK_OP_MIN) && v[0] == -v[1];
}

/* Only from what is on the nodes. */
static int restart_here(struct sk_session *s, int *restored, int64_t *iteration, struct saikai_error *err)
{
    char prefix[sizeof s->place.prefix_root];
    snprintf(prefix, sizeof prefix, "%s", s->place.prefix_root);
    *s->place.prefix_root = 0;
    int rc = sk_restore_newest(s, restored, iteration, err);
    snprintf(s->place.prefix_root, sizeof s->place.prefix_root, "%s", prefix);
    return rc;
}

/* What is on the nodes is not enough: the prefix must be seen before anything is decided. */
static int wait_for_prefix(struct sk_session *s, struct saikai_error *err)
{
    struct saikai_error why = {0};
    int64_t hangs = 1;
    int rc = SAIKAI_ETIMEDOUT;
    while (rc && hangs) {
        hangs = rc == SAIKAI_ETIMEDOUT || sk_patience_hangs(s->place.patience);
        int lost = sk_group_allreduce(s->g, &hangs, 1, SK_OP_MAX);
        if (lost)
            return sk_fail(err, lost, "the ranks lost contact");
        if (s->g->rank == 0)
            sk_log(SK_LOG_WARN, "no generation is whole in the local directories: %s the prefix %s",
                   hangs ? "waiting for" : "looking again for", s->place.prefix_root);
        sk_patience_wait(s->place.patience, 0);
        rc = look_at_prefix(s, &why);
    }
    return rc ? sk_fail(err, rc, "%s, and no generation is whole in the local directories: start again when the prefix "
                                 "can be read, or afresh with restart.mode=never", why.text)
              : 0;
}

static int restart(struct sk_session *s, int *restored, int64_t *iteration, struct saikai_error *err)
{
    struct saikai_error why = {0};
    int may_miss = sk_place_is_apart(&s->place) && !s->resume.called && !s->clock.tick;
    int away = may_miss ? look_at_prefix(s, &why) : 0;
    if (away && !alike_here(s)) { /* a part of the newest may be in the prefix alone */
        sk_patience_wait(s->place.patience, sk_config_time(s->config, "store.final_wait"));
        away = look_at_prefix(s, &why);
    }
    if (!away) {
        int rc = sk_restore_newest(s, restored, iteration, &why);
        int64_t silent = rc == SAIKAI_ETIMEDOUT; /* since just now */
        if (rc && err)
            *err = why;
        if (!rc || !may_miss || sk_group_allreduce(s->g, &silent, 1, SK_OP_MAX) || !silent)
            return rc;
        s->place.prefix_away = 1;
    }
    if (s->g->rank == 0)
        sk_log(SK_LOG_WARN, "%s: only what is in the local directories is looked at", why.text);
    int rc = restart_here(s, restored, iteration, err);
    int begun_here = s->who.incarnation == s->who.first_incarnation; /* there can be nothing to resume from */
    if ((!rc && (*restored || begun_here)) || rc == SAIKAI_ECHANGED || rc == SAIKAI_ERANKS || rc == SAIKAI_ENOMEM ||
        rc == SAIKAI_EPEER)
        return rc;
    s->resume.called = 0;
    if ((rc = wait_for_prefix(s, err)))
        return rc;
    return sk_restore_newest(s, restored, iteration, err);
}

/* A program that does not fit what it saved does not fit it at its next start either: the launcher is to know, and makes none. */
static void tell_misfit(struct sk_session *s, int rc)
{
    int is_misfit = rc == SAIKAI_ECHANGED || rc == SAIKAI_ERANKS;
    if (is_misfit && s->page && !s->page->incarnation && strcmp(sk_config_text(s->config, "lib.on_error"), "return"))
        atomic_store(&s->page->state, SK_KEEPER_HOPELESS);
}

int sk_session_restart(struct sk_session *s, int *restored, int64_t *iteration, struct saikai_error *err)
{
    return sk_session_restart_from(s, NULL, restored, iteration, err);
}

int sk_session_restart_from(struct sk_session *s, const char *which, int *restored, int64_t *iteration, struct saikai_error *err)
{
    if (s->silent) {
        s->resume.called = 1;
        *restored = 0;
        return 0;
    }
    int again = s->page && s->page->incarnation > 0; /* a fault is no reason to go back as far once more */
    int rc = sk_chosen_set(s, which ? which : again ? "" : sk_config_text(s->config, "restart.from"), err);
    int was_called = s->resume.called;
    s->resume.chosen.first = s->who.first_incarnation;
    if (!rc && s->resume.chosen.is_set)
        s->who.first_incarnation = 1; /* also one of a run that has finished */
    if (!rc)
        rc = restart(s, restored, iteration, err);
    if (rc && !was_called && !s->clock.tick)
        sk_memo_unread(s);
    tell_misfit(s, rc);
    if (s->resume.chosen.is_set) /* nothing is removed before there is something newer */
        s->who.first_incarnation = s->resume.chosen.first;
    else if (!rc && (rc = sk_session_remove_leftovers(s)))
        sk_fail(err, rc, "the ranks lost contact after the restart");
    return rc;
}
