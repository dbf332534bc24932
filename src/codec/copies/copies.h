/* Bytes told from others that both sides know: what is copied from there, or from bytes before, and what is new. Copies mostly go on beside where the last one
 * ended (W. F. Tichy, "The string-to-string correction problem with block moves", ACM TOCS 2, 1984), so that where they come from takes next to nothing, and
 * their lengths and the bytes between them are coded by probabilities that follow what was seen, with a range coder after G. N. N. Martin, "Range encoding"
 * (1979). Whole numbers only: any machine decodes the same.
 *
 * All local; nothing blocks. */
#ifndef SK_CODEC_COPIES_COPIES_H
#define SK_CODEC_COPIES_COPIES_H

#include "base/buf.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Of both together at most so many bytes. */
#define SK_COPIES_MOST ((size_t)1 << 30)

/* What telling them takes at most, and undoing it. */
#define SK_COPIES_MEMORY ((uint64_t)40 << 20)
#define SK_COPIES_UNDO_MEMORY ((uint64_t)1 << 20)

/* What knows the places of n_before bytes and looks there for those of n others: for one sk_copies_put. NULL is accepted. */
struct sk_copies_finder;
void sk_copies_done(struct sk_copies_finder *f);

/* About how many bytes n of them take, told from those before, as pieces of them say, in *bytes (0: they are so few that they are soon told), and what knows
 * where to look for them in *finder. SAIKAI_ENOMEM; SAIKAI_EINVAL: there are too many. */
int sk_copies_about(const uint8_t *before, size_t n_before, const uint8_t *in, size_t n, struct sk_copies_finder **finder, size_t *bytes, struct saikai_error *err);

/* Append n bytes, told from those before; finder: of the same bytes, or NULL; thorough: 1: in as few as can be, however long
 * that takes. Where hardly any are copies, they may take a little more than n. SAIKAI_ENOMEM;
 * SAIKAI_EINVAL: there are too many. */
int sk_copies_put(const uint8_t *before, size_t n_before, const uint8_t *in, size_t n, struct sk_copies_finder *finder, int thorough, struct sk_buf *out, struct saikai_error *err);

/* Undo into out, whose size is exactly n, from all of in. Input is hostile: SAIKAI_EDAMAGED; SAIKAI_ENOMEM. */
int sk_copies_get(const uint8_t *before, size_t n_before, const uint8_t *in, size_t n_in, uint8_t *out, size_t n, struct saikai_error *err);

#endif
