/* The words behind `#pragma MICP`, `#pragma chk`, `!$MICP` and `!$chk`. What is in parentheses is the language's own and kept as text. */
#ifndef SK_DIRECTIVE_CLAUSES_H
#define SK_DIRECTIVE_CLAUSES_H

#include "directive/text.h"

enum language { LANG_C, LANG_CXX, LANG_FORTRAN };

enum directive_kind { D_INIT, D_ENABLE, D_CKPT, D_DISABLE, D_FINI, D_LOAD, D_STORE };

enum { CLAUSES_MAX_DIMS = 8 };

/* p(0:n-1): from 0 to n-1, each in parentheses of the language. length 1: `to` is how many, as in h[0;n]. */
struct section {
    char *from, *to;
    int length;
};

struct variable {
    char *name;  /* without sections, and without blanks */
    char *text;  /* Fortran: all of it, as it is passed */
    struct section section[CLAUSES_MAX_DIMS];
    int nsections;
    char *global[2 * CLAUSES_MAX_DIMS]; /* sizes, then offsets; Fortran: two arrays, or the same */
    int nglobal;
    int bytes; /* bytes(x) */
    int loops; /* found in the head of the loop, not in the list */
};

struct directive {
    enum directive_kind kind;
    int chk; /* OpenCHK's */
    size_t at, n; /* where it is in the source: whole lines, without the last end */
    struct variable *vars;
    size_t nvars;
    char *every, *bound, *comm, *config, *id, *condition; /* NULL: not told */
};

/* Parse text, which begins behind "MICP" or "chk": one logical line without comments. 0, or -1 and what is wrong is in s. */
int sk_directive_parse(struct source *s, enum language language, int chk, const char *text, struct directive *d);
void sk_directive_free(struct directive *d);
/* Is a variable of this name in the list? */
int sk_directive_has(const struct directive *d, const char *name, size_t n);
/* One more variable, by name; 0, or -1: no memory. */
int sk_directive_add(struct directive *d, const char *name, size_t n);

#endif
