/* Reader of Fortran's lines. */
#include "directive/fortran/f_lines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* One physical line: [at, end), without its line end. */
struct physical {
    size_t at, end, next;
};

struct reader {
    struct source *s;
    int fixed, cpp;
    struct f_lines *out;
    /* the statement that is being put together */
    struct sk_buf text;
    struct f_line now;
    int open, continues; /* free form: the last line ended with & */
    char quote;          /* inside of a string that goes on */
};

static int next_line(const struct reader *r, size_t at, struct physical *p)
{
    if (at >= r->s->n)
        return 0;
    const char *end = memchr(r->s->text + at, '\n', r->s->n - at);
    p->at = at;
    p->next = end ? (size_t)(end - r->s->text) + 1 : r->s->n;
    p->end = end ? p->next - 1 : r->s->n;
    if (p->end > at && r->s->text[p->end - 1] == '\r')
        p->end--;
    return 1;
}

static void squeeze(struct f_line *l)
{
    size_t n = strlen(l->text), out = 0;
    char quote = 0;
    if (!(l->squeezed = malloc(n + 1)))
        return;
    for (size_t i = 0; i < n; i++) {
        char c = l->text[i];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (isspace((unsigned char)c))
            continue;
        else
            c = (char)tolower((unsigned char)c);
        l->squeezed[out++] = c;
    }
    l->squeezed[out] = 0;
}

static int finish(struct reader *r)
{
    if (!r->open)
        return 0;
    r->open = r->continues = 0;
    r->quote = 0;
    struct f_lines *o = r->out;
    if (o->count == o->cap) {
        size_t cap = o->cap ? 2 * o->cap : 256;
        struct f_line *p = realloc(o->l, cap * sizeof *p);
        if (!p)
            return sk_source_refuse(r->s, 0, "out of memory");
        o->l = p;
        o->cap = cap;
    }
    r->now.text = sk_text_copy(sk_text_of(&r->text), r->text.len);
    r->text.len = 0;
    if (r->now.text)
        squeeze(&r->now);
    o->l[o->count++] = r->now;
    return r->now.text && r->now.squeezed ? 0 : sk_source_refuse(r->s, 0, "out of memory");
}

static void begin(struct reader *r, enum f_kind kind, const struct physical *p)
{
    r->now = (struct f_line){.kind = kind, .at = p->at, .n = p->end - p->at};
    r->open = 1;
}

/* The text of a line from p on, up to its comment; in free form a last & is taken away, and 1 returned. */
static int put_text(struct reader *r, size_t at, size_t end)
{
    size_t from = at;
    for (; at < end; at++) {
        char c = r->s->text[at];
        if (r->quote)
            r->quote = c == r->quote ? 0 : r->quote;
        else if (c == '"' || c == '\'')
            r->quote = c;
        else if (c == '!')
            break;
    }
    while (at > from && isspace((unsigned char)r->s->text[at - 1]) && (!r->fixed || !r->quote))
        at--;
    int more = !r->fixed && at > from && r->s->text[at - 1] == '&';
    sk_buf_put(&r->text, r->s->text + from, at - from - (size_t)more);
    if (!more && !r->fixed)
        r->quote = 0; /* a string ends with its line, whatever is wrong with it */
    return more;
}

/* The digits in [at, end), 0: none. The text may end with them. */
static long label_at(const struct source *s, size_t at, size_t end)
{
    long label = 0;
    for (; at < end && isdigit((unsigned char)s->text[at]) && label < 100000; at++)
        label = 10 * label + (s->text[at] - '0');
    return label;
}

/* A comment that is a directive: where its words begin, 0: it is none. */
static size_t sentinel(const struct reader *r, const struct physical *p, size_t at, int *chk)
{
    if (at + 5 > p->end || r->s->text[at + 1] != '$')
        return 0;
    const char *t = r->s->text + at + 2;
    size_t n = p->end - at - 2;
    *chk = n >= 3 && sk_text_same(t, 3, "chk");
    size_t k = *chk ? 3 : n >= 4 && sk_text_same(t, 4, "MICP") ? 4 : 0;
    return k && (k == n || !(isalnum((unsigned char)t[k]) || t[k] == '_')) ? at + 2 + k : 0;
}

/* The words of a directive; `!$MICP &` goes on where the last line ended with &. */
static int take_directive(struct reader *r, const struct physical *p, size_t at, int chk)
{
    while (at < p->end && isspace((unsigned char)r->s->text[at]))
        at++;
    int goes_on = at < p->end && r->s->text[at] == '&';
    int joined = r->open && r->now.kind == F_DIRECTIVE && (r->continues || (r->fixed && goes_on));
    if (goes_on && !joined)
        return sk_source_refuse(r->s, p->at, "this line goes on with a directive that has not begun");
    if (joined) {
        at += (size_t)goes_on;
        r->now.n = p->end - r->now.at;
    } else {
        if (r->open && r->continues)
            return sk_source_refuse(r->s, p->at, "a directive in the middle of a statement");
        if (finish(r))
            return -1;
        begin(r, F_DIRECTIVE, p);
        r->now.chk = chk;
    }
    size_t end = p->end, i = at;
    char quote = 0;
    for (; i < end; i++) { /* its comment */
        char c = r->s->text[i];
        quote = quote ? (c == quote ? 0 : quote) : c == '"' || c == '\'' ? c : 0;
        if (!quote && c == '!')
            break;
    }
    while (i > at && isspace((unsigned char)r->s->text[i - 1]))
        i--;
    r->continues = i > at && r->s->text[i - 1] == '&';
    sk_buf_put(&r->text, r->s->text + at, i - at - (size_t)r->continues);
    sk_buf_put_u8(&r->text, ' ');
    return r->continues || r->fixed ? 0 : finish(r); /* in fixed form the next line says whether it goes on */
}

