/* The table of what is done about messages of twins that differ. */
#include "recovery/repair/compare.h"

struct compare_ops {
    const char *name, *description;
};

/* By enum sk_compare, from the second on. */
static const struct compare_ops forms[] = {
    {"tell", "a difference is told and kept in the history, and the job goes on"},
    {"restart", "the job is started again after a difference"},
    {"give-up", "the job ends after a difference"},
};
enum { n_forms = sizeof forms / sizeof *forms };

static const struct compare_ops *form_at(int i)
{
    return i >= 0 && i < n_forms ? &forms[i] : NULL;
}

SK_KIND(sk_compare_kind, "comparison", "answer to twins whose messages differ", struct compare_ops, form_at, description);

int sk_compare_parse(const char *name, struct saikai_error *err)
{
    if (!*name)
        return SK_COMPARE_OFF;
    int form = sk_kind_form(&sk_compare_kind, name);
    if (form >= 0)
        return SK_COMPARE_TELL + form;
    sk_kind_unknown(&sk_compare_kind, NULL, name, err);
    sk_error_prefix(err, "run.compare");
    if (err)
        err->code = SAIKAI_ECONFIG;
    return SAIKAI_ECONFIG;
}
