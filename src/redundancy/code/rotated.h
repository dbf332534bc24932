/* The roles that XOR and Reed-Solomon share. */
#ifndef SK_REDUNDANCY_ROTATED_H
#define SK_REDUNDANCY_ROTATED_H

#include "redundancy/code/scheme.h"

/* The roles that XOR and Reed-Solomon share. */
int sk_rotated_columns(int members, int parity, int placement);
int sk_rotated_period(int members, int placement);
int sk_rotated_role(int members, int parity, int placement, int t, int i, int *index);

#endif
