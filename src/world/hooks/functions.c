/* The functions of MPI by which the program sends and receives, each before the layer's own wrapper of it. */
#include "world/hooks/message.h"
#include "world/hooks/requests.h"

#include <stdlib.h>

#define SEND(Name)                                                                                              \
    SK_HOOK(Name, (const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm))        \
    {                                                                                                           \
        if (!SK_UNHOOKED)                                                                                       \
            sk_hooks_send(&(struct sk_hooked){buf, count, dest, tag, datatype, comm, 1, 0, 0});                 \
        return SK_NEXT(Name, (buf, count, datatype, dest, tag, comm));                                          \
    }
SEND(Send)
SEND(Ssend)
SEND(Rsend)
SEND(Bsend)

#define BEGIN_SEND(Name)                                                                                                        \
    SK_HOOK(Name, (const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request))  \
    {                                                                                                                           \
        if (!SK_UNHOOKED)                                                                                                       \
            sk_hooks_send(&(struct sk_hooked){buf, count, dest, tag, datatype, comm, 1, 0, 0});                                 \
        return SK_NEXT(Name, (buf, count, datatype, dest, tag, comm, request));                                                 \
    }
BEGIN_SEND(Isend)
BEGIN_SEND(Issend)
BEGIN_SEND(Irsend)
BEGIN_SEND(Ibsend)

#define LASTING(Name, buffer, sends)                                                                                        \
    SK_HOOK(Name, (buffer buf, int count, MPI_Datatype datatype, int peer, int tag, MPI_Comm comm, MPI_Request *request))   \
    {                                                                                                                       \
        int rc = SK_NEXT(Name, (buf, count, datatype, peer, tag, comm, request));                                           \
        if (!rc && !SK_UNHOOKED)                                                                                            \
            sk_hooks_made(*request, &(struct sk_hooked){buf, count, peer, tag, datatype, comm, sends, 1, 0});               \
        return rc;                                                                                                          \
    }
LASTING(Send_init, const void *, 1)
LASTING(Ssend_init, const void *, 1)
LASTING(Rsend_init, const void *, 1)
LASTING(Bsend_init, const void *, 1)
LASTING(Recv_init, void *, 0)

SK_HOOK(Irecv, (void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request))
{
    int rc = SK_NEXT(Irecv, (buf, count, datatype, source, tag, comm, request));
    if (!rc && !SK_UNHOOKED)
        sk_hooks_made(*request, &(struct sk_hooked){buf, count, source, tag, datatype, comm, 0, 0, 0});
    return rc;
}

SK_HOOK(Recv, (void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status))
{
    MPI_Status own, *s = status == MPI_STATUS_IGNORE ? &own : status;
    if (SK_UNHOOKED)
        return SK_NEXT(Recv, (buf, count, datatype, source, tag, comm, status));
    int rc = SK_NEXT(Recv, (buf, count, datatype, source, tag, comm, s));
    if (!rc)
        sk_hooks_receive(&(struct sk_hooked){buf, count, source, tag, datatype, comm, 0, 0, 0}, s);
    return rc;
}

SK_HOOK(Sendrecv, (const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, int recvcount,
                   MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status))
{
    MPI_Status own, *s = status == MPI_STATUS_IGNORE ? &own : status;
    int hooked = !SK_UNHOOKED;
    if (hooked)
        sk_hooks_send(&(struct sk_hooked){sendbuf, sendcount, dest, sendtag, sendtype, comm, 1, 0, 0});
    int rc = SK_NEXT(Sendrecv, (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, hooked ? s : status));
    if (!rc && hooked)
        sk_hooks_receive(&(struct sk_hooked){recvbuf, recvcount, source, recvtag, recvtype, comm, 0, 0, 0}, s);
    return rc;
}

SK_HOOK(Sendrecv_replace, (void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
                           MPI_Status *status))
{
    MPI_Status own, *s = status == MPI_STATUS_IGNORE ? &own : status;
    int hooked = !SK_UNHOOKED;
    if (hooked)
        sk_hooks_send(&(struct sk_hooked){buf, count, dest, sendtag, datatype, comm, 1, 0, 0});
    int rc = SK_NEXT(Sendrecv_replace, (buf, count, datatype, dest, sendtag, source, recvtag, comm, hooked ? s : status));
    if (!rc && hooked)
        sk_hooks_receive(&(struct sk_hooked){buf, count, source, recvtag, datatype, comm, 0, 0, 0}, s);
    return rc;
}

/* ---- requests ---- */

SK_HOOK(Start, (MPI_Request *request))
{
    if (!SK_UNHOOKED)
        sk_hooks_start(*request);
    return SK_NEXT(Start, (request));
}

SK_HOOK(Startall, (int count, MPI_Request requests[]))
{
    for (int i = 0; !SK_UNHOOKED && i < count; i++)
        sk_hooks_start(requests[i]);
    return SK_NEXT(Startall, (count, requests));
}

