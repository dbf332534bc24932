/* The first process of a node of the test cluster: collects orphans, and keeps the node alive until
 * it is killed. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    setsid();
    for (;;)
        if (waitpid(-1, 0, 0) < 0)
            usleep(20000);
}
