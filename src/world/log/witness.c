/* Memory that outlives its process: a file without a name, mapped by the next ranks by way of /proc. It is gone with the last of them. */
#include "world/log/witness.h"

#include "world/layer.h"
#include "world/log/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

struct sk_outcomes_log sk_witness_log = {.none_at = UINT64_MAX};

/* Of each process: its events, and behind them its course. */
static const size_t BYTES = SK_OUTCOMES_BYTES(SK_OUTCOMES_WORDS) + sizeof(struct sk_course);

static struct sk_course *course_of(const struct sk_outcomes *e)
{
    return e ? (struct sk_course *)((char *)(uintptr_t)e + SK_OUTCOMES_BYTES(SK_OUTCOMES_WORDS)) : NULL;
}

struct sk_course *sk_witness_course(void)
{
    return course_of(sk_witness_log.ring);
}

/* So many ranks behind it keep the events of each. */
enum { WITNESSES = 3 };

static struct witness {
    int fd, is_kept;
    struct kept {
        struct sk_outcomes *now, *before; /* of the rank's process, and of the one before it */
    } of[WITNESSES];
} witness = {.fd = -1};

static int witnesses(void)
{
    return sk_world.size - 1 < WITNESSES ? sk_world.size - 1 : WITNESSES;
}

static void *map(int fd)
{
    void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* The memory of this process; there is only as much of it as is written. */
static void make(void)
{
    struct sk_outcomes_log *l = &sk_witness_log;
    if (l->ring || (witness.fd = memfd_create("saikai-events", MFD_CLOEXEC)) < 0)
        return;
    struct sk_outcomes *e = ftruncate(witness.fd, (off_t)BYTES) ? NULL : map(witness.fd);
    if (e && getrandom(&e->nonce, sizeof e->nonce, 0) == (ssize_t)sizeof e->nonce) {
        l->ring = e;
        l->words = SK_OUTCOMES_WORDS;
    } else if (e) {
        munmap(e, BYTES);
    }
}

/* What each tells: where its memory is, and what stands in it. */
enum { PROCESS, DESCRIPTOR, NONCE, TOLD };

static void keep(struct kept *k, const uint64_t told[TOLD])
{
    char path[64];
    if (k->now && k->now->nonce == told[NONCE])
        return;
    if (k->before)
        munmap(k->before, BYTES);
    k->before = k->now;
    snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)told[PROCESS], (unsigned long long)told[DESCRIPTOR]);
    int fd = told[NONCE] ? open(path, O_RDWR | O_CLOEXEC) : -1;
    k->now = fd < 0 ? NULL : lseek(fd, 0, SEEK_END) == (off_t)BYTES ? map(fd) : NULL;
    if (fd >= 0)
        close(fd);
    if (k->now && k->now->nonce != told[NONCE]) { /* on another host this is another process */
        munmap(k->now, BYTES);
        k->now = NULL;
    }
}

void sk_witness_exchange(void)
{
    int n = sk_world.size, *held = malloc(sizeof *held * (size_t)n), mine = 0;
    uint64_t (*all)[TOLD] = malloc(sizeof *all * (size_t)n);
    make();
    uint64_t me[TOLD] = {(uint64_t)getpid(), (uint64_t)witness.fd, sk_witness_log.ring ? sk_witness_log.ring->nonce : 0};
    if (!held || !all || SK_CALL(Allgather, (me, TOLD, MPI_UINT64_T, all, TOLD, MPI_UINT64_T, sk_world.comm)))
        sk_world_fail(SK_WORLD_FAILED, "the ranks could not tell each other where their events are: the job is started again");
    for (int i = 0; i < witnesses(); i++) {
        keep(&witness.of[i], all[(sk_world.rank - 1 - i + n) % n]);
        mine |= witness.of[i].now ? 1 << i : 0;
    }
    if (SK_CALL(Allgather, (&mine, 1, MPI_INT, held, 1, MPI_INT, sk_world.comm)))
        sk_world_fail(SK_WORLD_FAILED, "the ranks could not tell each other whose events they keep: the job is started again");
    witness.is_kept = sk_witness_log.ring && n > 1;
    for (int i = 0; i < witnesses(); i++)
        witness.is_kept &= held[(sk_world.rank + 1 + i) % n] >> i & 1;
    free(held);
    free(all);
}

int sk_witness_is_kept(void)
{
    return witness.is_kept;
}

/* Which of them speaks for this rank; -1: none. */
static int speaker(const char *is_new, int rank)
{
    for (int i = 0; i < witnesses(); i++)
        if (!is_new[(rank + 1 + i) % sk_world.size])
            return i;
    return -1;
}

int sk_witness_is_lost(const char *is_new, int rank)
{
    return speaker(is_new, rank) < 0;
}

static void stop_if(int rc)
{
    if (rc)
        sk_world_fail(SK_WORLD_FAILED, "the events of a dead process could not be given to the new one: the job is started again");
}

void sk_witness_send(const char *is_new, int rank, int64_t key)
{
    int i = speaker(is_new, rank);
    if (i < 0 || (rank + 1 + i) % sk_world.size != sk_world.rank)
        return;
    const struct sk_outcomes *e = witness.of[i].before;
    uint64_t n = e ? sk_outcomes_since(e, SK_OUTCOMES_WORDS, key, NULL) : 0;
    uint64_t *word = malloc((n + 1) * sizeof *word);
    stop_if(!word);
    if (n)
        sk_outcomes_since(e, SK_OUTCOMES_WORDS, key, word);
    stop_if(SK_CALL(Send, (&n, 1, MPI_UINT64_T, rank, SK_LOGGING_TAG_REPAIR, sk_world.comm)));
    stop_if(SK_CALL(Send, (word, (int)n, MPI_UINT64_T, rank, SK_LOGGING_TAG_REPAIR, sk_world.comm)));
    free(word);
    struct sk_course_check check = e ? sk_course_check_of(course_of(e), key) : (struct sk_course_check){.known = 2};
    stop_if(SK_CALL(Send, (&check, sizeof check, MPI_BYTE, rank, SK_LOGGING_TAG_REPAIR, sk_world.comm)));
}

void sk_witness_receive(const char *is_new, int64_t key, struct sk_course_check *check)
{
    int i = speaker(is_new, sk_world.rank), from = (sk_world.rank + 1 + i) % sk_world.size;
    uint64_t n = 0;
    *check = (struct sk_course_check){.known = 2}; /* nobody knows */
    if (i < 0)
        return;
    stop_if(SK_CALL(Recv, (&n, 1, MPI_UINT64_T, from, SK_LOGGING_TAG_REPAIR, sk_world.comm, MPI_STATUS_IGNORE)));
    uint64_t *word = n > SK_OUTCOMES_WORDS ? NULL : malloc((n + 1) * sizeof *word);
    stop_if(!word);
    stop_if(SK_CALL(Recv, (word, (int)n, MPI_UINT64_T, from, SK_LOGGING_TAG_REPAIR, sk_world.comm, MPI_STATUS_IGNORE)));
    stop_if(n && !witness.is_kept); /* another one could not be told any more */
    sk_outcomes_clear(&sk_witness_log);
    if (!n && sk_witness_log.ring) /* the one before had nothing that could be kept, and so nothing to be told */
        sk_outcomes_mark(&sk_witness_log, key);
    stop_if(n && sk_outcomes_load(&sk_witness_log, word, n));
    free(word);
    stop_if(SK_CALL(Recv, (check, sizeof *check, MPI_BYTE, from, SK_LOGGING_TAG_REPAIR, sk_world.comm, MPI_STATUS_IGNORE)));
}
