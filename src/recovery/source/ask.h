/* Commands that may hang, fail or print without end: some at a time, each with a limit, and what they printed. For the processes of
 * sources, which have nothing else to do meanwhile: other processes of a program that calls this must be none of its children. */
#ifndef SK_RECOVERY_ASK_H
#define SK_RECOVERY_ASK_H

#include <stddef.h>

enum { SK_ASK_AT_ONCE = 16, SK_ASK_OUTPUT = 32 << 10 };

enum sk_asked_end {
    SK_ASKED_ENDED,    /* with this exit code */
    SK_ASKED_KILLED,   /* by a signal, or it could not be started */
    SK_ASKED_TOO_LONG, /* and was ended therefore */
};

struct sk_asked {
    char *const *argv; /* ends with NULL; the first is looked for on PATH */
    enum sk_asked_end end;
    int code;     /* the exit code, or the signal; 127: there is no such program */
    char *output; /* standard output and error, ends with a zero byte; NULL: memory was out. At most SK_ASK_OUTPUT bytes, what is more is gone */
    size_t n;
};

/* Run them all; each is ended with everything in its process group after limit_s. Outputs are to be freed by sk_asked_free. */
void sk_ask(struct sk_asked *a, int n, double limit_s);
void sk_asked_free(struct sk_asked *a, int n);

/* End what runs now, at once: for a handler of signals. */
void sk_ask_stop(void);

#endif
