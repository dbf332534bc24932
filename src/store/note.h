/* Notes: small text files of a store. A first line that says what it is, lines "key value", and a checksum at the end. */
#ifndef SK_STORE_NOTE_H
#define SK_STORE_NOTE_H

#include "base/buf.h"
#include "base/error.h"

#define SK_NOTE_VALUE 1400 /* most bytes of a value, with the zero */

/* Take one line; returns -1 when it cannot be one of such a note. */
typedef int sk_note_line(void *arg, const char *key, const char *value);

void sk_note_begin(struct sk_buf *b, const char *title);
/* What is no printable character, or too long, is written as '?' or cut. */
void sk_note_put(struct sk_buf *b, const char *key, const char *value);
void sk_note_end(struct sk_buf *b);

/* For any bytes: SAIKAI_EFORMAT when it is no note of this title, SAIKAI_EDAMAGED when it does not hold together. Lines are
 * given as they come, before the checksum is known: use nothing of them after an error. */
int sk_note_decode(const char *text, size_t n, const char *title, sk_note_line *line, void *arg, struct saikai_error *err);

/* Make dir/file with this content, whole or not at all, unless it is there: SAIKAI_EEXIST. Of many that try at once, on
 * whichever hosts, one succeeds. */
int sk_note_create(const char *dir, const char *file, const struct sk_buf *b, struct saikai_error *err);

#endif
