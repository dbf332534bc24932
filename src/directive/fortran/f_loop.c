/* Loops and program units of Fortran. */
#include "directive/fortran/f_loop.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int starts(const char *p, const char *with)
{
    return !strncmp(p, with, strlen(with));
}

static size_t name_length(const char *p)
{
    size_t n = 0;
    if (isalpha((unsigned char)*p))
        while (isalnum((unsigned char)p[n]) || p[n] == '_')
            n++;
    return n;
}

/* Behind the parenthesis that closes the one at p, NULL: it does not end. */
static const char *behind(const char *p)
{
    int depth = 0;
    char quote = 0;
    for (; *p; p++) {
        if (quote)
            quote = *p == quote ? 0 : quote;
        else if (*p == '"' || *p == '\'')
            quote = *p;
        else if (*p == '(' || *p == '[')
            depth++;
        else if ((*p == ')' || *p == ']') && !--depth)
            return p + 1;
    }
    return NULL;
}

/* The first of `any` in p outside of parentheses and strings, NULL: there is none. */
static const char *outside(const char *p, const char *any)
{
    for (char quote = 0; *p; p++) {
        if (quote)
            quote = *p == quote ? 0 : quote;
        else if (*p == '"' || *p == '\'')
            quote = *p;
        else if (*p == '(' || *p == '[') {
            if (!(p = behind(p)))
                return NULL;
            p--;
        } else if (strchr(any, *p))
            return p;
    }
    return NULL;
}

/* Behind a construct's name and its colon. */
static const char *past_name(const char *p)
{
    size_t n = name_length(p);
    return n && p[n] == ':' && p[n + 1] != ':' ? p + n + 1 : p;
}

/* do [label[,]] variable = from, to [, step] */
static int is_do(const char *p, long *label)
{
    *label = 0;
    if (!starts(p, "do"))
        return 0;
    p += 2;
    if (isdigit((unsigned char)*p)) {
        *label = strtol(p, (char **)&p, 10);
        p += *p == ',';
    }
    if (!*p || (starts(p, "while(") && behind(p + 5) && !*behind(p + 5)) || starts(p, "concurrent("))
        return 1;
    size_t n = name_length(p);
    return n && p[n] == '=' && outside(p + n + 1, ",");
}

/* What opens a construct that an `end` closes. */
static int opens(const char *p, long *label)
{
    static const char *const with[] = {"selectcase(", "selecttype(", "selectrank(", "associate(", "changeteam(", NULL};
    p = past_name(p);
    *label = 0;
    if (is_do(p, label) || !strcmp(p, "block") || !strcmp(p, "critical"))
        return 1;
    for (int i = 0; with[i]; i++)
        if (starts(p, with[i]) && behind(p + strlen(with[i]) - 1) && !*behind(p + strlen(with[i]) - 1))
            return 1;
    int is_if = starts(p, "if("), is_where = starts(p, "where(") || starts(p, "forall(");
    const char *rest = is_if || is_where ? behind(strchr(p, '(')) : NULL;
    return rest && (is_if ? !strcmp(rest, "then") : !*rest);
}

/* "enddo", "endif" … with a name or without. */
static int closes(const char *p)
{
    static const char *const what[] = {"do", "if", "select", "where", "forall", "associate", "block", "critical", "team", NULL};
    if (!starts(p, "end"))
        return 0;
    for (int i = 0; what[i]; i++)
        if (starts(p + 3, what[i])) {
            const char *rest = p + 3 + strlen(what[i]);
            if (!rest[name_length(rest)])
                return 1;
        }
    return 0;
}

int sk_f_ends_unit(const char *p)
{
    static const char *const what[] = {"subroutine", "function", "program", "procedure", "module", "submodule", NULL};
    if (!strcmp(p, "end"))
        return 1;
    for (int i = 0; what[i]; i++)
        if (starts(p, "end") && starts(p + 3, what[i]) && !p[3 + strlen(what[i]) + name_length(p + 3 + strlen(what[i]))])
            return 1;
    return 0;
}

/* ---- the loop ---- */

enum { NESTING = 256 };

struct nest {
    long label[NESTING]; /* of the statement that ends it, 0: an `end` does */
    size_t n;
    size_t branch[NESTING], branches;
};

