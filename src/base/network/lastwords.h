/* What a process that has died had sent by TCP before: the system of its host goes on sending it, and what has come waits to be read. It may come
 * at a time when nobody reckons with it any more, into memory that is used for something else by then. */
#ifndef SK_NETWORK_LASTWORDS_H
#define SK_NETWORK_LASTWORDS_H

#include <stddef.h>

/* How many connections of this host to others have lost their process, and their other end's system has not confirmed yet that it has all; of whichever
 * process they were. What goes from this host to itself is not counted: it comes as soon as it is read. 0 where that cannot be seen. */
int sk_lastwords_unsent(void);

struct sk_lastwords {
    size_t least; /* bytes, when they got less last … */
    int turns;    /* … so many looks ago */
};

/* 1: connections of this process whose other end has closed have something unread. To be asked again after each attempt to read it; begins as {0}. 0 also
 * when it has not got less in many looks: then it is nobody's who reads now. */
int sk_lastwords_unread(struct sk_lastwords *l);

#endif
