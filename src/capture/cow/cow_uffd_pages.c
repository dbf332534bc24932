/* Pages of a snapshot by userfaultfd: protecting them in shares, and setting aside those that are about to be written. */
#include "capture/cow/cow_uffd.h"

#include "base/clock.h"
#include "capture/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* What a thread protects at once. */
#define SHARE_BYTES ((size_t)32 << 20)

int sk_uffd_read_memory(uint8_t *to, uintptr_t from, size_t n)
{
    struct iovec local = {to, n}, remote = {(void *)from, n};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n ? 0 : -1;
}

int64_t sk_uffd_set_aside(struct sk_uffd_job *u, size_t i, struct sk_interval b, uint64_t *counter)
{
    struct sk_interval run[SK_CHUNK_RUNS];
    size_t n = sk_pages_claim(&u->pages, i, b, run);
    int64_t bytes = 0;
    for (size_t k = 0; k < n; k++) {
        size_t size = run[k].to - run[k].from;
        struct sk_aside *to = sk_pool_reserve(u->job->pool, run[k].from, size);
        if (!to) {
            for (; k < n; k++)
                sk_pages_return(&u->pages, i, run[k]);
            return -1;
        }
        pthread_mutex_unlock(&u->lock);
        if (sk_uffd_read_memory(u->job->pool->mem + to->at, run[k].from, size))
            atomic_store(&u->broken, 1);
        pthread_mutex_lock(&u->lock);
        sk_pages_finish(&u->pages, i, run[k]);
        to->filled = 1;
        pthread_cond_signal(&u->filled);
        *counter += size;
        bytes += (int64_t)size;
    }
    return bytes;
}

/* The lock is held. 0: none is left. */
static int next_share(struct sk_uffd_job *u, struct sk_interval *share)
{
    const struct sk_intervals *later = &u->job->later;
    if (u->next_interval == later->n || u->protect_errno)
        return 0;
    const struct sk_interval x = later->v[u->next_interval];
    share->from = u->next_at > x.from ? u->next_at : x.from;
    share->to = x.to - share->from > SHARE_BYTES ? share->from + SHARE_BYTES : x.to;
    u->next_at = share->to;
    u->next_interval += share->to == x.to;
    return 1;
}

void sk_uffd_protect_shares(struct sk_uffd_job *u, int may_wait)
{
    struct sk_interval b;
    int e = 0;
    pthread_mutex_lock(&u->lock);
    while (e != -EAGAIN && next_share(u, &b)) {
        u->busy_shares++;
        pthread_mutex_unlock(&u->lock);
        struct uffdio_writeprotect w = {.range = {b.from, b.to - b.from},
                                        .mode = UFFDIO_WRITEPROTECT_MODE_WP};
        if (may_wait)
            e = sk_uffd_protect(u->fd, b.from, b.to, 1);
        else
            e = ioctl(u->fd, UFFDIO_WRITEPROTECT, &w) ? -errno : 0;
        pthread_mutex_lock(&u->lock);
        u->busy_shares--;
        if (e == -EAGAIN)
            u->refused = b;
        else if (e)
            u->protect_errno = -e;
    }
    pthread_cond_signal(&u->filled);
    pthread_mutex_unlock(&u->lock);
}
