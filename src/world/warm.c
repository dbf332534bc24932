/* Warm spares: processes that mpirun started beyond the ranks of the job. They have gone through MPI's beginning and wait in MPI_Init, so
 * that a repair needs no new process: who is left, and who takes the places of the dead, make a communicator
 * (MPI_Comm_create_group). The program's MPI_COMM_WORLD is one without them from the beginning.
 *
 * Who is the lowest rank tells the others and the spares by a message what is to be done. As soon as a process had to be spawned after all,
 * there are some that know nothing of the start's processes: from then on all are spawned. */
#include "world/warm.h"

#include "base/hash.h"
#include "base/host/life.h"
#include "world/form/form.h"
#include "world/layer.h"
#include "world/log/go_on.h"
#include "world/log/log.h"

#include <saikai/saikai.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG_WORD = 20062, TAG_WORLD = 20063, TAG_HERE = 20064, TURN_US = 2000 };
/* How long a spare may take to answer, and one that is seen to live. */
enum { ANSWER_TURNS = 1000, ANSWER_TURNS_SEEN = 5000 };
/* What is known of a process: its host; where its number counts, that number, and when it began. */
enum { HOST, PLACE, NUMBER, BEGAN, KNOWN };
/* What is told: a word, the number of the repair, as whom the spare's keeper reports; and which process has each rank. */
enum { WORD, EPOCH, ID, MAP };
enum { FINALIZE = 1, END, SPAWN, JOIN, ASK };
/* Of a process that is not in the communicator any more. */
enum { GONE = -1 };

static struct {
    int me;           /* which of the start's processes this is */
    int ranks, total; /* processes of the start: ranks and then spares; total 0: there are none */
    int usable;       /* no process was spawned */
    int *at;          /* of the start's processes, which one has a rank; -1: none of them */
    uint64_t (*who)[KNOWN];
    int *told;
    MPI_Comm all; /* of the start's processes, the dead left out when the form of repair wants that */
} warm;

int sk_warm_is_on(void)
{
    return warm.total > 0;
}

static int has_rank(int process)
{
    for (int r = 0; r < warm.ranks; r++)
        if (warm.at[r] == process)
            return 1;
    return 0;
}

/* Its rank among all. */
static int number_of(int process)
{
    MPI_Group first = MPI_GROUP_NULL, now = MPI_GROUP_NULL;
    int rank = MPI_UNDEFINED, rc;
    if (warm.all == MPI_COMM_WORLD)
        return process;
    rc = SK_CALL(Comm_group, (MPI_COMM_WORLD, &first));
    if (!rc)
        rc = SK_CALL(Comm_group, (warm.all, &now));
    if (!rc)
        rc = SK_CALL(Group_translate_ranks, (first, 1, &process, now, &rank));
    if (now != MPI_GROUP_NULL)
        SK_CALL(Group_free, (&now));
    if (first != MPI_GROUP_NULL)
        SK_CALL(Group_free, (&first));
    return rc || rank == MPI_UNDEFINED ? GONE : rank;
}

static int is_seen(int process)
{
    return warm.who[process][PLACE] == warm.who[warm.me][PLACE];
}

/* 1: it has ended, as is seen from here, also when nobody has waited for it yet. */
static int has_ended(int process)
{
    struct sk_life l;
    if (!is_seen(process))
        return 0;
    sk_life_own(&l);
    l.pid = (int64_t)warm.who[process][NUMBER];
    l.started = warm.who[process][BEGAN];
    return sk_life_goes_on(&l) == 0;
}

/* It is asked: one may be about to die. One that is dead does not answer, and what was sent to it is left to MPI. */
static int is_alive(int process)
{
    static const int ask[MAP] = {ASK};
    MPI_Request r = MPI_REQUEST_NULL;
    int rank = number_of(process), there = 0, most = is_seen(process) ? ANSWER_TURNS_SEEN : ANSWER_TURNS;
    if (has_ended(process))
        return 0;
    int rc = SK_CALL(Isend, (ask, MAP, MPI_INT, rank, TAG_WORD, warm.all, &r));
    for (int turn = 0; !rc && !there && turn < most && !has_ended(process); turn++) {
        rc = SK_CALL(Iprobe, (rank, TAG_HERE, warm.all, &there, MPI_STATUS_IGNORE));
        if (!there)
            usleep(TURN_US / 2);
    }
    if (!there)
        return 0;
    rc = SK_CALL(Recv, (NULL, 0, MPI_BYTE, rank, TAG_HERE, warm.all, MPI_STATUS_IGNORE));
    return !rc && !SK_CALL(Wait, (&r, MPI_STATUS_IGNORE));
}

static int tell(int process, int word, uint32_t epoch, uint32_t id)
{
    warm.told[WORD] = word;
    warm.told[EPOCH] = (int)epoch;
    warm.told[ID] = (int)id;
    memcpy(warm.told + MAP, warm.at, sizeof *warm.at * (size_t)warm.ranks);
    return SK_CALL(Send, (warm.told, MAP + warm.ranks, MPI_INT, number_of(process), TAG_WORD, warm.all));
}

