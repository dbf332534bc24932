/* Partner copy: each member's data is kept once more by each of the next m members. No arithmetic
 * and the fastest rebuild, for m times the space. */
#include "redundancy/code/scheme.h"
#include "redundancy/code/rotated.h"

#include <string.h>

static int columns(int members, int parity, int placement)
{
    return placement == SK_SPREAD && parity < members ? 1 : 0;
}

static int role(int members, int parity, int placement, int t, int i, int *index)
{
    int place = (i - t + members) % members;
    *index = place ? place - 1 : 0;
    return !place ? SK_ROLE_DATA : place <= parity ? SK_ROLE_PARITY : SK_ROLE_NONE;
}

static void generator(int k, int m, uint8_t *out)
{
    memset(out, 1, (size_t)k * (size_t)m);
}

const struct sk_scheme_ops sk_scheme_partner = {
    .name = "partner",
    .description = "copies on the next members of the group",
    .max_parity = SK_MAX_PARITY,
    .usual_parity = 1,
    .columns = columns,
    .period = sk_rotated_period,
    .role = role,
    .generator = generator,
};
