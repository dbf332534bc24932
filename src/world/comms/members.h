/* Communicators that a protocol makes itself: who belongs to one, and how its messages travel on MPI's communicator of all ranks. Pure.
 *
 * A protocol that keeps messages, or gives them to two processes, has to see them all, also those of communicators that the program makes; and a
 * process that is made again has to come to the same communicators alone, as the others do not make them with it. So
 *
 *   - all messages travel on the one communicator of the world, between ranks of the world. What tells the communicators apart is their
 *     *context*, a number, in the upper bits of the tag (the *wire tag*). MPI itself matches, as ever: the n-th receive of a source and wire tag
 *     gets the n-th message.
 *   - a context is the lowest number that is free at all members of the parent. They tell each other what is free by messages of the
 *     protocol (a collective on the parent), and members by the same (colours, keys), so the result depends on these messages and the program
 *     alone: a process that is given the same messages again comes to the same context and members. Disjoint parts of one split share a context.
 *   - when it is freed, its number is free at this rank. Communicators that are made and freed in each turn so get the same numbers in
 *     each, and a process that begins behind some of these turns knows the same numbers as those that went through them.
 *   - MPI_Comm_idup cannot wait for what others say. There each member takes the lowest number that is free at itself, when it is called, and tells
 *     the others: each gets messages of the new communicator in a context of its own (to). That is enough, as nobody but the receiver matches.
 *   - the program's handle is a communicator of this process alone (MPI's own object for attributes, names, error handlers and
 *     Fortran); what belongs to the members (rank, size, group, topology) is answered from here. Nothing of it belongs to a world before a repair, so
 *     it stays valid.
 *
 * Context 0 is MPI_COMM_WORLD: the wire tags of its messages are the program's tags. */
#ifndef SK_WORLD_COMMS_MEMBERS_H
#define SK_WORLD_COMMS_MEMBERS_H

#include <stdint.h>

struct sk_topology;

/* ---- tags ---- */

/* Of the program; the last tags of each context are the layer's own. */
enum { SK_WIRE_BITS = 21, SK_WIRE_OWN = 16, SK_WIRE_TAG_MOST = (1 << SK_WIRE_BITS) - SK_WIRE_OWN - 1 };
/* Contexts: 0 … SK_CONTEXTS - 1. One more would have wire tags above what an int holds with the layer's own ones. */
enum { SK_CONTEXTS = 1023, SK_CONTEXT_WORDS = 16 };

/* What a tag of this context is on the way. tag: 0 … SK_WIRE_TAG_MOST, or one of the layer's own (sk_wire_own). */
static inline int sk_wire(int context, int tag)
{
    return context << SK_WIRE_BITS | tag;
}
/* The layer's own tags, number 0 … SK_WIRE_OWN - 1. */
static inline int sk_wire_own(int context, int number)
{
    return sk_wire(context, SK_WIRE_TAG_MOST + 1 + number);
}
/* Any of the program's tags in this context (MPI_ANY_TAG is -1 in Open MPI and MPICH, and that is what it is for context 0). */
static inline int sk_wire_any(int context)
{
    return -1 - context;
}
static inline int sk_wire_is_any(int wire)
{
    return wire < 0;
}
static inline int sk_wire_context(int wire)
{
    return wire < 0 ? -1 - wire : wire >> SK_WIRE_BITS;
}
/* The program's tag. */
static inline int sk_wire_tag(int wire)
{
    return wire & ((1 << SK_WIRE_BITS) - 1);
}
/* 1: a message of the layer's own. */
static inline int sk_wire_is_own(int wire)
{
    return wire >= 0 && sk_wire_tag(wire) > SK_WIRE_TAG_MOST;
}
/* Of what MPI itself sends when it makes communicators out of some ranks: Open MPI 4 does so with the tag that MPI_Comm_create_group is given, on the communicator of everybody, and
 * whoever looks for any tag is shown it. No context has these; the last of them are of repairs (SK_LOGGING_TAG_REPAIR). number: 0 … SK_CONTEXTS. */
