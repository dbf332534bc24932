/* The launchers of this job's starts: the present one, and earlier ones that are still coming to
 * their end. */
#ifndef SK_RECOVERY_PROCESS_H
#define SK_RECOVERY_PROCESS_H

#include "recovery/launch/launcher.h"

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

struct sk_processes;

struct sk_processes *sk_processes_new(void);    /* NULL: out of memory */
void sk_processes_free(struct sk_processes *p); /* NULL is accepted; processes are left alone */

/* Start c->argv with c->env in a process group of its own, standard input from fd input, the signal
 * mask as given and the signals' dispositions at their defaults; it gets last_signal when this process dies, 0: none. */
int sk_process_start(struct sk_processes *p, uint32_t incarnation, const struct sk_command *c,
                     int input, const sigset_t *mask, int last_signal, struct saikai_error *err);
/* Let it end by itself until now + patience_s, then SIGTERM, then, two seconds later, SIGKILL. */
void sk_process_abandon(struct sk_processes *p, uint32_t incarnation, double patience_s,
                        double now);
/* Those that were given up with patience, and have not been told to end, have as much of it from now on: they wait for somebody else. */
void sk_process_is_waited_for(struct sk_processes *p, double now);
/* 1: the next one that ended, each told once. Collects all other children that ended, too. */
int sk_process_ended(struct sk_processes *p, uint32_t *incarnation, int *wait_status);
/* Send what is due. */
void sk_process_tick(struct sk_processes *p, double now);
double sk_process_next(const struct sk_processes *p); /* INFINITY: nothing is due */
/* The process of this start when it has been stopped (SIGSTOP, ^Z) for so many seconds, told once for each time; else 0. Looks
 * once in a second at most. */
pid_t sk_process_stopped(struct sk_processes *p, uint32_t incarnation, double seconds, double now);
pid_t sk_process_pid(const struct sk_processes *p, uint32_t incarnation); /* 0: there is none */
int sk_process_count(const struct sk_processes *p);

#endif
