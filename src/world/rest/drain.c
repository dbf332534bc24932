/* Lets MPI read until nothing is left of connections that are closed. What is shared on a host has been read by then: there is little room in it, and
 * whoever waited for the dead has looked at it often. */
#include "world/rest/drain.h"

#include "base/network/lastwords.h"
#include "world/layer.h"

#include <unistd.h>

enum { TURNS = 4, TURNS_AT_ONCE = 200, MOST_TURNS = 5000, TURN_US = 1000 };

int sk_drain(void)
{
    struct sk_lastwords words = {0};
    int found;
    for (int turn = 0; turn < TURNS || sk_lastwords_unread(&words); turn++) {
        if (turn == MOST_TURNS)
            return -1;
        SK_CALL(Iprobe, (MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE)); /* a turn of all that MPI has to do */
        if (turn > TURNS_AT_ONCE)
            usleep(TURN_US);
    }
    return 0;
}
