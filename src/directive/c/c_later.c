/* Several enabled loops in one function: those before the one that a restart goes on in are not run again, so what they computed and the
 * later one does not list would have another value. Seen as far as names go. */
#include "directive/c/c_later.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LOOPS = 16, MOST_NAMES = 64 }; /* of a file: each is looked for in all that follows */

/* The brace of the function that token i is in: the outermost one behind a parenthesis; 0: it cannot be seen. *block: the outermost brace
 * in it that token i is in, or the function's own. */
static size_t function_of(const struct c_file *f, size_t i, size_t *block)
{
    size_t open[256], n = 0;
    for (size_t k = 0; k < i; k++) {
        if (sk_c_is_brace(f, k)) {
            if (n == sizeof open / sizeof *open)
                return 0;
            open[n++] = k;
        } else if (n && (sk_c_is(f, k, "}") || sk_c_is(f, k, "%>"))) {
            n--;
        }
    }
    for (size_t k = 0; k < n; k++)
        if (open[k] && (sk_c_is(f, open[k] - 1, ")") || sk_c_is(f, open[k] - 1, "const") || sk_c_is(f, open[k] - 1, "noexcept"))) {
            *block = open[k + 1 < n ? k + 1 : k];
            return open[k];
        }
    return 0;
}

static size_t end_of(const struct c_file *f, size_t open)
{
    size_t depth = 0, i = open;
    for (; i < f->t.count; i++) {
        depth += (size_t)sk_c_is_brace(f, i);
        if ((sk_c_is(f, i, "}") || sk_c_is(f, i, "%>")) && !--depth)
            break;
    }
    return i;
}

/* A variable's name without stars and indices, 0: it has members. */
static size_t plain(const char *name, const char **at)
{
    *at = name + strspn(name, "*");
    size_t n = strcspn(*at, "[");
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)(*at)[i]) && (*at)[i] != '_')
            return 0;
    return n;
}

static int lists(const struct directive *d, const char *name, size_t n)
{
    const char *at;
    for (size_t i = 0; i < d->nvars; i++)
        if (plain(d->vars[i].name, &at) == n && !memcmp(at, name, n))
            return 1;
    return 0;
}

/* The first thing that happens to it in [from, to) is that its value is used. */
static int is_used(const struct c_file *f, size_t from, size_t to, const char *name)
{
    for (size_t i = from; i < to; i++)
        if (f->t.t[i].kind == T_WORD && sk_c_is(f, i, name) && !sk_c_is(f, i - 1, ".") && !sk_c_is(f, i - 1, "->"))
            return !sk_c_is(f, i + 1, "=");
    return 0;
}

static int remember(struct c_file *f, const struct directive *d, size_t function)
{
    for (size_t i = 0; i < d->nvars; i++) {
        const char *at;
        size_t n = plain(d->vars[i].name, &at);
        if (!n || d->vars[i].loops || f->ncomputed == MOST_NAMES)
            continue;
        struct c_computed *p = realloc(f->computed, (f->ncomputed + 1) * sizeof *p);
        char *copy = sk_text_copy(at, n);
        f->computed = p ? p : f->computed;
        if (!p || !copy) {
            free(copy);
            return sk_source_refuse(f->s, 0, "out of memory");
        }
        f->computed[f->ncomputed++] = (struct c_computed){copy, d->at, function, 0};
    }
    return 0;
}

int sk_c_later_loop(struct c_file *f, size_t i, const struct c_loop *l, const struct directive *d)
{
    if (f->loops >= MOST_LOOPS)
        return 0;
    size_t block = 0, function = function_of(f, i, &block);
    if (!function)
        return 0;
    if (f->ncomputed && f->computed->function != function)
        sk_c_later_free(f);
    size_t end = end_of(f, function);
    for (size_t k = 0; k < f->ncomputed; k++) {
        struct c_computed *c = &f->computed[k];
        if (c->function != function || c->told || lists(d, c->name, strlen(c->name)))
            continue;
        /* in a loop around both, what stands before comes behind, too */
        if (is_used(f, block == function ? l->keyword : block, end, c->name)) {
            sk_source_warn(f->s, d->at, "'%.60s' comes from the enabled loop of line %zu, which is not run again after a restart in this one: "
                                        "list it here, too, or compute it behind this loop's beginning", c->name, sk_source_line(f->s, c->at));
            c->told = 1;
        }
    }
    return remember(f, d, function);
}

void sk_c_later_free(struct c_file *f)
{
    while (f->ncomputed)
        free(f->computed[--f->ncomputed].name);
    free(f->computed);
    f->computed = NULL;
}
