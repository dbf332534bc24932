/* A table of node services, found by their ids. */
#include "backbone/frame/services.h"

#include <stdlib.h>

/* More than any job has nodes, however often each one's service is killed. */
enum { MOST = 1 << 20 };

struct service {
    uint64_t id, heard, said;
    double heard_at, answered;
    int owed, is_new, again, paced; /* paced: it was told that it is one of many */
    struct sk_frame out;
};

struct sk_services {
    sk_services_send *send;
    void *arg;
    struct service *at;
    int n, cap;
    int *slot; /* place + 1 by hash of the id, 0: free */
    int slots; /* a power of two */
    int *due;  /* places of those that are owed something */
    int n_due;
    int living, pace, keeps_pace;
    double counted; /* when the living were */
};

/* How often the living are counted, and who is not: who has said nothing for so long. */
static const double count_s = 2, dead_s = 10;

struct sk_services *sk_services_new(sk_services_send *send, void *arg)
{
    struct sk_services *t = calloc(1, sizeof *t);
    if (t)
        *t = (struct sk_services){.send = send, .arg = arg, .pace = 1};
    return t;
}

void sk_services_free(struct sk_services *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->n; i++)
        sk_frame_free(&t->at[i].out);
    free(t->at);
    free(t->slot);
    free(t->due);
    free(t);
}

/* Where the id is, or where it would be: by multiplication (Knuth, The Art of Computer Programming 3, 6.4), whoever chose the ids. */
static int *slot_of(const struct sk_services *t, uint64_t id)
{
    int i = (int)(id * 0x9e3779b97f4a7c15u >> 32 & (uint64_t)(t->slots - 1));
    while (t->slot[i] && t->at[t->slot[i] - 1].id != id)
        i = (i + 1) & (t->slots - 1);
    return &t->slot[i];
}

static int grow(struct sk_services *t)
{
    int cap = t->cap ? 2 * t->cap : 8;
    struct service *at = t->cap < MOST ? realloc(t->at, sizeof *at * (size_t)cap) : NULL;
    int *due = at ? realloc(t->due, sizeof *due * (size_t)cap) : NULL;
    int *slot = due ? calloc(2 * (size_t)cap, sizeof *slot) : NULL;
    if (at)
        t->at = at;
    if (due)
        t->due = due;
    if (!slot)
        return -1;
    free(t->slot);
    t->slot = slot;
    t->slots = 2 * cap;
    t->cap = cap;
    for (int i = 0; i < t->n; i++)
        *slot_of(t, t->at[i].id) = i + 1;
    return 0;
}

static uint32_t answer_ms(const struct sk_services *t)
{
    return (uint32_t)(t->pace * SK_SERVICES_ANSWER_MS);
}

static void owe(struct sk_services *t, struct service *s)
{
    if (!s->owed)
        t->due[t->n_due++] = (int)(s - t->at);
    s->owed = 1;
}

static void count_living(struct sk_services *t, double now)
{
    if (now - t->counted < count_s)
        return;
    t->counted = now;
    t->living = 0;
    for (int i = 0; i < t->n; i++)
        t->living += now - t->at[i].heard_at < dead_s;
    if (t->living > SK_SERVICES_MOST && !t->keeps_pace)
        t->pace = 2;
}

int sk_services_take(struct sk_services *t, uint64_t id, uint64_t serial, double now)
{
    if (t->n == t->cap && grow(t))
        return -2;
    int *slot = slot_of(t, id);
    if (!*slot) {
        t->at[t->n++] = (struct service){.id = id, .is_new = 1};
        *slot = t->n;
    }
    struct service *s = &t->at[*slot - 1];
    if (serial <= s->heard)
        return -1;
    if (serial != s->heard + 1)
        s->again = 1;
    s->heard = serial;
    s->heard_at = now;
    count_living(t, now);
    if (t->living < SK_SERVICES_MANY || s->again || now - s->answered >= answer_ms(t) / 1000.0) {
        s->answered = now;
        owe(t, s);
    }
    return *slot - 1;
}

int sk_services_is_new(struct sk_services *t, int place)
{
    int is_new = t->at[place].is_new;
    t->at[place].is_new = 0;
    return is_new;
}

void sk_services_ask_again(struct sk_services *t, int place)
{
    t->at[place].again = 1;
    owe(t, &t->at[place]);
}

static void send_to(struct sk_services *t, struct service *s)
{
    size_t n;
    if (s->again)
        sk_frame_add(&s->out, &(struct sk_message){.kind = SK_MSG_HEARD});
    s->again = 0;
    int many = t->living >= SK_SERVICES_MANY;
    if (many || s->paced)
        sk_frame_add(&s->out, &(struct sk_message){.kind = SK_MSG_PACE, .number = (uint32_t)t->pace, .first = many ? answer_ms(t) : 0});
    s->paced = many;
    const void *frame = sk_frame_close(&s->out, ++s->said, &n);
    if (frame)
        t->send(t->arg, s->id, frame, n);
    sk_frame_clear(&s->out);
}

void sk_services_put(struct sk_services *t, int place, const struct sk_message *m)
{
    struct service *s = &t->at[place];
    if (m->kind == SK_MSG_HEARD) /* where an answer is owed, it is since a frame came */
        return;
    owe(t, s);
    if (sk_frame_is_full(&s->out))
        send_to(t, s);
    sk_frame_add(&s->out, m);
}

void sk_services_flush(struct sk_services *t)
{
    for (int i = 0; i < t->n_due; i++) {
        struct service *s = &t->at[t->due[i]];
        send_to(t, s);
        s->owed = 0;
    }
    t->n_due = 0;
}

void sk_services_end(struct sk_services *t)
{
    for (int i = 0; i < t->n; i++)
        sk_services_put(t, i, &(struct sk_message){.kind = SK_MSG_END});
    sk_services_flush(t);
}

int sk_services_count(const struct sk_services *t)
{
    return t->n;
}

int sk_services_living(const struct sk_services *t)
{
    return t->living;
}

double sk_services_heard(const struct sk_services *t, int place)
{
    return t->at[place].heard_at;
}

void sk_services_keep_pace(struct sk_services *t)
{
    t->keeps_pace = 1;
}

int sk_services_pace(const struct sk_services *t)
{
    return t->pace;
}
