/* Lists of ranks as users write them: "0,4-7". Pure. */
#ifndef SK_BASE_RANKLIST_H
#define SK_BASE_RANKLIST_H

#include "base/error.h"

/* is_named[0 … n_ranks) is 1 where text names the rank, else 0; white space around numbers does not count, a text without any names all of
 * them. How many are named, or SAIKAI_EINVAL with what is wrong with the text: the array is undefined then. */
int sk_ranklist_parse(const char *text, int n_ranks, char *is_named, struct saikai_error *err);

#endif
