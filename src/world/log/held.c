/* Matching of messages and receives in the layer. What the program is given for a receive that is held is a generalised request, which is
 * completed when MPI's own has ended: it stays what it is through a repair. */
#include "world/log/held.h"

#include "world/log/chance.h"
#include "world/view/attached.h"
#include "world/wait.h"

#include <stdlib.h>

/* A receive of this source and tag, named or not, gets such a message. ANY_TAG is none of the layer's. */
static int fits(const struct sk_logging_open *o, int source, int tag)
{
    int same_source = o->source == MPI_ANY_SOURCE || source == MPI_ANY_SOURCE || o->source == source;
    int same_tag = o->tag == tag || (o->tag == MPI_ANY_TAG && tag < SK_LOGGING_TAG) || (tag == MPI_ANY_TAG && o->tag < SK_LOGGING_TAG);
    return same_source && same_tag;
}

/* The first that waits for such a message, before `end`. */
static struct sk_logging_open *first_for(int source, int tag, const struct sk_logging_open *end)
{
    for (struct sk_logging_open *o = sk_logging.held; o && o != end; o = o->next)
        if (o->waits && fits(o, source, tag))
            return o;
    return NULL;
}

int sk_held_stands_before(int source, int tag)
{
    return sk_logging.held && source >= 0 && first_for(source, tag, NULL);
}

/* ---- the program's request ---- */

static int query(void *extra, MPI_Status *status)
{
    const struct sk_logging_open *o = extra;
    MPI_Count bytes = 0;
    status->MPI_SOURCE = o->status.MPI_SOURCE;
    status->MPI_TAG = o->status.MPI_TAG;
    SK_CALL(Get_elements_x, (&o->status, MPI_BYTE, &bytes));
    SK_CALL(Status_set_elements_x, (status, MPI_BYTE, bytes));
    SK_CALL(Status_set_cancelled, (status, o->cancelled));
    return o->rc;
}

