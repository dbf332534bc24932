/* The numbers of a piece of text as bytes. */
#ifndef SK_CODEC_TEXT_COLUMNS_H
#define SK_CODEC_TEXT_COLUMNS_H

#include "codec/text/piece.h"

/* The numbers of t, column by column. */
int sk_columns_put(struct sk_text *t, const struct sk_text_packing *how, struct sk_buf *out);
int sk_columns_get(struct sk_text *t, struct sk_packer *packer, struct sk_rd *in, struct saikai_error *err);

#endif
