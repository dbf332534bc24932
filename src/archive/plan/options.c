/* The schemes of merging. */
#include "archive/plan/options.h"

/* In the order of enum sk_scheme. */
static const struct merge {
    const char *name, *about;
} merges[] = {
    {"agnostic", "files one after another"},
    {"agnostic-block", "blocks of the files in turn"},
    {"aware", "similar variables one after another"},
    {"aware-block", "blocks of similar variables in turn"},
};

static const struct merge *merge_at(int i)
{
    return i >= 0 && i < (int)(sizeof merges / sizeof *merges) ? &merges[i] : NULL;
}

SK_KIND(sk_merge_kind, "merge", "scheme of merging", struct merge, merge_at, about);

int sk_scheme_parse(const char *name)
{
    int i = sk_kind_form(&sk_merge_kind, name);
    return sk_is_auto(name) ? SK_SCHEME_AUTO : i < 0 ? -1 : i + SK_SCHEME_AGNOSTIC;
}

int sk_scheme_looks(int scheme)
{
    return scheme != SK_SCHEME_AGNOSTIC && scheme != SK_SCHEME_AGNOSTIC_BLOCK;
}
