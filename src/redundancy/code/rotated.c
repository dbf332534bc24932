/* The roles that XOR and Reed-Solomon share: parity goes round over the members. */
#include "redundancy/code/rotated.h"
#include "redundancy/code/scheme.h"

int sk_rotated_columns(int members, int parity, int placement)
{
    return members - parity;
}

int sk_rotated_period(int members, int placement)
{
    return placement == SK_DEDICATED ? 1 : members;
}

int sk_rotated_role(int members, int parity, int placement, int t, int i, int *index)
{
    /* parity of stripe t is on members t … t + m - 1; the columns follow, so that every hop of a
     * chain along the columns into the parity is one to the right-hand neighbour */
    int place =
        placement == SK_DEDICATED ? (i + parity) % members : (i - t % members + members) % members;
    *index = place < parity ? place : place - parity;
    return place < parity ? SK_ROLE_PARITY : SK_ROLE_DATA;
}
