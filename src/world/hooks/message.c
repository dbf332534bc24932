/* Tells a hook of one message: who is at its other end, and its contents in one piece. */
#include "world/hooks/message.h"

#include <stdlib.h>

/* Packed contents: kept for the next message, as the body of saikai_in_place may be left in between. */
static void *packed;
static int packed_cap;

int sk_hooks_watches(MPI_Comm comm)
{
    return !saikai_world_is_quiet || !saikai_world_is_quiet(&comm);
}

/* The rank in MPI_COMM_WORLD of one in a communicator; -1: it is in another one. */
static int in_world(MPI_Comm comm, int rank)
{
    MPI_Group theirs = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
    int inter = 0, found = MPI_UNDEFINED;
    if (comm == MPI_COMM_WORLD)
        return rank;
    if (SK_NEXT(Comm_test_inter, (comm, &inter)) || inter)
        return -1;
    if (!SK_NEXT(Comm_group, (comm, &theirs)) && !SK_NEXT(Comm_group, (MPI_COMM_WORLD, &all)))
        SK_NEXT(Group_translate_ranks, (theirs, 1, &rank, all, &found));
    if (theirs != MPI_GROUP_NULL)
        SK_NEXT(Group_free, (&theirs));
    if (all != MPI_GROUP_NULL)
        SK_NEXT(Group_free, (&all));
    return found == MPI_UNDEFINED ? -1 : found;
}

/* `count` elements in one piece, NULL: they cannot be had. */
static const void *contents(const void *buf, int count, MPI_Datatype type, MPI_Comm comm, uint64_t *bytes)
{
    MPI_Aint lb = 0, extent = 0;
    int size = 0, room = 0, at = 0;
    SK_NEXT(Type_size, (type, &size));
    SK_NEXT(Type_get_extent, (type, &lb, &extent));
    *bytes = (uint64_t)size * (uint64_t)count;
    if (!*bytes)
        return "";
    if (!lb && extent == size && buf != MPI_BOTTOM) {
        int n[3], combiner = 0;
        SK_NEXT(Type_get_envelope, (type, &n[0], &n[1], &n[2], &combiner));
        if (combiner == MPI_COMBINER_NAMED)
            return buf;
    }
    if (SK_NEXT(Pack_size, (count, type, comm, &room)))
        return NULL;
    if (room > packed_cap) {
        void *more = realloc(packed, (size_t)room);
        if (!more)
            return NULL;
        packed = more;
        packed_cap = room;
    }
    if (SK_NEXT(Pack, (buf, count, type, packed, packed_cap, &at, comm)))
        return NULL;
    *bytes = (uint64_t)at;
    return packed;
}

static struct saikai_message about(MPI_Comm comm, int peer, int tag)
{
    return (struct saikai_message){
        .size_bytes = sizeof(struct saikai_message),
        .peer = in_world(comm, peer),
        .tag = tag,
        .comm = comm == MPI_COMM_WORLD ? 0 : (uint64_t)(uintptr_t)comm,
    };
}

void sk_hooks_send(const struct sk_hooked *m)
{
    if (!sk_hooks.protocol->ops.sends || m->peer == MPI_PROC_NULL || m->peer < 0 || m->count < 0 || !sk_hooks_watches(m->comm))
        return;
    struct saikai_message told = about(m->comm, m->peer, m->tag);
    told.data = contents(m->buf, m->count, m->type, m->comm, &told.bytes);
    sk_hooks.protocol->ops.sends(&sk_hooks.world, &told);
}

void sk_hooks_receive(const struct sk_hooked *m, MPI_Status *status)
{
    int cancelled = 0, n = 0;
    if (!sk_hooks.protocol->ops.received || m->sends || status->MPI_SOURCE < 0 || !sk_hooks_watches(m->comm))
        return;
    if (SK_NEXT(Test_cancelled, (status, &cancelled)) || cancelled)
        return;
    struct saikai_message told = about(m->comm, status->MPI_SOURCE, status->MPI_TAG);
    if (!SK_NEXT(Get_count, (status, m->type, &n)) && n >= 0)
        told.data = contents(m->buf, n, m->type, m->comm, &told.bytes);
    sk_hooks.protocol->ops.received(&sk_hooks.world, &told);
}
