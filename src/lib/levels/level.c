/* Which levels there are, and calling what a level's table has. */
#include "lib/levels/level.h"

const struct sk_level_trait sk_level_traits[SK_LEVELS] = {
    [SK_LEVEL_LOCAL] = {"complete", SK_LEDGER_COMMITTED, SK_LEDGER_COMPLETE, -1, NULL, NULL},
    [SK_LEVEL_PARITY] = {"protected", SK_LEDGER_CODING, SK_LEDGER_PROTECTED, SK_CADENCE_PROTECT, "redundancy.interval", NULL},
    [SK_LEVEL_FAR] = {"archived", SK_LEDGER_ARCHIVING, SK_LEDGER_ARCHIVED, SK_CADENCE_ARCHIVE, "store.archive_interval",
                      "store.archive_every"},
};

/* What may be in the prefix; the first one works everywhere. */
static const struct sk_level_ops *const far[] = {&sk_level_files, &sk_level_archives};
enum { FARS = sizeof far / sizeof *far };

const struct sk_level_ops *sk_level_far_at(int i)
{
    return i >= 0 && i < FARS ? far[i] : NULL;
}

SK_KIND(sk_far_kind, "archive", "route to the prefix", struct sk_level_ops, sk_level_far_at, about);

static int open_one(const struct sk_level_ops *ops, const struct sk_level_setup *s, struct sk_open_level *out, struct saikai_error *err)
{
    void *opened = NULL;
    int rc = ops->open(s, &opened, err);
    *out = !rc && opened ? (struct sk_open_level){ops, opened} : (struct sk_open_level){0};
    return rc;
}

int sk_level_open(enum sk_level_place place, const struct sk_level_setup *s, struct sk_open_level *out, struct saikai_error *err)
{
    if (place != SK_LEVEL_FAR)
        return open_one(place == SK_LEVEL_LOCAL ? &sk_level_local : &sk_level_parity, s, out, err);
    int i = sk_kind_form(&sk_far_kind, sk_config_text(s->config, "store.archive"));
    int rc = open_one(sk_level_far_at(i < 0 ? 0 : i), s, out, err);
    return rc || out->ops ? rc : open_one(far[0], s, out, err);
}
