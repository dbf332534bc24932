/* The process that listens to a launcher's PMIx server for the source `pmix` (pmix.c): what it sends through its pipe, a word at a time. */
#ifndef SK_RECOVERY_PMIX_READER_H
#define SK_RECOVERY_PMIX_READER_H

#include <sys/types.h>

enum sk_pmix_kind {
    SK_PMIX_CONNECTED, /* it listens from now on */
    SK_PMIX_NOT_YET,   /* there is no server to connect to, in these words; another try may help */
    SK_PMIX_NEVER,     /* it cannot be done here, in these words */
    SK_PMIX_EVENT,
};

/* What an event means for the job. */
enum sk_pmix_meaning {
    SK_PMIX_TOLD,    /* it is told, no more */
    SK_PMIX_END,     /* the launcher's job has ended; of interest when it did not end well */
    SK_PMIX_LOST,    /* the server is gone: of interest when no end was told before; the last word */
    SK_PMIX_DOWN,    /* the host has failed */
    SK_PMIX_LEAVING, /* the host is taken out of use */
    SK_PMIX_SAVE,    /* the job is to be saved now */
};

/* Goes through the pipe as it is, in one: less than PIPE_BUF. */
struct sk_pmix_word {
    enum sk_pmix_kind kind;
    enum sk_pmix_meaning meaning;
    int severity, rank; /* rank: -1: of none alone */
    int has_status, status;
    long long left_s;   /* seconds until what it announces; 0: not told */
    char event[48], space[260], host[256], text[256]; /* event: by its name in PMIx; space: namespace of the process that it is about */
};

/* Connect to the PMIx server of this process as a tool, and send what it tells until it is gone. library: the libpmix to load, a path or a
 * name. Never returns; may hang or crash as libpmix does, so it wants a process of its own. */
_Noreturn void sk_pmix_read(const char *library, pid_t server, int to);
/* 1: Saikai was built with PMIx's header; 0: sk_pmix_read says so. */
int sk_pmix_built(void);

#endif
