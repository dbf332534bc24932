/* Begin and end of the protocol `replication`, and what it cannot do. */
#include "world/replica/replica.h"

#include "world/replica/apart.h"
#include "world/replica/compare.h"
#include "world/replica/control.h"
#include "world/replica/decide.h"
#include "world/replica/leave.h"
#include "world/replica/look.h"
#include "world/replica/message.h"
#include "world/rest/bell.h"

#include "base/clock.h"
#include "base/config/ranklist.h"
#include "world/comms/made.h"
#include "world/log/collective.h"
#include "world/log/log.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOVES_MOST = 1 << 22 }; /* bytes */

struct sk_replica sk_replica = {.iteration = -1};

static int make_all(MPI_Comm *out)
{
    int rc = SK_CALL(Comm_dup, (MPI_COMM_WORLD, out));
    return rc ? rc : SK_CALL(Comm_set_errhandler, (*out, MPI_ERRORS_RETURN));
}

/* Whoever is a rank alone is among the first copies and among the second ones, and uses the communicator of the first. */
static int make_same(MPI_Comm *out)
{
    int rc = 0, alone = sk_replica_process(1, sk_world.rank) == sk_replica.processes;
    for (int copy = 0; copy <= sk_replica_is_partial() && !rc; copy++) {
        int colour = !sk_replica_is_partial() ? sk_replica.copy : copy == sk_replica.copy || alone ? 0 : MPI_UNDEFINED;
        MPI_Comm made;
        rc = SK_CALL(Comm_split, (MPI_COMM_WORLD, colour, sk_world.rank, &made));
        if (!rc && (copy == sk_replica.copy || !sk_replica_is_partial()))
            *out = made;
    }
    return rc ? rc : SK_CALL(Comm_set_errhandler, (*out, MPI_ERRORS_RETURN));
}

static void set_peers(void)
{
    int twin = sk_replica_process(!sk_replica.copy, sk_world.rank);
    for (int r = 0; r < sk_replica.n; r++) {
        enum sk_replica_feed *feed = sk_replica.peer[r].feed;
        feed[sk_replica.copy] = SK_FEED_SEND;
        feed[!sk_replica.copy] = r == sk_world.rank ? SK_FEED_NONE : sk_replica.dead[twin] ? SK_FEED_SEND : SK_FEED_KEEP;
        if (sk_replica.dead[sk_replica_process(1, r)])
            feed[1] = SK_FEED_NONE;
    }
}

/* What the program sees of the start is the part of this copy. */
static void set_variables(void)
{
    char text[16];
    snprintf(text, sizeof text, "%d", sk_world.rank);
    setenv("OMPI_COMM_WORLD_RANK", text, 1);
    snprintf(text, sizeof text, "%d", sk_replica.n);
    setenv("OMPI_COMM_WORLD_SIZE", text, 1);
}

/* list: the ranks that are two processes. */
static void know_processes(const char *list)
{
    int n = sk_replica.n, next = n;
    char *named = n > 0 ? malloc((size_t)n) : NULL;
    if (!named || sk_ranklist_parse(list, n, named, NULL) < 0)
        sk_world_fail(SK_WORLD_FAILED, "it is not known which ranks are two processes");
    sk_replica.second = calloc((size_t)n, sizeof *sk_replica.second);
    sk_replica.rank = calloc((size_t)n * 2, sizeof *sk_replica.rank);
    sk_replica.peer = calloc((size_t)n, sizeof *sk_replica.peer);
    sk_replica.dead = calloc((size_t)n * 2 + 1, 1);
    sk_replica.left = calloc((size_t)n * 2, 1);
    if (!sk_replica.second || !sk_replica.rank || !sk_replica.peer || !sk_replica.dead || !sk_replica.left)
        sk_world_fail(SK_WORLD_FAILED, "no memory to remember the processes of this start");
    for (int r = 0; r < n; r++) {
        sk_replica.rank[r] = r;
        sk_replica.second[r] = named[r] ? next++ : sk_replica.processes;
        if (named[r])
            sk_replica.rank[sk_replica.second[r]] = r;
    }
    free(named);
    if (next != sk_replica.processes)
        sk_world_fail(SK_WORLD_FAILED, "the processes of this start are not two for each rank that is to be two");
    sk_replica.dead[next] = 1;
}

