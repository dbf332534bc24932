/* Error handlers and attributes of MPI_COMM_WORLD, where that is another communicator: beside spares, with a twin for each rank, after a repair. */
#include "world/view/attached.h"

#include <stdlib.h>

/* ---- error handlers ---- */

int sk_attached_muted;

/* An error of the world is one of MPI_COMM_WORLD. The program's handler is a part of the program, for which the layer is at work. */
static void hand_on(MPI_Comm *comm, int *code, ...)
{
    int depth = sk_world_depth;
    (void)comm;
    if (sk_attached_muted)
        return;
    sk_world_depth = -1;
    SK_CALL(Comm_call_errhandler, (MPI_COMM_WORLD, *code));
    sk_world_depth = depth;
}

static MPI_Errhandler handing_on(void)
{
    static MPI_Errhandler made;
    static int is_made;
    if (!is_made && !SK_CALL(Comm_create_errhandler, (hand_on, &made)))
        is_made = 1;
    return is_made ? made : MPI_ERRORS_ARE_FATAL;
}

static void have_errors_of_world(MPI_Comm c, int made)
{
    MPI_Errhandler theirs;
    if (sk_world.comm == MPI_COMM_WORLD || SK_CALL(Comm_get_errhandler, (MPI_COMM_WORLD, &theirs)))
        return;
    int own = theirs != MPI_ERRORS_ARE_FATAL && theirs != MPI_ERRORS_RETURN;
    if (own || !made)
        SK_CALL(Comm_set_errhandler, (c, own && !made ? handing_on() : theirs));
    SK_CALL(Errhandler_free, (&theirs));
}

void sk_attached_errors(void)
{
    have_errors_of_world(sk_world.comm, 0);
}

void sk_attached_inherit(MPI_Comm made)
{
    have_errors_of_world(made, 1);
}

void sk_attached_hold(MPI_Errhandler *held)
{
    if (SK_CALL(Comm_get_errhandler, (MPI_COMM_WORLD, held)))
        *held = MPI_ERRORS_ARE_FATAL;
    SK_CALL(Comm_set_errhandler, (MPI_COMM_WORLD, MPI_ERRORS_RETURN));
}

void sk_attached_let_go(MPI_Errhandler *held)
{
    SK_CALL(Comm_set_errhandler, (MPI_COMM_WORLD, *held));
    SK_CALL(Errhandler_free, (held));
}

void sk_attached_mute(MPI_Errhandler *held)
{
    sk_attached_muted++;
    sk_attached_hold(held);
}

void sk_attached_unmute(MPI_Errhandler *held)
{
    sk_attached_let_go(held);
    sk_attached_muted--;
}

SK_WRAP(Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler errhandler))
{
    int rc = SK_CALL(Comm_set_errhandler, (comm == MPI_COMM_WORLD ? comm : sk_comm(comm), errhandler));
    if (!rc && !SK_PLAIN && comm == MPI_COMM_WORLD)
        sk_attached_errors();
    return rc;
}

/* ---- attributes ---- */

/* The keys that the program made, whether or not it still has them: what is attached by one that was freed is copied, too. */
static struct key {
    int key;
    MPI_Comm_copy_attr_function *copy;
    void *extra;
} *keys;
static size_t n_keys;

static void remember_key(struct key k)
{
    size_t i = 0;
    while (i < n_keys && keys[i].key != k.key)
        i++;
    if (i == n_keys) {
        struct key *more = realloc(keys, (n_keys + 1) * sizeof *keys);
        if (!more)
            sk_world_fail(SK_WORLD_FAILED, "no memory to remember a key of attributes");
        keys = more;
        n_keys++;
    }
    keys[i] = k;
}

SK_WRAP(Comm_create_keyval, (MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *delete, int *key, void *extra))
{
    int rc = SK_CALL(Comm_create_keyval, (copy, delete, key, extra));
    if (!rc && !SK_PLAIN)
        remember_key((struct key){*key, copy, extra});
    return rc;
}

static int copy_one(const struct key *k, MPI_Comm copy)
{
    void *value = NULL, *theirs = NULL;
    int found = 0, wanted = 0, rc = 0;
    MPI_Errhandler held;
    sk_attached_hold(&held); /* the key may be none any more */
    if (SK_CALL(Comm_get_attr, (MPI_COMM_WORLD, k->key, &value, &found)))
        found = 0;
    sk_attached_let_go(&held);
    if (found && k->copy) /* MPICH's function that copies nothing is none */
        rc = k->copy(MPI_COMM_WORLD, k->key, k->extra, value, &theirs, &wanted);
    return rc || !wanted ? rc : SK_CALL(Comm_set_attr, (copy, k->key, theirs));
}

int sk_attached_copy(MPI_Comm *copy)
{
    int rc = 0;
    if (sk_world.comm == MPI_COMM_WORLD) /* MPI has done it */
        return 0;
    for (size_t i = 0; i < n_keys && !rc; i++)
        rc = copy_one(&keys[i], *copy);
    if (!rc)
        return 0;
    SK_CALL(Comm_free, (copy));
    SK_CALL(Comm_call_errhandler, (sk_world.comm, rc));
    return rc;
}

/* What MPI itself keeps at MPI_COMM_WORLD is found at a copy of it, too. */
static int is_of_mpi(int key)
{
    return key == MPI_TAG_UB || key == MPI_HOST || key == MPI_IO || key == MPI_WTIME_IS_GLOBAL || key == MPI_UNIVERSE_SIZE || key == MPI_APPNUM ||
           key == MPI_LASTUSEDCODE;
}

SK_WRAP(Comm_get_attr, (MPI_Comm comm, int key, void *value, int *found))
{
    int rc = SK_CALL(Comm_get_attr, (comm, key, value, found));
    if (!SK_PLAIN && !rc && !*found && is_of_mpi(key) && sk_world.comm != MPI_COMM_WORLD)
        rc = SK_CALL(Comm_get_attr, (MPI_COMM_WORLD, key, value, found));
    return rc;
}
