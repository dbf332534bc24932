/* The sentences of a start: resumed or fresh, from where, and what of other stores was removed. */
#include "lib/start/notice.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/config/units.h"
#include "store/leftovers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sk_notice_resumed(const struct sk_session *s, const char *form, int in_local)
{
    char age[48] = "", span[32], inexact[240] = "", more[48] = "";
    double seconds = (double)(sk_wall_ms() - s->resume.from_created_ms) / 1000;
    if (s->g->rank)
        return;
    if (s->resume.from_created_ms && seconds >= 0)
        snprintf(age, sizeof age, ", saved %s ago", sk_format_time(span, sizeof span, seconds < 1 ? 1 : (double)(int64_t)seconds));
    if (s->resume.inexact > 1)
        snprintf(more, sizeof more, " and %d more", s->resume.inexact - 1);
    if (s->resume.inexact)
        snprintf(inexact, sizeof inexact, "; not bit for bit: %s%s", s->resume.inexact_first, more);
    sk_log(SK_LOG_NOTICE, "job %s: resuming from iteration %lld (%s)%s, in %s%s", s->who.job.name, (long long)s->resume.from.iteration, form, age,
           in_local ? s->place.local_root : s->place.prefix_root, inexact);
}

void sk_notice_fresh(const struct sk_session *s, int64_t passed_over)
{
    char over[160] = "";
    if (s->g->rank)
        return;
    if (passed_over >= 0)
        snprintf(over, sizeof over, "; there are generations (newest: iteration %lld), but none of which every rank has its part",
                 (long long)passed_over);
    sk_log(passed_over >= 0 ? SK_LOG_WARN : SK_LOG_NOTICE, "job %s: starting fresh in %s: %s%s%s", s->who.job.name,
           *s->place.prefix_root ? s->place.prefix_root : s->place.local_root, *s->who.fresh_why ? s->who.fresh_why : "nothing to resume from", over,
           s->who.aside);
}

/* More of them than this are told together. */
enum { LEFTOVERS_EACH = 2 };

void sk_notice_leftovers(const struct sk_session *s)
{
    char user[PATH_MAX], size[32];
    struct sk_leftovers l;
    snprintf(user, sizeof user, "%s", s->place.local_root);
    char *slash = strrchr(user, '/');
    if (!slash || (*slash = 0, sk_leftovers_scan(user, slash + 1, &l, NULL)))
        return;
    char *drop = calloc(1, l.count + 1);
    if (drop)
        sk_leftovers_beyond(&l, sk_config_time(s->config, "store.orphan_age"),
                            (uint64_t)sk_config_size(s->config, "store.orphan_size"), drop);
    uint64_t more = 0, bytes = 0, each = 0;
    for (size_t i = 0; drop && i < l.count; i++) {
        const struct sk_leftover *d = &l.dir[i];
        int removed = drop[i] && !sk_leftover_remove(d, NULL);
        int here = d->state == SK_LEFTOVER_GONE &&
                   (!strcmp(d->job.place, s->place.prefix_root) || !strcmp(d->job.name, s->who.job.name));
        if (s->g->rank || (!removed && !here))
            continue;
        if (!removed && ++each > LEFTOVERS_EACH) {
            more++;
            bytes += d->bytes;
            continue;
        }
        sk_log(SK_LOG_NOTICE, "%s (%s) belongs to a store that is no more in %s: %s", d->path,
               sk_format_size(size, sizeof size, d->bytes), d->job.place,
               removed ? "removed" : "not used; 'saikai clean' removes it");
    }
    if (more)
        sk_log(SK_LOG_NOTICE, "%llu more there (%s) belong to such stores: 'saikai clean' names and removes them", (unsigned long long)more, sk_format_size(size, sizeof size, bytes));
    free(drop);
    sk_leftovers_free(&l);
}
