/* Communicators are made in one exchange of all members of the parent: what each says of colour and key, where it runs, and which contexts are in
 * use there. All come to the same members and the same context from that. */
#include "world/comms/make.h"

#include "world/comms/attributes.h"
#include "world/comms/make_parts.h"
#include "world/comms/topology.h"
#include "world/form/form.h"
#include "world/log/collective.h"
#include "world/log/later/later.h"
#include "world/log/log.h"
#include "world/wait.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct said {
    struct sk_split split;
    uint64_t host;
    struct sk_contexts used;
};

/* The program's error handler is told. */
static int wrong(MPI_Comm comm, int code)
{
    SK_CALL(Comm_call_errhandler, (sk_asked(comm), code));
    return code;
}

/* Of all members, by rank. The result is to be freed. */
static int exchange(struct sk_members *g, int own, struct sk_split split, uint64_t host, struct said **all)
{
    struct said mine = {split, host, *sk_made_contexts()};
    *all = malloc(sizeof **all * (size_t)g->n);
    if (!*all)
        return MPI_ERR_NO_MEM;
    int rc = sk_logging_tell_all(g, own, &mine, sizeof mine, *all);
    if (rc)
        free(*all);
    return rc;
}

static int choose(const struct said *all, int n)
{
    struct sk_contexts used = all[0].used;
    for (int i = 1; i < n; i++)
        sk_contexts_unite(&used, &all[i].used);
    return sk_contexts_lowest_free(&used);
}

/* A handle of this process alone, with what is kept at the parent. */
static int duplicate(MPI_Comm parent, MPI_Info info, MPI_Comm *out)
{
    if (parent == MPI_COMM_WORLD) {
        int rc = SK_CALL(Comm_split, (MPI_COMM_SELF, 0, 0, out));
        if (!rc && info != MPI_INFO_NULL)
            rc = SK_CALL(Comm_set_info, (*out, info));
        return rc ? rc : sk_attributes_copy(out);
    }
    return info == MPI_INFO_NULL ? SK_CALL(Comm_dup, (parent, out)) : SK_CALL(Comm_dup_with_info, (parent, info, out));
}

int sk_make_stand_in(MPI_Comm parent, int dup, MPI_Info info, MPI_Comm *out)
{
    MPI_Errhandler errors;
    int rc = dup ? duplicate(parent, info, out) : SK_CALL(Comm_split, (MPI_COMM_SELF, 0, 0, out));
    if (rc)
        return rc;
    if (!sk_form_get_errors(parent, &errors)) {
        SK_CALL(Comm_set_errhandler, (*out, errors));
        SK_CALL(Errhandler_free, (&errors));
    }
    return 0;
}

/* How it is to look: the topology is taken over. */
struct plan {
    MPI_Comm parent;
    int dup;
    MPI_Info info;
    struct sk_topology *topology;
};

static int make(const struct plan *p, int context, int n, const int *world, MPI_Comm *out)
{
    int rc = 0;
    struct sk_members *m = NULL;
    *out = MPI_COMM_NULL;
    if (context < 0) {
        sk_world_say("more than 1022 communicators at once are more than the layer can tell apart (run.protocol)");
        rc = wrong(p->parent, MPI_ERR_INTERN);
    } else if (n > 0) {
        m = sk_members_new(context, n, world, sk_world.size, sk_world.rank);
        rc = m ? sk_make_stand_in(p->parent, p->dup, p->info, out) : MPI_ERR_NO_MEM;
    }
    if (!rc && m) {
        m->topology = p->topology;
        sk_made_keep(*out, m);
        return 0;
    }
    sk_members_let_go(m);
    sk_topology_free(p->topology);
    return rc;
}

int sk_make_agree(struct sk_members *g, int mine, int *all, int *context)
{
    struct said *said;
    int rc = exchange(g, SK_LOGGING_COLLECTIVE, (struct sk_split){0, mine}, 0, &said);
    if (rc)
        return rc;
    for (int i = 0; i < g->n; i++)
        all[i] = said[i].split.key;
    *context = choose(said, g->n);
    free(said);
    return 0;
}

