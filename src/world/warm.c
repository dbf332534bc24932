/* Warm spares: processes that mpirun started beyond the ranks of the job. They have gone through MPI's beginning and wait in MPI_Init, so
 * that a repair needs no new process: who is left, and who takes the places of the dead, make a communicator
 * (MPI_Comm_create_group). The program's MPI_COMM_WORLD is one without them from the beginning.
 *
 * Who is the lowest rank tells the others and the spares by a message what is to be done. As soon as a process had to be spawned after all,
 * there are some that know nothing of the start's processes: from then on all are spawned. */
#include "world/warm.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/host/life.h"
#include "world/form/form.h"
#include "world/layer.h"
#include "world/log/go_on.h"
#include "world/log/log.h"
#include "world/rest/waker.h"

#include <saikai/saikai.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG_WORD = 20062, TAG_WORLD = 20063, TAG_HERE = 20064, TURN_US = 1000 };
/* How long a spare may take to answer, and one that is seen to live. */
enum { ANSWER_TURNS = 1000, ANSWER_TURNS_SEEN = 5000 };
/* How often MPI is asked each time that a spare looks. */
enum { LOOKS = 10 };
/* The longest that a spare sleeps: where each of the others can wake it; and where one is on another host, and may be the only one left who wants it. It has to look
 * some times until a connection stands, and to be heard in time. */
static const double most_s = 1, most_apart_s = 0.05, ever_s = 1e6;
/* What is known of a process: its host; where its number counts, that number, and when it began; how a spare is woken. */
enum { HOST, PLACE, NUMBER, BEGAN, WAKER, NONCE, KNOWN };
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
    struct sk_waker **waker; /* of each spare, its own in itself; NULL: it is not reached from here */
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

static struct sk_waker *waker_of(int process)
{
    return process < warm.ranks ? NULL : warm.waker[process - warm.ranks];
}

/* By all that live, before one of them sends something: they may be where it is not. */
static void wake_spares(void)
{
    for (int s = warm.ranks; s < warm.total; s++)
        sk_waker_wake(waker_of(s));
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
    sk_waker_wake(waker_of(process));
    for (int turn = 0; !rc && !there && turn < most && !has_ended(process); turn++) {
        rc = SK_CALL(Iprobe, (rank, TAG_HERE, warm.all, &there, MPI_STATUS_IGNORE));
        if (!there)
            usleep(TURN_US);
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
    int rc = SK_CALL(Send, (warm.told, MAP + warm.ranks, MPI_INT, number_of(process), TAG_WORD, warm.all));
    sk_waker_wake(waker_of(process)); /* it does not sleep long, as it was asked before */
    return rc;
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
    atomic_store(&p->within, 1);
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

/* All have looked for the wakers. A test wants to see that it does not depend on the looks. */
static double longest_sleep(void)
{
    const char *told = getenv("SAIKAI_WORLD_TEST");
    if (told && !strcmp(told, "sleeps"))
        return ever_s;
    unsigned others = (unsigned)warm.total - 1;
    return sk_waker_found(waker_of(warm.me)) == others ? most_s : most_apart_s;
}

/* *there 1: there is a word. A look makes MPI go on, and finds what has come in the one before; for what comes from other hosts it does something in every eighth alone. */
static int look(MPI_Status *from, int *there)
{
    int rc = 0;
    *there = 0;
    for (int i = 0; i < LOOKS && !*there; i++) {
        rc = SK_CALL(Iprobe, (MPI_ANY_SOURCE, TAG_WORD, warm.all, there, from));
        if (rc && sk_form() && sk_form()->acknowledge) /* somebody has died, as may well be */
            rc = sk_form()->acknowledge(warm.all);
        if (rc)
            break;
    }
    return rc;
}

static int listen(void)
{
    struct sk_waker *w = waker_of(warm.me);
    double longest = longest_sleep(), sign = sk_now();
    uint32_t woken = sk_waker_woken(w);
    int there = 0, rc = SK_CALL(Comm_set_errhandler, (warm.all, MPI_ERRORS_RETURN));
    MPI_Status from = {0};
    while (!rc && !there) {
        uint32_t before = woken;
        if ((woken = sk_waker_woken(w)) != before)
            sign = sk_now();
        rc = look(&from, &there);
        if (!there)
            sk_waker_sleep(w, woken, longest < ever_s ? sk_waker_rest(sk_now() - sign, longest) : longest);
        else if (!(rc = hear_from(from.MPI_SOURCE)) && warm.told[WORD] == ASK) {
            rc = SK_CALL(Send, (NULL, 0, MPI_BYTE, from.MPI_SOURCE, TAG_HERE, warm.all));
            there = 0;
            sign = sk_now();
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

/* What the others are to know of this process. */
static void know_self(uint64_t who[KNOWN], struct sk_waker_place *at)
{
    char host[256] = "";
    struct sk_life own;
    gethostname(host, sizeof host - 1);
    sk_life_own(&own);
    who[HOST] = sk_hash64(host, strlen(host));
    who[PLACE] = sk_hash64(own.place, strlen(own.place));
    who[NUMBER] = (uint64_t)own.pid;
    who[BEGAN] = own.started;
    if (warm.me >= warm.ranks)
        warm.waker[warm.me - warm.ranks] = sk_waker_make(at);
    who[WAKER] = at->descriptor;
    who[NONCE] = at->nonce;
}

static void find_wakers(void)
{
    for (int s = warm.ranks; s < warm.total; s++) {
        const uint64_t *w = warm.who[s];
        struct sk_waker_place at = {w[NUMBER], w[WAKER], w[NONCE]};
        if (s != warm.me && is_seen(s))
            warm.waker[s - warm.ranks] = sk_waker_find(&at);
    }
}

void sk_warm_begin(int ranks)
{
    int me = sk_world.rank, total = sk_world.size;
    char text[16];
    uint64_t who[KNOWN];
    struct sk_waker_place at = {0};
    warm.all = MPI_COMM_WORLD;
    warm.me = me;
    warm.ranks = ranks;
    warm.total = total;
    warm.usable = 1;
    warm.at = malloc(sizeof *warm.at * (size_t)ranks);
    warm.who = malloc(sizeof *warm.who * (size_t)total);
    warm.told = malloc(sizeof *warm.told * (size_t)(MAP + ranks));
    warm.waker = calloc((size_t)(total - ranks), sizeof(struct sk_waker *));
    if (!warm.at || !warm.who || !warm.told || !warm.waker)
        sk_world_fail(SK_WORLD_FAILED, "no memory to remember the processes of this start");
    for (int r = 0; r < ranks; r++)
        warm.at[r] = r;
    know_self(who, &at);
    int rc = SK_CALL(Allgather, (who, KNOWN, MPI_UINT64_T, warm.who, KNOWN, MPI_UINT64_T, MPI_COMM_WORLD));
    if (!rc)
        find_wakers(); /* in the next call each waits for all */
    if (!rc)
        rc = SK_CALL(Comm_split, (MPI_COMM_WORLD, me < ranks ? 0 : MPI_UNDEFINED, me, &sk_world.comm));
    if (rc)
        sk_world_fail(SK_WORLD_FAILED, "MPI makes no communicator without the spares");
    if (at.nonce)
        close((int)at.descriptor);
    snprintf(text, sizeof text, "%d", ranks);
    setenv("OMPI_COMM_WORLD_SIZE", text, 1);
    sk_world.size = ranks;
    if (me >= ranks) {
        atomic_store(&sk_world.page->within, SK_WITHIN_SPARE); /* it may die, and the others go on */
        wait_for_word(me);
    }
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
    wake_spares();
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
    wake_spares();
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
