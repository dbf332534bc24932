/* The sockets are MPI's, which has connections made when they are needed: so they are looked for among all descriptors, from time to time. They are watched by
 * the edge: one that MPI leaves unread, as the other end is gone, would end each sleep at once. */
#include "world/rest/arrivals.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

/* How long a new connection may be overlooked at least, or where one was closed for it; and no more than one part of so many of the time goes by with looking for them. */
static const double fresh_s = 0.02, replaced_s = 1, part = 64;

static const char descriptors[] = "/proc/self/fd";
static int watched = -1;
static double look_at;     /* when they are looked for again */
static double anew_at;     /* the same, where there are as many descriptors as … */
static off_t there_were;   /* … when they were looked for */

/* As Linux 6.2 and later tell it; 0: not known. */
static off_t how_many(void)
{
    struct stat s;
    return stat(descriptors, &s) ? 0 : s.st_size;
}

/* Those that are watched already stay so; those that were closed are gone. */
static void watch(int fd)
{
    int protocol = 0;
    socklen_t n = sizeof protocol;
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
    if (!getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &n) && protocol == IPPROTO_TCP)
        epoll_ctl(watched, EPOLL_CTL_ADD, fd, &e);
}

static void look_for_sockets(double now)
{
    off_t there_are = how_many();
    look_at = now + fresh_s;
    if (there_are && there_are == there_were && now < anew_at)
        return;
    there_were = there_are;
    anew_at = now + replaced_s;
    DIR *d = opendir(descriptors);
    for (const struct dirent *e; d && (e = readdir(d));)
        if (*e->d_name != '.')
            watch((int)strtol(e->d_name, NULL, 10));
    if (d)
        closedir(d);
    look_at = now + fresh_s + part * (sk_now() - now);
}

/* 1: something has happened. -1: the descriptor is not that any more, as a program may close all that it does not know. */
static int take(void)
{
    enum { MOST = 64 };
    struct epoll_event e[MOST];
    int all = 0, n;
    while ((n = epoll_wait(watched, e, MOST, 0)) > 0)
        all += n;
    return n < 0 && errno != EINTR ? -1 : all > 0;
}

int sk_arrivals_sleep(double seconds)
{
    double now = sk_now();
    if (watched < 0) {
        watched = epoll_create1(EPOLL_CLOEXEC);
        look_at = anew_at = 0;
    }
    if (watched >= 0 && now >= look_at)
        look_for_sockets(now);
    struct pollfd p = {.fd = watched, .events = POLLIN};
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    int woken = ppoll(&p, 1, &t, NULL) > 0 ? take() : 0; /* of no descriptor it sleeps alone */
    if (woken < 0) {
        watched = -1;
        sk_sleep(seconds);
    }
    return woken > 0;
}