int sk_make_of(MPI_Comm parent, int context, int n, const int *world, MPI_Comm *out)
{
    return make(&(struct plan){.parent = parent}, context, n, world, out);
}

/* The members are known to those who belong to them. */
static int make_of(struct sk_members *g, const struct plan *p, int n, const int *world, MPI_Comm *out)
{
    struct said *all;
    int rc = exchange(g, SK_LOGGING_COLLECTIVE, (struct sk_split){0, 0}, 0, &all);
    if (rc)
        return rc;
    rc = make(p, choose(all, g->n), n, world, out);
    free(all);
    return rc;
}

static int by_colour(struct sk_members *g, const struct plan *p, struct sk_split mine, uint64_t host, MPI_Comm *out)
{
    struct said *all;
    struct sk_split *split = malloc(sizeof *split * (size_t)g->n);
    int *world = malloc(sizeof *world * (size_t)g->n), rc = split && world ? exchange(g, SK_LOGGING_COLLECTIVE, mine, host, &all) : MPI_ERR_NO_MEM;
    if (!rc) {
        for (int i = 0; i < g->n; i++) {
            split[i] = all[i].split;
            for (int j = 0; host && split[i].colour >= 0 && j <= i; j++) /* the first on this host */
                if (all[j].host == all[i].host && all[j].split.colour >= 0) {
                    split[i].colour = j;
                    break;
                }
        }
        int n = sk_members_split(g, split, g->rank, world);
        rc = n < 0 ? MPI_ERR_NO_MEM : make(p, choose(all, g->n), n, world, out);
        free(all);
    }
    free(split);
    free(world);
    return rc;
}

/* ---- without waiting ---- */

/* The same ranks, whose contexts are not known yet. NULL: no memory. */
static struct sk_members *unknown(const struct sk_members *g, int context)
{
    struct sk_members *m = sk_members_new(context, g->n, g->world, sk_world.size, sk_world.rank);
    if (m && !(m->to = malloc(sizeof *m->to * (size_t)(g->n + 1)))) {
        sk_members_let_go(m);
        return NULL;
    }
    return m;
}

/* The members of what is made of g: this process's context alone is known yet, the lowest that is free here (-1: none). NULL: no memory. */
static struct sk_members *members_to_be(const struct sk_members *g)
{
    struct sk_members *m = unknown(g, sk_contexts_lowest_free(sk_made_contexts()));
    if (!m)
        return NULL;
    m->topology = sk_topology_copy(g->topology);
    m->remote = g->remote ? unknown(g->remote, m->context) : NULL;
    if ((g->topology && !m->topology) || (g->remote && !m->remote)) {
        sk_members_let_go(m);
        return NULL;
    }
    m->to[g->rank] = m->context;
    return m;
}

/* One number to each of them but this process; or one from each. */
static int plan_with(struct sk_steps *s, struct sk_members *group, const int *mine)
{
    int n = group->n, first = group->rank < 0 ? 0 : group->rank, rc = 0;
    for (int i = 0; i < n && !rc; i++) { /* not all to the same one at once */
        int r = (first + i) % n;
        struct sk_step step = {.what = mine ? SK_STEP_SEND : SK_STEP_RECEIVE, .peer = group->world[r]};
        if (mine)
            step.from = mine, step.n_from = 1, step.t_from = SK_KEY(MPI_INT);
        else
            step.to = &group->to[r], step.n_to = 1, step.t_to = SK_KEY(MPI_INT);
        if (r != group->rank)
            rc = sk_steps_add(s, &step);
    }
    return rc ? MPI_ERR_NO_MEM : 0;
}

