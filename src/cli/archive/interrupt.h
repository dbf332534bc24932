/* A command that is interrupted leaves nothing unfinished behind. */
#ifndef SK_CLI_ARCHIVE_INTERRUPT_H
#define SK_CLI_ARCHIVE_INTERRUPT_H

#include <pthread.h>
#include <signal.h>

struct cli_interrupt {
    pthread_t thread;
    sigset_t set, old;
    int on;
};

/* From now on SIGINT, SIGTERM and SIGHUP, but for those that are ignored or have a handler, remove what has only a temporary name
 * (base/file/passing.h), and then end the process as they do without this. Before other threads are started. Without a thread for it they
 * just end the process. */
void cli_interrupt_begin(struct cli_interrupt *i);
void cli_interrupt_end(struct cli_interrupt *i);

#endif
