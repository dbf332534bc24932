/* Numbers of things, as a sentence has them. */
#ifndef SK_BASE_COUNTED_H
#define SK_BASE_COUNTED_H

/* "1 file", "2 files", "0 files" of the noun "file(s)"; of "parit(y|ies)": "1 parity", "2 parities". For the arguments of one printf: the
 * memory is used again by this thread after SK_COUNTED_KEPT other ones. What is longer than 63 bytes is cut. Local. */
enum { SK_COUNTED_KEPT = 8 };
const char *sk_counted(unsigned long long n, const char *noun);

#endif
