/* A trial of the real messages, and a page of the host's ranks, which the first of them makes and the others open by way of /proc. */
#include "world/form/moves.h"

#include "base/hash.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

struct page {
    uint64_t nonce;
    struct {
        _Atomic uint32_t sent, looked, taken; /* in the trial: this rank has sent; has looked; and has got all meanwhile */
        _Atomic uint32_t gaps;                /* it receives into gaps */
    } of[];                                   /* by rank of the world */
};

struct place {
    uint64_t process, descriptor, nonce, host;
};

/* What a rank has found. */
struct found {
    char here, moves; /* the page of its host; and the trial has shown it */
};

static struct page *page; /* NULL: nothing moves */
static char *moves;       /* by rank */

static size_t page_bytes(void)
{
    return sizeof(struct page) + sizeof *page->of * (size_t)sk_world.size;
}

static struct page *map(int fd)
{
    void *p = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* A page that the others may open. Its descriptor, or -1. */
static int make(struct place *at)
{
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    *at = (struct place){.process = (uint64_t)getpid(), .host = sk_hash64(name, strlen(name))};
    int fd = memfd_create("saikai-moves", MFD_CLOEXEC);
    uint64_t nonce = 0;
    at->descriptor = (uint64_t)fd;
    if (fd >= 0 && !ftruncate(fd, (off_t)page_bytes()) && getrandom(&nonce, sizeof nonce, 0) == (ssize_t)sizeof nonce &&
        pwrite(fd, &nonce, sizeof nonce, 0) == (ssize_t)sizeof nonce)
        at->nonce = nonce;
    return fd;
}

/* NULL: it is not what it was said to be, as a number of a process may be another one's in another container. */
static struct page *open_of(const struct place *at)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)at->process, (unsigned long long)at->descriptor);
    int fd = at->nonce ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct page *p = fd >= 0 && lseek(fd, 0, SEEK_END) == (off_t)page_bytes() ? map(fd) : NULL;
    if (fd >= 0)
        close(fd);
    if (p && p->nonce != at->nonce) {
        munmap(p, page_bytes());
        p = NULL;
    }
    return p;
}

enum { MOST = 1 << 20, SIZES = 3 }; /* of several sizes, as there are several ways */
static const int trial_bytes[SIZES] = {1 << 14, 1 << 18, MOST};

/* Until the other one has set a word of its part; 0: it has not, for so long that it must have died. */
static int await(const _Atomic uint32_t *word)
{
    enum { TURN_US = 50, TURNS = 600000 };
    for (int turn = 0; turn < TURNS; turn++)
        if (atomic_load(word))
            return 1;
        else
            usleep(TURN_US);
    return 0;
}

/* Who sends calls nothing of MPI's until the other one says that it has looked. 1: it had all. */
static int send_trial(MPI_Comm c, int peer, char *data)
{
    MPI_Request r[SIZES];
    int n = 0, rc = 0;
    while (n < SIZES && !(rc = SK_CALL(Isend, (data, trial_bytes[n], MPI_BYTE, peer, 0, c, &r[n]))))
        n++;
    atomic_store(&page->of[sk_world.rank].sent, 1);
    int brought = !rc && await(&page->of[peer].looked) && atomic_load(&page->of[peer].taken);
    for (int i = 0; i < n && !rc; i++)
        rc = SK_CALL(Wait, (&r[i], MPI_STATUS_IGNORE));
    return !rc && brought;
}

/* So many looks after the other one has sent: what comes by itself is there in a few of them, on a machine however busy. */
static void receive_trial(MPI_Comm c, int peer, char *data)
{
    enum { LOOKS = 2000 };
    MPI_Request r;
    int rc = 0, n = 0;
    await(&page->of[peer].sent);
    for (int look = 0; n < SIZES && !rc; n++) { /* one after the other: all come into the same place */
        int done = 0;
        rc = SK_CALL(Irecv, (data, trial_bytes[n], MPI_BYTE, peer, 0, c, &r));
        for (; !rc && !done && look < LOOKS; look++)
            rc = SK_CALL(Test, (&r, &done, MPI_STATUS_IGNORE));
        if (rc || done)
            continue;
        atomic_store(&page->of[sk_world.rank].looked, 1);
        rc = SK_CALL(Wait, (&r, MPI_STATUS_IGNORE));
    }
    atomic_store(&page->of[sk_world.rank].taken, !rc && !atomic_load(&page->of[sk_world.rank].looked));
    atomic_store(&page->of[sk_world.rank].looked, 1);
}