static int take_cpp(struct f_source *f, const struct f_line *l, struct nest *n)
{
    const char *p = l->text + 1;
    p += strspn(p, " \t");
    if (starts(p, "if")) {
        if (n->branches == NESTING)
            return sk_source_refuse(f->s, l->at, "conditionals are nested too deep");
        n->branch[n->branches++] = n->n;
    } else if (starts(p, "el") || starts(p, "endif")) {
        if (!n->branches || n->branch[n->branches - 1] != n->n)
            return sk_source_refuse(f->s, l->at,
                                 "preprocessor conditionals cut this loop: its constructs must be the same in each branch; call "
                                 "saikai_protect, saikai_restart and saikai_checkpoint there instead");
        n->branches -= starts(p, "endif") != 0;
    }
    return 0;
}

/* One statement of those in a line. 1: the outermost construct has ended with it. */
static int take_statement(struct f_source *f, const struct f_line *l, const char *p, long label, struct nest *n)
{
    long of_do;
    if (opens(p, &of_do)) {
        if (n->n == NESTING)
            return sk_source_refuse(f->s, l->at, "constructs are nested too deep");
        n->label[n->n++] = of_do;
    } else if (closes(p)) {
        if (!n->n)
            return sk_source_refuse(f->s, l->at, "this ends something that has not begun in the loop");
        n->n--;
        return !n->n;
    }
    while (label && n->n && n->label[n->n - 1] == label) { /* several loops may end with one statement */
        n->n--;
        if (!n->n)
            return 1;
    }
    return 0;
}

/* All statements of a line, of which `;` may make several. */
static int take_line(struct f_source *f, const struct f_line *l, struct nest *n)
{
    const char *p = l->squeezed;
    for (long label = l->label;; label = 0) {
        const char *semicolon = outside(p, ";");
        char *one = sk_text_copy(p, semicolon ? (size_t)(semicolon - p) : strlen(p));
        int rc = one ? take_statement(f, l, one, label, n) : sk_source_refuse(f->s, l->at, "out of memory");
        free(one);
        if (rc || !semicolon)
            return rc > 0 && semicolon ? sk_source_refuse(f->s, l->at, "an enabled loop's end must be a line of its own") : rc;
        p = semicolon + 1;
    }
}

static char *part(const char *from, const char *to)
{
    return sk_text_copy(from, (size_t)(to - from));
}

/* The loop's head in its parts. */
static int read_head(struct f_source *f, struct f_loop *l)
{
    const struct f_line *line = &f->lines.l[l->head];
    const char *all = line->squeezed, *p = past_name(all);
    long label;
    if (!is_do(p, &label) || line->kind != F_STATEMENT)
        return sk_source_refuse(f->s, line->at, "'enable' must stand directly before a do loop; elsewhere call saikai_protect and saikai_restart");
    if (outside(all, ";") || line->label)
        return sk_source_refuse(f->s, line->at, "an enabled loop's head must be a line of its own, without a label");
    if (starts(p + 2, "concurrent("))
        return sk_source_refuse(f->s, line->at, "the turns of do concurrent have no order, so none of them can be gone on from");
    l->name = part(all, p);
    p += 2;
    const char *digits = p;
    p += strspn(p, "0123456789");
    l->label = part(digits, p);
    p += label && *p == ',';
    l->kind = !*p ? 'e' : starts(p, "while(") ? 'w' : 'i';
    if (l->kind == 'w')
        l->condition = part(p + 5, p + strlen(p));
    if (l->kind == 'i') {
        const char *equals = strchr(p, '='), *comma = outside(equals + 1, ",");
        l->variable = part(p, equals);
        l->from = part(equals + 1, comma);
        l->rest = part(comma + 1, comma + strlen(comma));
    }
    return l->name && l->label && (l->kind != 'w' || l->condition) && (l->kind != 'i' || (l->variable && l->from && l->rest))
               ? 0 : sk_source_refuse(f->s, line->at, "out of memory");
}

static int take_place(struct f_source *f, size_t i, const struct nest *n, struct f_loop *l)
{
    const struct f_line *line = &f->lines.l[i];
    struct directive d = {.at = line->at, .n = line->n};
    int rc = sk_directive_parse(f->s, LANG_FORTRAN, line->chk, line->text, &d);
    if (!rc && d.kind != D_CKPT)
        rc = sk_source_refuse(f->s, line->at, "only 'ckpt' can stand in an enabled loop: loops are enabled one by one");
    else if (!rc && n->n != 1)
        rc = sk_source_refuse(f->s, line->at, "'ckpt' in an inner construct: a restart begins at the loop's own level. Put it there, or call "
                                           "saikai_protect, saikai_restart and saikai_checkpoint instead of directives");
    else if (!rc && l->places == 64)
        rc = sk_source_refuse(f->s, line->at, "more than 64 places in one loop");
    else if (!rc)
        l->place[l->places++] = i;
    sk_directive_free(&d);
    return rc;
}