/* Each tells each other its context, and waits for none before it has told all. */
static int plan_to_tell(struct sk_steps *s, struct sk_members *m)
{
    const int *mine = &m->to[m->rank];
    int rc = plan_with(s, m, mine);
    if (!rc && m->remote)
        rc = plan_with(s, m->remote, mine);
    if (!rc)
        rc = plan_with(s, m, NULL);
    return rc || !m->remote ? rc : plan_with(s, m->remote, NULL);
}

static int idup(struct sk_members *g, MPI_Comm comm, MPI_Info info, MPI_Comm *out, MPI_Request *request)
{
    struct sk_steps *steps = sk_steps_new();
    struct sk_members *m = members_to_be(g), *all = g->remote ? sk_members_both(g, sk_world.rank) : sk_members_hold(g);
    int rc = steps && m && all ? plan_to_tell(steps, m) : MPI_ERR_NO_MEM, made_rc = 0;
    *out = MPI_COMM_NULL;
    if (!rc && m->context < 0) {
        sk_world_say("more than 1022 communicators at once are more than the layer can tell apart (run.protocol)");
        made_rc = MPI_ERR_INTERN;
    } else if (!rc) {
        made_rc = sk_make_stand_in(comm, 1, info, out); /* others wait for this process, whatever comes of it here */
    }
    rc = sk_later_begin_making(all, steps, rc, m, made_rc, request);
    if (!rc && !made_rc)
        sk_made_keep(*out, sk_members_hold(m));
    sk_members_let_go(m);
    sk_members_let_go(all);
    return rc;
}

/* Without a protocol that makes communicators it cannot be repaired. */
SK_WRAP(Comm_idup, (MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request))
{
    if (!SK_PLAIN) {
        struct sk_members *g = sk_logs_on(comm);
        int rc;
        if (!g)
            sk_world_cannot(SK_WORLD_FUNCTION, "MPI_Comm_idup");
        if ((rc = sk_world_enter(comm)))
            return rc;
        if (g)
            return idup(g, comm, MPI_INFO_NULL, newcomm, request);
    }
    return SK_CALL_ASIDE(Comm_idup, (sk_comm(comm), newcomm, request));
}

/* ---- of all, and of parts ---- */

int sk_make_Comm_dup(struct sk_members *g, MPI_Comm comm, MPI_Comm *out)
{
    return sk_make_Comm_dup_with_info(g, comm, MPI_INFO_NULL, out);
}

int sk_make_Comm_dup_with_info(struct sk_members *g, MPI_Comm comm, MPI_Info info, MPI_Comm *out)
{
    MPI_Request r;
    int rc = g->remote ? idup(g, comm, info, out, &r) : 0;
    if (g->remote)
        return rc ? rc : sk_wait(&r, MPI_STATUS_IGNORE, 0);
    struct sk_topology *t = sk_topology_copy(g->topology);
    if (g->topology && !t)
        return MPI_ERR_NO_MEM;
    return make_of(g, &(struct plan){comm, 1, info, t}, g->n, g->world, out);
}

int sk_make_Comm_split(struct sk_members *g, MPI_Comm comm, int colour, int key, MPI_Comm *out)
{
    if (colour < 0 && colour != MPI_UNDEFINED)
        return wrong(comm, MPI_ERR_ARG);
    return by_colour(g, &(struct plan){.parent = comm}, (struct sk_split){colour < 0 ? -1 : colour, key}, 0, out);
}

/* By name, never 0. */
static uint64_t host(void)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    uint64_t h = 0xcbf29ce484222325u;
    if (*sk_world.host)
        memcpy(name, sk_world.host, sizeof name);
    else
        gethostname(name, sizeof name - 1);
    for (const char *p = name; *p; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    return h | 1;
}

int sk_make_Comm_split_type(struct sk_members *g, MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out)
{
    (void)info;
    if (type != MPI_COMM_TYPE_SHARED && type != MPI_UNDEFINED) { /* all ranks have the same, or none */
        sk_logging_refuse("MPI_Comm_split_type of another type than MPI_COMM_TYPE_SHARED");
        return SK_MAKE_BY_MPI;
    }
    return by_colour(g, &(struct plan){.parent = comm}, (struct sk_split){type == MPI_UNDEFINED ? -1 : 0, key}, host(), out);
}

