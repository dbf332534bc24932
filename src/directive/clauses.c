/* Parser of directives: words, lists of variables with sections, and clauses. */
#include "directive/clauses.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
    struct source *s;
    struct directive *d;
    enum language language;
    const char *p;
};

static int refuse(struct cursor *c, const char *why)
{
    return sk_source_refuse(c->s, c->d->at, "%s (at '%.40s')", why, c->p);
}

static void blanks(struct cursor *c)
{
    while (*c->p == ' ' || *c->p == '\t' || *c->p == '\r' || *c->p == '\n' || *c->p == '\f' || *c->p == '\v')
        c->p++;
}

static size_t word_at(const char *p)
{
    size_t n = 0;
    if (isalpha((unsigned char)*p) || *p == '_')
        while (isalnum((unsigned char)p[n]) || p[n] == '_')
            n++;
    return n;
}

/* The bytes of a bracketed piece, with its brackets; strings in it are passed over. 0: it does not end. */
static size_t bracketed(const char *p)
{
    char close[64];
    size_t depth = 0, i = 0;
    do {
        char b = p[i];
        if (!b)
            return 0;
        if (b == '(' || b == '[' || b == '{') {
            if (depth == sizeof close)
                return 0;
            close[depth++] = b == '(' ? ')' : b == '[' ? ']' : '}';
        } else if (b == ')' || b == ']' || b == '}') {
            if (close[--depth] != b)
                return 0;
        } else if (b == '"' || b == '\'') {
            for (i++; p[i] && p[i] != b; i++)
                if (p[i] == '\\' && p[i + 1])
                    i++;
            if (!p[i])
                return 0;
        }
        i++;
    } while (depth);
    return i;
}

/* Where, in p[0, n), a byte of `any` stands outside of brackets and strings, n: nowhere. A conditional's colon is not one. */
static size_t find_outside(const char *p, size_t n, const char *any)
{
    int asked = 0;
    for (size_t i = 0; i < n; i++) {
        if (strchr("([{", p[i])) {
            size_t k = bracketed(p + i);
            if (!k || i + k > n)
                return n;
            i += k - 1;
        } else if (p[i] == '"' || p[i] == '\'') {
            char q = p[i];
            for (i++; i < n && p[i] != q; i++)
                i += p[i] == '\\';
        } else if (p[i] == '?') {
            asked++;
        } else if (p[i] == ':' && (p[i + 1] == ':' || (i && p[i - 1] == ':')) && strchr(any, ':')) {
            continue; /* of a name in a namespace */
        } else if (strchr(any, p[i])) {
            if (p[i] != ':' || !asked--)
                return i;
        }
        asked = asked < 0 ? 0 : asked;
    }
    return n;
}

static char *trimmed(const char *p, size_t n)
{
    while (n && isspace((unsigned char)*p))
        p++, n--;
    while (n && isspace((unsigned char)p[n - 1]))
        n--;
    return sk_text_copy(p, n);
}

static int is_number(const char *p)
{
    if (!*p)
        return 0;
    while (isdigit((unsigned char)*p))
        p++;
    return !*p;
}

/* ---- variables ---- */

/* "0-29" is the paper's way to say "0:29"; with anything but two numbers it would be a difference. */
static int paper_section(const char *p, size_t n, struct section *out)
{
    const char *dash = memchr(p, '-', n);
    if (!dash)
        return 0;
    char *from = trimmed(p, (size_t)(dash - p)), *to = trimmed(dash + 1, n - (size_t)(dash - p) - 1);
    if (from && to && is_number(from) && is_number(to)) {
        *out = (struct section){from, to, 0};
        return 1;
    }
    free(from);
    free(to);
    return 0;
}

/* One of "a:b", "a;b", "0-29" in p[0, n). 1: it is one; 0: it is not. */
static int take_section(const char *p, size_t n, struct section *out)
{
    size_t at = find_outside(p, n, ":;");
    if (at == n)
        return paper_section(p, n, out);
    *out = (struct section){trimmed(p, at), trimmed(p + at + 1, n - at - 1), p[at] == ';'};
    return 1;
}

