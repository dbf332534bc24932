/* Mapped files that somebody else may cut. To touch a page that is no longer there is a signal (SIGBUS), and the end of the
 * program. Of mappings that are told here, such a page is replaced by an empty one, whoever touches it, and the mapping counts
 * as lost: whoever works with it asks at the end, and gives up what it has. Nothing is copied for this, and nothing costs
 * time as long as nothing is cut. */
#ifndef SK_BASE_GUARD_H
#define SK_BASE_GUARD_H

#include <signal.h>
#include <stddef.h>

/* [p, p + n), both shared and writable or not. NULL is accepted. A mapping for which there is no room is not guarded. */
void sk_guard_add(void *p, size_t n);
/* It is now at `to` and has n bytes; whether it was lost is kept. n 0: as remove. */
void sk_guard_change(void *p, void *to, size_t n);
/* Before it is unmapped. */
void sk_guard_remove(void *p);
/* 1: a page of it was not there when it was touched. */
int sk_guard_lost(const void *p);

/* Take the signal, behind whoever has it now: again and again is fine, a program may take it back at any time. What is not of
 * these mappings goes on to the one before. */
void sk_guard_arm(void);
/* As often as it was opened: the handler leaves with the last one, unless somebody else builds on it. */
void sk_guard_open(void);
void sk_guard_close(void);

/* All signals but the one that must reach the thread that caused it: for threads that leave signals to the program. */
void sk_guard_signals(sigset_t *out);

#endif
