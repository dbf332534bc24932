/* Symbols of residuals as bytes: the zeros of masked fields go to a bitmap (zeros.h), the others
 * are coded in context (rans.h).
 *
 * How long a residual is depends on the place far more than on the field: the context of a symbol
 * is a sum of the symbols around it in the row and the plane before. None of its own row takes
 * part, so that a whole row's contexts are known before its first symbol is. Contexts are grouped
 * until each group has symbols enough to pay for its code. */
#ifndef SK_ARCHIVE_CODING_SYMBOLS_H
#define SK_ARCHIVE_CODING_SYMBOLS_H

#include "archive/coding/part.h"

/* Append the n symbols of part i. Fails with SAIKAI_ENOMEM. */
int sk_symbols_put(struct sk_coder *c, const struct sk_part *parts, int i,
                   const struct sk_recipe *r, const uint8_t *symbols, size_t n, struct sk_buf *out,
                   struct saikai_error *err);
/* Read them back. Hostile input. Fails with SAIKAI_EDAMAGED, SAIKAI_ENOMEM. */
int sk_symbols_get(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in,
                   uint8_t *symbols, size_t n, struct saikai_error *err);

#endif
