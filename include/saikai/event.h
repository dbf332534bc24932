/* Events: what programs, Saikai itself and the tools tell each other about a running job.
 *
 * An event has a space ("hw": hosts and what they are made of, "mw": Saikai and what else stands below the program, "app": the
 * program), a name, a severity, where and when it happened, and fields of text. Those of a job are kept in its store, for `saikai events`;
 * `saikai publish` adds some from outside.
 */
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

#ifdef __cplusplus
}
#endif
#endif