/* All sections in one pair of brackets, "(a:b, c:d)". 1: they are; 0: it is an index or a call; -1: wrong. */
static int take_sections(struct cursor *c, struct variable *v, size_t n)
{
    const char *p = c->p + 1, *end = c->p + n - 1;
    int found = 0, others = 0;
    while (p <= end) {
        size_t left = (size_t)(end - p), k = find_outside(p, left, ",");
        struct section one = {0};
        if (take_section(p, k, &one)) {
            if (v->nsections == CLAUSES_MAX_DIMS) {
                free(one.from);
                free(one.to);
                return refuse(c, "more than 8 sections");
            }
            v->section[v->nsections++] = one;
            found++;
            if (!one.from || !one.to || !*one.from || !*one.to)
                return refuse(c, "a section wants both ends, as in p(0:n-1): call saikai_protect for anything else");
        } else {
            others++;
        }
        p += k + 1;
    }
    if (found && others)
        return refuse(c, "sections and indices are mixed: write each as a section, as in a(3:3, 0:n-1), or call saikai_protect_strided");
    return found > 0;
}

static int c_brackets(struct cursor *c, struct variable *v, struct sk_buf *name)
{
    size_t n = bracketed(c->p);
    if (!n)
        return refuse(c, "a bracket does not end");
    int is = take_sections(c, v, n);
    if (is < 0)
        return -1;
    if (!is && v->nsections)
        return refuse(c, "an index behind a section: write it as a section, as in a[0:n-1][3:3]");
    if (!is && *c->p == '(')
        return refuse(c, "what is in parentheses is a section, from the first to the last element, as in p(0:n-1) or data(0-29); "
                         "a difference needs the colon, one element is p(k:k)");
    if (!is)
        sk_buf_put(name, c->p, n);
    c->p += n;
    return 0;
}

/* An lvalue of C: *p, s->x, g.u, a[3], n::x, and its sections. */
static int c_variable(struct cursor *c, struct variable *v)
{
    struct sk_buf name = {0};
    int rc = 0;
    for (; *c->p == '*' || isspace((unsigned char)*c->p); c->p++)
        if (*c->p == '*')
            sk_buf_put_u8(&name, '*');
    size_t n = word_at(c->p);
    if (!n)
        rc = refuse(c, "the name of a variable is expected");
    while (!rc && n) {
        sk_buf_put(&name, c->p, n);
        c->p += n;
        n = 0;
        blanks(c);
        while (!rc && (*c->p == '(' || *c->p == '[')) {
            rc = c_brackets(c, v, &name);
            blanks(c);
        }
        size_t k = *c->p == '.' ? 1 : !strncmp(c->p, "->", 2) || !strncmp(c->p, "::", 2) ? 2 : 0;
        if (!rc && k && v->nsections)
            rc = refuse(c, "a member of a section: list the members one by one");
        if (!rc && k) {
            sk_buf_put(&name, c->p, k);
            c->p += k;
            blanks(c);
            if (!(n = word_at(c->p)))
                rc = refuse(c, "the name of a member is expected");
        }
    }
    v->name = rc ? NULL : sk_text_copy(sk_text_of(&name), name.len);
    sk_buf_free(&name);
    return rc;
}

