/* Translation of C and C++. */
#ifndef SK_DIRECTIVE_C_TRANSLATE_H
#define SK_DIRECTIVE_C_TRANSLATE_H

#include "directive/clauses.h"

/* Translate s, which is C or C++: edits in s; *found: how many directives. 0, or -1 and s->said. */
int sk_c_translate(struct source *s, enum language language, int *found);

#endif
