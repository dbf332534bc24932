/* What a restart in a later loop does not get from an earlier one. */
#ifndef SK_DIRECTIVE_C_LATER_H
#define SK_DIRECTIVE_C_LATER_H

#include "directive/c/c_loop.h"

/* The loop behind token i with its list: warns of what earlier enabled loops of the function list, this one does not, and is used from here
 * on; and remembers this one. 0, or -1: no memory. */
int sk_c_later_loop(struct c_file *f, size_t i, const struct c_loop *l, const struct directive *d);
void sk_c_later_free(struct c_file *f);

#endif
