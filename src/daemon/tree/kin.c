/* A table of ranks in their order, and what is to be said of each; hellos and ends are passed on as they are. */
#include "daemon/tree/kin.h"

#include <stdlib.h>
#include <string.h>

/* More than any job has ranks; and so many messages wait to be passed on, since those who said them say them again. */
enum { MOST = 1 << 21, WAITING_MOST = 1 << 16 };

struct rank {
    uint32_t incarnation, rank;
    int place, passed; /* as struct sk_kin_way */
    int lives, due, whole; /* to be merged: that it lives; its beat, and that as a whole */
    uint64_t serial;
    double heard; /* by the service of its node */
    struct sk_progress at, told; /* the newest; what was merged last as a whole */
};

struct sk_kin {
    struct rank *at; /* by start and rank */
    int n, cap;
    struct sk_message *waiting;
    int n_waiting, cap_waiting;
};

struct sk_kin *sk_kin_new(void)
{
    return calloc(1, sizeof(struct sk_kin));
}

void sk_kin_free(struct sk_kin *k)
{
    if (k) {
        free(k->at);
        free(k->waiting);
    }
    free(k);
}

int sk_kin_count(const struct sk_kin *k)
{
    return k->n;
}

static int is_before(const struct rank *r, uint32_t incarnation, uint32_t rank)
{
    return r->incarnation != incarnation ? r->incarnation < incarnation : r->rank < rank;
}

