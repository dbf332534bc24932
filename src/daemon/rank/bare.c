/* Looks into the maps of the program's processes. The layer is mapped before what it is to stand before, so there is no moment in which it is not there yet. */
#include "daemon/rank/bare.h"

#include "backbone/keeper_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often it is looked at first, for how long, and then. */
static const double first_s = 0.1, soon_s = 10, later_s = 1;
/* Scripts that start scripts … */
enum { DEPTH = 8 };

struct sk_bare sk_bare_begin(double now)
{
    const char *ranks = getenv(SK_WORLD_RANKS_ENV), *processes = getenv("OMPI_COMM_WORLD_SIZE");
    int spares = ranks && processes && atoi(processes) > atoi(ranks);
    return (struct sk_bare){.matters = getenv(SK_WORLD_LIBRARY_ENV) && (spares || getenv(SK_WORLD_COPIES_ENV)), .begun = now, .next = now};
}

static int is_bare(pid_t pid)
{
    char path[48], *line = NULL;
    size_t cap = 0;
    int mpi = 0, layer = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(path, "re");
    while (f && !layer && getline(&line, &cap, f) > 0) {
        mpi |= strstr(line, "/libmpi.so") != NULL;
        layer |= strstr(line, "/libsaikai-world-") != NULL;
    }
    if (f)
        fclose(f);
    free(line);
    return mpi && !layer;
}

static int any_is_bare(pid_t pid, int depth)
{
    char path[64];
    int child, found = is_bare(pid);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = found || !depth ? NULL : fopen(path, "re");
    while (f && !found && fscanf(f, "%d", &child) == 1)
        found = any_is_bare(child, depth - 1);
    if (f)
        fclose(f);
    return found;
}

int sk_bare_found(struct sk_bare *b, pid_t program, uint32_t world, double now)
{
    if (!b->matters || now < b->next)
        return 0;
    b->next = now + (now - b->begun < soon_s ? first_s : later_s);
    b->matters = SK_WORLD_STATE(world) == SK_WORLD_NONE;
    return b->matters && any_is_bare(program, DEPTH);
}
