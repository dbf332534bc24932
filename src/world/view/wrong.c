/* Asks MPI itself, by calls that do nothing: it looks at their arguments all the same, and on a communicator of the layer's own nobody hears of it. */
#include "world/view/wrong.h"

#include "world/view/alone.h"

static int refused(const void *buf, int count, MPI_Datatype type)
{
    if (count >= 0 && (buf || !count) && type != MPI_DATATYPE_NULL && sk_plain_bytes(type) >= 0)
        return 0;
    MPI_Comm c = sk_alone(); /* before SK_CALL, in which MPI is at work */
    return SK_CALL(Send, (buf, count, type, MPI_PROC_NULL, 0, c));
}

int sk_wrong_block(int count, MPI_Datatype type)
{
    static const char somewhere; /* collectives do not look at it */
    return refused(&somewhere, count, type);
}

int sk_wrong_blocks(int n, const int *counts, MPI_Datatype type)
{
    int rc = sk_wrong_block(0, type);
    if (!rc && !counts)
        return MPI_ERR_COUNT;
    for (int i = 0; i < n && !rc; i++)
        rc = counts[i] < 0 ? MPI_ERR_COUNT : 0;
    return rc;
}

int sk_wrong_types(int n, const int *counts, const MPI_Datatype *types)
{
    int rc = !counts ? MPI_ERR_COUNT : !types ? MPI_ERR_TYPE : 0;
    for (int i = 0; i < n && !rc; i++)
        rc = sk_wrong_block(counts[i], types[i]);
    return rc;
}

int sk_wrong_op(MPI_Op op, MPI_Datatype type)
{
    static MPI_Op last;
    static MPI_Datatype last_type;
    static int is_known;
    char in[64], out[64];
    if (op == MPI_OP_NULL)
        return MPI_ERR_OP;
    if (is_known && op == last && type == last_type)
        return 0;
    MPI_Comm c = sk_alone();
    int rc = SK_CALL(Allreduce, (in, out, 0, type, op, c));
    if (rc)
        return rc;
    last = op; /* it is not refused as long as it has this type; one that is made anew under the same handle is MPI's to refuse */
    last_type = type;
    is_known = 1;
    return 0;
}

int sk_wrong_message(const void *buf, int count, MPI_Datatype type, MPI_Comm comm)
{
    return comm == MPI_COMM_NULL ? MPI_ERR_COMM : refused(buf, count, type);
}

int sk_wrong(MPI_Comm comm, int code)
{
    SK_CALL(Comm_call_errhandler, (sk_asked(comm), code));
    return code;
}