/* The first that is not before this one. */
static int place_of(const struct sk_kin *k, uint32_t incarnation, uint32_t rank)
{
    int low = 0, high = k->n;
    while (low < high) {
        int mid = low + (high - low) / 2;
        if (is_before(&k->at[mid], incarnation, rank))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct rank *find(const struct sk_kin *k, uint32_t incarnation, uint32_t rank)
{
    int i = place_of(k, incarnation, rank);
    return i < k->n && k->at[i].incarnation == incarnation && k->at[i].rank == rank ? &k->at[i] : NULL;
}

/* NULL: out of memory. */
static struct rank *find_or_add(struct sk_kin *k, uint32_t incarnation, uint32_t rank)
{
    struct rank *r = find(k, incarnation, rank);
    if (r)
        return r;
    if (k->n == k->cap) {
        int cap = k->cap ? 2 * k->cap : 64;
        struct rank *at = cap <= MOST ? realloc(k->at, sizeof *at * (size_t)cap) : NULL;
        if (!at)
            return NULL;
        k->at = at;
        k->cap = cap;
    }
    int i = place_of(k, incarnation, rank);
    memmove(&k->at[i + 1], &k->at[i], sizeof *k->at * (size_t)(k->n - i));
    k->n++;
    k->at[i] = (struct rank){.incarnation = incarnation, .rank = rank, .place = -1, .whole = 1};
    return &k->at[i];
}

static int pass_on(struct sk_kin *k, const struct sk_message *m)
{
    if (k->n_waiting == k->cap_waiting) {
        int cap = k->cap_waiting ? 2 * k->cap_waiting : 64;
        struct sk_message *w = cap <= WAITING_MOST ? realloc(k->waiting, sizeof *w * (size_t)cap) : NULL;
        if (!w)
            return -1;
        k->waiting = w;
        k->cap_waiting = cap;
    }
    k->waiting[k->n_waiting++] = *m;
    return 0;
}

/* All of it but how far the program is. */
static int says_the_same(const struct sk_progress *a, const struct sk_progress *b)
{
    return a->complete_iteration == b->complete_iteration && a->complete_count == b->complete_count &&
           a->restored_iteration == b->restored_iteration && a->state == b->state && a->world == b->world &&
           a->differ.n == b->differ.n;
}

/* What is no news, and is passed on with the next beat all the same: when its node is lost, nobody can be asked any more. */
static int has_printed(const struct sk_progress *a, const struct sk_progress *b)
{
    return a->printed.lines != b->printed.lines || a->printed.bytes != b->printed.bytes;
}

static void came(struct rank *r, const struct sk_kin_way *way)
{
    r->place = way->place;
    r->passed = way->passed;
    r->heard = way->said > r->heard ? way->said : r->heard;
}

static enum sk_client_news heard_beat(struct sk_kin *k, const struct sk_kin_way *way, const struct sk_message *m)
{
    struct rank *r = find_or_add(k, m->incarnation, m->rank);
    if (!r || m->serial <= r->serial) /* it came before, by whichever way */
        return SK_CLIENT_NOTHING;
    int is_new = r->place < 0, moved = !is_new && r->place != way->place;
    int urgent = !is_new && r->at.world != m->at.world, news = is_new || moved || !says_the_same(&r->at, &m->at);
    came(r, way);
    r->serial = m->serial;
    r->at = m->at;
    r->due = 1;
    r->whole |= moved;
    return urgent ? SK_CLIENT_URGENT : news ? SK_CLIENT_NEWS : SK_CLIENT_NOTHING;
}

static void heard_living(struct sk_kin *k, const struct sk_kin_way *way, const struct sk_message *m, uint32_t more, int *again)
{
    uint32_t found = 0;
    for (int i = place_of(k, m->incarnation, m->rank); i < k->n; i++) {
        struct rank *r = &k->at[i];
        if (r->incarnation != m->incarnation || r->rank - m->rank > more)
            break;
        if (r->place != way->place)
            continue;
        r->lives = 1;
        came(r, way);
        found++;
    }
    *again |= found <= more;
}

/* One that is said again changes nothing but the way of a rank that has none yet. */
static enum sk_client_news heard_once(struct sk_kin *k, const struct sk_kin_way *way, const struct sk_message *m, int *again)
{
    struct rank *r = find_or_add(k, m->incarnation, m->rank);
    if (!r)
        return SK_CLIENT_NOTHING;
    if (m->serial > r->serial || r->place < 0)
        came(r, way);
    r->serial = m->serial > r->serial ? m->serial : r->serial;
    if (pass_on(k, m))
        *again = 1;
    return m->kind == SK_MSG_EXIT ? SK_CLIENT_URGENT : SK_CLIENT_NEWS;
}

enum sk_client_news sk_kin_heard(struct sk_kin *k, const struct sk_kin_way *way, const struct sk_message *m, uint32_t more, int *again)
{
    switch (m->kind) {
    case SK_MSG_BEAT:
        return heard_beat(k, way, m);
    case SK_MSG_ALIVE:
        heard_living(k, way, m, more, again);
        return SK_CLIENT_NOTHING;
    case SK_MSG_HELLO:
    case SK_MSG_EXIT:
        return heard_once(k, way, m, again);
    case SK_MSG_TELL:
        pass_on(k, m);
        return SK_CLIENT_NEWS;
    default:
        return SK_CLIENT_NOTHING;
    }
}

void sk_kin_excuse(struct sk_kin *k, int place, double now)
{
    for (int i = 0; i < k->n; i++) {
        struct rank *r = &k->at[i];
        if (r->place != place || !r->passed)
            continue;
        r->lives = 1;
        r->heard = now;
    }
}

/* As in merge.c: of the newest start the rank that is the furthest tells how far the program is, and one that has moved where that one
 * has not. */
static void choose_whole(struct sk_kin *k)
{
    struct rank *furthest = NULL, *mover = NULL;
    for (int i = 0; i < k->n; i++) {
        struct rank *r = &k->at[i];
        if (!r->due)
            continue;
        if (!furthest || r->incarnation > furthest->incarnation ||
            (r->at.progress != furthest->at.progress ? r->at.progress > furthest->at.progress : r->at.iteration > furthest->at.iteration))
            furthest = r;
        if (r->at.progress != r->told.progress)
            mover = r;
    }
    if (furthest && furthest->at.progress == furthest->told.progress && mover)
        mover->whole = 1;
    if (furthest)
        furthest->whole = 1;
}

static void merge_rank(struct rank *r, struct sk_frame *b)
{
    struct sk_message m = {.kind = SK_MSG_ALIVE, .incarnation = r->incarnation, .rank = r->rank};
    if (r->due && (r->whole || !says_the_same(&r->told, &r->at) || has_printed(&r->told, &r->at))) {
        m.kind = SK_MSG_BEAT;
        m.serial = r->serial;
        m.at = r->told = r->at;
        r->whole = 0;
    }
    sk_frame_add(b, &m);
    r->due = r->lives = 0;
}

/* In milliseconds, of the oldest word that is to be merged. */
static uint32_t age_of(const struct sk_kin *k, double now)
{
    double oldest = now;
    for (int i = 0; i < k->n; i++)
        if ((k->at[i].due || k->at[i].lives) && k->at[i].heard < oldest)
            oldest = k->at[i].heard;
    double ms = 1000 * (now - oldest);
    return ms < SK_MSG_AGE_MAX ? (uint32_t)ms : SK_MSG_AGE_MAX;
}

void sk_kin_merge(struct sk_kin *k, struct sk_frame *b, double now, void (*send)(void *arg, struct sk_frame *b), void *arg)
{
    const struct sk_message mark = {.kind = SK_MSG_KIN, .number = age_of(k, now)};
    int marked = 0;
    choose_whole(k);
    for (int i = 0, j = 0; j < k->n_waiting || i < k->n;) {
        struct rank *r = j < k->n_waiting ? NULL : &k->at[i++];
        if (r && !r->due && !r->lives)
            continue;
        if (sk_frame_is_full(b)) {
            send(arg, b);
            marked = 0;
        }
        if (!marked)
            sk_frame_add(b, &mark);
        marked = 1;
        if (r)
            merge_rank(r, b);
        else
            sk_frame_add(b, &k->waiting[j++]);
    }
    k->n_waiting = 0;
}

int sk_kin_has_news(const struct sk_kin *k)
{
    return k->n_waiting > 0;
}

void sk_kin_repeat(struct sk_kin *k)
{
    for (int i = 0; i < k->n; i++)
        k->at[i].whole = 1;
}

int sk_kin_find(const struct sk_kin *k, uint32_t incarnation, uint32_t rank)
{
    const struct rank *r = find(k, incarnation, rank);
    return r ? r->place : -1;
}

void sk_kin_forget(struct sk_kin *k, double since)
{
    int n = 0;
    for (int i = 0; i < k->n; i++)
        if (k->at[i].heard >= since)
            k->at[n++] = k->at[i];
    k->n = n;
}
