/* What the layer knows of communicators that it made itself, and what is left to MPI for them. */
#include "world/comms/made.h"

#include "world/comms/topology.h"
#include "world/form/form.h"
#include "world/log/log.h"

#include <stdio.h>
#include <stdlib.h>


static struct {
    struct sk_members *world;
    struct sk_contexts contexts;
    MPI_Group group; /* of all ranks, as this process first knew them: groups of the program's are made of it, and so go together */
    int has_group;
} made;

void sk_made_begin(void)
{
    sk_contexts_begin(&made.contexts);
    made.has_group = 0;
}

struct sk_members *sk_made_world(void)
{
    if (!made.world && !(made.world = sk_members_all(sk_world.size, sk_world.rank)))
        sk_world_fail(SK_WORLD_FAILED, "no memory for the ranks of the world");
    return made.world;
}

static struct sk_object *object_of(MPI_Comm c)
{
    return c == MPI_COMM_NULL ? NULL : sk_objects_find(&sk_world.comms, SK_KEY(c));
}

struct sk_members *sk_made_members(MPI_Comm c)
{
    if (c == MPI_COMM_WORLD)
        return sk_world.logs || sk_world.replicates ? sk_made_world() : NULL;
    const struct sk_object *o = object_of(c);
    if (!o || !(o->flags & SK_OBJECT_MADE))
        return NULL;
    if (o->epoch != sk_world.epoch)
        sk_world_fail(SK_WORLD_STALE, "a communicator is used that was made before the repair");
    return o->more;
}

struct sk_contexts *sk_made_contexts(void)
{
    return &made.contexts;
}

void sk_made_keep(MPI_Comm c, struct sk_members *m)
{
    sk_made_comm(c, MPI_COMM_NULL);
    struct sk_object *o = object_of(c);
    o->flags |= SK_OBJECT_MADE;
    o->more = m;
    sk_contexts_take(&made.contexts, m->context);
}

void sk_made_forget(uint64_t key)
{
    struct sk_object *o = sk_objects_find(&sk_world.comms, key);
    struct sk_members *m = o && o->flags & SK_OBJECT_MADE ? o->more : NULL;
    if (!m)
        return;
    if (m->below && m->below_epoch == sk_world.epoch) {
        MPI_Comm c = (MPI_Comm)(uintptr_t)m->below;
        SK_CALL(Comm_free, (&c));
    }
    m->below = 0;
    m->is_gone = 1;
    if (!m->open)
        sk_contexts_release(&made.contexts, m->context);
    sk_members_let_go(m);
    o->more = NULL;
}

void sk_made_begin_receive(struct sk_members *m)
{
    sk_members_hold(m)->open++;
}

void sk_made_end_receive(struct sk_members *m)
{
    if (!--m->open && m->is_gone)
        sk_contexts_release(&made.contexts, m->context);
    sk_members_let_go(m);
}

/* ---- groups ---- */

static void stop_if(int rc)
{
    if (rc)
        sk_world_fail(SK_WORLD_FAILED, "MPI cannot make a group of a communicator's ranks: the job is started again");
}

static MPI_Group all(void)
{
    if (!made.has_group)
        stop_if(SK_CALL(Comm_group, (sk_world.comm, &made.group)));
    made.has_group = 1;
    return made.group;
}

int sk_made_group_of(const struct sk_members *m, MPI_Group *out)
{
    return SK_CALL(Group_incl, (all(), m->n, m->world, out));
}

int *sk_made_ranks(MPI_Group g, int *n)
{
    stop_if(SK_CALL(Group_size, (g, n)));
    int *rank = malloc(sizeof *rank * 2 * (size_t)(*n + 1)), *mine = rank + *n + 1;
    if (!rank)
        sk_world_fail(SK_WORLD_FAILED, "no memory for the ranks of a group");
    for (int i = 0; i < *n; i++)
        mine[i] = i;
    if (*n)
        stop_if(SK_CALL(Group_translate_ranks, (g, *n, mine, all(), rank)));
    return rank;
}

int sk_made_takes(const char *what, MPI_Comm comm, int tag)
{
    char line[200];
    struct sk_members *m = sk_made_members(comm);
    int others = comm != MPI_COMM_WORLD || (!sk_world.replicates && tag == MPI_ANY_TAG);
    if (!m || !others)
        return 0;
    snprintf(line, sizeof line, "%s is possible on MPI_COMM_WORLD alone with this run.protocol%s", what,
             comm == MPI_COMM_WORLD ? ", and not with MPI_ANY_TAG" : "");
    sk_world_say(line);
    SK_CALL(Comm_call_errhandler, (comm, MPI_ERR_COMM));
    return MPI_ERR_COMM;
}

