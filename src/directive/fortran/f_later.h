/* What a restart in a later loop does not get from an earlier one. */
#ifndef SK_DIRECTIVE_F_LATER_H
#define SK_DIRECTIVE_F_LATER_H

#include "directive/fortran/f_loop.h"

/* The loop behind line i with its list: warns of what earlier enabled loops of the unit list, this one does not, and is used from here on;
 * and remembers this one. 0, or -1: no memory, or no unit. */
int sk_f_later_loop(struct f_source *f, size_t i, const struct f_loop *l, const struct directive *d);
void sk_f_later_free(struct f_source *f);

#endif
