/* Text of unknown origin as people may see it: names of variables, files, programs and hosts are whatever somebody called them,
 * and a terminal obeys what it is sent. What could move its cursor, change its colours, begin another line or turn the direction
 * of writing is shown by what it is: \n, \t, \r, else \x1b for each byte of it; so is what is not UTF-8. All other text stays as
 * it is, backslashes too: what programs read is --json. */
#ifndef SK_BASE_SHOWN_H
#define SK_BASE_SHOWN_H

#include <stddef.h>

/* Bytes of what shows the text, of which as many whole characters as fit are in out[cap], ended by 0. out is not text. */
size_t sk_shown_into(char *out, size_t cap, const char *text);

/* For the arguments of one printf: the text itself when nothing in it needs that, else memory that this thread uses again
 * after SK_SHOWN_KEPT other ones. NULL: NULL. Without memory: "?". Not for signal handlers. */
enum { SK_SHOWN_KEPT = 16 };
const char *sk_shown(const char *text);

#endif