static int nothing(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

/* One that still waits is given to nobody any more. */
static int cancel(void *extra, int complete)
{
    struct sk_logging_open *o = extra, **at = &sk_logging.held;
    if (complete)
        return MPI_SUCCESS;
    if (!o->waits)
        return SK_CALL(Cancel, (&o->inner));
    while (*at && *at != o)
        at = &(*at)->next;
    if (*at)
        *at = o->next;
    o->cancelled = 1;
    return SK_CALL(Grequest_complete, (o->handle));
}

int sk_held_add(void *buf, int count, MPI_Datatype type, int source, int tag, uint64_t number, MPI_Request *out)
{
    struct sk_logging_open *o = calloc(1, sizeof *o), **end = &sk_logging.held;
    if (!o)
        return MPI_ERR_NO_MEM;
    *o = (struct sk_logging_open){.buf = buf, .count = count, .type = type, .source = source, .tag = tag, .number = number, .waits = 1,
                                  .inner = MPI_REQUEST_NULL};
    int rc = SK_CALL(Type_dup, (type, &o->type)); /* the program may free its own before this ends */
    o->own_type = !rc;
    if (!rc)
        rc = SK_CALL(Grequest_start, (query, nothing, cancel, o, &o->handle));
    if (rc) {
        free(o);
        return rc;
    }
    *out = o->handle;
    sk_made_request(*out, MPI_COMM_WORLD, SK_OBJECT_HELD);
    struct sk_object *made = sk_objects_find(&sk_world.requests, SK_KEY(*out));
    if (made)
        made->more = o;
    while (*end)
        end = &(*end)->next;
    *end = o;
    return 0;
}

/* ---- messages ---- */

/* MPI's answer, but messages of the layer's own are none. From one source they come in the order of the program, so when the first is one of
 * those, no other can be needed before it. */
static int look(int source, int tag, int *found, MPI_Status *s)
{
    int rc = SK_CALL(Iprobe, (source, tag, sk_world.comm, found, s));
    if (rc || !*found || tag != MPI_ANY_TAG || s->MPI_TAG < SK_LOGGING_TAG)
        return rc;
    *found = 0;
    for (int p = 0; source == MPI_ANY_SOURCE && p < sk_world.size && !rc && !*found; p++) {
        rc = SK_CALL(Iprobe, (p, tag, sk_world.comm, found, s));
        if (*found && s->MPI_TAG >= SK_LOGGING_TAG)
            *found = 0;
    }
    return rc;
}

/* MPI is given the receive of this message. */
static void give(struct sk_logging_open *o, int source, int tag)
{
    struct sk_kept_channel *c = sk_logging.refused ? NULL : sk_kept_channel(sk_logging.kept, source, tag);
    if (!c)
        sk_logging_refuse("a receive cannot be counted (memory, or more tags than 256 between two ranks)");
    if (o->number != UINT64_MAX && c)
        sk_chance_matched(o->number, source, tag);
    o->source = source;
    o->tag = tag;
    o->waits = 0;
    o->serial = sk_logging.serial++;
    o->index = c && !sk_logging.refused ? c->posted++ : 0;
    if (SK_CALL(Irecv, (o->buf, o->count, o->type, source, tag, sk_world.comm, &o->inner)))
        sk_world_fail(SK_WORLD_FAILED, "MPI cannot receive a message: the job is started again");
    sk_made_receive(o->inner, MPI_COMM_WORLD, source, sk_logging.refused ? 0 : SK_OBJECT_LOGGED);
    struct sk_object *made = sk_logging.refused ? NULL : sk_objects_find(&sk_world.requests, SK_KEY(o->inner));
    if (made)
        made->more = o;
}

/* 1: the program's request has ended. */
static int has_ended(struct sk_logging_open *o)
{
    int done = 0;
    sk_logging_forward(1, &o->inner);
    uint64_t key = SK_KEY(o->inner);
    o->rc = SK_CALL(Request_get_status, (o->inner, &done, &o->status));
    if (!done && !o->rc)
        return 0;
    MPI_Errhandler held; /* the program hears of an error where it waits for its own request */
    sk_attached_mute(&held);
    o->rc = SK_CALL(Test, (&o->inner, &done, &o->status));
    sk_attached_unmute(&held);
    if (!o->rc)
        SK_CALL(Test_cancelled, (&o->status, &o->cancelled));
    sk_logging_count(o);
    sk_objects_remove(&sk_world.requests, key);
    SK_CALL(Grequest_complete, (o->handle));
    return 1;
}

/* One that waits: the message that has arrived is the first one's that it fits, which may stand before this one. */
static void seek(struct sk_logging_open *o)
{
    MPI_Status s;
    int found = 0;
    if (o->source >= 0 && o->tag >= 0 && !first_for(o->source, o->tag, o))
        give(o, o->source, o->tag);
    else if (!look(o->source, o->tag, &found, &s) && found)
        give(first_for(s.MPI_SOURCE, s.MPI_TAG, NULL), s.MPI_SOURCE, s.MPI_TAG);
}

void sk_held_look(void)
{
    int source = -100, tag = -100; /* what there was nothing for */
    for (struct sk_logging_open **at = &sk_logging.held, *o; (o = *at);) {
        if (o->waits && (o->source != source || o->tag != tag)) {
            source = o->source;
            tag = o->tag;
            seek(o);
        }
        if (!o->waits && has_ended(o))
            *at = o->next;
        else
            at = &o->next;
    }
}

int sk_held_probe(int source, int tag, int *found, MPI_Status *s)
{
    for (;;) {
        sk_held_progress();
        int rc = look(source, tag, found, s);
        struct sk_logging_open *o = rc || !*found ? NULL : first_for(s->MPI_SOURCE, s->MPI_TAG, NULL);
        if (!o)
            return rc;
        give(o, s->MPI_SOURCE, s->MPI_TAG);
    }
}

int sk_held_await(int source, int tag, MPI_Status *s)
{
    int found = 0, rc;
    do {
        if (sk_careful() && sk_pending() && (rc = sk_world_give_way(0)))
            return rc;
        sk_looks();
        rc = sk_held_probe(source, tag, &found, s);
    } while (!rc && !found);
    sk_finds();
    return rc;
}
