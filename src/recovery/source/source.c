/* The sources that are built in, those of components, and which of them a job has. */
#include "recovery/source/source.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const struct sk_source_ops *const forms[] = {&sk_source_health, &sk_source_slurm, &sk_source_ras, &sk_source_pmix};
enum { n_forms = sizeof forms / sizeof *forms };

static struct sk_source_ops added[SK_MOST_ADDED];
static atomic_int n_added;

static void add(const struct saikai_component *c, int n)
{
    added[n] = (struct sk_source_ops){.name = c->name, .description = c->description,
                                      .theirs = *(const struct saikai_event_source_ops *)c->ops};
    atomic_store(&n_added, n + 1);
}

const struct sk_source_ops *sk_source_at(int i)
{
    if (i < 0 || i >= n_forms + atomic_load(&n_added))
        return NULL;
    return i < n_forms ? forms[i] : &added[i - n_forms];
}

SK_OPEN_KIND(sk_source_kind, "event-source", "source of events", struct sk_source_ops, sk_source_at, description, SAIKAI_KIND_EVENT_SOURCE,
             struct saikai_event_source_ops, add);

/* ---- those of components ---- */

static int tell(void *to, const char *name, int severity, const char *host, const char *const *fields)
{
    struct saikai_event e;
    int rc = sk_event_begin(&e, name ? name : "", severity, NULL);
    for (; !rc && fields && *fields; fields++)
        rc = sk_event_take(&e, *fields, NULL);
    if (rc)
        return rc;
    sk_teller_tell(to, &e, host ? host : "");
    return 0;
}

static int ask_component(const struct sk_source_ops *s, const struct sk_source_view *v, struct sk_teller *t, struct saikai_error *err)
{
    char why[300] = "";
    const char **hosts = calloc((size_t)v->hosts->n + 1, sizeof *hosts);
    if (!hosts)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the names of hosts");
    for (int i = 0; i < v->hosts->n; i++)
        hosts[i] = v->hosts->host[i].name;
    int failed = s->theirs.look(hosts, tell, t, why, sizeof why);
    free(hosts);
    why[sizeof why - 1] = 0;
    return failed ? sk_fail(err, SAIKAI_EIO, "%s", *why ? why : "it failed and does not say why") : 0;
}

int sk_source_look(const struct sk_source_ops *s, const struct sk_source_view *v, void **state, struct sk_teller *t,
                   struct saikai_error *err)
{
    return s->look ? s->look(v, state, t, err) : ask_component(s, v, t, err);
}

void sk_source_end(const struct sk_source_ops *s, void *state)
{
    if (s->end && state)
        s->end(state);
}

/* ---- which ---- */

static int named(const char *list, const char *name, struct saikai_error *err)
{
    static const char between[] = " ,\t";
    char word[64];
    int found = 0;
    for (const char *p = list; *(p += strspn(p, between)); p += strcspn(p, between)) {
        size_t n = strcspn(p, between);
        if (n >= sizeof word)
            return sk_fail(err, SAIKAI_ECONFIG, "events.sources: %.*s… is no source of events", 60, p);
        memcpy(word, p, n);
        word[n] = 0;
        if (sk_kind_form(&sk_source_kind, word) < 0) {
            sk_kind_unknown(&sk_source_kind, "auto|none", word, err);
            return err ? err->code = SAIKAI_ECONFIG : SAIKAI_ECONFIG;
        }
        found |= !strcmp(word, name);
    }
    return found;
}

int sk_source_wanted(const struct sk_source_ops *s, const struct sk_source_view *v, struct saikai_error *err)
{
    const char *list = sk_config_text(v->config, "events.sources");
    if (!strcmp(list, "none"))
        return 0;
    if (sk_is_auto(list))
        return !s->here || s->here(v);
    return named(list, s->name, err);
}
