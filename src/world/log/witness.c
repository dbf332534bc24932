/* Memory that outlives its process: a file without a name, mapped by the next ranks of its host by way of /proc; where there are none, the
 * process's keeper has it open. It is gone with the last of them. */
#include "world/log/witness.h"

#include "base/hash.h"
#include "world/layer.h"
#include "world/log/log.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

struct sk_outcomes_log sk_witness_log = {.none_at = UINT64_MAX}, sk_witness_setup = {.none_at = UINT64_MAX};

/* Of each process: its events, those of its set-up, and its course. There is only as much memory as is written. */
static const size_t SETUP_AT = SK_OUTCOMES_BYTES(SK_OUTCOMES_WORDS), COURSE_AT = 2 * SK_OUTCOMES_BYTES(SK_OUTCOMES_WORDS),
                    BYTES = 2 * SK_OUTCOMES_BYTES(SK_OUTCOMES_WORDS) + sizeof(struct sk_course);
/* The mark at the beginning of the set-up, which is no generation's. */
static const int64_t SETUP_KEY = INT64_MIN;

static struct sk_course *course_of(const struct sk_outcomes *e)
{
    return e ? (struct sk_course *)((char *)(uintptr_t)e + COURSE_AT) : NULL;
}

static struct sk_outcomes *setup_of(const struct sk_outcomes *e)
{
    return (struct sk_outcomes *)((char *)(uintptr_t)e + SETUP_AT);
}

struct sk_course *sk_witness_course(void)
{
    return course_of(sk_witness_log.ring);
}

/* So many ranks of its host that come after it keep the events of each. */
enum { WITNESSES = 3 };
/* What each tells: where its memory is, and what stands in it; on which host; its keeper, and the descriptor there and 1, or 0: the keeper has none. */
enum { PROCESS, DESCRIPTOR, NONCE, HOST, KEEPER, KEPT_AT, TOLD };

static struct {
    int fd, is_kept;
    uint64_t (*all)[TOLD]; /* by rank, as of the newest exchange */
    struct kept {
        int rank;
        struct sk_outcomes *memory; /* NULL: none is kept */
    } of[WITNESSES];
    struct kept given[WITNESSES]; /* of processes that are dead, for whoever takes their places */
    int *speaker;                 /* by rank: who tells it, as of the newest repair */
    struct sk_outcomes *own;      /* in a process that has the place of a dead one: what its keeper kept; NULL: somebody else tells it */
} witness = {.fd = -1};

/* How long the keeper may take to open a file. */
enum { KEEPER_TURNS = 3000, TURN_US = 1000 };

/* The rank that is so many places after this one (step 1) or before it (-1) among those of its host; -1: there are not so many others. */
static int neighbour(int rank, int step, int nth)
{
    int n = sk_world.size;
    for (int r = (rank + step + n) % n; r != rank; r = (r + step + n) % n)
        if (witness.all[r][HOST] == witness.all[rank][HOST] && !nth--)
            return r;
    return -1;
}

static void *map(int fd)
{
    void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* The memory of this process. */
static void make(void)
{
    struct sk_outcomes_log *l = &sk_witness_log;
    if (l->ring || (witness.fd = memfd_create("saikai-events", MFD_CLOEXEC)) < 0)
        return;
    struct sk_outcomes *e = ftruncate(witness.fd, (off_t)BYTES) ? NULL : map(witness.fd);
    if (e && getrandom(&e->nonce, sizeof e->nonce, 0) == (ssize_t)sizeof e->nonce) {
        l->ring = e;
        sk_witness_setup.ring = setup_of(e);
        l->words = sk_witness_setup.words = SK_OUTCOMES_WORDS;
    } else if (e) {
        munmap(e, BYTES);
    }
}

static void forget(struct kept *k)
{
    if (k->memory)
        munmap(k->memory, BYTES);
    *k = (struct kept){.rank = -1};
}

/* What a process has open; NULL: it is not what it was said to be. */
static struct sk_outcomes *open_of(uint64_t process, uint64_t descriptor, uint64_t nonce)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)process, (unsigned long long)descriptor);
    int fd = nonce ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct sk_outcomes *e = fd < 0 ? NULL : lseek(fd, 0, SEEK_END) == (off_t)BYTES ? map(fd) : NULL;
    if (fd >= 0)
        close(fd);
    if (e && e->nonce != nonce) { /* two hosts of one name: this is another process */
        munmap(e, BYTES);
        e = NULL;
    }
    return e;
}

