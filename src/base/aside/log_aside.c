/* A queue of bytes between those who log and the thread that writes. */
#include "base/aside/log_aside.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text/shown.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often somebody who waits looks around. */
static const double look_s = 0.1;
/* Room for the word about lines that were left out. */
enum { WORD = 100 };

/* Whoever of the two comes last frees it: the thread may stay in a write for ever. */
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t n, lost; /* bytes that wait; lines that found no room */
    int ends, ended, left; /* the thread is to end, has ended; nobody waits for it */
    char bytes[SK_LOG_ASIDE_MOST], out[SK_LOG_ASIDE_MOST + WORD]; /* what waits; what is being written */
};

static struct queue *queue; /* NULL: lines go as they would without it */

static void destroy(struct queue *q)
{
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->changed);
    free(q);
}

/* All of it, however long that takes, unless nobody will ever read it. */
static void write_out(const char *p, size_t n)
{
    while (n) {
        ssize_t got = write(STDERR_FILENO, p, n);
        if (got >= 0) {
            p += got;
            n -= (size_t)got;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, (int)(look_s * 1000));
        } else if (errno != EINTR) {
            return;
        }
    }
}

/* With the lock: what waits, and how much was lost behind it, is what is to be written; how many bytes. */
static size_t take(struct queue *q)
{
    size_t n = q->n;
    memcpy(q->out, q->bytes, n);
    if (q->lost)
        n += (size_t)snprintf(q->out + n, WORD, "saikai: %zu more lines were left out: nobody read them\n", q->lost);
    q->n = q->lost = 0;
    return n;
}

static void *run(void *arg)
{
    struct queue *q = arg;
    pthread_mutex_lock(&q->lock);
    while (q->n || !q->ends) {
        if (!q->n) {
            pthread_cond_wait(&q->changed, &q->lock);
            continue;
        }
        size_t n = take(q);
        pthread_mutex_unlock(&q->lock);
        write_out(q->out, n);
        pthread_mutex_lock(&q->lock);
    }
    q->ended = 1;
    int left = q->left;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    if (left)
        destroy(q);
    return NULL;
}

static void put(void *arg, int level, const char *line)
{
    struct queue *q = arg;
    char shown[2048], out[2100];
    (void)level;
    sk_shown_into(shown, sizeof shown, line);
    size_t n = (size_t)snprintf(out, sizeof out, "saikai: %s\n", shown);
    pthread_mutex_lock(&q->lock);
    if (n > sizeof q->bytes - q->n) {
        q->lost++;
    } else {
        memcpy(q->bytes + q->n, out, n);
        q->n += n;
        pthread_cond_broadcast(&q->changed);
    }
    pthread_mutex_unlock(&q->lock);
}

/* No signal of the program's is for this thread. */
static int start_thread(struct queue *q)
{
    pthread_t t;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&t, NULL, run, q);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc ? rc : pthread_detach(t);
}

void sk_log_aside_begin(void)
{
    struct queue *q = queue ? NULL : calloc(1, sizeof *q);
    pthread_condattr_t attr;
    if (!q)
        return;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&q->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&q->lock, NULL);
    if (start_thread(q)) {
        destroy(q);
        return;
    }
    queue = q;
    sk_log_divert(put, q);
}

void sk_log_aside_end(int (*until)(void *arg), void *arg)
{
    struct queue *q = queue;
    if (!q)
        return;
    sk_log_divert(NULL, NULL);
    queue = NULL;
    pthread_mutex_lock(&q->lock);
    q->ends = 1;
    pthread_cond_broadcast(&q->changed);
    while (!q->ended && !q->left) {
        const struct timespec later = sk_clock_after(look_s);
        pthread_cond_timedwait(&q->changed, &q->lock, &later);
        q->left = !q->ended && until && until(arg);
    }
    int left = q->left;
    pthread_mutex_unlock(&q->lock);
    if (!left)
        destroy(q);
}
