/* A thread between client and server that keeps what the client says. */
#include "backbone/rates/recorder_testing.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 1 << 20, PIECE = 4096 };

struct recorder {
    int listener, to;
    pthread_t thread;
    atomic_int stop;
    size_t n;
    uint8_t said[MOST];
};

static struct sockaddr_in at(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
}

int recorder_connect(int port)
{
    struct sockaddr_in a = at(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* What can be read of one, to the other; 0: it is over. */
static int pass(struct recorder *r, int from, int to, int keep)
{
    uint8_t piece[PIECE];
    ssize_t n = recv(from, piece, sizeof piece, 0);
    if (n <= 0 || send(to, piece, (size_t)n, MSG_NOSIGNAL) != n)
        return 0;
    if (keep && r->n + (size_t)n <= MOST) {
        memcpy(r->said + r->n, piece, (size_t)n);
        r->n += (size_t)n;
    }
    return 1;
}

static void pump(struct recorder *r, int client)
{
    int server = recorder_connect(r->to);
    struct pollfd p[] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    for (int go_on = server >= 0; go_on && !atomic_load(&r->stop);) {
        poll(p, 2, 20);
        if (p[0].revents)
            go_on = pass(r, client, server, 1);
        if (go_on && p[1].revents)
            go_on = pass(r, server, client, 0);
    }
    close(client);
    if (server >= 0)
        close(server);
}

static void *record(void *arg)
{
    struct recorder *r = arg;
    struct pollfd p = {.fd = r->listener, .events = POLLIN};
    while (!atomic_load(&r->stop)) {
        int client = poll(&p, 1, 20) > 0 ? accept(r->listener, NULL, NULL) : -1;
        if (client >= 0)
            pump(r, client);
    }
    return NULL;
}

struct recorder *recorder_start(int to, int *port)
{
    struct recorder *r = calloc(1, sizeof *r);
    struct sockaddr_in a = at(0);
    socklen_t n = sizeof a;
    if (!r)
        return NULL;
    r->to = to;
    r->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (r->listener < 0 || bind(r->listener, (struct sockaddr *)&a, sizeof a) || listen(r->listener, 8) ||
        getsockname(r->listener, (struct sockaddr *)&a, &n) || pthread_create(&r->thread, NULL, record, r)) {
        if (r->listener >= 0)
            close(r->listener);
        free(r);
        return NULL;
    }
    *port = ntohs(a.sin_port);
    return r;
}

uint8_t *recorder_end(struct recorder *r, size_t *n)
{
    atomic_store(&r->stop, 1);
    pthread_join(r->thread, NULL);
    close(r->listener);
    uint8_t *said = malloc(r->n + 1);
    *n = said ? r->n : 0;
    if (said)
        memcpy(said, r->said, r->n);
    free(r);
    return said;
}

size_t recorder_replay(int port, const uint8_t *bytes, size_t n, double seconds, int *hung_up)
{
    uint8_t piece[PIECE];
    size_t heard = 0;
    int over = 0, fd = recorder_connect(port);
    if (fd < 0)
        return 0;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    over = n && send(fd, bytes, n, MSG_NOSIGNAL) != (ssize_t)n;
    while (!over && poll(&p, 1, (int)(seconds * 1000)) > 0) {
        ssize_t k = recv(fd, piece, sizeof piece, 0);
        over = k <= 0;
        heard += k > 0 ? (size_t)k : 0;
    }
    close(fd);
    if (hung_up)
        *hung_up = over;
    return heard;
}