static int hear_from(int rank)
{
    return SK_CALL(Recv, (warm.told, MAP + warm.ranks, MPI_INT, rank, TAG_WORD, warm.all, MPI_STATUS_IGNORE));
}

/* By all that live. */
static int make_world_together(void)
{
    MPI_Comm left = MPI_COMM_NULL;
    int *list = malloc(sizeof *list * (size_t)warm.ranks), rc = list ? 0 : MPI_ERR_NO_MEM;
    for (int r = 0; !rc && r < warm.ranks; r++)
        list[r] = number_of(warm.at[r]);
    if (!rc)
        rc = sk_form()->among(warm.all, list, warm.ranks, &left, &sk_world.comm);
    free(list);
    if (!rc)
        warm.all = left; /* the one before is left as it is: to free it is a matter of all its processes */
    return rc;
}

/* The world of those that have a rank. */
static int make_world(void)
{
    memcpy(warm.at, warm.told + MAP, sizeof *warm.at * (size_t)warm.ranks);
    if (sk_form() && sk_form()->among)
        return make_world_together();
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    int rc = SK_CALL(Comm_group, (MPI_COMM_WORLD, &all));
    if (!rc)
        rc = SK_CALL(Group_incl, (all, warm.ranks, warm.at, &some));
    if (!rc)
        rc = SK_CALL(Comm_create_group, (MPI_COMM_WORLD, some, TAG_WORLD, &sk_world.comm));
    if (some != MPI_GROUP_NULL)
        SK_CALL(Group_free, (&some));
    if (all != MPI_GROUP_NULL)
        SK_CALL(Group_free, (&all));
    return rc;
}

/* ---- in a spare ---- */

/* Its keeper reports it from now on, and the library starts as in the others. */
static void take_place(int me)
{
    char text[16];
    struct sk_keeper_page *p = sk_world.page;
    int rank = 0;
    while (rank < warm.ranks && warm.told[MAP + rank] != me)
        rank++;
    if (rank == warm.ranks)
        sk_world_fail(SK_WORLD_FAILED, "this spare was to take the place of a dead process, but was not told which");
    sk_world.rank = rank;
    sk_world.epoch = (uint32_t)warm.told[EPOCH];
    snprintf(text, sizeof text, "%d", rank);
    setenv("OMPI_COMM_WORLD_RANK", text, 1);
    p->rank = (uint32_t)rank;
    p->incarnation += sk_world.epoch;
    atomic_store(&p->repair, sk_world.epoch);
    sk_world_tell(SK_WORLD_REPAIRING, SK_WORLD_FINE);
    atomic_store(&p->joined, (uint32_t)warm.told[ID]);
    kill((pid_t)sk_world.keeper, SIGCHLD); /* it looks */
    if (make_world())
        sk_world_fail(SK_WORLD_FAILED, "the repair did not work: the job is started again");
    sk_form_guard(warm.all);
    sk_form_guard(sk_world.comm);
    sk_world_tell(SK_WORLD_OUTSIDE, SK_WORLD_FINE);
    sk_logging_join();
}

/* 1: this one has a place in the world that is made. */
static int is_chosen(int me)
{
    for (int r = 0; r < warm.ranks; r++)
        if (warm.told[MAP + r] == me)
            return 1;
    return 0;
}

static int listen(void)
{
    int there = 0, rc = SK_CALL(Comm_set_errhandler, (warm.all, MPI_ERRORS_RETURN));
    MPI_Status from = {0};
    while (!rc && !there) {
        rc = SK_CALL(Iprobe, (MPI_ANY_SOURCE, TAG_WORD, warm.all, &there, &from));
        if (rc && sk_form() && sk_form()->acknowledge) /* somebody has died, as may well be */
            rc = sk_form()->acknowledge(warm.all);
        if (!there)
            usleep(TURN_US);
        else if (!(rc = hear_from(from.MPI_SOURCE)) && warm.told[WORD] == ASK) {
            rc = SK_CALL(Send, (NULL, 0, MPI_BYTE, from.MPI_SOURCE, TAG_HERE, warm.all));
            there = 0;
        }
    }
    return rc;
}

static void wait_for_word(int me)
{
    int rc = listen();
    while (!rc && warm.told[WORD] == JOIN && !is_chosen(me)) /* those that stay spares help the others */
        rc = make_world() ? MPI_ERR_OTHER : listen();
    if (!rc && warm.told[WORD] == JOIN) {
        take_place(me);
        return;
    }
    if (!rc && warm.told[WORD] == FINALIZE)
        SK_CALL(Finalize, ());
    _exit(rc ? SAIKAI_EXIT_CODE : 0); /* nothing of the program's has been done here */
}

/* ---- in all ---- */

