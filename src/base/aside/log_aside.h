/* Lines to standard error that never hold up who says them: a thread writes. A reader that is slow, stands still (a pager, a terminal after ^S) or shares its
 * pipe with somebody who made that non-blocking costs no time and no line, up to SK_LOG_ASIDE_MOST bytes that wait; then it is said how many were left out. */
#ifndef SK_BASE_LOG_ASIDE_H
#define SK_BASE_LOG_ASIDE_H

enum { SK_LOG_ASIDE_MOST = 256 << 10 };

/* From now on lines of this process go that way (sk_log_divert). Once at a time. Without a thread they go as before. */
void sk_log_aside_begin(void);
/* As before again, when what waits has been written, however long that takes, or nobody reads it any more. until (may be NULL) is asked ten times a
 * second: 1, and what is left is dropped. */
void sk_log_aside_end(int (*until)(void *arg), void *arg);

#endif
