/* What happened to the jobs of a store: a text file `history` in the prefix, one line for each fault. Lines are only added; programs and
 * people read it. Format: docs/format.md. */
#ifndef SK_RECOVERY_HISTORY_H
#define SK_RECOVERY_HISTORY_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { SK_HISTORY_LINE = 1700 };

struct sk_event {
    int64_t at_ms; /* wall clock, milliseconds since 1970 */
    int64_t start; /* of the job, the first is 0 */
    int64_t rank;  /* -1: of none alone */
    char node[256], fault[32], model[32], answer[32]; /* node "": none; model "": none matched */
    char what[320], then[400];                         /* the sentence about it; what came of the answer, or "" */
    char command[320];                                 /* of the job, cut */
};

/* The line without its end; control characters become spaces. Returns out. */
char *sk_history_print(const struct sk_event *e, char out[SK_HISTORY_LINE]);
/* Read a line of n bytes, without its end: 0, SAIKAI_EDAMAGED: it is none. Any bytes may come. */
int sk_history_parse(const char *line, size_t n, struct sk_event *e);

/* Add a line to the history of a directory that exists: SAIKAI_ENOENT when it does not. Blocks as the file system does. */
int sk_history_add(const char *dir, const struct sk_event *e, struct saikai_error *err);
/* Call each(arg, e) for every line, the oldest first; *bad counts what is no line. SAIKAI_ENOENT: there is none. */
int sk_history_load(const char *dir, void (*each)(void *arg, const struct sk_event *e), void *arg, int *bad,
                    struct saikai_error *err);

#endif