/* The statement leaves the loop otherwise than by exit. */
static int leaves(const struct f_source *f, const struct f_loop *l, const char *p)
{
    const char *rest = starts(p, "if(") ? behind(p + 2) : NULL;
    p = rest ? rest : p;
    if (starts(p, "goto") && isdigit((unsigned char)p[4])) {
        long label = strtol(p + 4, NULL, 10);
        for (size_t i = l->head + 1; i <= l->end; i++)
            if (f->lines.l[i].label == label)
                return 0;
        return 1;
    }
    return starts(p, "goto(") || (starts(p, "return") && !p[6]);
}

static int check_ways_out(struct f_source *f, const struct f_loop *l)
{
    for (size_t i = l->head + 1; i < l->end; i++)
        if (f->lines.l[i].kind == F_STATEMENT && leaves(f, l, f->lines.l[i].squeezed))
            return sk_source_refuse(f->s, f->lines.l[i].at, "an enabled loop is left by exit or by its end, not by return or go to");
    return 0;
}

static int find_end(struct f_source *f, struct f_loop *l)
{
    struct nest n = {.n = 0};
    for (size_t i = l->head; i < f->lines.count; i++) {
        const struct f_line *line = &f->lines.l[i];
        int rc = line->kind == F_CPP         ? take_cpp(f, line, &n)
                 : line->kind == F_DIRECTIVE ? take_place(f, i, &n, l)
                 : sk_f_ends_unit(line->squeezed) ? sk_source_refuse(f->s, line->at, "the enabled loop does not end before its program unit")
                                             : take_line(f, line, &n);
        if (rc < 0)
            return -1;
        if (!rc)
            continue;
        l->end = i;
        if (n.branches)
            return sk_source_refuse(f->s, line->at, "preprocessor conditionals cut this loop");
        if (*l->label && (strcmp(line->squeezed, "continue") != 0 && !closes(line->squeezed)))
            return sk_source_refuse(f->s, line->at, "the statement that ends an enabled loop must be continue or end do");
        return l->places ? 0 : sk_source_refuse(f->s, f->lines.l[l->head].at, "this enabled loop has no '!$MICP ckpt'");
    }
    return sk_source_refuse(f->s, f->lines.l[l->head].at, "the enabled loop does not end");
}

int sk_f_find_loop(struct f_source *f, size_t i, struct f_loop *l)
{
    *l = (struct f_loop){.head = i + 1};
    if (i + 1 >= f->lines.count)
        return sk_source_refuse(f->s, f->lines.l[i].at, "'enable' must stand directly before a do loop");
    if (read_head(f, l) || find_end(f, l) || check_ways_out(f, l))
        return -1;
    long label;
    for (size_t k = l->head + 1; *l->label && k < l->end; k++) /* its end would have to be in two places */
        if (f->lines.l[k].kind == F_STATEMENT && is_do(past_name(f->lines.l[k].squeezed), &label) && label == strtol(l->label, NULL, 10))
            return sk_source_refuse(f->s, f->lines.l[k].at, "this loop ends with the same statement as the enabled one: give it an end of its own");
    return 0;
}

void sk_f_loop_free(struct f_loop *l)
{
    free(l->name);
    free(l->label);
    free(l->variable);
    free(l->from);
    free(l->rest);
    free(l->condition);
}

/* ---- what decides when the loop ends ---- */

int sk_f_has_name(const char *text, const char *name, size_t n)
{
    char quote = 0;
    for (const char *p = text; *p; p++) {
        if (quote || *p == '"' || *p == '\'') {
            quote = quote ? (*p == quote ? 0 : quote) : *p;
            continue;
        }
        size_t k = name_length(p);
        if (k == n && !memcmp(p, name, n) && (p == text || (p[-1] != '%' && !isdigit((unsigned char)p[-1]))))
            return 1;
        p += k ? k - 1 : 0;
    }
    return 0;
}