void sk_warm_begin(int ranks)
{
    int me = sk_world.rank, total = sk_world.size;
    char text[16], host[256] = "";
    struct sk_life own;
    gethostname(host, sizeof host - 1);
    sk_life_own(&own);
    uint64_t who[KNOWN] = {sk_hash64(host, strlen(host)), sk_hash64(own.place, strlen(own.place)), (uint64_t)own.pid, own.started};
    warm.all = MPI_COMM_WORLD;
    warm.me = me;
    warm.ranks = ranks;
    warm.total = total;
    warm.usable = 1;
    warm.at = malloc(sizeof *warm.at * (size_t)ranks);
    warm.who = malloc(sizeof *warm.who * (size_t)total);
    warm.told = malloc(sizeof *warm.told * (size_t)(MAP + ranks));
    if (!warm.at || !warm.who || !warm.told)
        sk_world_fail(SK_WORLD_FAILED, "no memory to remember the processes of this start");
    for (int r = 0; r < ranks; r++)
        warm.at[r] = r;
    int rc = SK_CALL(Allgather, (who, KNOWN, MPI_UINT64_T, warm.who, KNOWN, MPI_UINT64_T, MPI_COMM_WORLD));
    if (!rc)
        rc = SK_CALL(Comm_split, (MPI_COMM_WORLD, me < ranks ? 0 : MPI_UNDEFINED, me, &sk_world.comm));
    if (rc)
        sk_world_fail(SK_WORLD_FAILED, "MPI makes no communicator without the spares");
    snprintf(text, sizeof text, "%d", ranks);
    setenv("OMPI_COMM_WORLD_SIZE", text, 1);
    sk_world.size = ranks;
    if (me >= ranks)
        wait_for_word(me);
}

/* A spare of the host of this process, where its checkpoints are, that lives and has no place yet; -1: there is none. */
static int spare_for(int process)
{
    for (int s = warm.ranks; s < warm.total; s++)
        if (warm.who[s][HOST] == warm.who[process][HOST] && !has_rank(s) && number_of(s) != GONE && is_alive(s))
            return s;
    return -1;
}

/* The places of the dead go to spares. 0: there are not enough. */
static int choose(const int *dead, int n)
{
    int found = 1;
    for (int i = 0; i < n && found; i++) {
        int s = spare_for(warm.at[dead[i]]);
        found = s >= 0;
        warm.at[dead[i]] = s;
    }
    for (int i = 0; i < n && !found; i++)
        warm.at[dead[i]] = -1;
    return found;
}

/* By the lowest that lives: choose, and tell all others. */
static int lead(uint32_t epoch, const int *dead, int n)
{
    int me = warm.at[sk_world.rank], enough = choose(dead, n), rc = 0;
    for (int i = 0; enough && !rc && i < n; i++)
        rc = tell(warm.at[dead[i]], JOIN, epoch, sk_world.page->repair_first + (uint32_t)i);
    for (int r = 0; !rc && r < warm.ranks; r++) {
        int new = 0;
        for (int i = 0; i < n; i++)
            new |= dead[i] == r;
        if (!new && warm.at[r] != me)
            rc = tell(warm.at[r], enough ? JOIN : SPAWN, epoch, 0);
    }
    for (int s = warm.ranks; enough && sk_form()->among && s < warm.total; s++)
        if (!has_rank(s) && is_alive(s) && number_of(s) != GONE)
            tell(s, JOIN, epoch, 0); /* if it has died by now, nobody waits for it */
    warm.told[WORD] = enough ? JOIN : SPAWN;
    memcpy(warm.told + MAP, warm.at, sizeof *warm.at * (size_t)warm.ranks);
    return rc;
}

int sk_warm_repair(uint32_t epoch, const int *dead, int n, int *rc)
{
    int lowest = 0;
    if (!warm.usable)
        return 0;
    for (int i = 0; i < n; i++) /* they are in ascending order */
        lowest += dead[i] == lowest;
    SK_CALL(Comm_set_errhandler, (warm.all, MPI_ERRORS_RETURN));
    *rc = lowest == sk_world.rank ? lead(epoch, dead, n) : hear_from(number_of(warm.at[lowest]));
    if (!*rc && warm.told[WORD] == JOIN)
        *rc = make_world();
    sk_form_guard(warm.all);
    if (*rc || warm.told[WORD] == JOIN)
        return 1;
    memcpy(warm.at, warm.told + MAP, sizeof *warm.at * (size_t)warm.ranks);
    warm.usable = 0;
    return 0;
}

int sk_warm_end(void)
{
    int whole = !sk_world.epoch, leader = 0;
    if (!warm.total)
        return whole;
    while (leader < warm.ranks && warm.at[leader] < 0)
        leader++;
    for (int s = warm.ranks; whole && !sk_world.rank && s < warm.total; s++)
        whole = is_alive(s);
    if (!sk_world.epoch) /* they may have looked at different moments */
        SK_CALL(Bcast, (&whole, 1, MPI_INT, 0, sk_world.comm));
    for (int s = warm.ranks; leader == sk_world.rank && s < warm.total; s++)
        if (!has_rank(s) && number_of(s) != GONE && is_alive(s))
            tell(s, whole ? FINALIZE : END, 0, 0);
    return whole;
}
