/* The places of a session: what it has, whose files it takes, and how generations go to the prefix. */
#include "lib/session/session.h"

#include "base/file/io.h"
#include "base/log.h"
#include "lib/start/memo.h"
#include "lib/start/places.h"
#include "lib/start/tries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sk_session_has_local(const struct sk_session *s)
{
    return !sk_path_is_none(sk_config_text(s->config, "store.local"));
}

enum sk_ledger_state sk_session_in_prefix(const struct sk_session *s)
{
    return *s->place.prefix_root && !sk_place_is_apart(&s->place) ? SK_LEDGER_COMPLETE : SK_LEDGER_ARCHIVED;
}

void sk_session_lose_prefix(struct sk_session *s)
{
    if (s->place.prefix_lost)
        return;
    s->place.prefix_lost = 1;
    if (s->g->rank)
        return;
    if (sk_session_has_local(s))
        sk_log(SK_LOG_ERROR, "the job goes on, and its checkpoints stay in %s alone; a restart is refused as long as the other "
                             "job has the store: end one of the two", s->place.local_root);
    else
        sk_log(SK_LOG_ERROR, "the job goes on, and is not saved any more, since there is no node-local directory (store.local): "
                             "end one of the two");
}

int sk_session_check_store(const struct sk_session *s, const struct sk_skc_header *h, const char *path,
                           struct saikai_error *err)
{
    if (sk_job_accepts(&s->who.job, h->store))
        return 0;
    return sk_fail(err, SAIKAI_EDAMAGED, "%s %s, not of job %s", path,
                   sk_id_none(h->store) ? "does not say of which store it is" : "is of another store", s->who.job.name);
}
