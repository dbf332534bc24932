/* The fault models that are built in, those of components, and the choice among them. */
#include "recovery/fault/fault_model.h"

#include "recovery/answer/recovery_protocol.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* A link that is slow or gone for a while: the processes live, and what was sent arrives later. */
static int is_network(const struct saikai_fault *f, const struct saikai_fault_view *v)
{
    return f->of & SAIKAI_FAULT_SILENCE && f->seconds < v->network_patience_s;
}

static int is_physical(const struct saikai_fault *f, const struct saikai_fault_view *v)
{
    if (f->of & SAIKAI_FAULT_OF_NODE)
        return 1;
    for (uint32_t i = 0; i < v->n_nodes; i++)
        if (v->nodes[i].down && v->nodes[i].state != SAIKAI_NODE_LOST)
            return 1;
    return 0;
}

/* The processes of one node die again and again while those of others do not: then it is the node, if there is one to take its place.
 * Without a spare the node is still better than none. */
static int is_repeated(const struct saikai_fault *f, const struct saikai_fault_view *v)
{
    int here = 1;
    if (v->repeated_faults < 1 || !(f->of & SAIKAI_FAULT_OF_PROCESS) || f->node < 0 || v->spares < 1)
        return 0;
    for (uint32_t i = 0; i < v->n_past; i++) {
        const struct saikai_fault *p = &v->past[i];
        if (!(p->of & SAIKAI_FAULT_OF_PROCESS) || p->node < 0 || f->at_s - p->at_s > v->repeated_window_s)
            continue;
        if (p->node != f->node)
            return 0;
        here++;
    }
    return here >= v->repeated_faults;
}

static int is_process(const struct saikai_fault *f, const struct saikai_fault_view *v)
{
    (void)v;
    return (f->of & SAIKAI_FAULT_OF_PROCESS) != 0;
}

static const struct sk_fault_model_ops forms[] = {
    {"network", "a link is slow or gone: silence for less than run.network_patience", {is_network, SAIKAI_ANSWER_IGNORE}},
    {"physical", "a node is silent, or a monitor says that one is down", {is_physical, SAIKAI_ANSWER_MIGRATION}},
    {"repeated", "processes of one node died run.repeated_faults times within run.repeated_window, those of others did not, and a "
                 "spare is there", {is_repeated, SAIKAI_ANSWER_MIGRATION}},
    {"process", "a process died by a signal, ended with an error, or hangs", {is_process, SAIKAI_ANSWER_RESTART}},
};
enum { n_forms = sizeof forms / sizeof *forms };

static struct sk_fault_model_ops added[SK_MOST_ADDED];
static atomic_int n_added;

static void add(const struct saikai_component *c, int n)
{
    added[n] = (struct sk_fault_model_ops){c->name, c->description, *(const struct saikai_fault_model_ops *)c->ops};
    atomic_store(&n_added, n + 1);
}

const struct sk_fault_model_ops *sk_fault_model_at(int i)
{
    if (i < 0 || i >= n_forms + atomic_load(&n_added))
        return NULL;
    return i < n_forms ? &forms[i] : &added[i - n_forms];
}

SK_OPEN_KIND(sk_fault_model_kind, "fault-model", "fault model", struct sk_fault_model_ops, sk_fault_model_at, description,
             SAIKAI_KIND_FAULT_MODEL, struct saikai_fault_model_ops, add);

int sk_recovery_has(const struct sk_recovery_plan *p, int answer)
{
    for (int i = 0; i < p->n; i++)
        if (sk_recovery_protocol_at(p->step[i].protocol)->ops.answers & 1u << answer)
            return 1;
    return 0;
}

/* What a model has for an answer when the configuration does not say; one that there is not is a restart. */
static int usual(const struct sk_fault_model_ops *m)
{
    return m->ops.answer >= 0 && m->ops.answer < SK_N_ANSWERS ? m->ops.answer : SAIKAI_ANSWER_RESTART;
}

/* One "model" or "model=answer". */
static int parse_step(const char *word, size_t n, struct sk_recovery_plan *p, struct saikai_error *err)
{
    char text[96];
    snprintf(text, sizeof text, "%.*s", (int)n, word);
    char *equals = strchr(text, '='), *answer = equals ? equals + 1 : NULL;
    if (equals)
        for (*equals-- = 0; equals >= text && *equals == ' ';)
            *equals-- = 0;
    if (answer)
        answer += strspn(answer, " ");
    int m = sk_kind_form(&sk_fault_model_kind, text), a = answer ? sk_kind_form(&sk_recovery_protocol_kind, answer) : -1;
    if (m < 0)
        return sk_kind_unknown(&sk_fault_model_kind, NULL, text, err);
    if (answer && a < 0)
        return sk_kind_unknown(&sk_recovery_protocol_kind, NULL, answer, err);
    if (p->n == SK_MOST_MODELS)
        return sk_fail(err, SAIKAI_ECONFIG, "more than %d models", SK_MOST_MODELS);
    p->step[p->n].model = sk_fault_model_at(m);
    p->step[p->n++].protocol = answer ? a : usual(sk_fault_model_at(m));
    return 0;
}

int sk_recovery_parse(const char *text, struct sk_recovery_plan *out, struct saikai_error *err)
{
    static const char between[] = ", \t";
    struct sk_recovery_plan p = {0};
    int rc = 0;
    if (!text || !text[strspn(text, between)])
        for (int i = 0; i < n_forms; i++) {
            p.step[p.n].model = &forms[i];
            p.step[p.n++].protocol = usual(&forms[i]);
        }
    else
        for (const char *s = text; !rc && *(s += strspn(s, between));) {
            size_t n = strcspn(s, ",");
            const char *next = s + n;
            while (n && strchr(between, s[n - 1]))
                n--;
            rc = parse_step(s, n, &p, err);
            s = next;
        }
    if (rc) {
        sk_error_prefix(err, "run.recovery");
        if (err)
            err->code = SAIKAI_ECONFIG;
        return SAIKAI_ECONFIG;
    }
    *out = p;
    return 0;
}

/* physical, where the plan does not name it and a node is gone: whatever else is done there would be a start on that node. NULL: no. */
static const struct sk_fault_model_ops *unnamed(const struct sk_recovery_plan *p, const struct saikai_fault *f, const struct saikai_fault_view *v)
{
    const struct sk_fault_model_ops *m = forms;
    while (m->ops.matches != is_physical)
        m++;
    for (int i = 0; i < p->n; i++)
        if (p->step[i].model == m)
            return NULL;
    return is_physical(f, v) ? m : NULL;
}

const struct sk_fault_model_ops *sk_recovery_choose(const struct sk_recovery_plan *p, const struct saikai_fault *f,
                                                    const struct saikai_fault_view *v, int *protocol)
{
    const struct sk_fault_model_ops *physical = unnamed(p, f, v);
    for (int i = 0; i < p->n; i++) {
        if (physical && p->step[i].model->ops.matches == is_process)
            break;
        if (!p->step[i].model->ops.matches(f, v))
            continue;
        *protocol = p->step[i].protocol;
        return p->step[i].model;
    }
    *protocol = physical ? usual(physical) : SAIKAI_ANSWER_RESTART;
    return physical;
}
