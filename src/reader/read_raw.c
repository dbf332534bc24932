/* Raw formats from a text description of their layout. The language is documented in
 * docs/format-raw.md. */
#include "reader/reader.h"
#include "reader/scan.h"
#include "reader/view.h"

#include "base/types.h"

#include <fnmatch.h>
#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STEPS   64
#define MAX_VARS    16
#define MAX_FORMATS 32
#define MAX_RUN     4000000 /* steps of one file: a hostile file must end too */
#define WORD        64

enum step_kind { S_SKIP, S_READ, S_TEXT, S_ARRAY, S_REPEAT, S_END, S_EXPECT, S_SET };

/* number, or variable, or variable / number, or variable * number */
struct expr {
    int var; /* -1: none */
    uint64_t mul, div;
};

struct step {
    enum step_kind kind;
    int var, type, fields, ndims, jump; /* jump: the matching end or repeat */
    char op;                            /* of 'set': = + - * / or r (root) */
    struct expr n[SAIKAI_MAX_DIMS];
    char name[WORD];
};

struct format {
    char name[WORD], glob[WORD], magic[WORD];
    uint64_t magic_at;
    size_t magic_len;
    int big_endian, steps, vars, shipped;
    struct step step[MAX_STEPS];
    char var[MAX_VARS][WORD];
};

static struct format *formats[MAX_FORMATS]; /* that were described so far, to this process */
static int format_count;

static int var_of(struct format *f, const char *name, int make)
{
    for (int i = 0; i < f->vars; i++)
        if (!strcmp(f->var[i], name))
            return i;
    if (!make || f->vars == MAX_VARS || strlen(name) >= WORD)
        return -1;
    strcpy(f->var[f->vars], name);
    return f->vars++;
}

static int number(const char *s, uint64_t *out)
{
    char *end;
    if (*s < '0' || *s > '9')
        return -1;
    *out = strtoull(s, &end, 0);
    return *end ? -1 : 0;
}

static int parse_expr(struct format *f, const char *word, struct expr *e)
{
    char copy[WORD];
    *e = (struct expr){-1, 1, 1};
    if (!number(word, &e->mul))
        return 0;
    snprintf(copy, sizeof copy, "%s", word);
    char *op = strpbrk(copy, "/*");
    if (op) {
        uint64_t *which = *op == '/' ? &e->div : &e->mul;
        if (number(op + 1, which) || !*which)
            return -1;
        *op = 0;
    }
    e->var = var_of(f, copy, 0);
    return e->var < 0 ? -1 : 0;
}

/* Split a line into words; "quoted words" may hold blanks. Returns the number of words. */
static int split(char *line, char *words[], int max)
{
    int n = 0;
    for (char *p = line; *p && n < max;) {
        p += strspn(p, " \t\r");
        if (!*p || *p == '#')
            break;
        if (*p == '"') {
            words[n++] = ++p;
            p += strcspn(p, "\"");
        } else {
            words[n++] = p;
            p += strcspn(p, " \t\r");
        }
        if (*p)
            *p++ = 0;
    }
    return n;
}

static int parse_header(struct format *f, char *w[], int n)
{
    if (!strcmp(w[0], "format") && n == 2 && strlen(w[1]) < WORD)
        return strcpy(f->name, w[1]), 1;
    if (!strcmp(w[0], "file") && n == 2 && strlen(w[1]) < WORD)
        return strcpy(f->glob, w[1]), 1;
    if (!strcmp(w[0], "magic") && n == 3 && strlen(w[2]) < WORD && !number(w[1], &f->magic_at)) {
        f->magic_len = strlen(w[2]);
        return strcpy(f->magic, w[2]), 1;
    }
    if (!strcmp(w[0], "endian") && n == 2 && (!strcmp(w[1], "big") || !strcmp(w[1], "little")))
        return f->big_endian = w[1][0] == 'b', 1;
    return 0;
}

static int parse_array(struct format *f, struct step *s, char *w[], int n)
{
    if (n > 4 && !strcmp(w[n - 1], "fields"))
        s->fields = 1, n--;
    if (n < 4 || n - 3 > SAIKAI_MAX_DIMS || strlen(w[1]) >= WORD ||
        !(s->type = sk_type_parse(w[2])))
        return -1;
    strcpy(s->name, w[1]);
    for (s->ndims = 0; s->ndims < n - 3; s->ndims++)
        if (parse_expr(f, w[3 + s->ndims], &s->n[s->ndims]))
            return -1;
    return 0;
}

