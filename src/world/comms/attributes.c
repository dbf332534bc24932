/* Attributes. A duplicate of the world is not always one of MPI's MPI_COMM_WORLD: beside spares, after a repair, and where the layer makes communicators
 * itself. Then the program's functions that copy are called here; they are known from the functions that make keys, those of MPI 1 as well. What
 * a Fortran program makes them with does not come by here. MPI_TAG_UB is what the layer leaves of a tag. */
#include "world/comms/attributes.h"

#include "world/log/log.h"
#include "world/view/errors.h"
#include "world/view/wrong.h"

#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* functions of MPI 1 */

/* The keys that the program made, whether or not it still has them: what is attached by one that was freed is copied, too. */
static struct key {
    int key;
    MPI_Comm_copy_attr_function *copy;
    void *extra;
} *keys;
static size_t n_keys;

static int remember(int rc, struct key k)
{
    size_t i = 0;
    if (rc)
        return rc;
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
    return 0;
}

SK_WRAP(Comm_create_keyval, (MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *delete, int *key, void *extra))
{
    int plain = SK_PLAIN, rc = SK_CALL(Comm_create_keyval, (copy, delete, key, extra));
    return plain ? rc : remember(rc, (struct key){*key, copy, extra});
}

SK_WRAP(Keyval_create, (MPI_Copy_function *copy, MPI_Delete_function *delete, int *key, void *extra))
{
    int plain = SK_PLAIN, rc = SK_CALL(Keyval_create, (copy, delete, key, extra));
    return plain ? rc : remember(rc, (struct key){*key, (MPI_Comm_copy_attr_function *)copy, extra});
}

static int copy_one(const struct key *k, MPI_Comm copy)
{
    void *value = NULL, *theirs = NULL;
    int found = 0, wanted = 0, rc = 0;
    MPI_Errhandler held;
    sk_errors_mute(&held); /* the key may be none any more */
    if (SK_CALL(Comm_get_attr, (MPI_COMM_WORLD, k->key, &value, &found)))
        found = 0;
    sk_errors_unmute(&held);
    if (found && k->copy) /* MPICH's function that copies nothing is none */
        rc = k->copy(MPI_COMM_WORLD, k->key, k->extra, value, &theirs, &wanted);
    return rc || !wanted ? rc : SK_CALL(Comm_set_attr, (copy, k->key, theirs));
}

int sk_attributes_copy(MPI_Comm *copy)
{
    int rc = 0;
    for (size_t i = 0; i < n_keys && !rc; i++)
        rc = copy_one(&keys[i], *copy);
    if (!rc)
        return 0;
    SK_CALL(Comm_free, (copy));
    return sk_wrong(MPI_COMM_WORLD, rc);
}

/* What MPI itself keeps at MPI_COMM_WORLD is found at a copy of it, too. */
static int is_of_mpi(int key)
{
    return key == MPI_TAG_UB || key == MPI_HOST || key == MPI_IO || key == MPI_WTIME_IS_GLOBAL || key == MPI_UNIVERSE_SIZE || key == MPI_APPNUM ||
           key == MPI_LASTUSEDCODE;
}

/* rc and *found are MPI's answer. */
static int answer(int rc, int key, void *value, int *found)
{
    static int most = SK_WIRE_TAG_MOST;
    if (rc || !is_of_mpi(key))
        return rc;
    if (key == MPI_TAG_UB && sk_world.makes) {
        *(void **)value = &most;
        *found = 1;
    } else if (!*found && (sk_world.makes || sk_world.comm != MPI_COMM_WORLD)) {
        rc = SK_CALL(Comm_get_attr, (MPI_COMM_WORLD, key, value, found));
    }
    return rc;
}

SK_WRAP(Comm_get_attr, (MPI_Comm comm, int key, void *value, int *found))
{
    int plain = SK_PLAIN, rc = SK_CALL(Comm_get_attr, (comm, key, value, found));
    return plain ? rc : answer(rc, key, value, found);
}

SK_WRAP(Attr_get, (MPI_Comm comm, int key, void *value, int *found))
{
    int plain = SK_PLAIN, rc = SK_CALL(Attr_get, (comm, key, value, found));
    return plain ? rc : answer(rc, key, value, found);
}
