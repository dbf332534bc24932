/* Constructs of Fortran around a directive: the loop behind `enable`, and the program unit that it is in. */
#ifndef SK_DIRECTIVE_F_LOOP_H
#define SK_DIRECTIVE_F_LOOP_H

#include "directive/clauses.h"
#include "directive/fortran/f_lines.h"

/* A variable that an enabled loop lists, in small letters. */
struct f_computed {
    char *name;
    size_t at, unit; /* the directive; the line that begins the unit */
    int told;
};

struct f_source {
    struct source *s;
    struct f_lines lines;
    int fixed, cpp;
    const char *base;
    int loops, enabled;
    struct f_computed *computed; /* by the loops so far */
    size_t ncomputed;
    size_t *unit;     /* of each line: 1 + the line that begins the unit that it is in, 0: none; NULL: not known yet */
    size_t first_end; /* the first line that ends a unit */
};

struct f_loop {
    size_t head, end;  /* lines */
    char kind;         /* 'i' by a variable, 'w' while, 'e' for ever */
    char *name;        /* "outer:" of a named loop, or "" */
    char *label;       /* digits of the statement that ends it, or "" */
    char *variable, *from, *rest; /* i: do variable = from, rest */
    char *condition;   /* w */
    size_t place[64];
    int places;
};

/* The loop behind line i and its places. 0, or -1. */
int sk_f_find_loop(struct f_source *f, size_t i, struct f_loop *l);
void sk_f_loop_free(struct f_loop *l);
/* What must survive beside the list: the loop's variable is added to d. 0, or -1. */
int sk_f_check_loop(struct f_source *f, const struct f_loop *l, struct directive *d);
/* Does the name, in small letters, stand in a squeezed statement, as a word that is no component? */
int sk_f_has_name(const char *text, const char *name, size_t n);
/* Is this variable listed, as a whole or a component of it? */
int sk_f_listed(const struct directive *d, const char *name, size_t n);
/* Does this squeezed statement end a program unit? */
int sk_f_ends_unit(const char *p);
/* The line that begins the unit that line i is in; *none: a main program that has no such line, and begins with the file. 0, or -1. */
int sk_f_find_unit(struct f_source *f, size_t i, size_t *line, int *none);

#endif
