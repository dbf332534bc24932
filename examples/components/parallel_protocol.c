/* A component: a parallel FT protocol in which all go back to the newest generation, as with coordinated, and both ends of each message are held
 * against each other. Each rank counts and sums up what it sends to and receives from every other one; when all save themselves, they compare.
 * What is told then is a message that was damaged on its way, or one that is sent before a checkpoint and received behind it: the program
 * would wait for that, or miss it, when it goes on from there.
 *
 *   saikai run --set components=/path/parallel_protocol.so --protocol both-ends [--recovery process=in-place] -n 4 -- ./solver
 *
 * BOTH_ENDS=tell says at each generation how many messages were compared. For up to 256 ranks: each gets a table of all from all. */
#include <saikai/component.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct end {
    uint64_t messages, sum;
};
/* Of this rank since the newest generation: size ends of what was sent, size of what came, and a last one whose first word is 1 when it does not know
 * all: it took the place of a lost rank, and was given again what its neighbours sent long ago. */
enum { MOST_RANKS = 256 };
static struct end mine[2 * MOST_RANKS + 1], all[MOST_RANKS * (2 * MOST_RANKS + 1)];
static size_t n_ends; /* 0: there are too many ranks, in all of them alike */
static int tells;

/* FNV-1a; the order of messages is left out, as it may differ at the two ends. */
static uint64_t sum_of(const struct saikai_message *m)
{
    const unsigned char *p = m->data;
    uint64_t h = 14695981039346656037u ^ (uint64_t)(uint32_t)m->tag;
    for (uint64_t i = 0; p && i < m->bytes; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}

static void forget(void)
{
    memset(mine, 0, sizeof mine);
}

static void begin(const struct saikai_world *w)
{
    const char *told = getenv("BOTH_ENDS");
    tells = told && !strcmp(told, "tell");
    n_ends = w->size <= MOST_RANKS ? 2 * (size_t)w->size + 1 : 0;
    if (n_ends)
        mine[n_ends - 1].messages = (uint64_t)w->is_new;
    else if (!w->rank)
        w->tell(w, "there are too many ranks: messages are not compared");
}

static void count(const struct saikai_message *m, size_t first)
{
    if (!n_ends || m->peer < 0)
        return;
    mine[first + (size_t)m->peer].messages++;
    mine[first + (size_t)m->peer].sum += sum_of(m);
}

static void sends(const struct saikai_world *w, const struct saikai_message *m)
{
    (void)w;
    count(m, 0);
}

static void received(const struct saikai_world *w, const struct saikai_message *m)
{
    count(m, (size_t)w->size);
}

static void compare(const struct saikai_world *w, int peer, const struct end *sent, const struct end *came)
{
    char line[200];
    if (sent->messages != came->messages)
        snprintf(line, sizeof line, "rank %d has sent %llu messages since the generation before, and %llu of them have come: some are under way at a checkpoint",
                 peer, (unsigned long long)sent->messages, (unsigned long long)came->messages);
    else if (sent->sum != came->sum)
        snprintf(line, sizeof line, "what rank %d has sent since the generation before is not what has come", peer);
    else
        return;
    w->tell(w, line);
}

static void generation(const struct saikai_world *w, int64_t number)
{
    uint64_t compared = 0;
    char line[100];
    (void)number;
    if (!n_ends)
        return;
    if (w->exchange(w, mine, all, n_ends * sizeof *mine)) /* a process has died: all will hear of it */
        return;
    for (int peer = 0; peer < w->size; peer++) {
        const struct end *theirs = all + n_ends * (size_t)peer;
        if (theirs[n_ends - 1].messages || mine[n_ends - 1].messages)
            continue;
        compare(w, peer, &theirs[w->rank], &mine[w->size + peer]);
        compared += mine[w->size + peer].messages;
    }
    if (tells) {
        snprintf(line, sizeof line, "%llu messages compared", (unsigned long long)compared);
        w->tell(w, line);
    }
    forget();
}

static void lost(const struct saikai_world *w, const int32_t *ranks, uint32_t n)
{
    char line[100];
    snprintf(line, sizeof line, "rank %d is lost%s", ranks[0], n > 1 ? ", and others are" : "");
    if (tells)
        w->tell(w, line);
}

/* All begin anew at the generation, and so do their counts. */
static void back(const struct saikai_world *w, const int32_t *ranks, uint32_t n)
{
    char line[100];
    snprintf(line, sizeof line, "rank %d is back%s, after %u repairs", ranks[0], n > 1 ? ", and others are" : "", w->repairs);
    forget();
    if (tells)
        w->tell(w, line);
}

static const struct saikai_parallel_protocol_ops ops = {
    .needs = SAIKAI_NEEDS_LAYER | SAIKAI_NEEDS_CHECKPOINTS,
    .goes_back = SAIKAI_BACK_ALL,
    .begin = begin,
    .sends = sends,
    .received = received,
    .generation = generation,
    .lost = lost,
    .back = back,
};

static const struct saikai_component both_ends = {
    .abi = SAIKAI_COMPONENT_ABI,
    .size_bytes = sizeof both_ends,
    .kind = SAIKAI_KIND_PARALLEL_PROTOCOL,
    .name = "both-ends",
    .description = "all ranks go back to the newest generation, and both ends of each message are compared",
    .ops = &ops,
    .ops_size_bytes = sizeof ops,
};

const struct saikai_component *const *saikai_components(void)
{
    static const struct saikai_component *const all_of_them[] = {&both_ends, NULL};
    return all_of_them;
}
