/* What is not over is kept away from MPI_Test and its like. */
#include "world/form/over.h"

#include "world/form/form.h"

#include <stdlib.h>
#include <string.h>

static int is_plain(void)
{
    return __builtin_expect(!sk_world.logs, 1) || !sk_form() || !sk_form()->ends_requests;
}

static int is_over(MPI_Request r)
{
    int over = 0;
    return r == MPI_REQUEST_NULL || SK_CALL(Request_get_status, (r, &over, MPI_STATUS_IGNORE)) || over;
}

int sk_over_test(MPI_Request *r, int *done, MPI_Status *status)
{
    *done = 0;
    return is_plain() || is_over(*r) ? SK_CALL(Test, (r, done, status)) : 0;
}

int sk_over_test_all(int n, MPI_Request r[], int *done, MPI_Status status[])
{
    *done = 0;
    for (int i = 0; !is_plain() && i < n; i++)
        if (!is_over(r[i]))
            return 0;
    return SK_CALL(Testall, (n, r, done, status));
}

/* Those of them that are over, in their places; the others are MPI_REQUEST_NULL there. */
enum { USUAL = 64 };
struct over {
    MPI_Request *at, usual[USUAL];
    int others;
};

static int choose(struct over *o, int n, const MPI_Request r[])
{
    o->others = 0;
    o->at = n <= USUAL ? o->usual : malloc((size_t)n * sizeof *o->at);
    if (!o->at)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < n; i++) {
        int over = is_over(r[i]);
        o->others += !over;
        o->at[i] = over ? r[i] : MPI_REQUEST_NULL;
    }
    return 0;
}

/* What MPI has made of them. */
static void take(struct over *o, int n, MPI_Request r[], const int index[])
{
    for (int i = 0; i < n; i++) /* MPI_UNDEFINED is negative */
        r[index[i]] = o->at[index[i]];
    if (o->at != o->usual)
        free(o->at);
}

int sk_over_test_any(int n, MPI_Request r[], int *index, int *done, MPI_Status *status)
{
    struct over o;
    int rc = is_plain() ? SK_CALL(Testany, (n, r, index, done, status)) : choose(&o, n, r);
    if (is_plain() || rc)
        return rc;
    rc = SK_CALL(Testany, (n, o.at, index, done, status));
    if (*index == MPI_UNDEFINED && o.others)
        *done = 0;
    take(&o, *index != MPI_UNDEFINED, r, index);
    return rc;
}

int sk_over_test_some(int n, MPI_Request r[], int *ended, int index[], MPI_Status status[])
{
    struct over o;
    int rc = is_plain() ? SK_CALL(Testsome, (n, r, ended, index, status)) : choose(&o, n, r);
    if (is_plain() || rc)
        return rc;
    rc = SK_CALL(Testsome, (n, o.at, ended, index, status));
    if (*ended == MPI_UNDEFINED && o.others)
        *ended = 0;
    take(&o, *ended, r, index);
    return rc;
}

static int at_work;

int sk_over_is_at_work(void)
{
    return at_work;
}

int sk_over_sent(MPI_Request *r, int *done)
{
    at_work++;
    int rc = sk_over_test(r, done, MPI_STATUS_IGNORE);
    at_work--;
    if (rc && sk_form_is_death(rc)) {
        *done = 1;
        rc = 0;
    }
    return rc;
}

static int looked(int rc, int *found)
{
    at_work--;
    if (is_plain() || !sk_form_is_death(rc))
        return rc;
    *found = 0;
    return 0;
}

int sk_over_iprobe(int source, int tag, int *found, MPI_Status *status)
{
    at_work++;
    return looked(SK_CALL(Iprobe, (source, tag, sk_world.comm, found, status)), found);
}

int sk_over_improbe(int source, int tag, int *found, MPI_Message *message, MPI_Status *status)
{
    at_work++;
    return looked(SK_CALL(Improbe, (source, tag, sk_world.comm, found, message, status)), found);
}