SK_HOOK(Request_free, (MPI_Request *request))
{
    MPI_Request r = *request;
    int rc = SK_NEXT(Request_free, (request));
    if (!rc && !SK_UNHOOKED)
        sk_hooks_forget(r);
    return rc;
}

SK_HOOK(Wait, (MPI_Request *request, MPI_Status *status))
{
    MPI_Request r = *request;
    MPI_Status own, *s = status == MPI_STATUS_IGNORE ? &own : status;
    if (SK_UNHOOKED)
        return SK_NEXT(Wait, (request, status));
    int rc = SK_NEXT(Wait, (request, s));
    if (!rc)
        sk_hooks_ended(r, s);
    return rc;
}

SK_HOOK(Test, (MPI_Request *request, int *flag, MPI_Status *status))
{
    MPI_Request r = *request;
    MPI_Status own, *s = status == MPI_STATUS_IGNORE ? &own : status;
    if (SK_UNHOOKED)
        return SK_NEXT(Test, (request, flag, status));
    int rc = SK_NEXT(Test, (request, flag, s));
    if (!rc && *flag)
        sk_hooks_ended(r, s);
    return rc;
}

/* Of several: the handles before the call, and room for what MPI says. */
struct several {
    MPI_Request *r;
    MPI_Status *s;
    MPI_Request few_r[16];
    MPI_Status few_s[16];
};

/* 0: no memory, and nothing is told of what ends now. */
static int take(struct several *v, int n, const MPI_Request requests[], MPI_Status *statuses)
{
    int few = n <= 16;
    v->r = few ? v->few_r : malloc((size_t)n * sizeof *v->r);
    v->s = statuses != MPI_STATUSES_IGNORE ? statuses : few ? v->few_s : malloc((size_t)n * sizeof *v->s);
    if (n < 0 || !v->r || !v->s)
        return 0;
    for (int i = 0; i < n; i++)
        v->r[i] = requests[i];
    return 1;
}

static void let_go(struct several *v, const MPI_Status *statuses)
{
    if (v->r != v->few_r)
        free(v->r);
    if (v->s != v->few_s && v->s != statuses)
        free(v->s);
}

SK_HOOK(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]))
{
    struct several v;
    if (SK_UNHOOKED || !take(&v, count, requests, statuses))
        return SK_NEXT(Waitall, (count, requests, statuses));
    int rc = SK_NEXT(Waitall, (count, requests, v.s));
    for (int i = 0; !rc && i < count; i++)
        sk_hooks_ended(v.r[i], &v.s[i]);
    let_go(&v, statuses);
    return rc;
}

SK_HOOK(Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]))
{
    struct several v;
    if (SK_UNHOOKED || !take(&v, count, requests, statuses))
        return SK_NEXT(Testall, (count, requests, flag, statuses));
    int rc = SK_NEXT(Testall, (count, requests, flag, v.s));
    for (int i = 0; !rc && *flag && i < count; i++)
        sk_hooks_ended(v.r[i], &v.s[i]);
    let_go(&v, statuses);
    return rc;
}

SK_HOOK(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status))
{
    struct several v;
    if (SK_UNHOOKED || !take(&v, count, requests, MPI_STATUSES_IGNORE))
        return SK_NEXT(Waitany, (count, requests, index, status));
    MPI_Status own, *s = status == MPI_STATUS_IGNORE ? &own : status;
    int rc = SK_NEXT(Waitany, (count, requests, index, s));
    if (!rc && *index >= 0 && *index < count)
        sk_hooks_ended(v.r[*index], s);
    let_go(&v, MPI_STATUSES_IGNORE);
    return rc;
}

SK_HOOK(Testany, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status))
{
    struct several v;
    if (SK_UNHOOKED || !take(&v, count, requests, MPI_STATUSES_IGNORE))
        return SK_NEXT(Testany, (count, requests, index, flag, status));
    MPI_Status own, *s = status == MPI_STATUS_IGNORE ? &own : status;
    int rc = SK_NEXT(Testany, (count, requests, index, flag, s));
    if (!rc && *flag && *index >= 0 && *index < count)
        sk_hooks_ended(v.r[*index], s);
    let_go(&v, MPI_STATUSES_IGNORE);
    return rc;
}

#define SOME(Name)                                                                                                        \
    SK_HOOK(Name, (int incount, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]))             \
    {                                                                                                                     \
        struct several v;                                                                                                 \
        if (SK_UNHOOKED || !take(&v, incount, requests, statuses))                                                        \
            return SK_NEXT(Name, (incount, requests, outcount, indices, statuses));                                       \
        int rc = SK_NEXT(Name, (incount, requests, outcount, indices, v.s));                                              \
        for (int i = 0; !rc && *outcount != MPI_UNDEFINED && i < *outcount; i++)                                          \
            sk_hooks_ended(v.r[indices[i]], &v.s[i]);                                                                     \
        let_go(&v, statuses);                                                                                             \
        return rc;                                                                                                        \
    }
SOME(Waitsome)
SOME(Testsome)
