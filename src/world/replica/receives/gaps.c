/* Receives into data with gaps. MPI fetches a message from its sender's memory only where it comes to lie in one piece; else the sender would have to send it piece by
 * piece, and may have gone on and compute. So these are received as they were sent, in one piece, and laid out when they are there. */
#include "world/replica/receives/gaps.h"

#include "world/comms/members.h"
#include "world/form/form.h"
#include "world/view/alone.h"

#include <stdlib.h>

/* What is smaller comes without its sender in any case (eager messages); and is laid out by MPI at less cost. */
enum { LEAST = 1024 };

/* In one piece. A struct may be so in another order, which is no error: then MPI has its own way. */
static int is_whole(MPI_Datatype type)
{
    MPI_Aint lb = 0, extent = 0, true_lb = 0, true_extent = 0;
    int size = 0;
    SK_CALL(Type_size, (type, &size));
    SK_CALL(Type_get_extent, (type, &lb, &extent));
    SK_CALL(Type_get_true_extent, (type, &true_lb, &true_extent));
    return extent == size && true_extent == size;
}

/* Of a message that is too long Open MPI writes all into one piece, whatever room there is, and into gaps what belongs there. So where the program goes on after errors MPI has its
 * own way; else it ends. */
static int ends_at_errors(const struct sk_replica_open *o)
{
    MPI_Errhandler errors;
    if ((o->members && o->members->is_gone) || sk_form_get_errors(o->comm, &errors)) /* its handle may be another one's by now */
        return 0;
    int ends = errors == MPI_ERRORS_ARE_FATAL;
    SK_CALL(Errhandler_free, (&errors));
    return ends;
}

int sk_gaps_begin(struct sk_replica_open *o)
{
    int bytes = 0;
    if (o->piece || !sk_replica.moves || o->count < 1 || sk_plain_bytes(o->type) >= 0 || is_whole(o->type) || !ends_at_errors(o))
        return 0;
    if (SK_CALL(Pack_size, (o->count, o->type, sk_world.comm, &bytes)) || bytes < LEAST)
        return 0;
    o->piece = malloc((size_t)bytes);
    o->n_piece = bytes;
    return o->piece ? 0 : -1;
}

/* MPI_Unpack has no parts of elements, a receive has. */
void sk_gaps_end(struct sk_replica_open *o)
{
    int bytes = 0, size = 0, at = 0, cancelled = 0;
    void *piece = o->piece;
    o->piece = NULL;
    if (piece && !o->rc)
        SK_CALL(Test_cancelled, (&o->status, &cancelled));
    if (piece && !o->rc && !cancelled) {
        SK_CALL(Get_count, (&o->status, MPI_BYTE, &bytes));
        SK_CALL(Type_size, (o->type, &size));
        int rest = size > 0 ? bytes % size : 0;
        o->rc = rest ? sk_alone_copy(piece, bytes, MPI_PACKED, o->buf, o->count, o->type)
                : bytes ? SK_CALL(Unpack, (piece, bytes, &at, o->buf, bytes / size, o->type, sk_world.comm)) : 0;
    }
    if (!o->rc) /* what is behind it may be damaged, and the program ends */
        free(piece);
}
