/* One C or C++ file under translation: its tokens, and what several files of the translator ask of them. */
#ifndef SK_DIRECTIVE_C_FILE_H
#define SK_DIRECTIVE_C_FILE_H

#include "directive/c/c_tokens.h"
#include "directive/clauses.h"

/* A variable that an enabled loop lists. */
struct c_computed {
    char *name;
    size_t at, function; /* the directive; the function's brace, a token */
    int told;
};

struct c_file {
    struct source *s;
    enum language language;
    struct tokens t;
    const char *base; /* the file's name without its directory */
    int loops;        /* enabled so far */
    int enabled;      /* without `disable` yet */
    struct c_computed *computed; /* by the loops so far */
    size_t ncomputed;
    size_t *gotos; /* the tokens that are "goto", NULL: not known yet */
    size_t ngotos;
};

/* Token i is these characters. */
int sk_c_is(const struct c_file *f, size_t i, const char *text);
int sk_c_is_opening(const struct c_file *f, size_t i);
int sk_c_is_closing(const struct c_file *f, size_t i);
int sk_c_is_brace(const struct c_file *f, size_t i); /* an opening one */
/* The token that closes the bracket at token `open`; 0 and something said: there is none, or conditionals cut it. lines: preprocessor lines
 * may stand in it. */
size_t sk_c_match(struct c_file *f, size_t open, int lines, const char *what);
/* A preprocessor line's word, as "if" or "pragma", into out. */
void sk_c_line_word(const struct c_file *f, size_t i, char out[16]);

#endif
