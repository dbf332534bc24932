/* The table of parallel FT protocols. What each does is in src/world. */
#include "recovery/repair/protocol.h"

struct protocol_ops {
    const char *name, *description;
};

/* By enum sk_protocol. */
static const struct protocol_ops forms[] = {
    {"coordinated", "all ranks go back to the newest generation"},
    {"logging", "the dead process alone goes back: messages are kept by their senders since the newest generation"},
    {"replication", "nobody goes back: each rank is two processes, and the twin of a dead one goes on in its place"},
};
enum { n_forms = sizeof forms / sizeof *forms };

static const struct protocol_ops *form_at(int i)
{
    return i >= 0 && i < n_forms ? &forms[i] : NULL;
}

SK_KIND(sk_protocol_kind, "protocol", "parallel FT protocol", struct protocol_ops, form_at, description);

int sk_protocol_parse(const char *name, struct saikai_error *err)
{
    int form = *name ? sk_kind_form(&sk_protocol_kind, name) : SK_PROTOCOL_COORDINATED;
    if (form >= 0)
        return form;
    sk_kind_unknown(&sk_protocol_kind, NULL, name, err);
    sk_error_prefix(err, "run.protocol");
    if (err)
        err->code = SAIKAI_ECONFIG;
    return SAIKAI_ECONFIG;
}
