/* A gate in front of saikai_checkpoint (by --wrap), for a test that must do something while a program runs: as long as the file
 * shared/gate of the cluster is there, each step takes a moment longer, and from step 100 on two seconds: the program is
 * not over before the gate opens, however fast the machine is, and has few steps to go then, however slow it is. */
#include <saikai/saikai.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int __real_saikai_checkpoint(long iteration);
int __wrap_saikai_checkpoint(long iteration);

int __wrap_saikai_checkpoint(long iteration)
{
    static char gate[4096];
    if (!*gate) {
        setvbuf(stdout, NULL, _IOLBF, 0); /* MPI may hang at the very end, and be killed there */
        snprintf(gate, sizeof gate, "%s/shared/gate", getenv("CLUSTER_DIR") ? getenv("CLUSTER_DIR") : "");
    }
    for (int n = 0; !access(gate, F_OK) && n < (iteration < 100 ? 1 : 40); n++)
        usleep(50000);
    return __real_saikai_checkpoint(iteration);
}
