/* Sources of events: what tells of hosts while a job runs. A kind that components may add to.
 *
 * Each source has a process of its own beside `saikai run` (recovery/source/watch.h), so that it may wait, hang or crash without
 * anybody noticing but for one line. What it tells goes to the events of the job and to `saikai run`. */
#ifndef SK_RECOVERY_SOURCE_H
#define SK_RECOVERY_SOURCE_H

#include "base/config/config.h"
#include "base/config/kind.h"
#include "recovery/hosts.h"
#include "recovery/source/teller.h"

#include <saikai/component.h>

struct sk_source_view {
    const struct sk_config *config;
    const struct sk_hosts *hosts; /* as they were before the first start */
    int told_hosts;               /* there is a list of them; 0: this one alone */
    const char *launcher;         /* path of mpirun, mpiexec or srun; NULL: not known */
};

struct sk_source_ops {
    const char *name, *description;
    double every_s; /* how often it looks; 0: as events.every says. A look that often costs next to nothing */
    /* 1: there is something to look at; 0: not here. Does not block. NULL: always. */
    int (*here)(const struct sk_source_view *v);
    /* Look once and tell what is new; *state is its own, NULL at first. May block. An error is said once. */
    int (*look)(const struct sk_source_view *v, void **state, struct sk_teller *t, struct saikai_error *err);
    void (*end)(void *state); /* NULL: there is nothing to free */
    struct saikai_event_source_ops theirs; /* of a component: in place of look */
};

extern const struct sk_kind sk_source_kind;
extern const struct sk_source_ops sk_source_health, sk_source_slurm, sk_source_ras, sk_source_pmix;
/* The i-th, NULL past the last. */
const struct sk_source_ops *sk_source_at(int i);

/* One look of any of them. */
int sk_source_look(const struct sk_source_ops *s, const struct sk_source_view *v, void **state, struct sk_teller *t,
                   struct saikai_error *err);
/* Free what it keeps. */
void sk_source_end(const struct sk_source_ops *s, void *state);
/* 1: events.sources names it, or is auto and there is something to look at. SAIKAI_ECONFIG: it names what there is not. */
int sk_source_wanted(const struct sk_source_ops *s, const struct sk_source_view *v, struct saikai_error *err);

#endif