static void keep(struct kept *k, int rank)
{
    const uint64_t *told = rank < 0 ? NULL : witness.all[rank];
    if (told && k->rank == rank && k->memory && k->memory->nonce == told[NONCE])
        return;
    forget(k);
    k->rank = rank;
    k->memory = told ? open_of(told[PROCESS], told[DESCRIPTOR], told[NONCE]) : NULL;
}

/* Nobody else is on this host: the keeper opens the file. Its descriptor and 1, or 0. */
static int ask_keeper(void)
{
    struct sk_keeper_page *p = sk_world.page;
    if (!sk_witness_log.ring)
        return 0;
    p->events_process = (uint32_t)getpid();
    atomic_store(&p->events, (uint32_t)witness.fd + 1);
    kill((pid_t)sk_world.keeper, SIGCHLD); /* it looks */
    for (int turn = 0; turn < KEEPER_TURNS && !atomic_load(&p->events_kept); turn++)
        usleep(TURN_US);
    return (int)atomic_load(&p->events_kept);
}

static uint64_t host(void)
{
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return sk_hash64(name, strlen(name));
}

/* held: by rank, a bit for each of those before it whose memory it has, and what its keeper has of it. */
static int is_kept(const int (*held)[2], int rank)
{
    int next = neighbour(rank, 1, 0), all = next >= 0 || held[rank][1];
    for (int i = 0; next >= 0 && i < WITNESSES; i++, next = neighbour(rank, 1, i))
        all &= held[next][0] >> i & 1;
    return all && witness.all[rank][NONCE];
}

void sk_witness_exchange(void)
{
    int n = sk_world.size, me = sk_world.rank, mine[2] = {0}, (*held)[2] = malloc(sizeof *held * (size_t)n);
    uint64_t (*all)[TOLD] = malloc(sizeof *all * (size_t)n);
    make();
    uint64_t told[TOLD] = {(uint64_t)getpid(), (uint64_t)witness.fd, sk_witness_log.ring ? sk_witness_log.ring->nonce : 0, host(), (uint64_t)sk_world.keeper};
    if (!held || !all || SK_CALL(Allgather, (told, TOLD, MPI_UINT64_T, all, TOLD, MPI_UINT64_T, sk_world.comm)))
        sk_world_fail(SK_WORLD_FAILED, "the ranks could not tell each other where their events are: the job is started again");
    free(witness.all);
    witness.all = all;
    for (int i = 0; i < WITNESSES; i++) {
        keep(&witness.of[i], neighbour(me, -1, i));
        mine[0] |= witness.of[i].memory ? 1 << i : 0;
    }
    if (n > 1 && neighbour(me, 1, 0) < 0)
        mine[1] = ask_keeper();
    if (SK_CALL(Allgather, (mine, 2, MPI_INT, held, 2, MPI_INT, sk_world.comm)))
        sk_world_fail(SK_WORLD_FAILED, "the ranks could not tell each other whose events they keep: the job is started again");
    witness.is_kept = is_kept((const int (*)[2])held, me);
    for (int r = 0; r < n; r++)
        all[r][KEPT_AT] = (uint64_t)held[r][1];
    free(held);
}

int sk_witness_is_kept(void)
{
    return witness.is_kept;
}

void sk_witness_begin(void)
{
    sk_outcomes_clear(&sk_witness_log);
    sk_outcomes_clear(&sk_witness_setup);
    if (sk_witness_setup.ring)
        sk_outcomes_mark(&sk_witness_setup, SETUP_KEY);
}

