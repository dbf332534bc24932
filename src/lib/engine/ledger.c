/* A list of the generations by number, with a lock. What nobody can ask for any more makes room for
 * what comes. */
#include "lib/engine/ledger.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Beyond what the settings keep: the cadence looks some generations back. */
enum { SPARE = 16 };

struct sk_ledger {
    pthread_mutex_t lock;
    size_t keep;
    int64_t captured; /* number of the newest one */
    struct sk_ledger_entry restored;
    struct sk_ledger_entry *entry; /* by growing seq, with gaps where one was forgotten */
    size_t count, cap;
    int64_t newest[SK_LEDGER_STATES];
    struct sk_gen *staying; /* in the prefix, oldest first */
    size_t stay_count, stay_cap;
};

int sk_ledger_new(size_t keep, struct sk_ledger **out, struct saikai_error *err)
{
    struct sk_ledger *l = calloc(1, sizeof *l);
    if (!l)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of generations");
    pthread_mutex_init(&l->lock, NULL);
    l->keep = keep > SIZE_MAX - SPARE ? SIZE_MAX : keep + SPARE;
    *out = l;
    return 0;
}

void sk_ledger_free(struct sk_ledger *l)
{
    if (!l)
        return;
    pthread_mutex_destroy(&l->lock);
    free(l->entry);
    free(l->staying);
    free(l);
}

/* ---- with the lock held ---- */

static struct sk_ledger_entry *lookup(struct sk_ledger *l, int64_t seq)
{
    size_t low = 0, high = l->count;
    if (!seq)
        return l->restored.gen.incarnation ? &l->restored : NULL;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (l->entry[mid].seq < seq)
            low = mid + 1;
        else
            high = mid;
    }
    return low < l->count && l->entry[low].seq == seq ? &l->entry[low] : NULL;
}

static int is_needed(const struct sk_ledger *l, const struct sk_ledger_entry *e)
{
    if ((uint64_t)(l->captured - e->seq) < l->keep)
        return 1;
    for (int s = 0; s < SK_LEDGER_STATES; s++)
        if (l->newest[s] == e->seq)
            return 1;
    /* whoever is told of a newer one will never ask for this one */
    return e->seq > l->newest[SK_LEDGER_TOLD] && !(e->states & 1u << SK_LEDGER_LOST);
}

static void forget(struct sk_ledger *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++)
        if (is_needed(l, &l->entry[i]))
            l->entry[n++] = l->entry[i];
    l->count = n;
}

/* Room for one more; the list grows only when not even half of it can be forgotten. */
static int make_room(struct sk_ledger *l)
{
    if (l->count < l->cap)
        return 0;
    forget(l);
    if (l->count < l->cap / 2)
        return 0;
    size_t cap = l->cap ? 2 * l->cap : 2 * SPARE;
    struct sk_ledger_entry *p = realloc(l->entry, cap * sizeof *p);
    if (!p)
        return l->count < l->cap ? 0 : SAIKAI_ENOMEM;
    l->entry = p;
    l->cap = cap;
    return 0;
}

/* ---- interface ---- */

int sk_ledger_add(struct sk_ledger *l, struct sk_gen gen, double captured_at, int64_t *seq, struct saikai_error *err)
{
    pthread_mutex_lock(&l->lock);
    *seq = ++l->captured;
    int rc = make_room(l);
    if (!rc)
        l->entry[l->count++] = (struct sk_ledger_entry){*seq, gen, captured_at, 0};
    pthread_mutex_unlock(&l->lock);
    return rc ? sk_fail(err, rc, "no memory to remember one more generation") : 0;
}

void sk_ledger_restored(struct sk_ledger *l, struct sk_gen gen)
{
    pthread_mutex_lock(&l->lock);
    l->restored = (struct sk_ledger_entry){.gen = gen};
    pthread_mutex_unlock(&l->lock);
}

void sk_ledger_mark(struct sk_ledger *l, int64_t seq, enum sk_ledger_state state)
{
    pthread_mutex_lock(&l->lock);
    struct sk_ledger_entry *e = lookup(l, seq);
    if (e)
        e->states |= 1u << state;
    if (e && seq > l->newest[state])
        l->newest[state] = seq;
    pthread_mutex_unlock(&l->lock);
}

