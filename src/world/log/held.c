/* Matching of messages and receives in the layer. What the program is given for a receive that is held is a generalised request, which is
 * completed when MPI's own has ended: it stays what it is through a repair. */
#include "world/log/held.h"

#include "world/form/moves.h"
#include "world/form/over.h"
#include "world/log/chance.h"
#include "world/view/errors.h"
#include "world/wait.h"

#include <stdlib.h>

/* A receive of this source and tag, named or not, gets such a message. Any tag is none of the layer's. */
static int fits(const struct sk_logging_open *o, int source, int tag)
{
    int same_source = o->source == MPI_ANY_SOURCE || source == MPI_ANY_SOURCE || o->source == source;
    return same_source && (sk_wire_fits(o->tag, tag) || sk_wire_fits(tag, o->tag));
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

/* What MPI says of a receive that got nothing. */
static void empty(struct sk_logging_open *o)
{
    SK_CALL(Status_set_elements, (&o->status, MPI_BYTE, 0));
    o->status.MPI_SOURCE = MPI_ANY_SOURCE;
    o->status.MPI_TAG = MPI_ANY_TAG;
}

void sk_held_give_up(struct sk_logging_open *o)
{
    struct sk_logging_open **at = &sk_logging.held;
    while (*at && *at != o)
        at = &(*at)->next;
    if (*at)
        *at = o->next;
    empty(o);
    o->waits = 0;
    o->counted = o->cancelled = 1;
    SK_CALL(Grequest_complete, (o->handle));
}

/* By a rank that logs nothing any more. A message that has to be sent is sent. */
static int cancel(void *extra, int complete)
{
    struct sk_logging_open *o = extra;
    if (complete || o->message || o->is_call)
        return MPI_SUCCESS;
    if (!o->waits && !o->is_void)
        return SK_CALL(Cancel, (&o->inner));
    sk_held_give_up(o);
    return MPI_SUCCESS;
}

/* A request of the program's. */
static int stand_for(struct sk_logging_open *o, MPI_Request *out)
{
    int rc = SK_CALL(Grequest_start, (query, nothing, cancel, o, &o->handle));
    if (rc) {
        free(o);
        return rc;
    }
    *out = o->handle;
    sk_made_request(*out, MPI_COMM_WORLD, SK_OBJECT_HELD);
    struct sk_object *made = sk_objects_find(&sk_world.requests, SK_KEY(*out));
    if (made)
        made->more = o;
    return 0;
}

/* At the end of the list, with a request for the program. */
static int append(struct sk_logging_open *o, MPI_Request *out)
{
    struct sk_logging_open **end = &sk_logging.held;
    int rc = stand_for(o, out);
    if (rc)
        return rc;
    while (*end)
        end = &(*end)->next;
    *end = o;
    return 0;
}

int sk_held_add(struct sk_members *g, void *buf, int count, MPI_Datatype type, int source, int tag, uint64_t number, MPI_Request *out)
{
    struct sk_logging_open *o = calloc(1, sizeof *o);
    if (!o)
        return MPI_ERR_NO_MEM;
    *o = (struct sk_logging_open){.buf = buf, .count = count, .type = type, .source = source, .tag = tag, .number = number, .waits = 1,
                                  .inner = MPI_REQUEST_NULL, .begun = sk_chance_newest(), .in_run = sk_logging.running};
    int rc = SK_CALL(Type_dup, (type, &o->type)); /* the program may free its own before this ends */
    o->own_type = !rc;
    if (!rc)
        rc = append(o, out);
    if (!rc)
        sk_logging_hold_members(o, g);
    return rc;
}

/* What is no receive: its status is empty. */
static struct sk_logging_open *other(void)
{
    struct sk_logging_open *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    *o = (struct sk_logging_open){.number = UINT64_MAX, .counted = 1, .inner = MPI_REQUEST_NULL};
    empty(o);
    return o;
}

int sk_held_void(MPI_Request *out)
{
    struct sk_logging_open *o = other();
    if (!o)
        return MPI_ERR_NO_MEM;
    o->is_void = 1;
    o->begun = sk_chance_newest();
    o->in_run = sk_logging.running;
    return stand_for(o, out);
}

int sk_held_send(struct sk_kept_message *m, MPI_Request *out)
{
    struct sk_logging_open *o = other();
    if (!o)
        return MPI_ERR_NO_MEM;
    o->message = m;
    return append(o, out);
}

int sk_held_call(struct sk_logging_open **call, MPI_Request *out)
{
    *call = other();
    if (!*call)
        return MPI_ERR_NO_MEM;
    (*call)->is_call = 1;
    return stand_for(*call, out);
}

void sk_held_called(struct sk_logging_open *call, int rc)
{
    call->rc = rc;
    SK_CALL(Grequest_complete, (call->handle));
}

void sk_held_refuse(void)
{
    for (struct sk_logging_open *o = sk_logging.held; o; o = o->next)
        if (o->message)
            o->message->lent = 1;
}

/* ---- messages ---- */

/* Messages that were taken out of MPI, in the order in which they came: with MPI_ANY_TAG it shows the first one alone, which may be of another
 * communicator of the program's, or the layer's own. */
static struct parked {
    struct parked *next;
    MPI_Status status;
    MPI_Message message;
} *parked;

static struct parked **find_parked(int source, int tag)
{
    struct parked **p = &parked;
    while (*p && !((source == MPI_ANY_SOURCE || source == (*p)->status.MPI_SOURCE) && sk_wire_fits(tag, (*p)->status.MPI_TAG)))
        p = &(*p)->next;
    return p;
}

/* The first message of this source, unless it is one of MPI's own: others that are about to make a communicator wait for this rank to take it there. */
static int take_from(int source, int *found, struct parked *p)
{
    MPI_Status s;
    int rc = sk_over_iprobe(source, MPI_ANY_TAG, found, &s);
    if (rc || !*found)
        return rc;
    *found = !sk_wire_is_making(s.MPI_TAG);
    if (*found)
        return sk_over_improbe(s.MPI_SOURCE, s.MPI_TAG, found, &p->message, &p->status);
    for (int r = 0; !rc && !*found && source == MPI_ANY_SOURCE && r < sk_world.size; r++) /* it stands before those of other ranks */
        if (r != s.MPI_SOURCE)
            rc = take_from(r, found, p);
    return rc;
}

/* 1: one more was there. */
static int park(int source, int *rc)
{
    int found = 0;
    struct parked *p = malloc(sizeof *p), **end = &parked;
    if (!p)
        sk_world_fail(SK_WORLD_FAILED, "no memory for a message that has come");
    p->next = NULL;
    *rc = take_from(source, &found, p);
    if (*rc || !found) {
        free(p);
        return 0;
    }
    while (*end)
        end = &(*end)->next;
    *end = p;
    return 1;
}

int sk_held_receive(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Request *out)
{
    struct parked **at = parked ? find_parked(source, tag) : NULL, *p = at ? *at : NULL;
    sk_moves_into(count, type);
    if (!p || source == MPI_PROC_NULL)
        return SK_CALL(Irecv, (buf, count, type, source, tag, sk_world.comm, out));
    int rc = SK_CALL(Imrecv, (buf, count, type, &p->message, out));
    *at = p->next;
    free(p);
    return rc;
}

void sk_held_forget(void)
{
    for (struct parked *p; (p = parked);) {
        parked = p->next;
        free(p);
    }
}

/* MPI's answer for one message that fits. */
static int look(int source, int tag, int *found, MPI_Status *s)
{
    int rc = 0;
    struct parked *p;
    do {
        p = parked || sk_wire_is_any(tag) ? *find_parked(source, tag) : NULL;
    } while (!p && sk_wire_is_any(tag) && park(source, &rc));
    *found = p != NULL;
    if (p)
        *s = p->status;
    else if (!rc && !sk_wire_is_any(tag))
        rc = sk_over_iprobe(source, tag, found, s);
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
    if (sk_held_receive(o->buf, o->count, o->type, source, tag, &o->inner))
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
    if (o->message) {
        if (!sk_logging_is_sent(o->message))
            return 0;
        SK_CALL(Grequest_complete, (o->handle));
        return 1;
    }
    sk_logging_forward(1, &o->inner);
    uint64_t key = SK_KEY(o->inner);
    o->rc = SK_CALL(Request_get_status, (o->inner, &done, &o->status));
    if (!done && !o->rc)
        return 0;
    MPI_Errhandler held; /* the program hears of an error where it waits for its own request */
    sk_errors_mute(&held);
    o->rc = SK_CALL(Test, (&o->inner, &done, &o->status));
    sk_errors_unmute(&held);
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