/* ---- in a repair ---- */

static void stop_if(int rc)
{
    if (rc)
        sk_world_fail(SK_WORLD_FAILED, "the events of a dead process could not be given to the new one: the job is started again");
}

/* What this rank has of one that is dead, the most the best. */
enum knows { NOTHING, WHERE_IT_IS, ITSELF };

static enum knows what_is_known(int rank)
{
    const struct kept *k = witness.of;
    while (k < witness.of + WITNESSES && k->rank != rank)
        k++;
    if (k < witness.of + WITNESSES && k->memory) /* a process that logged nothing any more is followed by one that cannot be told */
        return course_of(k->memory)->refused ? NOTHING : ITSELF;
    return witness.all && witness.all[rank][KEPT_AT] ? WHERE_IT_IS : NOTHING;
}

/* What is mapped here is put aside, as the next exchange is about the new process. */
static void put_aside(int rank)
{
    for (int i = 0; i < WITNESSES; i++)
        if (witness.of[i].rank == rank) {
            forget(&witness.given[i]);
            witness.given[i] = witness.of[i];
            witness.of[i] = (struct kept){.rank = -1};
        }
}

/* The new process opens what the keeper of the one before it has. 1: it is what it should be. */
static int find_own(int speaker, int rank)
{
    uint64_t where[3];
    if (speaker == sk_world.rank) {
        const uint64_t *told = witness.all[rank];
        memcpy(where, (uint64_t[]){told[KEEPER], told[KEPT_AT] - 1, told[NONCE]}, sizeof where);
        stop_if(SK_CALL(Send, (where, 3, MPI_UINT64_T, rank, SK_LOGGING_TAG_REPAIR, sk_world.comm)));
    }
    if (rank != sk_world.rank)
        return 1;
    stop_if(SK_CALL(Recv, (where, 3, MPI_UINT64_T, speaker, SK_LOGGING_TAG_REPAIR, sk_world.comm, MPI_STATUS_IGNORE)));
    witness.own = open_of(where[0], where[1], where[2]);
    return witness.own && !course_of(witness.own)->refused;
}

int sk_witness_is_known(const char *is_new)
{
    int n = sk_world.size, me = sk_world.rank, mine[SK_REPAIR_MOST] = {0}, new = 0, at = 0, well = 1, yes = 1;
    int (*all)[SK_REPAIR_MOST] = malloc(sizeof *all * (size_t)n), *speaker = realloc(witness.speaker, sizeof *speaker * (size_t)n);
    stop_if(!all || !speaker);
    witness.speaker = speaker;
    for (int r = 0; r < n && new < SK_REPAIR_MOST; r++)
        if (is_new[r])
            mine[new++] = is_new[me] ? NOTHING : (int)what_is_known(r);
    stop_if(SK_CALL(Allgather, (mine, SK_REPAIR_MOST, MPI_INT, all, SK_REPAIR_MOST, MPI_INT, sk_world.comm)));
    for (int r = 0; r < n; r++) {
        int best = NOTHING;
        speaker[r] = -1;
        for (int k = 0; is_new[r] && k < n; k++)
            if (all[k][at] > best) {
                best = all[k][at];
                speaker[r] = k;
            }
        at += is_new[r] && at < SK_REPAIR_MOST - 1;
        yes &= !is_new[r] || best != NOTHING;
        if (best == ITSELF && speaker[r] == me)
            put_aside(r);
        if (best == WHERE_IT_IS)
            well &= find_own(speaker[r], r);
    }
    stop_if(SK_CALL(Allgather, (&well, 1, MPI_INT, all, 1, MPI_INT, sk_world.comm)));
    for (int k = 0; k < n; k++)
        yes &= (&all[0][0])[k];
    free(all);
    if (!yes && witness.own) {
        munmap(witness.own, BYTES);
        witness.own = NULL;
    }
    return yes;
}