int sk_f_listed(const struct directive *d, const char *name, size_t n)
{
    for (size_t i = 0; i < d->nvars; i++)
        if (sk_text_same(name, n, d->vars[i].name) || (strncasecmp(d->vars[i].name, name, n) == 0 && d->vars[i].name[n] == '%'))
            return 1;
    return 0;
}

/* Variables of the condition that a statement of the loop gives a value. */
static int check_statement(struct f_source *f, const struct f_loop *l, const struct f_line *line, const struct directive *d)
{
    const char *p = line->squeezed, *rest = starts(p, "if(") ? behind(p + 2) : NULL;
    p = rest ? rest : p;
    size_t n = name_length(p);
    const char *equals = outside(p, "=");
    if (!n || !equals || equals[1] == '=' || !sk_f_has_name(l->condition, p, n) || sk_f_listed(d, p, n))
        return 0;
    return sk_source_refuse(f->s, line->at, "'%.*s' decides when the loop ends, and the loop changes it: list it behind 'enable', too", (int)n, p);
}

int sk_f_check_loop(struct f_source *f, const struct f_loop *l, struct directive *d)
{
    size_t at = f->lines.l[l->head].at, n = l->variable ? strlen(l->variable) : 0;
    if (l->kind == 'i' && sk_f_has_name(l->rest, l->variable, n))
        return sk_source_refuse(f->s, at, "the end or step of this loop is computed from its own variable: compute it before the loop");
    if (l->kind == 'i' && !sk_f_listed(d, l->variable, n) && sk_directive_add(d, l->variable, n))
        return sk_source_refuse(f->s, at, "out of memory");
    for (size_t i = l->head + 1; l->kind == 'w' && i < l->end; i++)
        if (f->lines.l[i].kind == F_STATEMENT && check_statement(f, l, &f->lines.l[i], d))
            return -1;
    return 0;
}

/* ---- the program unit ---- */

/* The next word of p, in small letters, into out. */
static const char *word(const char *p, char out[64])
{
    p += strspn(p, " \t");
    size_t n = name_length(p), k = n < 63 ? n : 63;
    for (size_t i = 0; i < k; i++)
        out[i] = (char)tolower((unsigned char)p[i]);
    out[k] = 0;
    return p + n;
}

/* "program x", "subroutine y(…)", "real(8) function z(…)". */
static int begins_unit(const struct f_line *l)
{
    char w[64], next[64];
    const char *p = l->text;
    if (outside(p, "="))
        return 0;
    for (int i = 0; i < 12; i++) {
        const char *after = word(p, w);
        if (!strcmp(w, "program") || !strcmp(w, "subroutine") || !strcmp(w, "function") || (i == 1 && !strcmp(w, "procedure"))) {
            after = word(after, next);
            after += strspn(after, " \t");
            int is_function = !strcmp(w, "function");
            return *next && (!is_function || *after == '(') && (strcmp(w, "program") != 0 || i == 0);
        }
        if (!*w || (i == 0 && (!strcmp(w, "end") || !strcmp(w, "call") || !strcmp(w, "use"))))
            return 0;
        after += strspn(after, " \t*0123456789");
        if (*after == '(')
            after = behind(after);
        if (!after)
            return 0;
        p = after;
    }
    return 0;
}

/* The units of all lines. The one around a unit is that of its first line. */
static int find_units(struct f_source *f)
{
    size_t now = 0;
    f->first_end = f->lines.count;
    if (!(f->unit = calloc(f->lines.count + 1, sizeof *f->unit)))
        return sk_source_refuse(f->s, 0, "out of memory");
    for (size_t k = 0; k < f->lines.count; k++) {
        const struct f_line *l = &f->lines.l[k];
        f->unit[k] = now;
        if (l->kind != F_STATEMENT)
            continue;
        if (sk_f_ends_unit(l->squeezed)) {
            now = now ? f->unit[now - 1] : 0;
            f->first_end = f->first_end < k ? f->first_end : k;
        } else if (begins_unit(l)) {
            now = k + 1;
        }
    }
    return 0;
}

int sk_f_find_unit(struct f_source *f, size_t i, size_t *line, int *none)
{
    if (!f->unit && find_units(f))
        return -1;
    *none = !f->unit[i];
    *line = *none ? 0 : f->unit[i] - 1;
    return *none && f->first_end < i
               ? sk_source_refuse(f->s, f->lines.l[i].at, "the unit that this directive is in has no program, subroutine or function statement") : 0;
}
