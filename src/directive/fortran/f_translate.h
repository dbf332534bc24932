/* Translation of Fortran, free and fixed form. */
#ifndef SK_DIRECTIVE_F_TRANSLATE_H
#define SK_DIRECTIVE_F_TRANSLATE_H

#include "directive/clauses.h"

/* Translate s: edits in s; *found: how many directives. cpp: a preprocessor reads the result. 0, or -1 and s->said. */
int sk_f_translate(struct source *s, int fixed, int cpp, int *found);

#endif
