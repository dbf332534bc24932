/* Several enabled loops in one program unit: those before the one that a restart goes on in are not run again, so what they computed and
 * the later one does not list would have another value. Seen as far as names go. */
#include "directive/fortran/f_later.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LOOPS = 16, MOST_NAMES = 64 }; /* of a file: each is looked for in all that follows */

static size_t is_name(const char *name)
{
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || name[n] == '_')
        n++;
    return name[n] ? 0 : n;
}

/* The first thing that happens to it in lines [from, to) is that its value is used. */
static int is_used(const struct f_source *f, size_t from, size_t to, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = from; i < to; i++) {
        const char *p = f->lines.l[i].squeezed;
        if (f->lines.l[i].kind != F_STATEMENT)
            continue;
        if (!strncmp(p, "do", 2)) { /* "doi=1,3" is one word */
            const char *q = p + 2 + strspn(p + 2, "0123456789,");
            if (!strncmp(q, name, n) && q[n] == '=' && q[n + 1] != '=')
                return sk_f_has_name(q + n + 1, name, n);
        }
        if (sk_f_has_name(p, name, n))
            return strncmp(p, name, n) != 0 || p[n] != '=' || p[n + 1] == '=' || sk_f_has_name(p + n + 1, name, n);
    }
    return 0;
}

static int remember(struct f_source *f, const struct directive *d, size_t unit)
{
    for (size_t i = 0; i < d->nvars; i++) {
        size_t n = is_name(d->vars[i].name);
        if (!n || d->vars[i].loops || f->ncomputed == MOST_NAMES)
            continue;
        struct f_computed *p = realloc(f->computed, (f->ncomputed + 1) * sizeof *p);
        char *copy = sk_text_copy(d->vars[i].name, n);
        f->computed = p ? p : f->computed;
        if (!p || !copy) {
            free(copy);
            return sk_source_refuse(f->s, 0, "out of memory");
        }
        for (char *q = copy; *q; q++)
            *q = (char)tolower((unsigned char)*q);
        f->computed[f->ncomputed++] = (struct f_computed){copy, d->at, unit, 0};
    }
    return 0;
}

int sk_f_later_loop(struct f_source *f, size_t i, const struct f_loop *l, const struct directive *d)
{
    size_t unit, end = l->end;
    int none;
    if (f->loops >= MOST_LOOPS)
        return 0;
    if (sk_f_find_unit(f, i, &unit, &none))
        return -1;
    while (end < f->lines.count && (f->lines.l[end].kind != F_STATEMENT || !sk_f_ends_unit(f->lines.l[end].squeezed)))
        end++;
    if (f->ncomputed && f->computed->unit != unit)
        sk_f_later_free(f);
    for (size_t k = 0; k < f->ncomputed; k++) {
        struct f_computed *c = &f->computed[k];
        if (c->unit == unit && !c->told && !sk_f_listed(d, c->name, strlen(c->name)) && is_used(f, l->head, end, c->name)) {
            sk_source_warn(f->s, d->at, "'%.60s' comes from the enabled loop of line %zu, which is not run again after a restart in this one: "
                                        "list it here, too, or compute it behind this loop's beginning", c->name, sk_source_line(f->s, c->at));
            c->told = 1;
        }
    }
    return remember(f, d, unit);
}

void sk_f_later_free(struct f_source *f)
{
    while (f->ncomputed)
        free(f->computed[--f->ncomputed].name);
    free(f->computed);
    f->computed = NULL;
}