/* In Fortran the text itself is passed, with the paper's sections made to Fortran's. */
static int fortran_variable(struct cursor *c, struct variable *v)
{
    struct sk_buf name = {0}, text = {0};
    int rc = 0;
    size_t n = word_at(c->p);
    if (!n)
        rc = refuse(c, "the name of a variable is expected");
    while (!rc && n) {
        sk_buf_put(&name, c->p, n);
        sk_buf_put(&text, c->p, n);
        c->p += n;
        n = 0;
        blanks(c);
        if (*c->p == '(') {
            struct section one = {0};
            size_t k = bracketed(c->p);
            if (!k)
                rc = refuse(c, "a parenthesis does not end");
            else if (paper_section(c->p + 1, k - 2, &one))
                sk_buf_printf(&text, "(%s:%s)", one.from, one.to);
            else
                sk_buf_put(&text, c->p, k);
            free(one.from);
            free(one.to);
            c->p += k;
            blanks(c);
        }
        if (!rc && *c->p == '%') {
            c->p++;
            blanks(c);
            sk_buf_put_u8(&name, '%');
            sk_buf_put_u8(&text, '%');
            if (!(n = word_at(c->p)))
                rc = refuse(c, "the name of a component is expected");
        }
    }
    v->name = rc ? NULL : sk_text_copy(sk_text_of(&name), name.len);
    v->text = rc ? NULL : sk_text_copy(sk_text_of(&text), text.len);
    sk_buf_free(&name);
    sk_buf_free(&text);
    return rc;
}

static struct variable *new_variable(struct cursor *c)
{
    struct variable *v = realloc(c->d->vars, (c->d->nvars + 1) * sizeof *v);
    if (!v) {
        refuse(c, "out of memory");
        return NULL;
    }
    c->d->vars = v;
    v += c->d->nvars++;
    memset(v, 0, sizeof *v);
    return v;
}

static int take_variable(struct cursor *c)
{
    int bytes = 0;
    size_t n = word_at(c->p);
    if (n == 5 && sk_text_same(c->p, n, "bytes")) {
        const char *p = c->p + n;
        while (isspace((unsigned char)*p))
            p++;
        if (*p == '(') {
            bytes = 1;
            c->p = p + 1;
            blanks(c);
        }
    }
    struct variable *v = new_variable(c);
    if (!v)
        return -1;
    v->bytes = bytes;
    int rc = c->language == LANG_FORTRAN ? fortran_variable(c, v) : c_variable(c, v);
    blanks(c);
    if (!rc && bytes && *c->p != ')')
        rc = refuse(c, "bytes(x) wants one variable");
    c->p += !rc && bytes;
    if (!rc && !v->name)
        rc = refuse(c, "out of memory");
    for (size_t i = 0; !rc && i + 1 < c->d->nvars; i++)
        if (c->d->vars[i].name && sk_text_same(c->d->vars[i].name, strlen(c->d->vars[i].name), v->name) &&
            (c->language == LANG_FORTRAN || !strcmp(c->d->vars[i].name, v->name)))
            rc = sk_source_refuse(c->s, c->d->at, "'%.60s' is listed twice: several sections of one variable need names of their own; call "
                                               "saikai_protect for each", v->name);
    return rc;
}

/* ---- clauses ---- */

/* The arguments of global( ) in p[0, n): C's lists in braces are taken apart, Fortran's arrays are not. */
static int global_arguments(struct cursor *c, struct variable *v, const char *p, size_t n)
{
    int rc = 0;
    for (size_t k = 0; !rc && n; p += k, n -= k) {
        k = find_outside(p, n, ",");
        char *one = trimmed(p, k);
        size_t len = one ? strlen(one) : 0;
        if (len > 1 && *one == '{' && c->language != LANG_FORTRAN && bracketed(one) == len) {
            rc = global_arguments(c, v, one + 1, len - 2);
            free(one);
        } else if (!len || v->nglobal == 2 * CLAUSES_MAX_DIMS) {
            rc = refuse(c, "'global' wants the sizes of the global array and then the offsets, as in global(nz, ny, first, 0)");
            free(one);
        } else {
            v->global[v->nglobal++] = one;
        }
        k += k < n;
    }
    return rc;
}

static int take_global(struct cursor *c, const char *text)
{
    struct variable *v = c->d->nvars ? &c->d->vars[c->d->nvars - 1] : NULL;
    if (!v || v->nglobal || v->bytes)
        return refuse(c, "'global' belongs behind one variable of numbers");
    int rc = global_arguments(c, v, text, strlen(text));
    if (!rc && (!v->nglobal || v->nglobal % 2))
        rc = refuse(c, "'global' wants as many offsets as sizes, as in global(nz, ny, first, 0)");
    return rc;
}

