/* How a job is protected: scheme, parity, and which ranks form a redundancy group, from the
 * configuration and from where the ranks run. */
#ifndef SK_LIB_PROTECTION_H
#define SK_LIB_PROTECTION_H

#include "base/config/config.h"
#include "group/group.h"

struct sk_protection {
    const char *scheme; /* NULL: nothing is protected */
    int parity;         /* losses that each group survives */
    int domains;        /* failure domains that the job runs on */
    int number, groups; /* of this rank's group, and how many there are */
    struct sk_group
        *group; /* of this rank, NULL when nothing is protected; freed by the owner, collectively */
};

/* Collective over g, blocking. The scheme `auto` is rs with two parities on four or more failure
 * domains, xor on two or three, none on one. What the domains do not allow is lessened until they
 * do, down to nothing, and rank 0 says so: a job that is started again on fewer nodes must run.
 * SAIKAI_ECONFIG: a value that is wrong anywhere. */
int sk_protection_form(struct sk_group *g, const struct sk_config *c, const char *host,
                       struct sk_protection *out, struct saikai_error *err);

#endif