/* What the program does may depend on where it runs: both copies say that they are where the first one is. */
static int share_host(void)
{
    enum { TAG = 1 };
    int n, twin = sk_replica_process(!sk_replica.copy, sk_world.rank), bytes = (int)sizeof sk_world.host;
    if (!sk_replica.apart)
        return 0;
    if (sk_replica.copy)
        return SK_CALL(Recv, (sk_world.host, bytes, MPI_BYTE, twin, TAG, sk_replica.control, MPI_STATUS_IGNORE));
    int rc = SK_CALL(Get_processor_name, (sk_world.host, &n));
    return rc || sk_replica.dead[twin] ? rc : SK_CALL(Send, (sk_world.host, bytes, MPI_BYTE, twin, TAG, sk_replica.control));
}

/* Whether this process, while it computes, has messages brought to one that waits for them: where memory is read from outside that one alone does it, else parts are
 * sent on from here. As MPI does it is seen: nothing is called here until the other one rings. Of several sizes, as there are several ways. 1: it has them all. */
static int brings(int peer, int first, char *data)
{
    enum { TAG = 2, SIZES = 3 };
    static const int bytes[SIZES] = {1 << 14, 1 << 18, MOVES_MOST};
    static const double longest_s = 0.05;
    MPI_Request r[SIZES];
    int here = 0;
    if (SK_CALL(Sendrecv, (data, 0, MPI_BYTE, peer, TAG, data, 0, MPI_BYTE, peer, TAG, sk_replica.control, MPI_STATUS_IGNORE))) /* both are there */
        return 0;
    for (int i = 0; i < SIZES && !first; i++)
        SK_CALL(Recv, (data, bytes[i], MPI_BYTE, peer, TAG, sk_replica.control, MPI_STATUS_IGNORE));
    if (!first) {
        sk_bell_ring(peer, SK_BELL_TAKEN);
        return 0;
    }
    uint32_t rung = sk_bell_rung();
    for (int i = 0; i < SIZES; i++)
        SK_CALL(Isend, (data, bytes[i], MPI_BYTE, peer, TAG, sk_replica.control, &r[i]));
    for (double begun = sk_now(); !(here = sk_bell_rung() != rung) && sk_now() - begun < longest_s;)
        sk_bell_sleep(rung, UINT_MAX, SK_BELL_TAKEN | SK_BELL_ALL);
    for (int i = 0; i < SIZES; i++)
        SK_CALL(Wait, (&r[i], MPI_STATUS_IGNORE));
    return here;
}

