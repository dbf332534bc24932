/* Inter-communicators under the protocol logging: two groups, of which each sends to the ranks of the other one. As with MPI_Comm_idup each member gets its
 * messages in a context of its own, so nobody has to agree with anybody: the members of a group tell each other, their leaders tell the other group's
 * leader, and each leader tells its group. */
#include "world/comms/make.h"
#include "world/comms/make_parts.h"
#include "world/layer.h"
#include "world/log/collective.h"
#include "world/log/log.h"
#include "world/view/wrong.h"

#include <stdlib.h>

/* What each member says. by_mpi: its bridge is not the protocol's, where it is a leader. */
struct said {
    int world, context, by_mpi;
};

/* The members, where the protocol can do it: those of MPI_COMM_SELF, and of what is made of it, are this process. To be let go of; NULL: they are MPI's. */
static struct sk_members *group_of(MPI_Comm comm)
{
    const struct sk_object *o = comm == MPI_COMM_NULL ? NULL : sk_objects_find(&sk_world.comms, SK_KEY(comm));
    if (!sk_world.logs)
        return NULL;
    if (comm == MPI_COMM_SELF || (o && o->flags & SK_OBJECT_ALONE))
        return sk_members_new(0, 1, &sk_world.rank, sk_world.size, sk_world.rank);
    struct sk_members *g = sk_logs_on(comm);
    return g && !g->remote ? sk_members_hold(g) : NULL;
}

/* As member of the bridge: the other leader is told of n members, and tells of its own (to be freed). Their number, or less than 0: minus an error. */
static int swap(struct sk_members *bridge, int other, const struct said *mine, int n, struct said **theirs)
{
    int found = 0;
    *theirs = NULL;
    if (other < 0 || other >= bridge->n || other == bridge->rank)
        return -MPI_ERR_RANK;
    int peer = bridge->world[other], to = sk_wire_own(sk_members_to(bridge, other), SK_LOGGING_LEADERS), here = sk_wire_own(bridge->context, SK_LOGGING_LEADERS);
    int rc = sk_logging_exchange(bridge, &n, 1, MPI_INT, peer, to, &found, 1, MPI_INT, peer, here, MPI_STATUS_IGNORE);
    if (!rc && !(*theirs = malloc(sizeof **theirs * (size_t)(found + 1))))
        rc = MPI_ERR_NO_MEM;
    if (!rc)
        rc = sk_logging_exchange(bridge, mine, n * (int)sizeof *mine, MPI_BYTE, peer, to, *theirs, found * (int)sizeof **theirs, MPI_BYTE, peer, here,
                                 MPI_STATUS_IGNORE);
    return rc ? -rc : found;
}

/* What the leader has heard, for its group. As swap. */
static int hand_on(struct sk_members *g, int leader, int n, struct said **theirs)
{
    int rc = sk_logging_Bcast(g, &n, 1, MPI_INT, leader);
    if (rc || n < 0)
        return rc ? -rc : n;
    if (g->rank != leader && !(*theirs = malloc(sizeof **theirs * (size_t)(n + 1))))
        return -MPI_ERR_NO_MEM;
    rc = sk_logging_Bcast(g, *theirs, n * (int)sizeof **theirs, MPI_BYTE, leader);
    return rc ? -rc : n;
}

/* A group as it was told of. NULL: no memory. */
static struct sk_members *told(int context, const struct said *all, int n)
{
    int *world = malloc(sizeof *world * (size_t)(n + 1));
    for (int i = 0; world && i < n; i++)
        world[i] = all[i].world;
    struct sk_members *m = world ? sk_members_new(context, n, world, sk_world.size, sk_world.rank) : NULL;
    free(world);
    if (m && !(m->to = malloc(sizeof *m->to * (size_t)(n + 1)))) {
        sk_members_let_go(m);
        return NULL;
    }
    for (int i = 0; m && i < n; i++)
        m->to[i] = all[i].context;
    return m;
}

/* What is wrong with two groups: somebody is in both, or has no number left. */
static int what_is_wrong(const struct sk_members *m)
{
    for (int i = 0; i < m->remote->n; i++)
        if (m->rank_of[m->remote->world[i]] >= 0)
            return MPI_ERR_COMM;
    for (int i = 0; i < m->n; i++)
        if (m->to[i] < 0)
            return MPI_ERR_INTERN;
    for (int i = 0; i < m->remote->n; i++)
        if (m->remote->to[i] < 0)
            return MPI_ERR_INTERN;
    return 0;
}