int sk_ledger_find(struct sk_ledger *l, int64_t seq, struct sk_ledger_entry *out, struct saikai_error *err)
{
    pthread_mutex_lock(&l->lock);
    const struct sk_ledger_entry *e = lookup(l, seq);
    int64_t captured = l->captured;
    if (e)
        *out = *e;
    pthread_mutex_unlock(&l->lock);
    if (e)
        return 0;
    return sk_fail(err, SAIKAI_ENOENT,
                   seq > 0 && seq <= captured ? "generation number %lld of this run is too old to be known"
                                              : "this run has no generation number %lld",
                   (long long)seq);
}

int64_t sk_ledger_newest(struct sk_ledger *l, enum sk_ledger_state state)
{
    pthread_mutex_lock(&l->lock);
    int64_t seq = l->newest[state];
    pthread_mutex_unlock(&l->lock);
    return seq;
}

int64_t sk_ledger_iteration(struct sk_ledger *l, enum sk_ledger_state state)
{
    pthread_mutex_lock(&l->lock);
    const struct sk_ledger_entry *e = lookup(l, l->newest[state]);
    int64_t iteration = e && (e->states & 1u << state) ? e->gen.iteration : -1;
    pthread_mutex_unlock(&l->lock);
    return iteration;
}

int64_t sk_ledger_count(struct sk_ledger *l)
{
    pthread_mutex_lock(&l->lock);
    int64_t n = l->captured;
    pthread_mutex_unlock(&l->lock);
    return n;
}

/* ---- the prefix ---- */

static int make_stay_room(struct sk_ledger *l, size_t count)
{
    if (count <= l->stay_cap)
        return 0;
    size_t cap = count + count / 2 + 4;
    struct sk_gen *p = realloc(l->staying, cap * sizeof *p);
    if (!p)
        return SAIKAI_ENOMEM;
    l->staying = p;
    l->stay_cap = cap;
    return 0;
}

int sk_ledger_adopt(struct sk_ledger *l, const struct sk_gen *gen, size_t count, struct saikai_error *err)
{
    pthread_mutex_lock(&l->lock);
    int rc = make_stay_room(l, count);
    if (!rc && count)
        memcpy(l->staying, gen, count * sizeof *gen);
    if (!rc)
        l->stay_count = count;
    pthread_mutex_unlock(&l->lock);
    return rc ? sk_fail(err, rc, "no memory to remember the %zu generations in the prefix", count) : 0;
}

int sk_ledger_arrived(struct sk_ledger *l, struct sk_gen gen, size_t keep, struct saikai_error *err)
{
    pthread_mutex_lock(&l->lock);
    int rc = make_stay_room(l, l->stay_count + 1);
    if (!rc) {
        if (!l->stay_count || sk_gen_key(l->staying[l->stay_count - 1]) != sk_gen_key(gen)) /* two at one iteration */
            l->staying[l->stay_count++] = gen;
        size_t drop = l->stay_count > keep ? l->stay_count - keep : 0;
        l->stay_count -= drop;
        memmove(l->staying, l->staying + drop, l->stay_count * sizeof gen);
    }
    pthread_mutex_unlock(&l->lock);
    return rc ? sk_fail(err, rc, "no memory to remember one more generation in the prefix") : 0;
}

int sk_ledger_stays(struct sk_ledger *l, int64_t key)
{
    int found = 0;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < l->stay_count && !found; i++)
        found = sk_gen_key(l->staying[i]) == key;
    pthread_mutex_unlock(&l->lock);
    return found;
}

int sk_ledger_ends(struct sk_ledger *l, struct sk_gen *oldest, struct sk_gen *newest)
{
    pthread_mutex_lock(&l->lock);
    int two = l->stay_count > 1;
    if (two) {
        *oldest = l->staying[0];
        *newest = l->staying[l->stay_count - 1];
    }
    pthread_mutex_unlock(&l->lock);
    return two;
}

void sk_ledger_let_go(struct sk_ledger *l, struct sk_gen gen)
{
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; l->stay_count > 1 && i < l->stay_count; i++) {
        if (sk_gen_key(l->staying[i]) != sk_gen_key(gen))
            continue;
        memmove(l->staying + i, l->staying + i + 1, (--l->stay_count - i) * sizeof gen);
        break;
    }
    pthread_mutex_unlock(&l->lock);
}
