/* A word for each process in memory that all share, by way of /proc, and on which it sleeps (futex). Whoever rings changes the word before it looks whether somebody
 * sleeps, and whoever sleeps says so before the system compares the word: so no ring is lost. Of many who ring the first alone wakes: who is woken may have to wait for a
 * core, and sleeps no more. */
#include "world/rest/bell.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Looks before the first sleep, as the message may be on its way; and how long a sleep without a ring is: at first, when many were in vain, and where all rings. Each that
 * ends by itself interrupts one that computes; and a sleep that would end before the system's own tick has a timer of the processor set, twice, which costs a virtual machine more than the sleep. */
enum { LOOKS = 3, FIRST_NS = 50000, LONGEST_NS = 800000, WITH_ALL_NS = 5000000 };
enum { LINE = 64 }; /* of a cache */

struct bell {
    _Alignas(LINE) _Atomic uint32_t rung;
    _Atomic uint32_t sleeps; /* for what */
};

struct bells {
    uint64_t nonce;
    struct bell of[];
};

static struct bells *bells; /* NULL: nobody is rung */
static int self, descriptor = -1;
static size_t bytes;

static struct bells *map(int fd)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void know_size(int processes)
{
    bytes = sizeof(struct bells) + sizeof(struct bell) * (size_t)processes;
}

void sk_bell_make(int processes, struct sk_bell_place *at)
{
    know_size(processes);
    *at = (struct sk_bell_place){0};
    descriptor = memfd_create("saikai-bells", MFD_CLOEXEC);
    if (descriptor < 0)
        return;
    bells = ftruncate(descriptor, (off_t)bytes) ? NULL : map(descriptor);
    if (bells && getrandom(&bells->nonce, sizeof bells->nonce, 0) == (ssize_t)sizeof bells->nonce)
        *at = (struct sk_bell_place){(uint64_t)getpid(), (uint64_t)descriptor, bells->nonce};
}

/* A number of a process may be another one's, in another container: then what is there is not ours. */
int sk_bell_find(int processes, const struct sk_bell_place *at)
{
    char path[64];
    know_size(processes);
    snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)at->process, (unsigned long long)at->descriptor);
    int fd = at->nonce ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    if (lseek(fd, 0, SEEK_END) == (off_t)bytes)
        bells = map(fd);
    close(fd);
    return bells && bells->nonce == at->nonce;
}

void sk_bell_hang(int me, int all)
{
    self = me;
    if (bells && !all) {
        munmap(bells, bytes);
        bells = NULL;
    }
    if (descriptor >= 0)
        close(descriptor);
    descriptor = -1;
}

uint32_t sk_bell_rung(void)
{
    return bells ? atomic_load(&bells->of[self].rung) : 0;
}

void sk_bell_ring(int process, unsigned what)
{
    if (!bells)
        return;
    struct bell *b = &bells->of[process];
    atomic_fetch_add(&b->rung, 1);
    uint32_t sleeps = atomic_load(&b->sleeps);
    if (sleeps & what && atomic_compare_exchange_strong(&b->sleeps, &sleeps, 0))
        syscall(SYS_futex, &b->rung, FUTEX_WAKE, 1, NULL, NULL, 0);
}

int sk_bell_sleep(uint32_t rung, unsigned vain, unsigned what)
{
    if (!bells)
        return 0;
    if (vain < LOOKS)
        return 1;
    long ns = FIRST_NS;
    for (unsigned i = LOOKS; i < vain && ns < LONGEST_NS; i++)
        ns *= 2;
    if (what & SK_BELL_ALL)
        ns = WITH_ALL_NS;
    struct bell *b = &bells->of[self];
    atomic_store(&b->sleeps, what);
    syscall(SYS_futex, &b->rung, FUTEX_WAIT, rung, &(struct timespec){.tv_nsec = ns}, NULL, 0);
    atomic_store(&b->sleeps, 0);
    return 1;
}
