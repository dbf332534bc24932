/* The text that steers the haar codec: "n=128,quantiser=spike,d=64,encoding=byte,gzip=6" (the
 * defaults). */
#ifndef SK_CODEC_HAAR_PARAMETER_H
#define SK_CODEC_HAAR_PARAMETER_H

#include "base/error.h"
#include "codec/haar/quantise.h"

enum sk_haar_encoding {
    SK_HAAR_BYTE = 0,  /* one byte per quantised value: n <= 256 */
    SK_HAAR_BITS = 1,  /* ceil(log2 n) bits per quantised value: n <= SK_HAAR_MAX_N */
    SK_HAAR_VALUE = 2, /* "none": the means themselves, to measure what encoding gains */
};

struct sk_haar_parameter {
    size_t n;
    size_t d;
    enum sk_haar_quantiser quantiser;
    enum sk_haar_encoding encoding;
    int gzip; /* level 1-9, 0: no gzip */
};

/* Parse text (NULL or "": defaults) into *p; level > 0 is the gzip level where text does not say
 * one. SAIKAI_EINVAL names the word that is wrong and what would be right. */
int sk_haar_parameter_parse(const char *text, int level, struct sk_haar_parameter *p,
                            struct saikai_error *err);

#endif
