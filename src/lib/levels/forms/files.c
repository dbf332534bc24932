/* Files in the prefix as a level: each rank's own file, copied by the engine's archiver. */
#include "lib/levels/level.h"

static int open_files(const struct sk_level_setup *s, void **out, struct saikai_error *err)
{
    (void)err;
    *out = s->engine; /* the session's; it waits for a prefix only as long as that makes progress (sk_engine_drain) */
    return 0;
}

static void bring_files(void *l, struct sk_gen gen, int64_t seq, int anew)
{
    (void)gen;
    (void)anew; /* copies build on nothing */
    sk_engine_archive(l, seq);
}

static void tell_files(void *l, int64_t word[SK_LEVEL_WORDS])
{
    struct sk_engine_status st;
    sk_engine_status(l, &st);
    sk_level_tell_newest(word, st.archived_seq, st.archive_idle);
}

static void hear_files(void *l, const int64_t least[SK_LEVEL_WORDS], struct sk_level_heard *h)
{
    (void)l;
    sk_level_hear_newest(least, h);
}

static int list_files(const char *root, int rank, struct sk_gen_list *out, struct saikai_error *err)
{
    return sk_gen_scan(root, rank, out, err);
}

static void retire_files(void *l, int64_t seq)
{
    sk_engine_archived(l, seq);
}

const struct sk_level_ops sk_level_files = {
    .name = "files",
    .about = "each rank copies its own",
    .open = open_files,
    .bring = bring_files,
    .tell = tell_files,
    .hear = hear_files,
    .list = list_files,
    .retire = retire_files,
};
