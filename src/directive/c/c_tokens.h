/* Tokens of C and C++ before the preprocessor: words, numbers, strings (raw ones, too), punctuation, and whole preprocessor lines. */
#ifndef SK_DIRECTIVE_C_TOKENS_H
#define SK_DIRECTIVE_C_TOKENS_H

#include "directive/text.h"

enum token_kind {
    T_WORD,
    T_NUMBER,
    T_STRING, /* and characters */
    T_PUNCT,
    T_LINE,   /* a preprocessor line, all of it, without its last line end */
    T_END,
};

struct token {
    enum token_kind kind;
    size_t at, n;
    unsigned blank : 1; /* white space or a comment stands before it */
};

struct tokens {
    struct token *t;
    size_t count, cap;
};

/* All tokens of s, the last one is T_END. 0, or -1: no memory. What does not end, ends with the text. */
int sk_c_tokens(struct source *s, struct tokens *out);
/* Where the text begins: behind a byte order mark. */
size_t sk_c_begin(const struct source *s);
void sk_c_tokens_free(struct tokens *t);
/* The token is this word or these characters; line splices in it are passed over. */
int sk_c_token_is(const struct source *s, const struct token *t, const char *text);
/* The text of [at, at + n) with comments made to a blank and splices removed, appended to out. */
void sk_c_clean(const struct source *s, size_t at, size_t n, struct sk_buf *out);

#endif
