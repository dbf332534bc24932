/* Brackets that belong to each other, through preprocessor conditionals that leave them as they are. */
#include "directive/c/c_file.h"

#include <string.h>

int sk_c_is(const struct c_file *f, size_t i, const char *text)
{
    return i < f->t.count && sk_c_token_is(f->s, &f->t.t[i], text);
}

int sk_c_is_opening(const struct c_file *f, size_t i)
{
    return sk_c_is(f, i, "(") || sk_c_is(f, i, "[") || sk_c_is(f, i, "{") || sk_c_is(f, i, "<%") || sk_c_is(f, i, "<:");
}

int sk_c_is_closing(const struct c_file *f, size_t i)
{
    return sk_c_is(f, i, ")") || sk_c_is(f, i, "]") || sk_c_is(f, i, "}") || sk_c_is(f, i, "%>") || sk_c_is(f, i, ":>");
}

int sk_c_is_brace(const struct c_file *f, size_t i)
{
    return sk_c_is(f, i, "{") || sk_c_is(f, i, "<%");
}

static int pairs(const struct c_file *f, size_t open, size_t close)
{
    if (sk_c_is(f, open, "("))
        return sk_c_is(f, close, ")");
    return sk_c_is_brace(f, open) ? sk_c_is(f, close, "}") || sk_c_is(f, close, "%>") : sk_c_is(f, close, "]") || sk_c_is(f, close, ":>");
}

void sk_c_line_word(const struct c_file *f, size_t i, char out[16])
{
    struct sk_buf line = {0};
    size_t n = f->t.t[i].n;
    sk_c_clean(f->s, f->t.t[i].at, n < 200 ? n : 200, &line);
    const char *p = sk_text_of(&line);
    p += *p == '%' ? 2 : 1;
    p += strspn(p, " \t\v\f");
    n = strspn(p, "abcdefghijklmnopqrstuvwxyz_");
    n = n < 15 ? n : 15;
    memcpy(out, p, n);
    out[n] = 0;
    sk_buf_free(&line);
}

enum { NESTING = 512 };

static const char cut[] = "preprocessor conditionals cut this loop: its brackets must be the same in each branch; write saikai_protect, "
                          "saikai_restart and saikai_checkpoint there instead";

/* Conditionals inside of a loop: each branch must leave the brackets as it found them. */
struct branches {
    size_t depth[NESTING];
    size_t n;
};

static int take_line(struct c_file *f, size_t i, struct branches *b, size_t depth)
{
    char word[16];
    sk_c_line_word(f, i, word);
    size_t at = f->t.t[i].at;
    if (!strncmp(word, "if", 2)) {
        if (b->n == NESTING)
            return sk_source_refuse(f->s, at, "conditionals are nested too deep");
        b->depth[b->n++] = depth;
    } else if (!strncmp(word, "el", 2) || !strcmp(word, "endif")) {
        if (!b->n || b->depth[b->n - 1] != depth)
            return sk_source_refuse(f->s, at, cut);
        b->n -= !strcmp(word, "endif");
    }
    return 0;
}

size_t sk_c_match(struct c_file *f, size_t open, int lines, const char *what)
{
    size_t stack[NESTING], depth = 0;
    struct branches b = {.n = 0};
    for (size_t i = open; i < f->t.count && f->t.t[i].kind != T_END; i++) {
        if (f->t.t[i].kind == T_LINE) {
            if (!lines)
                return sk_source_refuse(f->s, f->t.t[i].at, "a preprocessor line in %s: put it before the directive", what), 0;
            if (take_line(f, i, &b, depth))
                return 0;
        } else if (sk_c_is_opening(f, i)) {
            if (depth == NESTING)
                return sk_source_refuse(f->s, f->t.t[i].at, "brackets are nested too deep"), 0;
            stack[depth++] = i;
        } else if (sk_c_is_closing(f, i)) {
            if (!pairs(f, stack[--depth], i))
                return sk_source_refuse(f->s, f->t.t[i].at, "this bracket does not belong to the one that it closes, in %s", what), 0;
            if (!depth)
                return b.n ? sk_source_refuse(f->s, f->t.t[i].at, cut), 0 : i;
        }
    }
    return sk_source_refuse(f->s, f->t.t[open].at, "%s does not end", what), 0;
}
