/* What the layer knows of a handle that the program got from MPI: a hash table by the handle's value. Pure. */
#ifndef SK_WORLD_OBJECTS_H
#define SK_WORLD_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

enum {
    SK_OBJECT_QUIET = 1,      /* of the library itself: a fault is returned to it as an error */
    SK_OBJECT_RECEIVES = 2,   /* a request that writes into the program's memory until it is cancelled */
    SK_OBJECT_PERSISTENT = 4, /* a request that stays when it has completed */
    SK_OBJECT_BOUNCED = 8,    /* a request that works on a copy (more) */
    SK_OBJECT_LOGGED = 16,    /* a receive of the protocol logging (more) */
    SK_OBJECT_MOVED = 32,     /* it goes on as another request (of) */
    SK_OBJECT_HELD = 64,      /* stands for a receive that MPI may not have been given yet (more) */
    SK_OBJECT_MADE = 128,     /* a communicator that the layer made itself (more: its members) */
    SK_OBJECT_LASTING = 512,  /* a persistent request that the layer made itself (more) */
    SK_OBJECT_ALONE = 256,    /* a communicator made of MPI_COMM_SELF, by this process alone */
    SK_OBJECT_FOREIGN = 1024, /* a communicator made of one that is not known: processes that the layer knows nothing of may belong to it */
};

struct sk_object {
    uint64_t key;   /* the handle; 0: no object */
    uint32_t epoch; /* of the world that it belongs to */
    uint32_t flags;
    void *more; /* the owner's affair */
    uint64_t of;  /* a receive: the communicator …; the request that it goes on as */
    uint64_t errors; /* a communicator: the error handler that the program wants, as a key; 0: the default */
    int32_t from; /* … and the rank there that it waits for, -1: any */
};

struct sk_objects {
    struct sk_object *slot;
    size_t slots, count; /* slots: a power of two, or 0 */
};

/* The object of this handle, made if need be, all 0 then. NULL: no memory. Valid until the next sk_objects_add or _remove. */
struct sk_object *sk_objects_add(struct sk_objects *t, uint64_t key);
struct sk_object *sk_objects_find(const struct sk_objects *t, uint64_t key); /* NULL: none */
void sk_objects_remove(struct sk_objects *t, uint64_t key);                  /* none is fine */
void sk_objects_free(struct sk_objects *t);

#endif