/* "set v a / b root": one step per operation, from left to right. */
static int parse_set(struct format *f, char *w[], int n)
{
    int var = n > 2 ? var_of(f, w[1], 1) : -1;
    for (int i = 2; i < n && var >= 0; i++) {
        struct step s = {.kind = S_SET, .var = var, .op = '='};
        if (i > 2)
            s.op = w[i][0];
        if (f->steps == MAX_STEPS ||
            (i > 2 && strcmp(w[i], "root") && (!strchr("+-*/", s.op) || w[i][1])))
            return -1;
        if (i > 2 && s.op != 'r' && ++i == n)
            return -1;
        if (s.op != 'r' && parse_expr(f, w[i], &s.n[0]))
            return -1;
        f->step[f->steps++] = s;
    }
    return var < 0 ? -1 : 0;
}

/* One line of a description, in words; -1: it is none. */
static int parse_step(struct format *f, char *w[], int n)
{
    if (!strcmp(w[0], "set"))
        return parse_set(f, w, n);
    if (f->steps == MAX_STEPS)
        return -1;
    struct step *s = &f->step[f->steps];
    memset(s, 0, sizeof *s);
    int rc = -1;
    if (!strcmp(w[0], "skip") && n == 2) {
        s->kind = S_SKIP;
        rc = parse_expr(f, w[1], &s->n[0]);
    } else if ((!strcmp(w[0], "read") || !strcmp(w[0], "expect")) && n == 3) {
        s->kind = w[0][0] == 'r' ? S_READ : S_EXPECT;
        s->type = sk_type_parse(w[2]);
        if (s->kind == S_READ)
            s->var = var_of(f, w[1], 1);
        else if (parse_expr(f, w[1], &s->n[0]))
            s->type = 0;
        rc = s->type && s->type < SAIKAI_F32 && s->var >= 0 ? 0 : -1;
    } else if (!strcmp(w[0], "text") && n == 3) {
        s->kind = S_TEXT;
        s->var = var_of(f, w[1], 1);
        rc = s->var < 0 ? -1 : parse_expr(f, w[2], &s->n[0]);
    } else if (!strcmp(w[0], "array")) {
        s->kind = S_ARRAY;
        rc = parse_array(f, s, w, n);
    } else if (!strcmp(w[0], "repeat") && n <= 2) {
        s->kind = S_REPEAT;
        s->jump = -1;
        s->ndims = n - 1; /* 0: until the end of the file */
        rc = n == 2 ? parse_expr(f, w[1], &s->n[0]) : 0;
    } else if (!strcmp(w[0], "end") && n == 1) {
        s->kind = S_END;
        for (int i = f->steps - 1; i >= 0 && rc; i--)
            if (f->step[i].kind == S_REPEAT && f->step[i].jump < 0) {
                f->step[i].jump = f->steps;
                s->jump = i;
                rc = 0;
            }
    }
    f->steps += !rc;
    return rc;
}

static int parse_format(struct format *f, const char *text, const char *where,
                        struct saikai_error *err)
{
    int line_no = 0;
    while (*text) {
        char line[512], *w[16];
        size_t n = strcspn(text, "\n");
        line_no++;
        if (n >= sizeof line)
            return sk_fail(err, SAIKAI_EINVAL, "%s:%d: the line is too long", where, line_no);
        memcpy(line, text, n);
        line[n] = 0;
        text += n + (text[n] == '\n');
        int words = split(line, w, 16);
        if (words && !parse_header(f, w, words) && parse_step(f, w, words))
            return sk_fail(err, SAIKAI_EINVAL,
                           "%s:%d: cannot understand '%s' here; see docs/format-raw.md", where,
                           line_no, w[0]);
    }
    for (int i = 0; i < f->steps; i++)
        if (f->step[i].kind == S_REPEAT && f->step[i].jump < 0)
            return sk_fail(err, SAIKAI_EINVAL, "%s: a 'repeat' has no 'end'", where);
    if (!f->name[0] || (!f->magic_len && !f->glob[0]))
        return sk_fail(err, SAIKAI_EINVAL, "%s: a description needs 'format' and 'magic' or 'file'",
                       where);
    return 0;
}

