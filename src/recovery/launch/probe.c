/* Resolves the hosts once, then connects to all of them at the same time and waits for their
 * answers. */
#include "recovery/launch/probe.h"

#include "base/clock.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct target {
    struct sockaddr_storage address;
    socklen_t len; /* 0: the name is not known */
};

struct sk_probe {
    int n;
    struct pollfd *waits;
    struct target target[];
};

struct sk_probe *sk_probe_new(const struct sk_hosts *h)
{
    struct sk_probe *p = calloc(1, sizeof *p + sizeof *p->target * (size_t)h->n);
    if (!p || !(p->waits = calloc((size_t)h->n, sizeof *p->waits))) {
        free(p);
        return NULL;
    }
    p->n = h->n;
    for (int i = 0; i < h->n; i++) {
        struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
        if (getaddrinfo(h->host[i].name, "22", &hints, &found))
            continue;
        memcpy(&p->target[i].address, found->ai_addr, found->ai_addrlen);
        p->target[i].len = found->ai_addrlen;
        freeaddrinfo(found);
    }
    return p;
}

void sk_probe_free(struct sk_probe *p)
{
    if (!p)
        return;
    free(p->waits);
    free(p);
}

static int lives(int error)
{
    return !error || error == ECONNREFUSED || error == ECONNRESET;
}

/* Begin to connect; the descriptor, or -1 when the answer is there already (*answer). */
static int ask(const struct target *t, char *answer)
{
    int fd =
        t->len ? socket(t->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) : -1;
    *answer = 0;
    if (fd < 0)
        return -1;
    int failed = connect(fd, (const struct sockaddr *)&t->address, t->len) ? errno : 0;
    if (failed == EINPROGRESS)
        return fd;
    *answer = (char)lives(failed);
    close(fd);
    return -1;
}

void sk_probe_ask(struct sk_probe *p, double timeout_s, char *answers)
{
    int open = 0;
    double now = sk_now(), end = now + timeout_s;
    for (int i = 0; i < p->n; i++) {
        p->waits[i] = (struct pollfd){.fd = ask(&p->target[i], &answers[i]), .events = POLLOUT};
        open += p->waits[i].fd >= 0;
    }
    for (; open && now < end; now = sk_now()) {
        if (poll(p->waits, (nfds_t)p->n, (int)((end - now) * 1000) + 1) < 0 && errno != EINTR)
            break;
        for (int i = 0; i < p->n; i++) {
            int error = 0;
            socklen_t len = sizeof error;
            if (p->waits[i].fd < 0 || !p->waits[i].revents)
                continue;
            getsockopt(p->waits[i].fd, SOL_SOCKET, SO_ERROR, &error, &len);
            answers[i] = (char)lives(error);
            close(p->waits[i].fd);
            p->waits[i].fd = -1;
            open--;
        }
    }
    for (int i = 0; i < p->n; i++)
        if (p->waits[i].fd >= 0)
            close(p->waits[i].fd);
}