/* ---- MPI's own ---- */

/* The topology belongs to what is done with it: neighbourhoods. It takes the place of the plain communicator. */
static MPI_Comm shaped(MPI_Comm plain, const struct sk_topology *t)
{
    MPI_Comm c = MPI_COMM_NULL;
    int rc = 0;
    if (!t)
        return plain;
    if (t->kind == SK_TOPOLOGY_CART)
        rc = SK_CALL(Cart_create, (plain, t->n[0], t->first, t->second, 0, &c));
    else if (t->kind == SK_TOPOLOGY_GRAPH)
        rc = SK_CALL(Graph_create, (plain, t->n[0], t->first, t->second, 0, &c));
    else
        rc = SK_CALL(Dist_graph_create_adjacent, (plain, t->n[0], t->first, t->weighted ? t->weight[0] : MPI_UNWEIGHTED, t->n[1], t->second,
                                                  t->weighted ? t->weight[1] : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c));
    stop_if(rc);
    SK_CALL(Comm_free, (&plain));
    return c;
}

/* Collective over these members. */
static MPI_Comm plain_below(const struct sk_members *m)
{
    MPI_Group world = MPI_GROUP_NULL, g = MPI_GROUP_NULL;
    MPI_Comm c = MPI_COMM_NULL;
    stop_if(SK_CALL(Comm_group, (sk_world.comm, &world)));
    stop_if(SK_CALL(Group_incl, (world, m->n, m->world, &g)));
    stop_if(SK_CALL(Comm_create_group, (sk_world.comm, g, sk_form_making_tag(1 + sk_members_to(m, 0)), &c)));
    SK_CALL(Group_free, (&g));
    SK_CALL(Group_free, (&world));
    return c;
}

/* Of two groups: by way of one of both. */
static MPI_Comm two_groups(const struct sk_members *m)
{
    struct sk_members *both = sk_members_both(m, sk_world.rank);
    MPI_Comm all, half, c = MPI_COMM_NULL;
    if (!both)
        sk_world_fail(SK_WORLD_FAILED, "no memory for the ranks of two groups");
    all = plain_below(both);
    stop_if(SK_CALL(Comm_split, (all, both->world[0] == m->world[0], m->rank, &half)));
    stop_if(SK_CALL(Intercomm_create, (half, 0, all, both->rank_of[m->remote->world[0]], 0, &c)));
    SK_CALL(Comm_free, (&half));
    SK_CALL(Comm_free, (&all));
    sk_members_let_go(both);
    return c;
}

MPI_Comm sk_made_below(struct sk_members *m)
{
    if (m == made.world)
        return sk_world.comm;
    if (m->below && m->below_epoch == sk_world.epoch)
        return (MPI_Comm)(uintptr_t)m->below;
    int was = sk_world_aside;
    sk_world_aside = sk_world_depth + 1; /* an argument of what MPI is to do: nothing is half done (SK_CALL_ASIDE) */
    m->below = SK_KEY(m->remote ? two_groups(m) : shaped(plain_below(m), m->topology));
    sk_world_aside = was;
    m->below_epoch = sk_world.epoch;
    return (MPI_Comm)(uintptr_t)m->below;
}

/* ---- after a repair ---- */

/* What is the library's is made anew, and what is of this process alone is of no world. */
static int goes_on(const struct sk_object *o)
{
    return o->flags & (SK_OBJECT_MADE | SK_OBJECT_ALONE);
}

int sk_made_has_others(void)
{
    const struct sk_objects *t = &sk_world.comms;
    for (size_t i = 0; i < t->slots; i++)
        if (t->slot[i].key && t->slot[i].epoch == sk_world.epoch && !(t->slot[i].flags & SK_OBJECT_QUIET) && !goes_on(&t->slot[i]))
            return 1;
    return 0;
}

void sk_made_go_on(uint32_t before)
{
    for (size_t i = 0; i < sk_world.comms.slots; i++) {
        struct sk_object *o = &sk_world.comms.slot[i];
        if (o->key && o->epoch == before && goes_on(o))
            o->epoch = sk_world.epoch;
    }
    for (size_t i = 0; i < sk_world.groups.slots; i++) {
        struct sk_object *o = &sk_world.groups.slot[i];
        if (o->key && o->epoch == before)
            o->epoch = sk_world.epoch;
    }
}
