/* Error bounds as people write them: "abs:0.01", "rel:1e-3", "psnr:80", "exact". */
#ifndef SK_CODEC_BOUND_H
#define SK_CODEC_BOUND_H

#include "codec/codec.h"

/* "abs", "rel", "psnr", "none" of enum sk_bound_kind, NULL: no kind. Static. */
const char *sk_bound_name(int kind);
/* Parse text into *bound. Local. SAIKAI_EINVAL says what is wrong and how it is written. */
int sk_bound_parse(const char *text, struct sk_bound *bound, struct saikai_error *err);
/* Write bound so that it parses back to the same; returns out. 48 bytes suffice. */
char *sk_bound_format(char *out, size_t cap, const struct sk_bound *bound);

#endif
