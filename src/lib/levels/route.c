/* The table of routes to the prefix, and calling the one that was chosen. */
#include "lib/levels/route.h"

static const struct sk_route_form *const forms[] = {&sk_route_files, &sk_route_aggregate};
enum { FORMS = sizeof forms / sizeof *forms };

static const struct sk_route_form *form_at(int i)
{
    return i >= 0 && i < FORMS ? forms[i] : NULL;
}

SK_KIND(sk_route_kind, "archive", "route to the prefix", struct sk_route_form, form_at, about);

int sk_route_open(const struct sk_route_setup *s, struct sk_route *out, struct saikai_error *err)
{
    int i = sk_kind_form(&sk_route_kind, sk_config_text(s->config, "store.archive"));
    *out = (struct sk_route){.form = form_at(i < 0 ? 0 : i)};
    int rc = out->form->open(s, &out->opened, err);
    if (!rc && !out->opened && out->form != forms[0]) {
        out->form = forms[0];
        rc = out->form->open(s, &out->opened, err);
    }
    if (rc)
        *out = (struct sk_route){0};
    return rc;
}

void sk_route_close(struct sk_route *f)
{
    if (f->form)
        f->form->free(f->opened);
    *f = (struct sk_route){0};
}

int sk_route_give_up(struct sk_route *f)
{
    int left = f->form ? f->form->give_up(f->opened) : 0;
    *f = (struct sk_route){0};
    return left;
}

void sk_route_begin(struct sk_route *f, struct sk_gen gen, int64_t seq)
{
    if (f->form)
        f->form->begin(f->opened, gen, seq);
}

void sk_route_report(struct sk_route *f, int64_t *seq, int *idle)
{
    *seq = 0;
    *idle = 1;
    if (f->form)
        f->form->report(f->opened, seq, idle);
}

int sk_route_wait(struct sk_route *f, double seconds)
{
    return f->form ? f->form->wait(f->opened, seconds) : 1;
}
