/* Redundancy schemes: which member of a group keeps what, so that losses can be repaired.
 *
 * The members' data are cut into blocks; a stripe takes at most one block of each member. In a
 * stripe a member gives one block of its data (a column of the code), keeps one block of parity (a
 * row), or is not part of it. Member i uses its data blocks, and fills its parity blocks, in the
 * order of the stripes, so that files are read and written from front to back. The roles repeat
 * with a period: stripe t is laid out like stripe t mod period.
 *
 * A scheme is one table of functions in one file (partner.c, xor.c, rs.c). Everything here is pure
 * and local. */
#ifndef SK_REDUNDANCY_SCHEME_H
#define SK_REDUNDANCY_SCHEME_H

#include "base/config/kind.h"
#include "redundancy/code/kernel.h"

enum sk_role { SK_ROLE_NONE = 0, SK_ROLE_DATA = 1, SK_ROLE_PARITY = 2 };

/* Where parity goes. The numbers are part of the parity file's format. */
enum sk_placement {
    SK_SPREAD = 0,    /* rotated over all members: each keeps an equal share (the default) */
    SK_DEDICATED = 1, /* the last m members keep nothing but parity, as in Jitsumoto et al. 2009 */
};

struct sk_scheme_ops {
    const char *name, *description;
    int max_parity;
    int usual_parity; /* of one who names the scheme and no number */
    /* Data columns of a stripe for this many members and parity rows; below 1: impossible. */
    int (*columns)(int members, int parity, int placement);
    /* The period, and the role of member i in stripe t of it; *index is the column or the row. */
    int (*period)(int members, int placement);
    int (*role)(int members, int parity, int placement, int t, int i, int *index);
    /* Generator into out[m * k]. */
    void (*generator)(int k, int m, uint8_t *out);
};

extern const struct sk_scheme_ops sk_scheme_partner, sk_scheme_xor, sk_scheme_rs;
extern const struct sk_kind sk_scheme_kind;

/* The scheme of a name, NULL: none; the i-th of the table, NULL past its end. */
const struct sk_scheme_ops *sk_scheme_find(const char *name);
const struct sk_scheme_ops *sk_scheme_at(int i);

/* A scheme applied to a number of members: plain data, no pointers to free. */
struct sk_code {
    const struct sk_scheme_ops *scheme;
    int members, data, parity, placement, period;
    uint8_t generator[SK_MAX_PARITY * SK_MAX_DATA]; /* [parity * data] */
    struct {
        uint8_t role, index,
            before; /* before: stripes of the period ahead of this one with the same role */
    } at[SK_MAX_MEMBERS][SK_MAX_MEMBERS]; /* [stripe mod period][member] */
    uint8_t data_per_period[SK_MAX_MEMBERS], parity_per_period[SK_MAX_MEMBERS];
};

/* SAIKAI_EINVAL, with a sentence, for an unknown scheme or numbers that do not fit it. */
int sk_code_init(struct sk_code *c, const char *scheme, int members, int parity, int placement,
                 struct saikai_error *err);

enum sk_role sk_code_role(const struct sk_code *c, uint64_t stripe, int member, int *index);
/* Number of the member's data or parity block (whichever its role is) in this stripe. */
uint64_t sk_code_block(const struct sk_code *c, uint64_t stripe, int member);
/* Stripes needed until the member has used this many data blocks: UINT64_MAX when it never can (a
 * coding member). */
uint64_t sk_code_stripes(const struct sk_code *c, int member, uint64_t data_blocks);
/* Parity blocks that the member keeps in the first so many stripes. */
uint64_t sk_code_parity_blocks(const struct sk_code *c, int member, uint64_t stripes);

#endif
