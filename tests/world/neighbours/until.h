/* The last step of a solver that is to outlast what is done to it, however long that takes on a busy machine. */
#ifndef SAIKAI_TESTS_WORLD_NEIGHBOURS_UNTIL_H
#define SAIKAI_TESTS_WORLD_NEIGHBOURS_UNTIL_H

#include <stdlib.h>
#include <unistd.h>

/* Waits until there is a file of the name in REPLICATED_UNTIL, if that is set. */
static inline void wait_for_the_end(void)
{
    const char *name = getenv("REPLICATED_UNTIL");
    while (name && access(name, F_OK))
        usleep(1000);
}

#endif
