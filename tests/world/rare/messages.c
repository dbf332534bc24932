/* Messages, requests and statuses. */
#include "rare.h"

#include <string.h>

/* ---- a message to oneself ---- */

void alone(void)
{
    enum { N = 600 };
    static int a[2 * N], b[2 * N * 64];
    MPI_Datatype t = every_second(N);
    for (int how = 0; how < 3; how++) {
        int in = -1, out = 70 + how;
        MPI_Request r, c;
        MPI_Status s;
        fill(a, 2 * N, rank);
        memset(b, 0, sizeof b);
        MPI_Irecv(&in, 1, MPI_INT, how ? MPI_ANY_SOURCE : 0, how == 2 ? MPI_ANY_TAG : 0, MPI_COMM_SELF, &r);
        MPI_Allgather(a, 1, t, b, N, MPI_INT, MPI_COMM_WORLD);
        tell("all, gathered", sum_of(b, sizeof(int) * N * (size_t)ranks));
        MPI_Iallgather(a, 1, t, b, N, MPI_INT, MPI_COMM_WORLD, &c);
        MPI_Wait(&c, MPI_STATUS_IGNORE);
        tell("all, gathered later", sum_of(b, sizeof(int) * N * (size_t)ranks));
        MPI_Sendrecv(a, 3, MPI_INT, next, 2, b, 1, t, before, 2, MPI_COMM_WORLD, &s); /* a part of an element */
        tell("a part", sum_of(b, sizeof(int) * N));
        MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
        MPI_Wait(&r, &s);
        tell("to oneself", in);
    }
    MPI_Type_free(&t);
}

/* ---- a communicator that is gone ---- */

void gone(void)
{
    for (int how = 0; how < 3; how++) {
        MPI_Comm first, second, third;
        int in[2] = {-1, -1}, is = 0, out[2] = {rank, rank + 50};
        MPI_Request r[2], p[2];
        MPI_Status s;
        MPI_Comm_dup(MPI_COMM_WORLD, &first);
        MPI_Irecv(&in[0], 1, MPI_INT, how ? MPI_ANY_SOURCE : before, how == 2 ? MPI_ANY_TAG : 5, first, &r[0]);
        MPI_Comm_free(&first);
        MPI_Comm_dup(MPI_COMM_WORLD, &second);
        MPI_Isend(&out[0], 1, MPI_INT, next, 5, second, &r[1]);
        MPI_Recv(&in[1], 1, MPI_INT, how ? MPI_ANY_SOURCE : before, 5, second, &s);
        MPI_Wait(&r[1], &s);
        tell("of its successor", in[1]);
        MPI_Cancel(&r[0]);
        MPI_Wait(&r[0], &s);
        MPI_Test_cancelled(&s, &is);
        tell("of one that is gone, cancelled", is);
        tell("and got", in[0]);
        MPI_Irecv(&in[0], 1, MPI_INT, before, 6, second, &r[0]);
        MPI_Send_init(&out[1], 1, MPI_INT, next, 6, second, &p[0]);
        MPI_Start(&p[0]);
        MPI_Comm_free(&second);
        MPI_Comm_dup(MPI_COMM_WORLD, &third);
        MPI_Irecv(&in[1], 1, MPI_INT, before, 6, third, &r[1]);
        MPI_Send(&rank, 1, MPI_INT, next, 6, third);
        MPI_Wait(&r[1], &s);
        MPI_Wait(&r[0], &s);
        tell("what was on its way", in[0]);
        tell("and after it", in[1]);
        tell("from", s.MPI_SOURCE == before);
        MPI_Wait(&p[0], &s);
        MPI_Request_free(&p[0]);
        MPI_Comm_free(&third);
    }
}

/* ---- statuses ---- */

static void tell_status(const char *what, const MPI_Status *s)
{
    int n = -1, is = -1, parts = -1, all[5];
    MPI_Get_count(s, MPI_INT, &n);
    MPI_Get_elements(s, MPI_2INT, &parts);
    MPI_Test_cancelled(s, &is);
    int source = s->MPI_SOURCE == MPI_ANY_SOURCE ? -100 : s->MPI_SOURCE == MPI_PROC_NULL ? -200 : (s->MPI_SOURCE - rank + ranks) % ranks;
    all[0] = source, all[1] = s->MPI_TAG, all[2] = n, all[3] = parts, all[4] = is;
    for (int i = 0; i < 5; i++)
        tell(i ? "  -" : what, all[i]);
}

