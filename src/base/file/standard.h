/* Standard input, output and error of a process that was started without some of them. Local. */
#ifndef SK_BASE_STANDARD_H
#define SK_BASE_STANDARD_H

/* Before anything is opened: what is closed of descriptors 0, 1 and 2 becomes one of /dev/null, so that no file or connection gets its number, into
 * which lines for the user, or the output of what is started, would go. It can be neither read nor written, so that output which is wanted and goes
 * nowhere is an error, as it was. */
void sk_standard_hold(void);

/* For a child, before it executes what is none of ours: what sk_standard_hold put there can be read or written from now on, as a program that was
 * started with /dev/null would find it. MPICH's launcher ends a job of which it cannot pass on the output. Async-signal-safe. */
void sk_standard_open(void);

#endif
