/* What a process that has died had sent by TCP before: the system of its host goes on sending it, and what has come waits to be read. It may come
 * at a time when nobody reckons with it any more, into memory that is used for something else by then. */
#ifndef SK_NETWORK_LASTWORDS_H
#define SK_NETWORK_LASTWORDS_H

#include <stddef.h>
#include <stdint.h>

/* Connections that had lost their process while one that is watched lived: of others, whatever becomes of that one. Begins as {0}. */
struct sk_lastwords_others {
    uint64_t seen[64], known[64]; /* at the newest look, and at the one before that: a process whose end is not known yet may be on its way out at the newest */
    int n_seen, n_known;
    double look_at; /* when they are looked for again; 0: they never were */
};

/* Notes them, every few seconds at most, and for a thousandth of the time. For the first time before the process that is watched begins; not after its end. */
void sk_lastwords_look(struct sk_lastwords_others *o, double now);

/* How many connections of this host to others have lost their process, and their other end's system has not confirmed yet that it has all. Not those that are
 * known to be of others (NULL: nothing is), nor those of another user, where the kernel tells (Linux 6.17 and newer) and this process is not root's, who may
 * become anybody. Whose any other is cannot be told. What goes from this host to itself is not counted: it comes as soon as it is read. 0 where that cannot be
 * seen. */
int sk_lastwords_unsent(const struct sk_lastwords_others *o);

struct sk_lastwords {
    size_t least; /* bytes, when they got less last … */
    int turns;    /* … so many looks ago */
};

/* 1: connections of this process whose other end has closed have something unread. To be asked again after each attempt to read it; begins as {0}. 0 also
 * when it has not got less in many looks: then it is nobody's who reads now. */
int sk_lastwords_unread(struct sk_lastwords *l);

#endif
