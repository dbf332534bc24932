/* Events: what programs, Saikai itself and the tools tell each other about a running job.
 *
 * An event has a space ("hw": hosts and what they are made of, "mw": Saikai and what else stands below the program, "app": the
 * program), a name, a severity, where and when it happened, and fields of text. Those of a job are kept in its store, for `saikai events`,
 * and given to whoever asks for them in the job; `saikai publish` adds some from outside. The event "notice" of whichever space asks the
 * running job for a checkpoint; with a deadline, for one more shortly before that.
 *
 *     saikai_event_publish("app.converged", SAIKAI_EVENT_INFO, (const char *[]){"residual=1e-9", NULL});
 *     struct saikai_event e;
 *     while (saikai_event_next("space=hw,severity>=warning", 0, &e, sizeof e) == 1) …
 *
 * Local: other ranks need not call them. Neither waits for a disk or a network: a thread of this rank writes and reads. Without a
 * prefix (store.prefix=none) there are no events. */
#ifndef SAIKAI_EVENT_H
#define SAIKAI_EVENT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum saikai_event_severity { SAIKAI_EVENT_DEBUG, SAIKAI_EVENT_INFO, SAIKAI_EVENT_WARNING, SAIKAI_EVENT_ERROR, SAIKAI_EVENT_FATAL };

#define SAIKAI_EVENT_FIELDS 16
#define SAIKAI_EVENT_KEY    32  /* most bytes of a key with the zero … */
#define SAIKAI_EVENT_VALUE  256 /* … and of a value */

struct saikai_event_field {
    char key[SAIKAI_EVENT_KEY], value[SAIKAI_EVENT_VALUE];
};

/* Fields are only ever added, at the end. */
struct saikai_event {
    char space[8], name[48];
    int severity; /* enum saikai_event_severity */
    int rank;     /* -1: of none alone */
    char host[256], job[104]; /* "": not known */
    long long time_ms;        /* milliseconds since 1970 */
    long long deadline_ms;    /* by when whatever is to be done must be done, by the same clock; 0: none */
    int n_fields;
    struct saikai_event_field field[SAIKAI_EVENT_FIELDS];
};

/* Tell an event of this job, of this rank, now. name: "converged" or "app.converged", of small letters, digits, '.', '-' and '_';
 * without a space it is one of "app". fields: texts "KEY=VALUE", then NULL, or NULL: none; "deadline=30s" sets the deadline. It is
 * written a moment later, and dropped when the store cannot be written to. SAIKAI_EINVAL: it is no event; SAIKAI_EBUSY: many wait to be
 * written; SAIKAI_ENOENT: there is no prefix; SAIKAI_ESTATE: Saikai was not begun. */
int saikai_event_publish(const char *name, int severity, const char *const fields[]);
/* The next event of this job, whoever told it, that the filter lets through: 1 and *out, 0: none so far, or a negative code. Waits up to
 * `seconds` for one; 0: not at all. The first call with a filter subscribes to it: what comes after that is given, in order, to the
 * calls with the same filter (at most 8 of them). A reader that falls behind by more than 256 events misses the oldest. What others tell arrives after about a second.
 * filter: terms with commas between them that must all hold: KEY=VALUE, KEY!=VALUE, where KEY is space, name, severity, host, rank, job or a
 * field, and VALUE may end with '*'; severity>=WORD. NULL or "": all. size_bytes: sizeof *out. */
int saikai_event_next(const char *filter, double seconds, struct saikai_event *out, size_t size_bytes);

#ifdef __cplusplus
}
#endif
#endif
