/* The table of parallel FT protocols. What those that are built in do is in the other files of src/world, chosen by what they need. */
#include "world/protocol/protocol.h"

#include <stdatomic.h>

#define SAVES (SAIKAI_NEEDS_LAYER | SAIKAI_NEEDS_CHECKPOINTS)

static const struct sk_protocol_ops forms[] = {
    {"coordinated", "all ranks go back to the newest generation", {.needs = SAVES, .goes_back = SAIKAI_BACK_ALL}},
    {"logging", "the dead process alone goes back: messages are kept by their senders since the newest generation",
     {.needs = SAVES | SAIKAI_NEEDS_LOG, .goes_back = SAIKAI_BACK_LOST}},
    {"replication", "nobody goes back: each rank is two processes, and the twin of a dead one goes on in its place",
     {.needs = SAIKAI_NEEDS_LAYER | SAIKAI_NEEDS_TWINS, .goes_back = SAIKAI_BACK_NOBODY}},
    {"none", "there is no layer between program and MPI, and after each fault the job is started again", {.goes_back = SAIKAI_BACK_ALL}},
};
enum { n_forms = sizeof forms / sizeof *forms };

static struct sk_protocol_ops added[SK_MOST_ADDED];
static atomic_int n_added;

static void add(const struct saikai_component *c, int n)
{
    added[n] = (struct sk_protocol_ops){c->name, c->description, *(const struct saikai_parallel_protocol_ops *)c->ops};
    atomic_store(&n_added, n + 1);
}

const struct sk_protocol_ops *sk_protocol_at(int i)
{
    if (i < 0 || i >= n_forms + atomic_load(&n_added))
        return NULL;
    return i < n_forms ? &forms[i] : &added[i - n_forms];
}

SK_OPEN_KIND(sk_protocol_kind, "protocol", "parallel FT protocol", struct sk_protocol_ops, sk_protocol_at, description,
             SAIKAI_KIND_PARALLEL_PROTOCOL, struct saikai_parallel_protocol_ops, add);

int sk_protocol_needs(const struct sk_protocol_ops *p, uint32_t what)
{
    return (p->ops.needs & what) == what;
}

int sk_protocol_has_hooks(const struct sk_protocol_ops *p)
{
    const struct saikai_parallel_protocol_ops *o = &p->ops;
    return o->begin || o->sends || o->received || o->generation || o->complete || o->lost || o->back;
}

/* What does not go together; NULL: nothing. */
static const char *contradiction(const struct sk_protocol_ops *p)
{
    static const uint32_t carried_by[] = {[SAIKAI_BACK_ALL] = 0, [SAIKAI_BACK_LOST] = SAIKAI_NEEDS_LOG, [SAIKAI_BACK_NOBODY] = SAIKAI_NEEDS_TWINS};
    if (p->ops.goes_back < SAIKAI_BACK_ALL || p->ops.goes_back > SAIKAI_BACK_NOBODY)
        return "its goes_back is none of SAIKAI_BACK_ALL, _LOST and _NOBODY";
    if ((p->ops.needs & (SAIKAI_NEEDS_LOG | SAIKAI_NEEDS_TWINS)) != carried_by[p->ops.goes_back])
        return "all go back without SAIKAI_NEEDS_LOG and _TWINS, the lost with _LOG, and nobody with _TWINS";
    if (!sk_protocol_needs(p, SAIKAI_NEEDS_LAYER) && (p->ops.goes_back || sk_protocol_has_hooks(p)))
        return "it has hooks, or not all go back: that needs SAIKAI_NEEDS_LAYER";
    return NULL;
}

int sk_protocol_find(const char *name, const struct sk_protocol_ops **out, struct saikai_error *err)
{
    int form = *name ? sk_kind_form(&sk_protocol_kind, name) : 0, rc = 0;
    const char *wrong = form >= 0 ? contradiction(sk_protocol_at(form)) : NULL;
    if (form < 0)
        rc = sk_kind_unknown(&sk_protocol_kind, NULL, name, err);
    else if (wrong)
        rc = sk_fail(err, SAIKAI_ECONFIG, "the protocol '%s' contradicts itself: %s", name, wrong);
    if (rc) {
        sk_error_prefix(err, "run.protocol");
        if (err)
            err->code = SAIKAI_ECONFIG;
        return SAIKAI_ECONFIG;
    }
    *out = sk_protocol_at(form);
    return 0;
}