static int take_bound(struct cursor *c, char *text)
{
    char *p = strpbrk(text, ",:");
    if (p)
        *p = ':';
    size_t n = p ? (size_t)(p - text) : strlen(text), out = 0;
    char *kind = trimmed(text, n);
    int known = kind && (!p ? !strcmp(kind, "exact") : !strcmp(kind, "abs") || !strcmp(kind, "rel") || !strcmp(kind, "psnr"));
    free(kind);
    for (char *q = text; *q; q++)
        if (!isspace((unsigned char)*q))
            text[out++] = *q;
    text[out] = 0;
    char *end = NULL, *value = strchr(text, ':');
    if (!known || (value && (!(strtod(value + 1, &end) > 0) || *end)))
        return refuse(c, "'bound' wants abs:X, rel:X or psnr:X with a number: for one that is computed call saikai_bound");
    c->d->bound = sk_text_copy(text, out);
    return 0;
}

/* name( … ) at the cursor; the inside is given to out. 1: it was; 0: another word. */
static int take_clause(struct cursor *c, const char *name, char **out)
{
    size_t n = word_at(c->p);
    if (!sk_text_same(c->p, n, name))
        return 0;
    const char *p = c->p + n;
    while (isspace((unsigned char)*p))
        p++;
    if (*p != '(')
        return 0;
    size_t k = bracketed(p);
    if (!k)
        return refuse(c, "a parenthesis does not end");
    if (*out)
        return refuse(c, "a clause is told twice");
    *out = trimmed(p + 1, k - 2);
    c->p = p + k;
    return *out && **out ? 1 : refuse(c, "a clause is empty");
}

static int enable_clause(struct cursor *c)
{
    char *bound = NULL, *global = NULL;
    int rc = take_clause(c, "every", &c->d->every);
    if (!rc)
        rc = take_clause(c, "bound", &bound);
    if (rc > 0 && bound && c->d->bound)
        rc = refuse(c, "'bound' is told twice");
    if (rc > 0 && bound && take_bound(c, bound))
        rc = -1;
    if (!rc)
        rc = take_clause(c, "global", &global);
    if (rc > 0 && global && take_global(c, global))
        rc = -1;
    free(bound);
    free(global);
    return rc;
}

/* Variables, separated by commas; clauses between them, too. */
static int take_list(struct cursor *c)
{
    int wants = 1, rc = 0;
    for (blanks(c); !rc && *c->p; blanks(c)) {
        if (*c->p == ',') {
            if (wants)
                return refuse(c, "a comma without a variable before it");
            wants = 1;
            c->p++;
            continue;
        }
        rc = c->d->kind == D_ENABLE ? enable_clause(c) : 0;
        if (rc) {
            rc = rc < 0 ? -1 : 0;
            continue;
        }
        if (!wants)
            return refuse(c, "a comma is missing, or this clause is unknown (every, bound and global are possible)");
        rc = take_variable(c);
        wants = 0;
    }
    if (!rc && !c->d->nvars)
        rc = sk_source_refuse(c->s, c->d->at, "no variable is listed: what must survive?");
    return rc;
}

