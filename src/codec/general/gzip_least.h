/* At least how many bytes gzip leaves, told without asking it: it takes ten times as long to tell. */
#ifndef SK_CODEC_GENERAL_GZIP_LEAST_H
#define SK_CODEC_GENERAL_GZIP_LEAST_H

#include <stddef.h>
#include <stdint.h>

/* Working memory, kept from call to call; zeroed is empty. */
struct sk_gzip_least {
    int32_t *head, *before;
    size_t room;
};
void sk_gzip_least_free(struct sk_gzip_least *t);
/* gzip's form of in[from, n) after in[0, from) takes no fewer bytes than this. Bytes that stood before, within 32 KiB, count as nothing: of what repeats it says little, of
 * what hardly does nearly all. 0: also where there is no memory. */
double sk_gzip_least(struct sk_gzip_least *t, const uint8_t *in, size_t from, size_t n);

#endif