void statuses(void)
{
    enum { SET = 77 };
    int a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[16], flag, n, index, indices[4];
    MPI_Comm c[2];
    MPI_Request r[4];
    MPI_Status s, several[4];
    MPI_Datatype pairs;
    MPI_Type_vector(2, 1, 2, MPI_2INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Comm_dup(MPI_COMM_WORLD, &c[1]);
    c[0] = MPI_COMM_WORLD;
    for (int i = 0; i < 2; i++) {
        s = (MPI_Status){.MPI_ERROR = SET};
        MPI_Sendrecv(a, 3, MPI_INT, next, 4, b, 2, pairs, before, MPI_ANY_TAG, c[i], &s);
        tell_status("a part of a pair", &s);
        tell("its error", s.MPI_ERROR);
        MPI_Recv(b, 3, MPI_INT, MPI_PROC_NULL, 7, c[i], &s);
        tell_status("from nobody", &s);
        MPI_Irecv(b, 3, MPI_INT, MPI_PROC_NULL, 7, c[i], &r[0]);
        MPI_Wait(&r[0], &s);
        tell_status("from nobody, later", &s);
        MPI_Probe(MPI_PROC_NULL, 7, c[i], &s);
        tell_status("probed of nobody", &s);
        MPI_Sendrecv(a, 1, MPI_INT, MPI_PROC_NULL, 3, b, 1, MPI_INT, MPI_PROC_NULL, 3, c[i], &s);
        tell_status("exchanged with nobody", &s);
        MPI_Sendrecv_replace(a, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_PROC_NULL, 3, c[i], &s);
        tell_status("replaced by nobody", &s);
        MPI_Sendrecv(NULL, 0, MPI_INT, next, 9, NULL, 0, MPI_INT, before, 9, c[i], &s);
        tell_status("nothing", &s);
        r[0] = r[2] = r[3] = MPI_REQUEST_NULL;
        MPI_Recv_init(b, 1, MPI_INT, before, 11, c[i], &r[1]);
        s = (MPI_Status){.MPI_ERROR = SET};
        MPI_Wait(&r[1], &s);
        tell_status("one that was not begun", &s);
        MPI_Test(&r[1], &flag, &s);
        tell("is over", flag);
        MPI_Request_get_status(r[1], &flag, &s);
        tell("is over, asked", flag);
        MPI_Testany(4, r, &index, &flag, &s);
        tell("any of none", flag * 100 + (index == MPI_UNDEFINED));
        MPI_Waitany(4, r, &index, &s);
        tell("any of none, waited for", index == MPI_UNDEFINED);
        MPI_Waitsome(4, r, &n, indices, several);
        tell("some of none", n == MPI_UNDEFINED);
        MPI_Testsome(4, r, &n, indices, several);
        tell("some of none, asked", n == MPI_UNDEFINED);
        MPI_Testsome(0, NULL, &n, indices, MPI_STATUSES_IGNORE);
        tell("some of nothing", n == MPI_UNDEFINED);
        MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
        tell("all of nothing", flag);
        MPI_Waitall(4, r, several);
        tell_status("all of none", &several[3]);
        MPI_Irecv(b + 4, 4, MPI_INT, before, 12, c[i], &r[2]);
        MPI_Isend(a, 2, MPI_INT, next, 12, c[i], &r[3]);
        for (int left = 2; left; left -= n) {
            MPI_Waitsome(4, r, &n, indices, several);
            for (int k = 0; k < n; k++)
                if (indices[k] == 2)
                    tell_status("some", &several[k]);
        }
        MPI_Start(&r[1]);
        MPI_Send(a, 1, MPI_INT, next, 11, c[i]);
        MPI_Waitany(4, r, &index, &s);
        tell("the one", index);
        tell_status("its status", &s);
        tell("stays", r[1] != MPI_REQUEST_NULL);
        MPI_Request_free(&r[1]);
    }
    MPI_Type_free(&pairs);
    MPI_Comm_free(&c[1]);
}

/* ---- persistent requests ---- */

void lasting(void)
{
    MPI_Comm c[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &c[1]);
    c[0] = MPI_COMM_WORLD;
    for (int i = 0; i < 4; i++) {
        int in[3] = {-1, -1, -1}, is = -1, flag = 0, source = i / 2 ? MPI_ANY_SOURCE : before;
        MPI_Request r, s;
        MPI_Status status;
        MPI_Recv_init(&in[0], 1, MPI_INT, source, 20, c[i % 2], &r);
        MPI_Send_init(&rank, 1, MPI_INT, next, 20, c[i % 2], &s);
        for (int turn = 0; turn < 3; turn++) {
            MPI_Start(&r);
            MPI_Cancel(&r);
            MPI_Wait(&r, &status);
            MPI_Test_cancelled(&status, &is);
            tell("begun, and taken back", is);
            tell("is there", r != MPI_REQUEST_NULL);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Start(&r);
            MPI_Start(&s);
            while (!flag)
                MPI_Test(&r, &flag, &status);
            MPI_Wait(&s, &status);
            tell("begun again", in[0]);
            flag = 0;
            in[0] = -1;
        }
        MPI_Start(&r);
        MPI_Start(&s);
        MPI_Request_free(&s); /* its message goes all the same */
        MPI_Wait(&r, &status);
        tell("of one that was freed", in[0]);
        MPI_Request_free(&r);
        tell("is gone", r == MPI_REQUEST_NULL && s == MPI_REQUEST_NULL);
        MPI_Issend(&rank, 1, MPI_INT, next, 21, c[i % 2], &s);
        MPI_Request_free(&s);
        MPI_Recv(&in[1], 1, MPI_INT, source, 21, c[i % 2], &status);
        tell("of one that nobody waits for", in[1]);
    }
    MPI_Comm_free(&c[1]);
}

/* ---- errors that are returned ---- */

void truncated(void)
{
    static int a[3000], b[6000];
    MPI_Comm c[2];
    MPI_Datatype t = every_second(500);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &c[1]);
    c[0] = MPI_COMM_WORLD;
    for (int i = 0; i < 12; i++) {
        MPI_Comm on = c[i % 2];
        MPI_Request r, s;
        MPI_Status status = {.MPI_ERROR = MPI_SUCCESS};
        int flag = 0, n = 0, rc = 0, index, source = i / 2 % 2 ? MPI_ANY_SOURCE : before;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Irecv(b, 1, i % 3 ? t : MPI_INT, source, 30, on, &r);
        MPI_Isend(a, 2000, MPI_INT, next, 30, on, &s);
        switch (i % 4) {
        case 0:
            while (!flag && !(rc = MPI_Test(&r, &flag, &status)))
                ;
            break;
        case 1: rc = MPI_Waitany(1, &r, &index, &status); break;
        case 2: rc = MPI_Waitsome(1, &r, &n, &index, &status); break;
        default: rc = MPI_Waitall(1, &r, &status); break;
        }
        tell("too long", class_of(rc));
        tell("its status", class_of(status.MPI_ERROR));
        MPI_Wait(&s, MPI_STATUS_IGNORE);
        rc = MPI_Sendrecv(a, 1500, MPI_INT, next, 31, b, 1, t, source, 31, on, MPI_STATUS_IGNORE);
        tell("exchanged", class_of(rc));
        rc = MPI_Sendrecv(a, 500, MPI_INT, next, 31, b, 1, t, source, 31, on, &status);
        tell("what comes then", class_of(rc));
    }
    MPI_Type_free(&t);
    MPI_Comm_free(&c[1]);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* ---- order ---- */

/* Rank 0 gets from all others, whichever comes first; what each has sent comes in its order. */
void order(void)
{
    enum { EACH = 40, TAGS = 3 };
    static int in[64 * EACH];
    MPI_Status s;
    MPI_Request r[64 * EACH];
    int last[64][TAGS], wrong = 0, n = (ranks - 1) * EACH, flag;
    for (int how = 0; how < 4; how++) {
        memset(last, 0xff, sizeof last);
        for (int i = 0; rank && i < EACH; i++)
            MPI_Send(&i, 1, MPI_INT, 0, 40 + i % TAGS, MPI_COMM_WORLD);
        for (int i = 0; !rank && how < 2 && i < n; i++) {
            int tag = MPI_ANY_TAG, value;
            if (how == 0)
                MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &s);
            for (flag = how == 0; !flag;)
                MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &s);
            MPI_Irecv(&value, 1, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, &r[0]);
            MPI_Wait(&r[0], &s);
            wrong += value <= last[s.MPI_SOURCE][value % TAGS] || s.MPI_TAG != 40 + value % TAGS;
            last[s.MPI_SOURCE][value % TAGS] = value;
        }
        int named = (ranks - 1) * ((EACH + TAGS - 1) / TAGS); /* those with the first tag */
        for (int i = 0; !rank && how >= 2 && i < n; i++)
            MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, how == 2 ? 40 + i / (ranks - 1) % TAGS : i < named ? 40 : MPI_ANY_TAG, MPI_COMM_WORLD, &r[i]);
        for (int i = 0; !rank && how >= 2 && i < n; i++) {
            MPI_Wait(&r[i], &s);
            wrong += in[i] <= last[s.MPI_SOURCE][in[i] % TAGS] || s.MPI_TAG != 40 + in[i] % TAGS || (how == 3 && (s.MPI_TAG == 40) != (i < named));
            last[s.MPI_SOURCE][in[i] % TAGS] = in[i];
        }
        tell("out of order", wrong);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}