/* Descriptions that come with Saikai (raw_formats.def); those of the user are tried first. */
static const char *const shipped[] = {
#define FORMAT(text) text,
#include "reader/raw_formats.def"
#undef FORMAT
};

static void describe_shipped(void)
{
    for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++)
        if (!sk_raw_describe(shipped[i], "shipped description", NULL))
            formats[format_count - 1]->shipped = 1;
}

void sk_raw_describe_shipped(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* ranks may be threads of one process */
    pthread_once(&once, describe_shipped);
}

int sk_raw_describe(const char *text, const char *where, struct saikai_error *err)
{
    if (format_count == MAX_FORMATS)
        return sk_fail(err, SAIKAI_EINVAL, "%s: more than %d descriptions", where, MAX_FORMATS);
    struct format *f = calloc(1, sizeof *f);
    if (!f)
        return sk_fail(err, SAIKAI_ENOMEM, "%s: no memory for the description", where);
    int rc = parse_format(f, text, where, err);
    if (rc) {
        free(f);
        return rc;
    }
    formats[format_count++] = f;
    return 0;
}

/* ---- running a description over a file ---- */

struct run {
    const struct sk_view *src;
    const struct format *f;
    uint64_t at;
    uint64_t number[MAX_VARS];
    char text[MAX_VARS][WORD];
    uint64_t left[MAX_STEPS]; /* rounds of each repeat */
};

static int eval(const struct run *r, const struct expr *e, uint64_t *out)
{
    uint64_t v = e->var < 0 ? 1 : r->number[e->var];
    if (e->div > 1 && v % e->div)
        return -1;
    return __builtin_mul_overflow(v / e->div, e->mul, out) ? -1 : 0;
}

static int read_int(struct run *r, int type, uint64_t *out)
{
    size_t n = sk_type_size(type);
    if (r->src->size - r->at < n)
        return -1;
    uint64_t v = 0;
    const uint8_t *p = sk_view_at(r->src, r->at, n);
    if (!p)
        return -1;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[r->f->big_endian ? i : n - 1 - i];
    r->at += n;
    *out = v;
    return 0;
}

/* A name with $variables replaced by what the file said. */
static void expand(const struct run *r, const char *in, char *out, size_t cap)
{
    size_t n = 0;
    while (*in && n + 1 < cap) {
        if (*in != '$') {
            out[n++] = *in++;
            continue;
        }
        char word[WORD];
        size_t k = 0;
        for (in++;
             k + 1 < sizeof word && *in && strchr("abcdefghijklmnopqrstuvwxyz0123456789", *in);)
            word[k++] = *in++;
        word[k] = 0;
        for (int v = 0; v < r->f->vars; v++)
            if (!strcmp(word, r->f->var[v])) {
                if (r->text[v][0])
                    n += (size_t)snprintf(out + n, cap - n, "%s", r->text[v]);
                else
                    n += (size_t)snprintf(out + n, cap - n, "%llu",
                                          (unsigned long long)r->number[v]);
            }
        if (n >= cap)
            n = cap - 1;
    }
    out[n] = 0;
}

static int read_text(struct run *r, const struct step *s)
{
    uint64_t n, k = 0;
    if (eval(r, &s->n[0], &n) || n > r->src->size - r->at)
        return -1;
    uint64_t looked = n < WORD ? n : WORD;
    const char *p = (const char *)sk_view_at(r->src, r->at, looked);
    if (!p)
        return -1;
    for (uint64_t i = 0; i < looked && k + 1 < WORD && p[i] > ' ' && p[i] < 127; i++)
        r->text[s->var][k++] = p[i];
    r->text[s->var][k] = 0;
    r->at += n;
    return 0;
}

static int read_array(struct run *r, const struct step *s, struct sk_scan *scan)
{
    struct sk_extent e = {.offset = r->at, .type = s->type, .ndims = s->ndims, .fields = s->fields};
    char name[SAIKAI_MAX_NAME + 1];
    e.big_endian = r->f->big_endian;
    e.length = sk_type_size(s->type);
    for (int i = 0; i < s->ndims; i++) {
        uint64_t n;
        if (eval(r, &s->n[i], &n) || __builtin_mul_overflow(e.length, n, &e.length))
            return -1;
        e.dims[i] = (size_t)n;
    }
    if (e.length > r->src->size - r->at)
        return -1;
    r->at += e.length;
    expand(r, s->name, name, sizeof name);
    return e.length ? sk_scan_add(scan, &e, name) : 0;
}

