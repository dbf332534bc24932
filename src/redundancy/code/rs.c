/* Cauchy Reed-Solomon: m blocks of parity for k blocks of data; any m members may be lost. */
#include "redundancy/code/scheme.h"
#include "redundancy/code/rotated.h"

const struct sk_scheme_ops sk_scheme_rs = {
    .name = "rs",
    .description = "Cauchy Reed-Solomon, up to four parities for the group",
    .max_parity = SK_MAX_PARITY,
    .usual_parity = 2,
    .columns = sk_rotated_columns,
    .period = sk_rotated_period,
    .role = sk_rotated_role,
    .generator = sk_cauchy,
};
