/* How each variable is coded in a checkpoint: from the program (saikai_bound), from patterns in the configuration, or not
 * at all. What nobody bounded is exact; integers are never lossy, whatever a pattern says. */
#ifndef SK_LIB_CODING_H
#define SK_LIB_CODING_H

#include "base/config/config.h"
#include "codec/chooser.h"
#include "store/form/container.h"

/* What is wanted of one variable. chain "": plain; "auto": chosen on a sample when it is written. */
struct sk_wish {
    char chain[SK_CHAIN_NAME];
    struct sk_bound bound;
};

struct sk_coding_policy {
    char *chains, *bounds; /* "pattern=value, pattern=value" */
    double bandwidth;      /* bytes per second, for "auto" */
    int threads, verify;
};

/* Read and check the section [codec]. Local. Errors name the key and the remedy. */
int sk_coding_policy_new(const struct sk_config *c, struct sk_coding_policy **out,
                         struct saikai_error *err);
void sk_coding_policy_free(struct sk_coding_policy *p); /* NULL is accepted */

/* The wish for a variable; asked is the program's own bound (kind NONE: it has none), codec its chain ("": it has none). Returns 1
 * when it is to be coded. */
int sk_coding_wish(const struct sk_coding_policy *p, const char *name, int type, struct sk_bound asked, const char *codec,
                   struct sk_wish *out);

/* Write captured pieces as a container at path, as wished. Blocks; for the committer thread. */
int sk_coding_write(const struct sk_coding_policy *p, const char *path, const struct sk_skc_header *h,
                    const struct sk_piece *pieces, const struct sk_wish *wishes, size_t count, int sync,
                    struct saikai_error *err);

#endif
