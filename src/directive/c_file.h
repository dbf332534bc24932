/* One C or C++ file under translation: its tokens, and what several files of the translator ask of them. */
#ifndef SK_DIRECTIVE_C_FILE_H
#define SK_DIRECTIVE_C_FILE_H

#include "directive/c_tokens.h"
#include "directive/clauses.h"

struct c_file {
    struct source *s;
    enum language language;
    struct tokens t;
    const char *base; /* the file's name without its directory */
    int loops;        /* enabled so far */
    int enabled;      /* without `disable` yet */
    size_t place_for_include;
};

/* A loop behind `enable`, in tokens. */
struct c_loop {
    size_t keyword, open, close; /* its first word; the parentheses of its condition or head */
    size_t semicolon[2];         /* for: in its head */
    size_t body, body_end, end;  /* braces of its body; its last token */
    char kind;                   /* 'f', 'w', 'd' */
    size_t place[64];            /* the lines `ckpt` */
    int places;
};

/* Token i is these characters. */
int sk_c_is(const struct c_file *f, size_t i, const char *text);
int sk_c_is_opening(const struct c_file *f, size_t i);
int sk_c_is_closing(const struct c_file *f, size_t i);
/* The token that closes the bracket at token `open`; 0 and something said: there is none, or conditionals cut it. lines: preprocessor lines
 * may stand in it. */
size_t sk_c_match(struct c_file *f, size_t open, int lines, const char *what);
/* A preprocessor line's word, as "if" or "pragma", into out. */
void sk_c_line_word(const struct c_file *f, size_t i, char out[16]);
/* 1: the line at token i is a directive, which is in *d then; 0: another line; -1: refused. */
int sk_c_directive(struct c_file *f, size_t i, struct directive *d);
/* A line that has a directive in the operator _Pragma. */
int sk_c_has_operator(const char *line);
/* The loop behind token i, a directive. 0, or -1. */
int sk_c_find_loop(struct c_file *f, size_t i, struct c_loop *l);
/* What must survive beside the list: variables of the head are added to d; what cannot be seen to survive is refused. 0, or -1. */
int sk_c_check_loop(struct c_file *f, const struct c_loop *l, struct directive *d);
/* C of all variables of d, appended to out. */
void sk_c_write_variables(struct c_file *f, const struct directive *d, struct sk_buf *out);

/* Translate s, which is C or C++: edits in s; *found: how many directives. 0, or -1 and s->said. */
int sk_c_translate(struct source *s, enum language language, int *found);

#endif