static inline int sk_wire_making(int number)
{
    return SK_CONTEXTS << SK_WIRE_BITS | number;
}
/* 1: no message of the program's or the layer's, which is to be left where it is. */
static inline int sk_wire_is_making(int wire)
{
    return wire >= 0 && sk_wire_context(wire) == SK_CONTEXTS && sk_wire_tag(wire) <= SK_CONTEXTS;
}
/* 1: a receive with the wire tag `asked` (named or any) gets messages with this one (named). */
static inline int sk_wire_fits(int asked, int wire)
{
    return asked == wire || (asked < 0 && sk_wire_context(asked) == sk_wire_context(wire) && !sk_wire_is_own(wire));
}

/* ---- contexts in use at this rank ---- */

struct sk_contexts {
    uint64_t used[SK_CONTEXT_WORDS];
};

/* That of MPI_COMM_WORLD alone. */
void sk_contexts_begin(struct sk_contexts *c);
/* Also those in use at another rank: for the choice among several. */
void sk_contexts_unite(struct sk_contexts *c, const struct sk_contexts *other);
int sk_contexts_lowest_free(const struct sk_contexts *c); /* -1: none */
void sk_contexts_take(struct sk_contexts *c, int context);
void sk_contexts_release(struct sk_contexts *c, int context); /* not that of MPI_COMM_WORLD */

/* ---- members ---- */

struct sk_members {
    int context;      /* in which this process gets messages */
    int n, rank;      /* how many, and which one this process is */
    int n_world;      /* ranks of the world */
    int *world;       /* the rank in the world of each */
    int *rank_of;     /* and by rank in the world: the rank here, -1: no member */
    int *to;          /* and each of them, by rank, owned; NULL: all in the same. Until MPI_Comm_idup is over not all are known */
    struct sk_members *remote; /* of an inter-communicator: the other group, owned, whose ranks messages go to; both have `to` */
    struct sk_topology *topology; /* its topology (topology.h), owned; NULL: none */
    int uses;         /* of whoever holds on to it; the last one frees it */
    int open, is_gone; /* receives of the program's that may still get a message; the program has freed its handle (made.h) */
    uint64_t below;       /* one of MPI's with the same members, 0: none was needed; */
    uint32_t below_epoch; /* it belongs to the world of this repair */
};

/* world: the ranks of the n members, copied; me: this process's rank in the world, which is among them. uses is 1. NULL: no memory. */
struct sk_members *sk_members_new(int context, int n, const int *world, int n_world, int me);
/* All of a world. */
struct sk_members *sk_members_all(int n_world, int me);
/* Some of these, by their ranks in the world, with the contexts that they have there. */
struct sk_members *sk_members_part(const struct sk_members *of, int n, const int *world, int me);
/* Of an inter-communicator: both groups, that with the lower first rank of the world first: the same at all members. */
struct sk_members *sk_members_both(const struct sk_members *m, int me);
struct sk_members *sk_members_hold(struct sk_members *m);
void sk_members_let_go(struct sk_members *m); /* NULL is accepted */
/* Whose ranks the program means when it sends and receives. */
static inline const struct sk_members *sk_members_peers(const struct sk_members *m)
{
    return m->remote ? m->remote : m;
}
/* The context of messages to this rank of them. */
static inline int sk_members_to(const struct sk_members *m, int rank)
{
    return m->to ? m->to[rank] : m->context;
}
/* 1: a message of one may look like one of the other, to this process or to another member of both. */
int sk_members_clash(const struct sk_members *a, const struct sk_members *b);
/* As MPI_Comm_compare of different communicators: 0: the same ranks in the same order, 1: the same ranks, 2: others. */
enum { SK_MEMBERS_SAME, SK_MEMBERS_SIMILAR, SK_MEMBERS_OTHERS };
int sk_members_compare(const struct sk_members *a, const struct sk_members *b);

/* What each rank of the parent says in MPI_Comm_split; colour < 0: it belongs to none. */
struct sk_split {
    int colour, key;
};
/* The ranks in the world of those that have the colour of rank `me` of the parent, in the order of key and rank there, into out, which has room
 * for all of the parent. Their number; 0: it has none; -1: no memory. */
int sk_members_split(const struct sk_members *parent, const struct sk_split *said, int me, int *out);

#endif
