/* Tokeniser of C and C++. A splice (backslash and line end) may stand anywhere, so all characters are read through `next`. */
#include "directive/c/c_tokens.h"

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Past all splices at `at`. */
static size_t past_splices(const struct source *s, size_t at)
{
    while (at + 1 < s->n && s->text[at] == '\\') {
        if (s->text[at + 1] == '\n')
            at += 2;
        else if (at + 2 < s->n && s->text[at + 1] == '\r' && s->text[at + 2] == '\n')
            at += 3;
        else
            break;
    }
    return at;
}

/* The character at `at`, which is moved past splices before it; 0 at the end. */
static int peek(const struct source *s, size_t *at)
{
    *at = past_splices(s, *at);
    return *at < s->n ? (unsigned char)s->text[*at] : 0;
}

static int peek2(const struct source *s, size_t at)
{
    peek(s, &at);
    at++;
    return at <= s->n ? peek(s, &at) : 0;
}

static int is_end(const struct source *s, size_t at)
{
    return past_splices(s, at) >= s->n;
}

/* Past a comment at `at`, or `at` itself. */
static size_t past_comment(const struct source *s, size_t at)
{
    size_t p = at;
    if (peek(s, &p) != '/')
        return at;
    int second = peek2(s, p);
    if (second == '/') {
        while (!is_end(s, p) && peek(s, &p) != '\n')
            p++;
        return p < s->n ? p : s->n;
    }
    if (second != '*')
        return at;
    p = past_splices(s, p + 1) + 1;
    while (!is_end(s, p)) {
        if (peek(s, &p) == '*' && peek2(s, p) == '/') {
            p = past_splices(s, p + 1);
            return p + 1;
        }
        p++;
    }
    return s->n;
}

static int is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static int is_word(int c)
{
    return isalnum(c) || c == '_' || c == '$' || c >= 0x80;
}

/* A string or character from its opening quote on; it ends with its line at the latest. */
static size_t past_string(const struct source *s, size_t at)
{
    int quote = peek(s, &at);
    for (at++; !is_end(s, at); at++) {
        int c = peek(s, &at);
        if (c == '\n')
            return at;
        if (c == quote)
            return at + 1;
        if (c == '\\') {
            at++;
            if (peek(s, &at) == '\n')
                return at;
        }
    }
    return s->n;
}

/* R"delimiter( … )delimiter": from the quote on; splices mean nothing in it. */
static size_t past_raw(const struct source *s, size_t at)
{
    const char *open = memchr(s->text + at, '(', s->n - at < 18 ? s->n - at : 18);
    if (!open)
        return past_string(s, at);
    char end[24] = ")";
    size_t n = (size_t)(open - s->text) - at - 1;
    memcpy(end + 1, s->text + at + 1, n);
    end[n + 1] = '"';
    const char *found = memmem(open, s->n - (size_t)(open - s->text), end, n + 2);
    return found ? (size_t)(found - s->text) + n + 2 : s->n;
}

static int is_raw_prefix(const struct source *s, const struct token *t)
{
    return sk_c_token_is(s, t, "R") || sk_c_token_is(s, t, "LR") || sk_c_token_is(s, t, "uR") || sk_c_token_is(s, t, "UR") || sk_c_token_is(s, t, "u8R");
}

/* A preprocessor line: to its line end, comments that go over several lines included. */
static size_t past_line(const struct source *s, size_t at)
{
    while (!is_end(s, at)) {
        int c = peek(s, &at);
        size_t k = past_comment(s, at);
        if (c == '\n')
            return at;
        if (k != at)
            at = k;
        else if (c == '"' || c == '\'')
            at = past_string(s, at);
        else
            at++;
    }
    return s->n;
}

static size_t past_number(const struct source *s, size_t at)
{
    for (int before = 0; !is_end(s, at); at++) {
        int c = peek(s, &at);
        int sign = (c == '+' || c == '-') && before && strchr("eEpP", before);
        int separator = c == '\'' && is_word(peek2(s, at));
        if (!is_word(c) && c != '.' && !sign && !separator)
            return at;
        before = c;
    }
    return s->n;
}

