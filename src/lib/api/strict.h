/* What an error of the calls means that say what a job is: saikai_init, saikai_protect…, saikai_restart. A program that does
 * not look at what they return would go on as if all were well: from the beginning, without what it meant to protect. So
 * the program ends, with the sentence on stderr, unless it asked for codes (lib.on_error=return). Compiled for each MPI. */
#ifndef SK_LIB_STRICT_H
#define SK_LIB_STRICT_H

#include "base/config/config.h"

#define SK_HIDDEN __attribute__((visibility("hidden")))

/* What an error of a handle means, and the rank whose number the sentences of the log name. */
struct sk_strictness {
    int ends, rank;
};

/* By lib.on_error of c; NULL: its default. */
SK_HIDDEN struct sk_strictness sk_strictness(const struct sk_config *c, int rank);
/* An error that is the program's own, so that another start of it would end in the same way: `saikai run` is told, unless the program
 * looks at codes or has been started before. Before sk_strict. */
SK_HIDDEN void sk_strict_for_good(struct sk_strictness own);
/* The call returned rc. collective: every rank hears of the error, one of them tells it. Gives rc back; does not return when
 * that is an error that ends the program. */
SK_HIDDEN int sk_strict(struct sk_strictness own, const char *call, int rc, const struct saikai_error *err, int collective);

#endif
