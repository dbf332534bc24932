/* A thread that waits for signals: what it does then may take locks and memory, as no handler may. */
#include "cli/archive/interrupt.h"

#include "base/file/passing.h"

#include <errno.h>
#include <unistd.h>

static void *wait_for_signals(void *arg)
{
    struct cli_interrupt *i = arg;
    siginfo_t info;
    sigset_t one;
    int number;
    while ((number = sigwaitinfo(&i->set, &info)) < 0 && errno == EINTR)
        ;
    if (number < 0 || (info.si_code == SI_QUEUE && info.si_pid == getpid() && info.si_value.sival_ptr == i)) /* cli_interrupt_end */
        return NULL;
    sk_passing_drop_all();
    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    kill(getpid(), number);
    for (;;)
        pause();
}

void cli_interrupt_begin(struct cli_interrupt *i)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction act;
    int count = 0;
    i->on = 0;
    sigemptyset(&i->set);
    for (int k = 0; k < 3; k++)
        if (!sigaction(numbers[k], NULL, &act) && act.sa_handler == SIG_DFL)
            count += !sigaddset(&i->set, numbers[k]);
    if (!count || pthread_sigmask(SIG_BLOCK, &i->set, &i->old))
        return;
    i->on = !pthread_create(&i->thread, NULL, wait_for_signals, i);
    if (!i->on)
        pthread_sigmask(SIG_SETMASK, &i->old, NULL);
}

void cli_interrupt_end(struct cli_interrupt *i)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    if (!i->on)
        return;
    for (int k = 0; k < 3 && i->on; k++)
        if (sigismember(&i->set, numbers[k]) == 1) {
            pthread_sigqueue(i->thread, numbers[k], (union sigval){.sival_ptr = i});
            i->on = 0;
        }
    pthread_join(i->thread, NULL); /* for ever, when the process is about to end */
    pthread_sigmask(SIG_SETMASK, &i->old, NULL);
}