/* The ranks of a group, which have to be some of g; is_member: whether this process is. NULL: they are not. */
static int *ranks_of(const struct sk_members *g, MPI_Group group, int *n, int *is_member)
{
    *is_member = 0;
    if (group == MPI_GROUP_NULL)
        return NULL;
    int *world = sk_made_ranks(sk_group(group), n);
    for (int i = 0; i < *n; i++) {
        if (world[i] < 0 || world[i] >= g->n_world || g->rank_of[world[i]] < 0) {
            free(world);
            return NULL;
        }
        *is_member |= world[i] == sk_world.rank;
    }
    return world;
}

int sk_make_Comm_create(struct sk_members *g, MPI_Comm comm, MPI_Group group, MPI_Comm *out)
{
    int n, is_member, *world = ranks_of(g, group, &n, &is_member);
    if (!world)
        return wrong(comm, MPI_ERR_GROUP);
    int rc = make_of(g, &(struct plan){.parent = comm}, is_member ? n : 0, world, out);
    free(world);
    return rc;
}

int sk_make_Comm_create_group(struct sk_members *g, MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *out)
{
    int n, is_member, *world = ranks_of(g, group, &n, &is_member);
    (void)tag; /* one thread calls MPI, so the members do this one after the other, in the same order */
    if (!world)
        return wrong(comm, MPI_ERR_GROUP);
    *out = MPI_COMM_NULL;
    struct sk_members *some = is_member ? sk_members_part(g, n, world, sk_world.rank) : NULL;
    struct said *all;
    int rc = !is_member ? 0 : some ? exchange(some, SK_LOGGING_SOME, (struct sk_split){0, 0}, 0, &all) : MPI_ERR_NO_MEM;
    if (!rc && is_member) {
        rc = make(&(struct plan){.parent = comm}, choose(all, n), n, world, out);
        free(all);
    }
    sk_members_let_go(some);
    free(world);
    return rc;
}

/* ---- with a topology ---- */

/* The first n of g; t is taken over. */
static int make_first(struct sk_members *g, MPI_Comm comm, int n, struct sk_topology *t, MPI_Comm *out)
{
    if (!t)
        return MPI_ERR_NO_MEM;
    return make_of(g, &(struct plan){.parent = comm, .topology = t}, g->rank < n ? n : 0, g->world, out);
}

int sk_make_Cart_create(struct sk_members *g, MPI_Comm comm, int n, const int dims[], const int periods[], MPI_Comm *out)
{
    int size = n < 0 ? -1 : sk_cart_size(n, dims);
    if (size < 0 || size > g->n)
        return wrong(comm, n < 0 || size < 0 ? MPI_ERR_DIMS : MPI_ERR_ARG);
    return make_first(g, comm, size, sk_topology_cart(n, dims, periods), out);
}

int sk_make_Cart_sub(struct sk_members *g, MPI_Comm comm, const int remains[], MPI_Comm *out)
{
    struct sk_split mine;
    if (!g->topology || g->topology->kind != SK_TOPOLOGY_CART)
        return wrong(comm, MPI_ERR_TOPOLOGY);
    struct sk_topology *t = sk_cart_sub(g->topology, g->rank, remains, &mine.colour, &mine.key);
    return t ? by_colour(g, &(struct plan){.parent = comm, .topology = t}, mine, 0, out) : MPI_ERR_NO_MEM;
}

int sk_make_Graph_create(struct sk_members *g, MPI_Comm comm, int n, const int index[], const int edges[], MPI_Comm *out)
{
    if (n < 0 || n > g->n)
        return wrong(comm, MPI_ERR_ARG);
    return make_first(g, comm, n, sk_topology_graph(n, index, edges), out);
}