/* The whole square root of a square, else -1. */
static int root(uint64_t v, uint64_t *out)
{
    uint64_t r = 0;
    for (uint64_t bit = (uint64_t)1 << 31; bit; bit >>= 1)
        if ((r | bit) * (r | bit) <= v)
            r |= bit;
    *out = r;
    return r * r == v ? 0 : -1;
}

static int run_set(struct run *r, const struct step *s)
{
    uint64_t *v = &r->number[s->var], n = 0;
    if (s->op == 'r')
        return root(*v, v);
    if (eval(r, &s->n[0], &n) || (s->op == '/' && (!n || *v % n)))
        return -1;
    switch (s->op) {
    case '+':
        *v += n;
        break;
    case '-':
        *v -= n;
        break;
    case '*':
        *v *= n;
        break;
    case '/':
        *v /= n;
        break;
    default:
        *v = n;
    }
    return 0;
}

/* One step; *pc is the next one. Returns 0, -1 when the file is not as described, or a code. */
static int run_step(struct run *r, int *pc, struct sk_scan *scan)
{
    const struct step *s = &r->f->step[*pc];
    uint64_t n;
    switch (s->kind) {
    case S_SKIP:
        if (eval(r, &s->n[0], &n) || n > r->src->size - r->at)
            return -1;
        r->at += n;
        break;
    case S_READ:
        if (read_int(r, s->type, &r->number[s->var]))
            return -1;
        break;
    case S_EXPECT: {
        uint64_t want;
        if (read_int(r, s->type, &n) || eval(r, &s->n[0], &want) || n != want)
            return -1;
        break;
    }
    case S_TEXT:
        if (read_text(r, s))
            return -1;
        break;
    case S_SET:
        if (run_set(r, s))
            return -1;
        break;
    case S_ARRAY: {
        int rc = read_array(r, s, scan);
        if (rc)
            return rc;
        break;
    }
    case S_REPEAT:
        if (!s->ndims)
            n = r->at < r->src->size ? UINT64_MAX : 0;
        else if (eval(r, &s->n[0], &n))
            return -1;
        r->left[*pc] = n;
        if (!n)
            *pc = s->jump;
        break;
    case S_END: {
        uint64_t *left = &r->left[s->jump];
        int more = *left == UINT64_MAX ? r->at < r->src->size : --*left > 0;
        if (more)
            *pc = s->jump;
        break;
    }
    }
    ++*pc;
    return 0;
}

static int fits(const struct format *f, const struct sk_view *src)
{
    const char *base = strrchr(src->path, '/');
    base = base ? base + 1 : src->path;
    if (f->glob[0] && fnmatch(f->glob, base, 0))
        return 0;
    if (f->magic_at > src->size || f->magic_len > src->size - f->magic_at)
        return 0;
    const uint8_t *p = sk_view_at(src, f->magic_at, f->magic_len);
    return p && !memcmp(p, f->magic, f->magic_len);
}

/* Those of the user before those that come with Saikai, the last one given first. */
static const struct format *format_of(const struct sk_view *src)
{
    for (int shipped_ones = 0; shipped_ones < 2; shipped_ones++)
        for (int i = format_count - 1; i >= 0; i--)
            if (formats[i]->shipped == shipped_ones && fits(formats[i], src))
                return formats[i];
    return NULL;
}

static int probe(const struct sk_view *src)
{
    return src->size && format_of(src) != NULL;
}

/* What was found before the file left the description is kept: extents are checked anyway. */
static int scan_raw(const struct sk_view *src, struct sk_scan *scan, struct saikai_error *err)
{
    struct run *r = calloc(1, sizeof *r);
    if (!r)
        return SAIKAI_ENOMEM;
    r->src = src;
    r->f = format_of(src);
    int rc = 0;
    for (int pc = 0, steps = 0; r->f && pc < r->f->steps && !rc && steps < MAX_RUN; steps++)
        rc = run_step(r, &pc, scan);
    free(r);
    return rc == SAIKAI_ENOMEM ? rc : 0;
}

const struct sk_reader_ops sk_reader_raw = {"described", "files whose layout a description tells", probe, scan_raw};
