/* A list, and the place in it before which none waits: it goes on when it is asked for. */
#include "world/replica/receives/list.h"

static struct sk_replica_open *last, *waiting; /* waiting NULL: none of the list does */
static uint64_t begun;

static int waits(const struct sk_replica_open *o)
{
    return !o->channel || o->out;
}

void sk_receives_add(struct sk_replica_open *o)
{
    o->before = last;
    o->next = NULL;
    o->order = begun++;
    *(last ? &last->next : &sk_replica.first) = o;
    last = o;
    if (!sk_receives_first_waiting())
        waiting = o;
}

void sk_receives_remove(struct sk_replica_open *o)
{
    if (!o->before && sk_replica.first != o)
        return;
    if (waiting == o)
        waiting = o->next;
    *(o->before ? &o->before->next : &sk_replica.first) = o->next;
    *(o->next ? &o->next->before : &last) = o->before;
    o->before = o->next = NULL;
}

struct sk_replica_open *sk_receives_first_waiting(void)
{
    while (waiting && !waits(waiting))
        waiting = waiting->next;
    return waiting;
}

void sk_receives_look_again(void)
{
    waiting = sk_replica.first;
}

/* Both might get the same message. */
static int overlaps(const struct sk_replica_open *a, const struct sk_replica_open *b)
{
    return a->context == b->context && (a->source == b->source || a->source == MPI_ANY_SOURCE || b->source == MPI_ANY_SOURCE) &&
           (a->tag == b->tag || a->tag == MPI_ANY_TAG || b->tag == MPI_ANY_TAG);
}

static int stands_before(const struct sk_replica_open *end, const struct sk_replica_open *it)
{
    for (const struct sk_replica_open *b = sk_receives_first_waiting(); b && !(end && b->order >= end->order); b = b->next)
        if (waits(b) && overlaps(b, it))
            return 1;
    return 0;
}

int sk_receives_is_behind(const struct sk_replica_open *o)
{
    return stands_before(o, o);
}

int sk_receives_is_claimed(const struct sk_replica_open *before, int context, int source, int tag)
{
    const struct sk_replica_open it = {.source = source, .tag = tag, .context = context};
    return stands_before(before, &it);
}
