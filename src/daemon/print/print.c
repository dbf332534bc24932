/* One thread takes (the keeper's), one hands over; between them a queue, which is bounded while the program lives. */
#include "daemon/print/print.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

/* How long whoever else has the program's output is waited for after its death; and how long a reader. */
static const double others_s = 0.5, reader_s = 1;
enum { AT_ONCE = 64 << 10, WAITING_MOST = 256 << 10 };

struct sk_print {
    int to, from, program; /* program: its end, until it is started */
    int wake;              /* can be read when something was handed over */
    int hidden, ended, runs;
    struct sk_unseen held;      /* while hidden */
    struct sk_printed count;  /* of what was not skipped */
    struct sk_printed at, skip; /* after a join: what comes is there, and is handed over from skip on */
    int skips;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t more;
    char *waiting;
    size_t n, cap;
    char *handing; /* by the thread, without the lock */
    int broken, busy, over;
};

/* Raw, since what is behind it does already what a terminal does to lines. */
static int open_terminal(int *from, int *program)
{
    struct termios t;
    char name[128];
    *from = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*from < 0)
        return -1;
    *program = grantpt(*from) || unlockpt(*from) || ptsname_r(*from, name, sizeof name) ? -1 : open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*program >= 0 && !tcgetattr(*program, &t)) {
        cfmakeraw(&t);
        if (!tcsetattr(*program, TCSANOW, &t))
            return 0;
    }
    if (*program >= 0)
        close(*program);
    close(*from);
    *from = *program = -1;
    return -1;
}

static int open_way(struct sk_print *p)
{
    int way[2];
    if (!isatty(p->to) || open_terminal(&p->from, &p->program)) {
        if (pipe2(way, O_CLOEXEC))
            return -1;
        p->from = way[0];
        p->program = way[1];
    }
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return p->wake < 0 ? -1 : fcntl(p->from, F_SETFL, O_NONBLOCK);
}

int sk_print_begin(int to, int hidden, struct sk_print **print, struct saikai_error *err)
{
    struct sk_print *p = calloc(1, sizeof *p);
    if (!p)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the output of the program");
    *p = (struct sk_print){.to = fcntl(to, F_DUPFD_CLOEXEC, 3), .from = -1, .program = -1, .wake = -1, .hidden = hidden, .held.most = SK_PRINT_HELD,
                           .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};
    if (p->to < 0 || open_way(p)) {
        int e = errno;
        sk_print_end(p);
        return sk_fail_errno(err, e, "cannot take the output of the program");
    }
    *print = p;
    return 0;
}

int sk_print_of_program(const struct sk_print *p)
{
    return p->program;
}

/* The thread may be ended where it writes: its frames are left as they are then, which the address sanitizer takes for damage when the thread's memory is given back. */
#define MAY_BE_LEFT __attribute__((no_sanitize_address))

