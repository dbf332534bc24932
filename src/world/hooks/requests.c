/* Keeps what a request stands for until it has ended. */
#include "world/hooks/requests.h"

#include "world/objects.h"

#include <stdlib.h>

#define KEY(handle) ((uint64_t)(uintptr_t)(handle))

static struct sk_objects requests;

static void let_go(struct sk_hooked *m)
{
    if (m && m->own_type)
        SK_NEXT(Type_free, (&m->type));
    free(m);
}

/* The program may free its type before the receive has ended. */
static void keep_type(struct sk_hooked *m)
{
    int n[3], combiner = 0;
    SK_NEXT(Type_get_envelope, (m->type, &n[0], &n[1], &n[2], &combiner));
    m->own_type = combiner != MPI_COMBINER_NAMED && !SK_NEXT(Type_dup, (m->type, &m->type));
}

void sk_hooks_made(MPI_Request r, const struct sk_hooked *m)
{
    if (r == MPI_REQUEST_NULL || !sk_hooks_watches(m->comm))
        return;
    struct sk_hooked *kept = malloc(sizeof *kept);
    struct sk_object *o = kept ? sk_objects_add(&requests, KEY(r)) : NULL;
    if (!o) {
        free(kept);
        return;
    }
    let_go(o->more);
    *kept = *m;
    keep_type(kept);
    o->more = kept;
}

void sk_hooks_start(MPI_Request r)
{
    const struct sk_object *o = sk_objects_find(&requests, KEY(r));
    if (o && ((struct sk_hooked *)o->more)->sends)
        sk_hooks_send(o->more);
}

void sk_hooks_ended(MPI_Request r, MPI_Status *status)
{
    const struct sk_object *o = r == MPI_REQUEST_NULL ? NULL : sk_objects_find(&requests, KEY(r));
    if (!o)
        return;
    struct sk_hooked *m = o->more;
    sk_hooks_receive(m, status); /* of a persistent one that was not begun the status is empty: nobody has sent */
    if (!m->persistent)
        sk_hooks_forget(r);
}

void sk_hooks_forget(MPI_Request r)
{
    struct sk_object *o = sk_objects_find(&requests, KEY(r));
    if (!o)
        return;
    let_go(o->more);
    sk_objects_remove(&requests, KEY(r));
}

void sk_hooks_forget_all(void)
{
    for (size_t i = 0; i < requests.slots; i++)
        if (requests.slot[i].key)
            let_go(requests.slot[i].more);
    sk_objects_free(&requests);
}