int sk_make_Dist_graph_create_adjacent(struct sk_members *g, MPI_Comm comm, int n_sources, const int sources[], const int source_weights[],
                                       int n_destinations, const int destinations[], const int destination_weights[], MPI_Comm *out)
{
    static const int none; /* of an edge that there is not: it is weighted all the same */
    int weighted = source_weights != MPI_UNWEIGHTED && destination_weights != MPI_UNWEIGHTED;
    source_weights = source_weights ? source_weights : &none;
    destination_weights = destination_weights ? destination_weights : &none;
    if (n_sources < 0 || n_destinations < 0)
        return wrong(comm, MPI_ERR_ARG);
    return make_first(g, comm, g->n,
                      sk_topology_dist(n_sources, sources, weighted ? source_weights : NULL, n_destinations, destinations,
                                       weighted ? destination_weights : NULL), out);
}

/* An edge that some rank has told of. */
struct edge {
    int from, to, weight;
};

/* All edges of all ranks, to be freed. */
static int all_edges(struct sk_members *g, int mine, const struct edge *edge, int *n, struct edge **out)
{
    int *count = malloc(sizeof *count * 2 * (size_t)g->n), *at = count + g->n, rc = count ? 0 : MPI_ERR_NO_MEM;
    *out = NULL;
    *n = 0;
    mine *= 3;
    if (!rc)
        rc = sk_logging_tell_all(g, SK_LOGGING_COLLECTIVE, &mine, sizeof mine, count);
    for (int i = 0; !rc && i < g->n; i++) {
        at[i] = *n;
        *n += count[i];
    }
    if (!rc && !(*out = malloc(sizeof **out * (size_t)(*n / 3 + 1))))
        rc = MPI_ERR_NO_MEM;
    if (!rc)
        rc = sk_logging_Allgatherv(g, edge, mine, MPI_INT, *out, count, at, MPI_INT);
    *n /= 3;
    free(count);
    return rc;
}

/* What concerns this rank: ends at the other side, and weights. Their number. */
static int concerns(const struct edge *e, int n, int me, int incoming, int *end, int *weight)
{
    int found = 0;
    for (int i = 0; i < n; i++)
        if ((incoming ? e[i].to : e[i].from) == me) {
            end[found] = incoming ? e[i].from : e[i].to;
            weight[found++] = e[i].weight;
        }
    return found;
}

int sk_make_Dist_graph_create(struct sk_members *g, MPI_Comm comm, int n, const int nodes[], const int degrees[], const int targets[],
                              const int weights[], MPI_Comm *out)
{
    int mine = 0, all = 0, weighted = weights != MPI_UNWEIGHTED;
    struct edge *edge, *every = NULL;
    if (n < 0)
        return wrong(comm, MPI_ERR_ARG);
    for (int i = 0; i < n; i++)
        mine += degrees[i];
    edge = malloc(sizeof *edge * (size_t)(mine + 1));
    if (!edge)
        return MPI_ERR_NO_MEM;
    for (int i = 0, k = 0; i < n; i++)
        for (int j = 0; j < degrees[i]; j++, k++)
            edge[k] = (struct edge){nodes[i], targets[k], weighted ? weights[k] : 1};
    int rc = all_edges(g, mine, edge, &all, &every);
    free(edge);
    int *list = rc ? NULL : malloc(sizeof *list * 4 * (size_t)(all + 1)), most = all + 1;
    if (!rc && !list)
        rc = MPI_ERR_NO_MEM;
    if (!rc) {
        int in = concerns(every, all, g->rank, 1, list, list + most), from = concerns(every, all, g->rank, 0, list + 2 * most, list + 3 * most);
        rc = make_first(g, comm, g->n, sk_topology_dist(in, list, weighted ? list + most : NULL, from, list + 2 * most, weighted ? list + 3 * most : NULL), out);
    }
    free(list);
    free(every);
    return rc;
}
