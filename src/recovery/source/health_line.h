/* What a health check prints: pure, of any bytes. */
#ifndef SK_RECOVERY_HEALTH_LINE_H
#define SK_RECOVERY_HEALTH_LINE_H

#include "store/event/event.h"

/* "event SEVERITY NAME [KEY=VALUE...]", quotes as in a shell; a name without a space is one of hw. 1: *e; 0: the line is none; SAIKAI_EINVAL:
 * it begins so, and the sentence says what is wrong. */
int sk_health_line(const char *line, size_t n, struct saikai_event *e, struct saikai_error *err);

/* Behind what a check on another host printed: "saikai-exit CODE" in a line of its own. The code, -1: there is no such line. What is before
 * it stays as *n bytes. */
#define SK_HEALTH_EXIT "saikai-exit"
int sk_health_exit(const char *output, size_t *n);

/* The last line that says something, for people: out is empty when there is none. */
void sk_health_words(const char *output, size_t n, char *out, size_t cap);

#endif