/* With the lock, which is given back meanwhile. */
MAY_BE_LEFT static void hand_over(struct sk_print *p)
{
    char *data = p->handing = p->waiting;
    size_t n = p->n, done = 0;
    int state;
    p->waiting = NULL;
    p->n = p->cap = 0;
    p->busy = 1;
    pthread_mutex_unlock(&p->lock);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    while (done < n) {
        ssize_t k = write(p->to, data + done, n - done);
        if (k < 0 && errno != EINTR)
            break;
        done += k > 0 ? (size_t)k : 0;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    free(data);
    pthread_mutex_lock(&p->lock);
    p->handing = NULL;
    p->busy = 0;
    p->broken |= done < n;
    if (write(p->wake, &(uint64_t){1}, sizeof(uint64_t)) < 0) /* full: it can be read */
        return;
}

MAY_BE_LEFT static void *hand_all(void *arg)
{
    struct sk_print *p = arg;
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_mutex_lock(&p->lock);
    while (!p->over) {
        if (p->n)
            hand_over(p);
        else
            pthread_cond_wait(&p->more, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

int sk_print_started(struct sk_print *p, struct saikai_error *err)
{
    sigset_t all, before;
    close(p->program);
    p->program = -1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a reader that is gone is an error, and signals are the other thread's */
    int rc = pthread_create(&p->thread, NULL, hand_all, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    p->runs = !rc;
    return rc ? sk_fail_errno(err, rc, "cannot hand over the output of the program") : 0;
}

/* How much waits, and whether nobody reads. */
static size_t look(struct sk_print *p, int *broken)
{
    pthread_mutex_lock(&p->lock);
    size_t n = p->n + p->busy;
    *broken = p->broken;
    pthread_mutex_unlock(&p->lock);
    return n;
}

int sk_print_fd(struct sk_print *p)
{
    int broken = 0;
    size_t n = p ? look(p, &broken) : 0;
    if (!p || p->ended)
        return n && !broken ? p->wake : -1;
    return broken || n > WAITING_MOST ? p->wake : p->from;
}

static void queue(struct sk_print *p, const char *data, size_t n)
{
    sk_seam_count(&p->count, data, n);
    pthread_mutex_lock(&p->lock);
    if (p->n + n > p->cap && !p->broken) {
        size_t cap = 2 * (p->n + n);
        char *grown = realloc(p->waiting, cap);
        p->waiting = grown ? grown : p->waiting;
        p->cap = grown ? cap : p->cap;
        p->broken = !grown;
    }
    if (!p->broken) {
        memcpy(p->waiting + p->n, data, n);
        p->n += n;
    }
    pthread_cond_signal(&p->more);
    pthread_mutex_unlock(&p->lock);
}

static void take(struct sk_print *p, const char *data, size_t n)
{
    if (p->hidden) {
        sk_unseen_add(&p->held, data, n);
        return;
    }
    if (p->skips) {
        size_t before = sk_seam_before(&p->at, &p->skip, data, n);
        p->skips = before == n;
        data += before;
        n -= before;
    }
    if (n)
        queue(p, data, n);
}

static void close_from(struct sk_print *p)
{
    if (p->from >= 0)
        close(p->from);
    p->from = -1;
    p->ended = 1;
}

void sk_print_take(struct sk_print *p)
{
    char data[AT_ONCE];
    uint64_t times;
    int broken = 0;
    if (!p)
        return;
    if (read(p->wake, &times, sizeof times) < 0)
        times = 0; /* nothing was handed over meanwhile */
    look(p, &broken);
    if (p->ended)
        return;
    if (broken) { /* the program hears of it as without us */
        close_from(p);
        return;
    }
    while (look(p, &broken) <= WAITING_MOST) {
        ssize_t n = read(p->from, data, sizeof data);
        if (n > 0)
            take(p, data, (size_t)n);
        else if (n < 0 && errno == EINTR)
            continue;
        else {
            if (!n || errno != EAGAIN) /* EIO: of a terminal */
                close_from(p);
            return;
        }
    }
}

struct sk_printed sk_print_count(struct sk_print *p)
{
    return p && !p->hidden ? p->count : (struct sk_printed){0};
}

int sk_print_join(struct sk_print *p, struct sk_printed lead)
{
    if (!p || !p->hidden)
        return 0;
    struct sk_unseen *h = &p->held;
    int lost = h->from.lines > lead.lines || (h->from.lines == lead.lines && h->from.bytes > lead.bytes);
    p->hidden = 0;
    p->at = h->from;
    p->skip = p->count = lead;
    p->skips = 1;
    if (h->n)
        take(p, h->data, h->n);
    sk_unseen_free(h);
    return lost;
}

int sk_print_is_settled(struct sk_print *p, double gone_s)
{
    if (!p)
        return 1;
    sk_print_take(p);
    if (!p->ended && gone_s > others_s)
        close_from(p);
    return p->ended && (sk_print_is_out(p) || gone_s > reader_s);
}

int sk_print_is_out(struct sk_print *p)
{
    int broken = 0;
    return !p || !look(p, &broken) || broken;
}

void sk_print_end(struct sk_print *p)
{
    if (!p)
        return;
    if (p->runs) {
        pthread_mutex_lock(&p->lock);
        p->over = 1;
        pthread_cond_signal(&p->more);
        pthread_mutex_unlock(&p->lock);
        if (!sk_print_is_out(p))
            pthread_cancel(p->thread); /* the reader is slow */
        pthread_join(p->thread, NULL);
    }
    const int fds[] = {p->to, p->from, p->program, p->wake};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    sk_unseen_free(&p->held);
    free(p->waiting);
    free(p->handing);
    pthread_cond_destroy(&p->more);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
