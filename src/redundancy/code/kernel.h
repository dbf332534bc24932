/* Arithmetic of the codes: rows of GF(2^8) coefficients times blocks of bytes, and the matrices
 * they come from.
 *
 * All functions are pure and local, allocate nothing and never block. Lengths are bytes. With ISA-L
 * they run at the speed of its vector kernels; without it a plain table-driven form gives the same
 * bytes, so that files written on one machine are read on any other. */
#ifndef SK_REDUNDANCY_KERNEL_H
#define SK_REDUNDANCY_KERNEL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Most data columns and parity rows of a code; a group has at most their sum of members. */
#define SK_MAX_DATA    32
#define SK_MAX_PARITY  4
#define SK_MAX_MEMBERS (SK_MAX_DATA + SK_MAX_PARITY)

/* dst[r][0…len) = sum over s of coef[r * sources + s] * src[s][0…len), r < rows <= SK_MAX_PARITY.
 * sources 0 gives zeros. No dst overlaps a src or another dst. */
void sk_kernel_dot(size_t len, int sources, int rows, const uint8_t *coef,
                   const uint8_t *const src[], uint8_t *const dst[]);

/* dst[r][0…len) += coef[r] * src[0…len). */
void sk_kernel_add(size_t len, int rows, const uint8_t *coef, const uint8_t *src,
                   uint8_t *const dst[]);

uint8_t sk_gf_mul(uint8_t a, uint8_t b);
uint8_t sk_gf_inv(uint8_t a); /* of 0: 0 */

/* Generator of k data columns and m parity rows into out[m * k]: the Cauchy matrix 1 / ((k + r) xor
 * c), each column divided by its first element. Scaling columns keeps every square submatrix
 * regular, so any m losses are recoverable, and makes row 0 all ones: the first parity is the plain
 * XOR. m is 1…SK_MAX_PARITY, k 1…SK_MAX_DATA. Source: Cauchy Reed-Solomon coding, Bloemer et al.
 * 1995; used for checkpoints by Jitsumoto et al. 2009, section 2.1, figure 1. */
void sk_cauchy(int k, int m, uint8_t *out);

/* Coefficients that rebuild what is lost. The code has k columns and the m x k generator rows.
 * sources[k] are the pieces to compute from, wanted[n] the pieces to compute; a piece below k is
 * data column p, else parity row p - k. out[n * k]: wanted[i] = sum over j of out[i * k + j] *
 * piece sources[j]. Returns 0, or SAIKAI_ELOST when the sources do not determine the data (never
 * for k different pieces of sk_cauchy). */
int sk_decode_matrix(int k, int m, const uint8_t *generator, const uint8_t *sources, int n,
                     const uint8_t *wanted, uint8_t *out);

#endif