/* OpenCHK's: the list of variables stands first, and is taken when the clauses are known to be right. */
static int chk_clauses(struct cursor *c)
{
    char *list = NULL, *other = NULL;
    blanks(c);
    if (*c->p == '(') {
        size_t k = bracketed(c->p);
        if (!k)
            return refuse(c, "a parenthesis does not end");
        list = trimmed(c->p + 1, k - 2);
        c->p += k;
    }
    int rc = list ? 1 : refuse(c, "a list of variables in parentheses is expected");
    for (blanks(c); rc > 0 && *c->p; blanks(c)) {
        if (*c->p == ',') {
            c->p++;
            continue;
        }
        rc = take_clause(c, "if", &c->d->condition);
        if (!rc && c->d->kind == D_STORE)
            rc = take_clause(c, "id", &c->d->id);
        for (int i = 0; !rc && c->d->kind == D_STORE && i < 2; i++) {
            rc = take_clause(c, i ? "kind" : "level", &other); /* Saikai chooses these itself */
            free(other);
            other = NULL;
        }
        if (!rc)
            rc = refuse(c, "unknown clause: if, and for 'store' id, level and kind are possible");
    }
    if (rc > 0 && c->d->kind == D_STORE && !c->d->id)
        rc = refuse(c, "'store' wants id(number of the iteration)");
    const char *rest = c->p;
    c->p = list;
    rc = rc > 0 ? take_list(c) : rc;
    c->p = rest;
    free(list);
    return rc;
}

static int take_words(struct cursor *c, const char *word, size_t n)
{
    /* in the order of their kinds; "-": there is none */
    const char *p = c->d->chk ? "init - - - shutdown load store" : "init enable ckpt disable fini - -";
    for (int kind = D_INIT; *p; kind++) {
        size_t k = strcspn(p, " ");
        char one[16];
        snprintf(one, sizeof one, "%.*s", (int)k, p);
        if (n && sk_text_same(word, n, one)) {
            c->d->kind = (enum directive_kind)kind;
            return 0;
        }
        p += k + (p[k] == ' ');
    }
    return sk_source_refuse(c->s, c->d->at, "unknown directive '%.*s': %s are possible", (int)(n > 40 ? 40 : n), word,
                         c->d->chk ? "init, load, store and shutdown" : "init, enable, ckpt, disable and fini");
}

int sk_directive_parse(struct source *s, enum language language, int chk, const char *text, struct directive *d)
{
    struct cursor c = {s, d, language, text};
    d->chk = chk;
    blanks(&c);
    size_t n = word_at(c.p);
    if (take_words(&c, c.p, n))
        return -1;
    c.p += n;
    blanks(&c);
    int rc = 1;
    switch (d->kind) {
    case D_ENABLE:
        return take_list(&c);
    case D_LOAD:
    case D_STORE:
        return chk_clauses(&c);
    case D_INIT:
        while (rc > 0 && *c.p) {
            rc = take_clause(&c, "comm", &d->comm);
            if (!rc)
                rc = take_clause(&c, "config", &d->config);
            blanks(&c);
        }
        break;
    default:
        break;
    }
    return rc < 0 ? -1 : *c.p ? refuse(&c, "nothing more is expected here") : 0;
}

void sk_directive_free(struct directive *d)
{
    for (size_t i = 0; i < d->nvars; i++) {
        struct variable *v = &d->vars[i];
        free(v->name);
        free(v->text);
        for (int k = 0; k < v->nsections; k++) {
            free(v->section[k].from);
            free(v->section[k].to);
        }
        for (int k = 0; k < v->nglobal; k++)
            free(v->global[k]);
    }
    free(d->vars);
    free(d->every);
    free(d->bound);
    free(d->comm);
    free(d->config);
    free(d->id);
    free(d->condition);
    *d = (struct directive){0};
}

int sk_directive_has(const struct directive *d, const char *name, size_t n)
{
    for (size_t i = 0; i < d->nvars; i++)
        if (strlen(d->vars[i].name) == n && !memcmp(d->vars[i].name, name, n))
            return 1;
    return 0;
}

int sk_directive_add(struct directive *d, const char *name, size_t n)
{
    struct variable *v = realloc(d->vars, (d->nvars + 1) * sizeof *v);
    if (!v)
        return -1;
    d->vars = v;
    v[d->nvars] = (struct variable){.name = sk_text_copy(name, n), .text = sk_text_copy(name, n), .loops = 1};
    if (!v[d->nvars].name || !v[d->nvars].text) {
        free(v[d->nvars].name);
        free(v[d->nvars].text);
        return -1;
    }
    d->nvars++;
    return 0;
}
