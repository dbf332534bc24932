/* Files of a process that are to go when it is told to end: what has only a temporary name. Who is told so (a command, by a signal) lets
 * them all go; a library never does by itself. Thread safe. */
#ifndef SK_BASE_PASSING_H
#define SK_BASE_PASSING_H

/* drop(arg) removes what is there; what it uses must stay until sk_passing_end. */
struct sk_passing {
    void (*drop)(void *arg);
    void *arg;
    struct sk_passing *next;
};

/* Nothing is made between these two while it is let go of, and what is made there is known by the second one. Not within each other. */
void sk_passing_hold(void);
void sk_passing_release(void);
/* From now on, between the two above; p must stay where it is. */
void sk_passing_begin(struct sk_passing *p);
/* It has its name, or is gone. Nothing when it was never begun. */
void sk_passing_end(struct sk_passing *p);

/* Around what makes a name below something that passes, by any thread and also within the two above: a directory, or a file that a library
 * makes. What has begun is waited for by whoever lets go, and nothing begins afterwards: else it would be made again behind his back. */
void sk_passing_make_begin(void);
void sk_passing_make_end(void);

/* Let go of all; from then on whoever is to make or end one waits for ever: for a process that ends now. Who makes one and hangs in that is
 * waited for two seconds. */
void sk_passing_drop_all(void);

#endif