/* The other one of two on this host who try it; -1: there is none. */
static int partner(const struct place *place, const struct found *found)
{
    int nth = 0, before = -1;
    for (int r = 0; r < sk_world.size; r++) {
        if (!found[r].here || place[r].host != place[sk_world.rank].host)
            continue;
        if (r == sk_world.rank && nth % 2)
            return before;
        if (before == sk_world.rank && nth % 2)
            return r;
        before = r;
        nth++;
    }
    return -1;
}

static void share(const void *mine, void *all, size_t bytes)
{
    if (SK_CALL(Allgather, (mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, sk_world.comm)))
        sk_world_fail(SK_WORLD_FAILED, "the ranks could not try whether messages come without their senders: the job is started again");
}

/* Where it holds for one pair of a host it does for all: they were started together. */
static void try_it(const struct place *place, struct found *found)
{
    struct found mine = {.here = found[sk_world.rank].here};
    /* its memory is not the program's malloc's, which would have the next large pieces elsewhere */
    void *data = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int peer = mine.here ? partner(place, found) : -1, any = 0;
    MPI_Comm c; /* the program's receives are not for these, nor are its attributes copied */
    if (data == MAP_FAILED || SK_CALL(Comm_split, (sk_world.comm, 0, sk_world.rank, &c)))
        sk_world_fail(SK_WORLD_FAILED, "no memory to begin");
    if (peer >= 0 && sk_world.rank < peer)
        mine.moves = (char)send_trial(c, peer, data);
    else if (peer >= 0)
        receive_trial(c, peer, data);
    SK_CALL(Comm_free, (&c));
    munmap(data, MOST);
    share(&mine, found, sizeof mine);
    for (int r = 0; r < sk_world.size; r++)
        any |= place[r].host == place[sk_world.rank].host && found[r].moves;
    for (int r = 0; r < sk_world.size; r++)
        moves[r] = (char)(any && mine.here && found[r].here && place[r].host == place[sk_world.rank].host);
}

static void forget(void)
{
    if (page)
        munmap(page, page_bytes());
    free(moves);
    page = NULL;
    moves = NULL;
}

void sk_moves_begin(void)
{
    size_t n = (size_t)sk_world.size;
    forget();
    if (sk_world.epoch || n < 2)
        return;
    struct place mine, *place = calloc(n, sizeof *place);
    struct found here = {0}, *found = calloc(n, sizeof *found);
    moves = calloc(n, 1);
    if (!place || !found || !moves)
        sk_world_fail(SK_WORLD_FAILED, "no memory to begin");
    int fd = make(&mine), first = 0;
    share(&mine, place, sizeof mine);
    while (place[first].host != mine.host)
        first++;
    page = open_of(&place[first]);
    here.here = page != NULL;
    share(&here, found, sizeof here);
    if (fd >= 0)
        close(fd);
    try_it(place, found);
    free(place);
    free(found);
}

void sk_moves_lose(const char *is_new)
{
    for (int r = 0; moves && r < sk_world.size; r++)
        moves[r] &= (char)!is_new[r];
}

int sk_moves_to(int rank)
{
    return moves && moves[rank] && !atomic_load_explicit(&page->of[rank].gaps, memory_order_relaxed);
}

/* What is smaller comes without its sender in any case. */
enum { LEAST = 1024 };

void sk_moves_into(int count, MPI_Datatype type)
{
    int bytes = 0;
    if (!page || atomic_load_explicit(&page->of[sk_world.rank].gaps, memory_order_relaxed) || sk_plain_bytes(type) >= 0)
        return;
    if (!SK_CALL(Type_size, (type, &bytes)) && (long long)bytes * count >= LEAST)
        atomic_store_explicit(&page->of[sk_world.rank].gaps, 1, memory_order_relaxed);
}
