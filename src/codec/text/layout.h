/* The layout of a piece of text: the text with marks in place of its numbers. */
#ifndef SK_CODEC_TEXT_LAYOUT_H
#define SK_CODEC_TEXT_LAYOUT_H

#include "codec/text/piece.h"

void sk_piece_begin(struct sk_text *t);
/* The column of number k of n in a line with this label. */
int sk_piece_column(struct sk_text *t, int label, size_t n, size_t k);
/* Numbers by column, from `in`. */
void sk_piece_order(struct sk_text *t);

/* The layout of the piece at in[0, n), of which *used bytes are taken, and its numbers into t; layout NULL: these alone. SAIKAI_ENOMEM. */
int sk_piece_take_apart(struct sk_text *t, const uint8_t *in, size_t n, size_t *used, struct sk_buf *layout);
/* The piece of the text before at `from`, of some of its bytes, becomes the past of t, for which there is room, and which was taken apart or
 * scanned; *used: those that it has. some 0: there is none. SAIKAI_ENOMEM. */
int sk_piece_past(struct sk_text *t, size_t from, size_t some, size_t *used);
/* Which column each number of a layout is in. -1: it is none. */
int sk_piece_scan(struct sk_text *t, const uint8_t *layout, size_t n);
/* Numbers and layout into out[0, n). -1: they do not fill it exactly. */
int sk_piece_put_together(struct sk_text *t, const uint8_t *layout, size_t n_layout, uint8_t *out, size_t n);

#endif