/* Operators of which a part would mean something else here. */
static size_t punct_length(const struct source *s, size_t at)
{
    static const char *const longer[] = {"<<=", ">>=", "...", "->", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "==", "!=",
                                         "<=", ">=", "&&", "||", "<<", ">>", "::", "<%", "%>", "<:", ":>", "##"};
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        size_t p = at, k = 0;
        for (; longer[i][k] && peek(s, &p) == longer[i][k]; k++)
            p++;
        if (!longer[i][k])
            return p - at;
    }
    return 1;
}

static int put(struct tokens *t, struct token one)
{
    if (t->count == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 1024;
        struct token *p = realloc(t->t, cap * sizeof *p);
        if (!p)
            return -1;
        t->t = p;
        t->cap = cap;
    }
    t->t[t->count++] = one;
    return 0;
}

/* The token at `at`, which is no blank and no comment. */
static struct token token_at(const struct source *s, size_t at, int first)
{
    struct token t = {.kind = T_PUNCT, .at = at, .n = 1};
    int c = peek(s, &at), second = peek2(s, at);
    t.at = at;
    size_t end = at + 1;
    if (first && (c == '#' || (c == '%' && second == ':'))) {
        t.kind = T_LINE;
        end = past_line(s, at);
    } else if (isdigit(c) || (c == '.' && isdigit(second))) {
        t.kind = T_NUMBER;
        end = past_number(s, at);
    } else if (c == '"' || c == '\'') {
        t.kind = T_STRING;
        end = past_string(s, at);
    } else if (is_word(c)) {
        t.kind = T_WORD;
        for (end = at; !is_end(s, end) && is_word(peek(s, &end)); end++)
            ;
        t.n = end - at;
        size_t q = end;
        if (peek(s, &q) == '"' && q == end && is_raw_prefix(s, &t)) {
            t.kind = T_STRING;
            end = past_raw(s, end);
        }
    } else {
        end = at + punct_length(s, at);
    }
    t.n = end - at;
    return t;
}

size_t sk_c_begin(const struct source *s)
{
    return s->n >= 3 && !memcmp(s->text, "\xef\xbb\xbf", 3) ? 3 : 0;
}

int sk_c_tokens(struct source *s, struct tokens *out)
{
    size_t at = sk_c_begin(s);
    int first = 1; /* on its line */
    unsigned blank = 1;
    *out = (struct tokens){0};
    while (!is_end(s, at)) {
        int c = peek(s, &at);
        size_t k = past_comment(s, at);
        if (is_blank(c) || c == '\n' || k != at) {
            first |= c == '\n';
            at = k != at ? k : at + 1;
            blank = 1;
            continue;
        }
        struct token t = token_at(s, at, first);
        t.blank = blank;
        if (put(out, t))
            return -1;
        at = t.at + t.n;
        first = 0;
        blank = 0;
    }
    return put(out, (struct token){.kind = T_END, .at = s->n, .blank = 1});
}

void sk_c_tokens_free(struct tokens *t)
{
    free(t->t);
    *t = (struct tokens){0};
}

int sk_c_token_is(const struct source *s, const struct token *t, const char *text)
{
    size_t at = t->at, end = t->at + t->n;
    if (t->kind == T_STRING || t->kind == T_END)
        return 0;
    for (; *text; text++, at++)
        if (at >= end || peek(s, &at) != (unsigned char)*text || at >= end)
            return 0;
    return past_splices(s, at) >= end;
}

void sk_c_clean(const struct source *s, size_t at, size_t n, struct sk_buf *out)
{
    size_t end = at + n;
    for (at = past_splices(s, at); at < end; at = past_splices(s, at)) {
        size_t k = past_comment(s, at);
        if (k != at) {
            sk_buf_put_u8(out, ' ');
            at = k;
            continue;
        }
        char c = s->text[at];
        if (c == '"' || c == '\'') {
            k = past_string(s, at);
            for (; at < k && at < end; at = past_splices(s, at))
                sk_buf_put_u8(out, (uint8_t)s->text[at++]);
            continue;
        }
        sk_buf_put_u8(out, (uint8_t)(c == '\n' || c == '\r' ? ' ' : c));
        at++;
    }
}