static int make(MPI_Comm local, int context, const struct said *ours, int n, const struct said *theirs, int n_theirs, MPI_Comm *out)
{
    struct sk_members *m = told(context, ours, n);
    int rc = m && (m->remote = told(context, theirs, n_theirs)) ? 0 : MPI_ERR_NO_MEM;
    if (!rc && (rc = what_is_wrong(m)))
        sk_wrong(local, rc);
    if (!rc)
        rc = sk_make_stand_in(local, 0, MPI_INFO_NULL, out);
    if (!rc)
        sk_made_keep(*out, sk_members_hold(m));
    sk_members_let_go(m);
    return rc;
}

static int create(struct sk_members *g, MPI_Comm local, int leader, MPI_Comm bridge_comm, int remote_leader, MPI_Comm *out)
{
    struct said mine = {sk_world.rank, sk_contexts_lowest_free(sk_made_contexts()), 0}, *theirs = NULL;
    *out = MPI_COMM_NULL;
    if (leader < 0 || leader >= g->n)
        return sk_wrong(local, MPI_ERR_RANK);
    struct said *ours = malloc(sizeof *ours * (size_t)g->n);
    struct sk_members *bridge = g->rank == leader ? group_of(bridge_comm) : NULL;
    mine.by_mpi = g->rank == leader && !bridge;
    int rc = ours ? sk_logging_tell_all(g, SK_LOGGING_COLLECTIVE, &mine, sizeof mine, ours) : MPI_ERR_NO_MEM;
    if (!rc && ours[leader].by_mpi)
        rc = SK_MAKE_BY_MPI;
    if (!rc) {
        int n = hand_on(g, leader, bridge ? swap(bridge, remote_leader, ours, g->n, &theirs) : 0, &theirs);
        rc = n < 0 ? sk_wrong(local, -n) : make(local, mine.context, ours, g->n, theirs, n, out);
    }
    sk_members_let_go(bridge);
    free(ours);
    free(theirs);
    return rc;
}

/* Of the bridge the leaders alone know, so MPI may have none that could be made now (sk_made_below): in its place is that of all ranks. */
static MPI_Comm bridge_of(MPI_Comm comm, int *leader)
{
    const struct sk_members *m = sk_world.replicates ? sk_made_members(comm) : NULL;
    if (!m)
        return sk_comm(comm);
    *leader = *leader >= 0 && *leader < m->n ? m->world[*leader] : sk_world.size; /* nobody */
    return sk_world.comm;
}

SK_WRAP(Intercomm_create, (MPI_Comm local_comm, int local_leader, MPI_Comm bridge_comm, int remote_leader, int tag, MPI_Comm *newintercomm))
{
    if (!SK_PLAIN) {
        int rc = sk_world_enter(local_comm);
        struct sk_members *g = rc ? NULL : group_of(local_comm);
        if (g)
            rc = create(g, local_comm, local_leader, bridge_comm, remote_leader, newintercomm);
        sk_members_let_go(g);
        if (rc != SK_MAKE_BY_MPI && (rc || g))
            return rc;
        sk_world_cannot(SK_WORLD_FUNCTION, "MPI_Intercomm_create");
        bridge_comm = bridge_of(bridge_comm, &remote_leader);
    }
    return SK_CALL_ASIDE(Intercomm_create, (sk_comm(local_comm), local_leader, sk_comm(bridge_comm), remote_leader, tag, newintercomm));
}

/* ---- one of both ---- */

/* The group that says that it is the low one comes first; when both say the same, that with the lower first rank. */
static int merge(struct sk_members *g, MPI_Comm comm, int high, MPI_Comm *out)
{
    struct sk_members *both = sk_members_both(g, sk_world.rank);
    int *said = both ? malloc(sizeof *said * (size_t)both->n * 2) : NULL, context, rc = said ? 0 : MPI_ERR_NO_MEM;
    if (!rc)
        rc = sk_make_agree(both, high != 0, said, &context);
    if (!rc) {
        int split = both->world[0] == g->world[0] ? g->n : g->remote->n, n = both->n, turned = said[0] > said[split], *world = said + n;
        for (int i = 0; i < n; i++)
            world[i] = both->world[turned ? (i + split) % n : i];
        rc = sk_make_of(comm, context, n, world, out);
    }
    free(said);
    sk_members_let_go(both);
    return rc;
}

SK_WRAP(Intercomm_merge, (MPI_Comm intercomm, int high, MPI_Comm *newintercomm))
{
    if (!SK_PLAIN) {
        int rc = sk_world_enter(intercomm);
        struct sk_members *g = rc || sk_world.replicates ? NULL : sk_logs_on(intercomm);
        if (rc || (g && g->remote))
            return rc ? rc : merge(g, intercomm, high, newintercomm);
        sk_world_cannot(SK_WORLD_FUNCTION, "MPI_Intercomm_merge");
    }
    return SK_CALL_ASIDE(Intercomm_merge, (sk_comm(intercomm), high, newintercomm));
}
