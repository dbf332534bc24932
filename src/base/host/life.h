/* Lives of processes: who a process is, for others to find out whether it goes on. A process id alone does not say that:
 * it is given again, after a restart of the system or in another container at once. */
#ifndef SK_BASE_LIFE_H
#define SK_BASE_LIFE_H

#include <stdint.h>

#define SK_LIFE_TEXT 160 /* of sk_life_print, with the zero */

struct sk_life {
    char place[80];   /* the start of the system and the space of process ids; "": unknown */
    int64_t pid;      /* 0: nobody */
    uint64_t started; /* on that system's clock */
};

/* This process. */
void sk_life_own(struct sk_life *out);
/* 1: it lives; 0: it has ended; -1: from here it cannot be told, since it is elsewhere. */
int sk_life_goes_on(const struct sk_life *l);

/* "PLACE PID STARTED", and back: 0, or -1 when the text is something else. */
char *sk_life_print(const struct sk_life *l, char out[SK_LIFE_TEXT]);
int sk_life_parse(const char *text, struct sk_life *out);

#endif
