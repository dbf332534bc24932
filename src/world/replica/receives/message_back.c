/* Receives that leave MPI without a message. In each copy the n-th receive of a channel gets the n-th message, and MPI gives messages out in the order in which it was
 * given the receives. So of one channel they leave from the newest to the one that is to be taken back: if one of them has a message by then, so have all before it,
 * and those that have left go back in their order. */
#include "world/replica/look.h"
#include "world/replica/message.h"
#include "world/replica/receives/list.h"

#include <stdlib.h>

/* 1: MPI gives it no message any more. */
static int leave(struct sk_replica_open *o)
{
    MPI_Request r = o->request;
    int ended = 0, cancelled = 0;
    int rc = SK_CALL(Cancel, (&r));
    if (!rc)
        rc = SK_CALL(Test, (&o->request, &ended, &o->status));
    sk_replica_stop_at_death(rc);
    if (!rc && !ended) /* what MPI takes back it takes back at once: it is getting one */
        return 0;
    if (!rc)
        SK_CALL(Test_cancelled, (&o->status, &cancelled));
    o->request = MPI_REQUEST_NULL;
    if (!cancelled)
        sk_replica_end_receive(o, rc);
    else
        o->out = 1;
    sk_receives_look_again();
    return cancelled;
}

/* Receives of a channel stand in the list in the order of their numbers. */
static size_t count_from(const struct sk_replica_open *o, struct sk_replica_open **at)
{
    size_t n = 0;
    for (struct sk_replica_open *b = sk_replica.first; b; b = b->next)
        if (b->channel == o->channel && b->index >= o->index) {
            if (at)
                at[n] = b;
            n++;
        }
    return n;
}

int sk_replica_withdraw(struct sk_replica_open *o)
{
    if (o->done)
        return 0;
    if (!o->channel)
        return o->out = 1;
    size_t n = count_from(o, NULL);
    struct sk_replica_open **at = malloc(n * sizeof *at);
    if (!at)
        sk_world_fail(SK_WORLD_FAILED, "no memory to take a receive back: the job is started again");
    count_from(o, at);
    while (n && leave(at[n - 1]))
        n--;
    free(at);
    if (n)
        sk_replica_put_back();
    return !n;
}

void sk_replica_put_back(void)
{
    for (struct sk_replica_open *o = sk_replica.first, *next; o; o = next) {
        next = o->next;
        if (!o->out)
            continue;
        o->out = 0;
        if (o->channel)
            sk_replica_begin_receive(o);
    }
}

void sk_replica_drop(struct sk_replica_open *o)
{
    for (struct sk_replica_open *b = o->channel ? sk_replica.first : NULL; b; b = b->next)
        if (b->channel == o->channel && b->index > o->index)
            b->index--;
    if (o->channel)
        o->channel->posted--;
    o->channel = NULL;
    o->out = 0;
    o->taken = 1;
    SK_CALL(Status_set_cancelled, (&o->status, 1));
    SK_CALL(Status_set_elements, (&o->status, MPI_BYTE, 0));
    o->status.MPI_SOURCE = MPI_ANY_SOURCE;
    o->status.MPI_TAG = MPI_ANY_TAG;
    sk_replica_end_receive(o, 0);
}

int sk_replica_was_taken(MPI_Request r)
{
    const struct sk_object *o = r == MPI_REQUEST_NULL ? NULL : sk_objects_find(&sk_world.requests, SK_KEY(r));
    const struct sk_replica_open *receive = o && o->flags & SK_OBJECT_COPIED ? o->more : NULL;
    return receive && receive->taken;
}