/* What follows the mark. */
static uint64_t *copy(const struct sk_outcomes *e, int64_t key, uint64_t *n)
{
    *n = sk_outcomes_since(e, SK_OUTCOMES_WORDS, key, NULL);
    uint64_t *word = malloc((*n + 1) * sizeof *word);
    stop_if(!word);
    if (*n)
        sk_outcomes_since(e, SK_OUTCOMES_WORDS, key, word);
    return word;
}

static void send_copy(int rank, const struct sk_outcomes *e, int64_t key)
{
    uint64_t n, *word = copy(e, key, &n);
    stop_if(SK_CALL(Send, (&n, 1, MPI_UINT64_T, rank, SK_LOGGING_TAG_REPAIR, sk_world.comm)));
    stop_if(SK_CALL(Send, (word, (int)n, MPI_UINT64_T, rank, SK_LOGGING_TAG_REPAIR, sk_world.comm)));
    free(word);
}

/* What this rank has to give of a process whose place has another one; NULL: that is not its affair. */
static struct kept *to_give(int rank)
{
    for (struct kept *k = witness.given; k < witness.given + WITNESSES && witness.speaker[rank] == sk_world.rank; k++)
        if (k->rank == rank && k->memory)
            return k;
    return NULL;
}

void sk_witness_send_setup(int rank)
{
    struct kept *k = to_give(rank);
    if (k)
        send_copy(rank, setup_of(k->memory), SETUP_KEY);
}

void sk_witness_send(int rank, int64_t key)
{
    struct kept *k = to_give(rank);
    if (!k)
        return;
    struct sk_course_check check = sk_course_check_of(course_of(k->memory), key);
    send_copy(rank, k->memory, key);
    stop_if(SK_CALL(Send, (&check, sizeof check, MPI_BYTE, rank, SK_LOGGING_TAG_REPAIR, sk_world.comm)));
    forget(k);
}

/* From whoever speaks. */
static uint64_t *hear(uint64_t *n)
{
    int from = witness.speaker[sk_world.rank];
    stop_if(SK_CALL(Recv, (n, 1, MPI_UINT64_T, from, SK_LOGGING_TAG_REPAIR, sk_world.comm, MPI_STATUS_IGNORE)));
    uint64_t *word = *n > SK_OUTCOMES_WORDS ? NULL : malloc((*n + 1) * sizeof *word);
    stop_if(!word);
    stop_if(SK_CALL(Recv, (word, (int)*n, MPI_UINT64_T, from, SK_LOGGING_TAG_REPAIR, sk_world.comm, MPI_STATUS_IGNORE)));
    return word;
}

static void take(struct sk_outcomes_log *l, uint64_t *word, uint64_t n, int64_t key)
{
    stop_if(n && !witness.is_kept); /* another one could not be told any more */
    sk_outcomes_clear(l);
    if (!n && l->ring) /* the one before had nothing that could be kept, and so nothing to be told */
        sk_outcomes_mark(l, key);
    stop_if(n && sk_outcomes_load(l, word, n));
    free(word);
}

void sk_witness_receive_setup(void)
{
    uint64_t n, *word = witness.own ? copy(setup_of(witness.own), SETUP_KEY, &n) : hear(&n);
    take(&sk_witness_setup, word, n, SETUP_KEY);
}

void sk_witness_receive(int64_t key, struct sk_course_check *check)
{
    uint64_t n, *word = witness.own ? copy(witness.own, key, &n) : hear(&n);
    if (witness.own) {
        *check = sk_course_check_of(course_of(witness.own), key);
        munmap(witness.own, BYTES);
        witness.own = NULL;
    } else {
        stop_if(SK_CALL(Recv, (check, sizeof *check, MPI_BYTE, witness.speaker[sk_world.rank], SK_LOGGING_TAG_REPAIR, sk_world.comm, MPI_STATUS_IGNORE)));
    }
    take(&sk_witness_log, word, n, key);
}
