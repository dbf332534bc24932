/* Parity as a level: a generation that is complete is coded over groups of nodes by the protector, which keeps data and parity of the
 * newest one there until a newer one is, and retires them itself. */
#include "lib/levels/level.h"
#include "lib/levels/protect/protector.h"

static int open_parity(const struct sk_level_setup *s, void **out, struct saikai_error *err)
{
    struct sk_protector_setup p = {
        .g = s->g,
        .config = s->config,
        .engine = s->engine,
        .root = s->local_root,
        .host = s->host,
        .store = s->store,
        .incarnation = s->incarnation,
        .sync = s->sync,
    };
    struct sk_protector *opened = NULL;
    int rc = sk_protector_new(&p, &opened, err);
    *out = opened;
    return rc;
}

static void close_parity(void *l)
{
    sk_protector_free(l);
}

static void bring_parity(void *l, struct sk_gen gen, int64_t seq, int anew)
{
    sk_protector_begin(l, gen, seq, anew);
}

static int wants_slices(void *l)
{
    return sk_protector_wants_slices(l);
}

static void slice(void *l)
{
    sk_protector_slice(l);
}

static void drain(void *l, struct sk_level_heard *h)
{
    struct sk_gen gen;
    h->arrived = sk_protector_drain(l, &gen, &h->seq);
}

static void tell_parity(void *l, int64_t word[SK_LEVEL_WORDS])
{
    struct sk_protector_news news;
    sk_protector_tell(l, &news);
    word[0] = news.ready;
    word[1] = news.ended;
    word[2] = news.coded;
}

static void hear_parity(void *l, const int64_t least[SK_LEVEL_WORDS], struct sk_level_heard *h)
{
    struct sk_protector_news news = {least[0], least[1], least[2]};
    struct sk_gen gen;
    h->was_idle = !sk_protector_busy(l); /* the same on all ranks, from one hearing to the next */
    h->arrived = sk_protector_hear(l, &news, &gen, &h->seq);
    h->idle = !sk_protector_busy(l);
}

static void adopt(void *l, struct sk_gen gen, uint32_t coder)
{
    sk_protector_adopt(l, (struct sk_parity_set){gen, coder});
}

static void cost(void *l, struct sk_level_cost *out)
{
    struct sk_protector_status st;
    sk_protector_status(l, &st);
    *out = (struct sk_level_cost){st.seconds, st.members, st.tolerated, st.groups};
}

const struct sk_level_ops sk_level_parity = {
    .name = "parity",
    .about = "what the nodes of a group can compute again",
    .open = open_parity,
    .close = close_parity,
    .bring = bring_parity,
    .wants_slices = wants_slices,
    .slice = slice,
    .drain = drain,
    .tell = tell_parity,
    .hear = hear_parity,
    .adopt = adopt,
    .cost = cost,
};