/* Of one pair of processes it is enough: all are on one host. On a busy machine the others may be late. Its memory is not the program's malloc's, which would have the next large pieces elsewhere. */
static int know_moves(int me)
{
    int n = sk_replica.processes, peer = me ^ 1;
    char *data = mmap(NULL, MOVES_MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *each = malloc((size_t)n), here;
    if (data == MAP_FAILED || !each)
        sk_world_fail(SK_WORLD_FAILED, "no memory to begin");
    here = (char)(peer < n && brings(peer, me < peer, data));
    int rc = SK_CALL(Allgather, (&here, 1, MPI_BYTE, each, 1, MPI_BYTE, MPI_COMM_WORLD));
    for (int p = 0; p < n && !rc; p++)
        sk_replica.moves |= each[p];
    munmap(data, MOVES_MOST);
    free(each);
    return rc;
}

/* All have the same bells, or nobody has: on several hosts, or where a process cannot open what another one has open. */
static int hang_bells(void)
{
    struct sk_bell_place at = {0};
    int me, all = 1, n = sk_replica.processes;
    if (sk_replica.apart)
        return 0;
    char found = 0, *each = malloc((size_t)n);
    int rc = each ? SK_CALL(Comm_rank, (MPI_COMM_WORLD, &me)) : MPI_ERR_NO_MEM;
    if (!rc && !me)
        sk_bell_make(n, &at);
    rc = rc ? rc : SK_CALL(Bcast, (&at, (int)sizeof at, MPI_BYTE, 0, MPI_COMM_WORLD));
    if (!rc && at.nonce)
        found = (char)(!me || sk_bell_find(n, &at));
    rc = rc ? rc : SK_CALL(Allgather, (&found, 1, MPI_BYTE, each, 1, MPI_BYTE, MPI_COMM_WORLD)); /* MPI_MIN is not there in programs without MPI */
    for (int p = 0; p < n && !rc; p++)
        all &= each[p];
    if (!rc)
        sk_bell_hang(me, all);
    free(each);
    return rc || !all ? rc : know_moves(me);
}

void sk_replica_begin(const char *told)
{
    char *end;
    int rc = 0;
    sk_replica.n = (int)strtol(told, &end, 10);
    sk_replica.limit = strtoull(end, &end, 10);
    sk_replica.compares = (int)strtol(end, &end, 10);
    sk_replica.apart = (int)strtol(end, &end, 10);
    sk_replica.processes = sk_world.size;
    know_processes(end);
    sk_replica.copy = sk_replica_copy_of(sk_world.rank);
    sk_world.rank = sk_replica.rank[sk_world.rank];
    sk_world.size = sk_replica.n;
    set_variables();
    set_peers();
    for (int c = 0; c < SK_REPLICA_CONTEXTS && !rc; c++) {
        rc = make_same(&sk_replica.same[c]);
        rc = rc ? rc : make_all(&sk_replica.all[c]);
    }
    rc = rc ? rc : make_all(&sk_replica.control);
    rc = rc ? rc : share_host();
    rc = rc ? rc : sk_apart_begin();
    rc = rc ? rc : hang_bells();
    if (rc)
        sk_world_fail(SK_WORLD_FAILED, "MPI makes no communicators for the copies");
    sk_world.comm = sk_replica.same[SK_REPLICA_PROGRAM];
    SK_CALL(Comm_set_errhandler, (sk_world.comm, MPI_ERRORS_ARE_FATAL));
    sk_world.replicates = sk_world.makes = 1;
    sk_made_begin();
    sk_world_tell(SK_WORLD_READY, SK_WORLD_FINE);
}

void sk_replica_refuse(const char *what)
{
    char line[300];
    sk_replica_tell();
    if (sk_world.cannot) {
        sk_replica_leave();
        return;
    }
    if (sk_replica.losses)
        sk_world_fail(SK_WORLD_FUNCTION, "the program does what cannot be replicated, and a process has died: the job is started again");
    sk_world.cannot = 1;
    sk_world_tell(SK_WORLD_CANNOT, SK_WORLD_FUNCTION);
    snprintf(line, sizeof line, "%s cannot be replicated: from now on the job is started again after a fault", what);
    if (sk_logging_is_first_to_say())
        sk_world_say(line);
    sk_replica_leave();
}

/* All have come here, and nobody leaves before all know that: until then what somebody lacks can be sent again. After a death MPI's own end is
 * left out, since it would wait for the dead; for whoever dies in it the launcher waits no longer than run.repair_limit. */
int sk_replica_finalize(void)
{
    int rc = sk_logging_Barrier(sk_made_world()), all = sk_replica.processes;
    sk_replica_settle();
    sk_compare_flush();
    for (int p = 0; p < all; p++)
        if (!sk_replica.dead[p])
            sk_control_tell(p, (uint64_t[]){SK_CONTROL_LEFT}, 1);
    for (int p = 0; p < all; p++)
        while (!sk_replica.dead[p] && !sk_replica.left[p])
            sk_replica_wait();
    if (!sk_replica.copy)
        sk_compare_end();
    sk_control_drain(); /* of a process that has ended nobody would hear any more */
    if (rc || sk_replica.losses) {
        sk_world.done = 1;
        return rc;
    }
    sk_world_tell(SK_WORLD_OVER, SK_WORLD_FINE);
    rc = SK_CALL(Finalize, ());
    sk_world_tell(SK_WORLD_READY, SK_WORLD_FINE);
    return rc;
}

SK_WORLD_EXPORT int saikai_world_replicates(void)
{
    return sk_replica.n > 0;
}

SK_WORLD_EXPORT void saikai_world_iteration(int64_t iteration)
{
    sk_replica.iteration = iteration;
}
