/* Asks MPI itself, by calls that do nothing: it looks at their arguments all the same, and on a communicator of the layer's own nobody hears of it. */
#include "world/view/wrong.h"

/* Of this process alone, without attributes of the program's; errors are returned. */
static MPI_Comm silent(void)
{
    static MPI_Comm c;
    static int is_made;
    if (is_made)
        return c;
    if (SK_CALL(Comm_split, (MPI_COMM_SELF, 0, 0, &c)) || SK_CALL(Comm_set_errhandler, (c, MPI_ERRORS_RETURN)))
        return MPI_COMM_SELF;
    is_made = 1;
    return c;
}

static int is_refused(const void *buf, int count, MPI_Datatype type)
{
    if (count < 0 || type == MPI_DATATYPE_NULL)
        return 1;
    if (sk_plain_bytes(type) >= 0)
        return !buf && count; /* where what begins at MPI_BOTTOM has a type of its own */
    MPI_Comm c = silent();
    return SK_CALL(Send, (buf, count, type, MPI_PROC_NULL, 0, c)) != MPI_SUCCESS;
}

int sk_is_wrong_block(int count, MPI_Datatype type)
{
    static const char somewhere; /* collectives do not look at it */
    return is_refused(&somewhere, count, type);
}

int sk_are_wrong_blocks(int n, const int *counts, MPI_Datatype type)
{
    if (!counts || sk_is_wrong_block(0, type))
        return 1;
    for (int i = 0; i < n; i++)
        if (counts[i] < 0)
            return 1;
    return 0;
}

int sk_are_wrong_types(int n, const int *counts, const MPI_Datatype *types)
{
    if (!counts || !types)
        return 1;
    for (int i = 0; i < n; i++)
        if (sk_is_wrong_block(counts[i], types[i]))
            return 1;
    return 0;
}

int sk_is_wrong_root(int root, MPI_Comm comm)
{
    int size = 0;
    return root < 0 || SK_CALL(Comm_size, (sk_comm(comm), &size)) || root >= size;
}

int sk_is_wrong_op(MPI_Op op, MPI_Datatype type)
{
    static MPI_Op last;
    static MPI_Datatype last_type;
    static int is_known;
    char in[64], out[64];
    if (op == MPI_OP_NULL || type == MPI_DATATYPE_NULL)
        return 1;
    if (is_known && op == last && type == last_type)
        return 0;
    MPI_Comm c = silent();
    if (SK_CALL(Allreduce, (in, out, 0, type, op, c)))
        return 1;
    last = op; /* it is not refused as long as it has this type; one that is made anew under the same handle is MPI's to refuse */
    last_type = type;
    is_known = 1;
    return 0;
}

int sk_is_wrong_message(const void *buf, int count, MPI_Datatype type, MPI_Comm comm)
{
    return comm == MPI_COMM_NULL || is_refused(buf, count, type);
}
