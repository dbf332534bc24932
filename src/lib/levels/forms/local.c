/* The local directory as a level: the engine's committer brings each generation there as soon as it was captured. */
#include "lib/levels/level.h"

static int open_local(const struct sk_level_setup *s, void **out, struct saikai_error *err)
{
    (void)err;
    *out = s->engine; /* the session's, which ends it when all else has ended */
    return 0;
}

static void tell_local(void *l, int64_t word[SK_LEVEL_WORDS])
{
    struct sk_engine_status st;
    sk_engine_report(l, &st);
    sk_level_tell_newest(word, st.committed_seq, 1);
}

static void hear_local(void *l, const int64_t least[SK_LEVEL_WORDS], struct sk_level_heard *h)
{
    (void)l;
    sk_level_hear_newest(least, h);
}

static int list_local(const char *root, int rank, struct sk_gen_list *out, struct saikai_error *err)
{
    return sk_gen_scan(root, rank, out, err);
}

static void adopt_local(void *l, struct sk_gen gen, uint32_t coder)
{
    (void)coder;
    sk_engine_adopt(l, gen);
}

static void retire_local(void *l, int64_t seq)
{
    sk_engine_complete(l, seq);
}

const struct sk_level_ops sk_level_local = {
    .name = "local",
    .about = "this node's directory",
    .open = open_local,
    .tell = tell_local,
    .hear = hear_local,
    .list = list_local,
    .adopt = adopt_local,
    .retire = retire_local,
};
