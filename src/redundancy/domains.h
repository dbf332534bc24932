/* Failure domains and groups: which ranks protect each other.
 *
 * A domain is what fails as one: a host, or what a rule makes of its name (a rack, a power
 * circuit). Ranks on one node are in one domain. The members of a group are all of different
 * domains, so that the loss of a domain costs any group at most one member. */
#ifndef SK_REDUNDANCY_DOMAINS_H
#define SK_REDUNDANCY_DOMAINS_H

#include "base/config/kind.h"
#include "group/group.h"
#include "redundancy/set/parity.h"

/* The domain of a host by a rule, into out[SK_MAX_HOST]. Local. Rules:
 *   "host" or ""        the host name itself
 *   "regex:EXPRESSION"  what the first bracketed part of an extended regular expression matches
 * (without brackets: the whole match); a host that does not match is a domain of its own
 *   "file:PATH"         lines "PATTERN DOMAIN" with a shell pattern; the first that matches counts;
 * '#' begins a comment; a host that no line matches is a domain of its own "hwloc:KIND"        host
 * plus the number of the hwloc object of this kind (package, numanode, group, …) that the calling
 * process runs on: parts of one large machine that can fail alone SAIKAI_ECONFIG for any other rule
 * or one that cannot be read. */
int sk_domain_of(const char *rule, const char *host, char *out, struct saikai_error *err);
/* The same for a rank, of which there is one rule more: with "process" every process is a domain of its own. */
int sk_domain_of_rank(const char *rule, const char *host, int rank, char *out, struct saikai_error *err);
extern const struct sk_kind sk_domain_kind;

struct sk_grouping {
    int groups;
    int *group; /* [ranks]: number of each rank's group */
    int *place; /* [ranks]: its place in it */
};

/* Form groups of about `members` ranks, each with at least `least`. domain[r] is that of rank r.
 * Local, deterministic: equal arguments give equal groups. SAIKAI_EINVAL with a sentence that says
 * what is missing when the domains do not allow it. Free with sk_grouping_free.
 *
 * Method: ranks are listed domain by domain and dealt out to the groups in turn. There are at least
 * as many groups as any domain has ranks, so no domain comes round twice, and sizes differ by at
 * most one. */
int sk_grouping_make(const char *const domain[], int ranks, int members, int least,
                     struct sk_grouping *out, struct saikai_error *err);
void sk_grouping_free(struct sk_grouping *g);

/* Collective over the job, blocking: the group of this rank as a new sk_group (freed by the caller,
 * collectively), its number in *number. host NULL: the name of this machine; rule as for sk_domain_of_rank. */
int sk_grouping_split(struct sk_group *job, const char *host, const char *rule, int members,
                      int least, struct sk_group **out, int *number, struct saikai_error *err);

/* Members of a group for this scheme: what the user asked for (0: the usual 8, or all ranks when
 * there are fewer). */
int sk_grouping_members(int wanted, int parity, int ranks);

#endif
