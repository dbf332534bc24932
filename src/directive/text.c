/* Edits of a source, and what is wrong with it. */
#include "directive/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void sk_source_free(struct source *s)
{
    free(s->edits);
    sk_buf_free(&s->pool);
    sk_buf_free(&s->warned);
    s->edits = NULL;
    s->nedits = s->cap = 0;
}

/* Most are asked for in the order of the file, so all together read it a few times at most. */
size_t sk_source_line(struct source *s, size_t at)
{
    at = at < s->n ? at : s->n;
    for (; s->counted_at < at; s->counted_at++)
        s->counted += s->text[s->counted_at] == '\n';
    for (; s->counted_at > at; s->counted_at--)
        s->counted -= s->text[s->counted_at - 1] == '\n';
    return s->counted + 1;
}

int sk_source_refuse(struct source *s, size_t at, const char *format, ...)
{
    va_list ap;
    if (s->failed)
        return -1;
    s->failed = 1;
    int n = snprintf(s->said, sizeof s->said, "%.200s:%zu: error: ", s->name, sk_source_line(s, at));
    va_start(ap, format);
    vsnprintf(s->said + n, sizeof s->said - (size_t)n, format, ap);
    va_end(ap);
    return -1;
}

void sk_source_warn(struct source *s, size_t at, const char *format, ...)
{
    char text[700];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (s->warned.len < 1 << 16)
        sk_buf_printf(&s->warned, "%.200s:%zu: warning: %s\n", s->name, sk_source_line(s, at), text);
}

static void add(struct source *s, size_t at, size_t removed, size_t from)
{
    if (s->nedits == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        struct edit *p = realloc(s->edits, cap * sizeof *p);
        if (!p) {
            s->pool.failed = 1;
            return;
        }
        s->edits = p;
        s->cap = cap;
    }
    s->edits[s->nedits] = (struct edit){at, removed, from, s->pool.len - from, s->nedits};
    s->nedits++;
}

void sk_source_edit(struct source *s, size_t at, size_t removed, const char *format, ...)
{
    char small[2048];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(small, sizeof small, format, ap);
    va_end(ap);
    size_t from = s->pool.len;
    if (n >= (int)sizeof small) {
        char *large = malloc((size_t)n + 1);
        va_start(ap, format);
        if (large)
            vsnprintf(large, (size_t)n + 1, format, ap);
        va_end(ap);
        sk_buf_put(&s->pool, large ? large : "", large ? (size_t)n : 0);
        s->pool.failed |= !large;
        free(large);
    } else if (n > 0) {
        sk_buf_put(&s->pool, small, (size_t)n);
    }
    add(s, at, removed, from);
}

void sk_source_replace(struct source *s, size_t at, size_t removed, const char *text)
{
    size_t from = s->pool.len;
    sk_buf_put(&s->pool, text, strlen(text));
    for (size_t i = at; i < at + removed && i < s->n; i++)
        if (s->text[i] == '\n')
            sk_buf_put_u8(&s->pool, '\n');
    add(s, at, removed, from);
}

static int by_place(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

int sk_source_write(struct source *s, struct sk_buf *out)
{
    size_t at = 0;
    if (s->nedits)
        qsort(s->edits, s->nedits, sizeof *s->edits, by_place);
    for (size_t i = 0; i < s->nedits; i++) {
        const struct edit *e = &s->edits[i];
        if (e->at < at || e->at + e->removed > s->n)
            return sk_source_refuse(s, e->at, "directives overlap here");
        sk_buf_put(out, s->text + at, e->at - at);
        sk_buf_put(out, s->pool.data + e->text, e->n);
        at = e->at + e->removed;
    }
    sk_buf_put(out, s->text + at, s->n - at);
    return sk_buf_ok(out) && sk_buf_ok(&s->pool) ? 0 : sk_source_refuse(s, 0, "out of memory");
}

const char *sk_text_of(struct sk_buf *b)
{
    sk_buf_put_u8(b, 0);
    if (!sk_buf_ok(b))
        return "";
    b->len--;
    return (const char *)b->data;
}

char *sk_text_copy(const char *p, size_t n)
{
    char *copy = malloc(n + 1);
    if (copy) {
        if (n)
            memcpy(copy, p, n);
        copy[n] = 0;
    }
    return copy;
}

int sk_text_same(const char *p, size_t n, const char *word)
{
    if (strlen(word) != n)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (tolower((unsigned char)p[i]) != tolower((unsigned char)word[i]))
            return 0;
    return 1;
}
