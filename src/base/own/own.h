/* Descriptors that stay open while the program computes, and that it may close meanwhile: closefrom(3), or a loop over all
 * numbers, as daemons and some runtimes do. The number is then that of a file of the program's as soon as it opens one, and what
 * is written to it, or cut, or closed, is the program's. So it is remembered which file a number stood for, and whoever is
 * about to use it asks: base/file/io.h does so by itself. Any thread may call these; the table is of the process. */
#ifndef SK_BASE_OWN_H
#define SK_BASE_OWN_H

#include "base/error.h"

enum sk_own_in_children {
    SK_OWN_STAYS, /* a forked process has it, too, until it executes another program */
    SK_OWN_GOES   /* a forked process closes it at once: it outlives this one and must hold nothing */
};

/* Remember fd (which is >= 0; a negative one is given back as it is). The result takes its place: another number where this one is
 * remembered by somebody who has not noticed yet that it was closed. Without memory for that it is not watched. */
int sk_own(int fd, enum sk_own_in_children what);
/* The same number for one that is open for a moment only: not remembered, but none that somebody remembers. */
int sk_own_apart(int fd);
/* 0: fd was remembered and is another file now, or none. 1 otherwise. errno stays. */
int sk_own_is(int fd);
/* 0, or SAIKAI_EIO with a sentence about path. */
int sk_own_check(int fd, const char *path, struct saikai_error *err);
/* Close it if it is what it was, and forget it. What was never remembered is closed; a negative one is accepted. 0, or -1 with errno. */
int sk_own_close(int fd);

#endif
