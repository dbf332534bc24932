/* Statements of Fortran, free and fixed form: lines put together where they continue, without comments and labels. */
#ifndef SK_DIRECTIVE_F_LINES_H
#define SK_DIRECTIVE_F_LINES_H

#include "directive/text.h"

enum f_kind { F_STATEMENT, F_DIRECTIVE, F_CPP };

struct f_line {
    enum f_kind kind;
    size_t at, n;   /* its whole lines, without the last line end */
    char *text;     /* as written, continued lines joined; a directive: behind !$MICP or !$chk */
    char *squeezed; /* a statement: in small letters and without blanks outside of strings */
    long label;     /* 0: none */
    int chk;        /* a directive of OpenCHK's */
};

struct f_lines {
    struct f_line *l;
    size_t count, cap;
};

/* All statements, directives and preprocessor lines of s. 0, or -1 and something is said. */
int sk_f_read(struct source *s, int fixed, int cpp, struct f_lines *out);
void sk_f_lines_free(struct f_lines *l);

#endif
