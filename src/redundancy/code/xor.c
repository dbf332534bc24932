/* XOR: one block of parity for the blocks of all other members; any one member may be lost. */
#include "redundancy/code/scheme.h"
#include "redundancy/code/rotated.h"

#include <string.h>

static void generator(int k, int m, uint8_t *out)
{
    memset(out, 1, (size_t)k * (size_t)m);
}

const struct sk_scheme_ops sk_scheme_xor = {
    .name = "xor",
    .description = "one XOR parity for the group",
    .max_parity = 1,
    .usual_parity = 1,
    .columns = sk_rotated_columns,
    .period = sk_rotated_period,
    .role = sk_rotated_role,
    .generator = generator,
};