static int free_line(struct reader *r, const struct physical *p)
{
    size_t at = p->at;
    int chk = 0;
    while (at < p->end && isspace((unsigned char)r->s->text[at]))
        at++;
    if (at == p->end)
        return 0;
    char c = r->s->text[at];
    if (c == '!' && !(r->open && r->quote)) {
        size_t words = sentinel(r, p, at, &chk);
        return words ? take_directive(r, p, words, chk) : 0; /* comments may stand between continued lines */
    }
    if (r->open && r->now.kind == F_DIRECTIVE)
        return sk_source_refuse(r->s, p->at, "the directive before this line is not finished: it ends with &");
    if (r->open && r->continues) {
        at += c == '&';
        r->now.n = p->end - r->now.at;
    } else {
        if (finish(r))
            return -1;
        begin(r, F_STATEMENT, p);
        size_t digits = at;
        while (digits < p->end && isdigit((unsigned char)r->s->text[digits]))
            digits++;
        if (digits > at && digits < p->end && isspace((unsigned char)r->s->text[digits])) {
            r->now.label = label_at(r->s, at, digits);
            at = digits;
        }
    }
    r->continues = put_text(r, at, p->end);
    return r->continues ? 0 : finish(r);
}

/* Columns 1–5 label, 6 continuation, from 7 on the statement; what is behind column 72 is the compiler's affair (-ffixed-line-length) and
 * taken for a part of it. */
static int fixed_line(struct reader *r, const struct physical *p)
{
    const char *t = r->s->text + p->at;
    size_t n = p->end - p->at, i = 0;
    int chk = 0;
    if (n && (strchr("cCdD*!", *t))) {
        size_t words = sentinel(r, p, p->at, &chk);
        return words ? take_directive(r, p, words, chk) : 0;
    }
    while (i < n && isspace((unsigned char)t[i]))
        i++;
    if (i == n)
        return 0;
    if (t[i] == '!' && i != 5) {
        size_t words = sentinel(r, p, p->at + i, &chk);
        return words ? take_directive(r, p, words, chk) : 0;
    }
    if (r->open && r->now.kind == F_DIRECTIVE && r->continues)
        return sk_source_refuse(r->s, p->at, "the directive before this line is not finished: it ends with &");
    const char *tab = memchr(t, '\t', n < 6 ? n : 6);
    int goes_on = tab ? tab + 1 < t + n && tab[1] >= '1' && tab[1] <= '9' : n > 5 && t[5] != ' ' && t[5] != '0' && i >= 5;
    size_t from = tab ? (size_t)(tab - t) + 1 + (size_t)goes_on : 6;
    if (goes_on && r->open && r->now.kind == F_STATEMENT) {
        r->now.n = p->end - r->now.at;
    } else {
        if (finish(r))
            return -1;
        begin(r, F_STATEMENT, p);
        r->now.label = i < 5 ? label_at(r->s, p->at + i, p->end) : 0;
    }
    if (from < n)
        put_text(r, p->at + from, p->end);
    return 0;
}

int sk_f_read(struct source *s, int fixed, int cpp, struct f_lines *out)
{
    struct reader r = {.s = s, .fixed = fixed, .cpp = cpp, .out = out};
    struct physical p;
    int rc = 0;
    *out = (struct f_lines){0};
    for (size_t at = 0; !rc && next_line(&r, at, &p); at = p.next) {
        if (p.end > p.at && s->text[p.at] == '#') {
            while (cpp && p.end > p.at && s->text[p.end - 1] == '\\' && p.next < s->n) { /* a macro of several lines */
                struct physical q;
                next_line(&r, p.next, &q);
                p.end = q.end;
                p.next = q.next;
            }
            if (r.open && (r.continues || fixed) && cpp) { /* conditionals in a statement: it is as it is */
                if (r.now.kind == F_DIRECTIVE && r.continues)
                    rc = sk_source_refuse(s, p.at, "a preprocessor line in a directive");
                r.continues = 0;
            }
            if (!rc)
                rc = finish(&r);
            begin(&r, F_CPP, &p);
            sk_buf_put(&r.text, s->text + p.at, p.end - p.at);
            rc = rc ? rc : finish(&r);
        } else {
            rc = fixed ? fixed_line(&r, &p) : free_line(&r, &p);
        }
    }
    if (!rc && r.open && r.continues && r.now.kind == F_DIRECTIVE)
        rc = sk_source_refuse(s, r.now.at, "this directive is not finished: it ends with &");
    rc = rc ? rc : finish(&r);
    sk_buf_free(&r.text);
    if (rc)
        sk_f_lines_free(out);
    return rc;
}

void sk_f_lines_free(struct f_lines *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->l[i].text);
        free(l->l[i].squeezed);
    }
    free(l->l);
    *l = (struct f_lines){0};
}
