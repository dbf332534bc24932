/* One event (saikai/event.h): making it within its limits, and its form as a line of text, the same in files, between processes and for
 * programs: a JSON object, a space, and a checksum. Format: docs/format.md. */
#ifndef SK_STORE_EVENT_H
#define SK_STORE_EVENT_H

#include "base/buf.h"
#include "base/error.h"
#include "base/text/json.h"

#include <saikai/event.h>

enum { SK_EVENT_LINE = 4096 }; /* most bytes of a line, with its end */

#define SK_EVENT_NOTICE "notice" /* the name of the event that asks for a checkpoint, in each space */

/* "debug" … "fatal" of a number, "?" of another one; and back, -1: none. */
const char *sk_severity_name(int severity);
int sk_severity_parse(const char *word);

/* Begin an event of now: "app.converged", or "converged", which is of "app". SAIKAI_EINVAL. */
int sk_event_begin(struct saikai_event *e, const char *name, int severity, struct saikai_error *err);
/* Add "KEY=VALUE"; deadline=SECONDS is the deadline, from now. SAIKAI_EINVAL: too many, too long, twice, or no key. */
int sk_event_take(struct saikai_event *e, const char *text, struct saikai_error *err);
/* The same for what Saikai itself tells: a value that is too long is cut, and what cannot be added is left out. */
void sk_event_put(struct saikai_event *e, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* NULL: it has none. */
const char *sk_event_field(const struct saikai_event *e, const char *key);
/* 1: it asks for a checkpoint. */
int sk_event_is_notice(const struct saikai_event *e);

/* As a JSON object. */
void sk_event_json(struct sk_json *j, const char *key, const struct saikai_event *e);
/* As a line, with its end. SAIKAI_EINVAL: it would be longer than SK_EVENT_LINE; SAIKAI_ENOMEM. */
int sk_event_print(const struct saikai_event *e, struct sk_buf *out, struct saikai_error *err);
/* Of a line without its end, for any bytes: 0, or SAIKAI_EDAMAGED. */
int sk_event_parse(const char *line, size_t n, struct saikai_event *out);

#endif
