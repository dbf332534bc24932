/* What the local directory of a node holds, of whichever ranks: generations' files, and the parity
 * files of protected sets.
 *
 * A *set* is what was coded in one go: of each rank the file of one generation and, when that one
 * builds on others, the files of those that no older set protects. It is named by the generation
 * and the start of the program that coded it (the coder), since after a restart the same generation
 * is coded anew for the nodes of then. A rank's parity file is
 *     gen-<incarnation>-<iteration>-<place>/parity-<rank>-<coder>.skp
 * and its record's names are relative to the local directory. */
#ifndef SK_STORE_HOLDINGS_H
#define SK_STORE_HOLDINGS_H

#include "store/gen.h"

struct sk_parity_set {
    struct sk_gen gen;
    uint32_t coder; /* incarnation; 0: no set */
};

int sk_parity_set_path(const char *root, struct sk_parity_set set, int rank, char *out, size_t cap,
                       struct saikai_error *err);
/* A parity file that is no longer needed, kept for its pages. */
int sk_parity_spare_path(const char *root, int rank, char *out, size_t cap,
                         struct saikai_error *err);
/* Order: newer generations are larger, of one generation the one that was coded later. */
int sk_parity_set_compare(struct sk_parity_set a, struct sk_parity_set b);

/* One file of a generation in a local directory. */
struct sk_holding_entry {
    struct sk_gen gen;
    int rank;
    uint32_t coder; /* 0: the rank's generation, else a parity file */
};

struct sk_holdings {
    struct sk_holding_entry *entry; /* newest sets and generations first */
    size_t count;
};

/* Local. A directory that does not exist holds nothing. Release with sk_holdings_free. */
int sk_holdings_scan(const char *root, struct sk_holdings *out, struct saikai_error *err);
void sk_holdings_free(struct sk_holdings *h);

/* Remove one of these files, and its generation's directory when it was the last. Missing is
 * success. Local. */
int sk_holdings_remove(const char *root, const struct sk_holding_entry *e,
                       struct saikai_error *err);
/* Remove all that belongs to this rank of nranks, and to ranks that there are no more. */
void sk_holdings_remove_rank(const char *root, int rank, int nranks);

#endif
