/* A descriptor is made one of a socket whose other end nobody reads. Whoever polls for it hears nothing more, as with a host without power. */
#include "base/network/cut.h"

#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* 0: it is no address of the network. */
static int widened(const struct sockaddr *a, unsigned char out[16])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (a && a->sa_family == AF_INET) {
        memcpy(out, mapped, sizeof mapped);
        memcpy(out + sizeof mapped, &((const struct sockaddr_in *)a)->sin_addr, 4);
        return 1;
    }
    if (!a || a->sa_family != AF_INET6)
        return 0;
    memcpy(out, &((const struct sockaddr_in6 *)a)->sin6_addr, 16);
    return 1;
}

void sk_cut_own(struct sk_cut_host *host)
{
    struct ifaddrs *all = NULL;
    int n = 0;
    memset(host, 0, sizeof *host);
    if (getifaddrs(&all))
        return;
    for (const struct ifaddrs *i = all; i && n < SK_CUT_ADDRESSES; i = i->ifa_next)
        if (!(i->ifa_flags & IFF_LOOPBACK))
            n += widened(i->ifa_addr, host->address[n]);
    freeifaddrs(all);
}

static int leads_to(int fd, const struct sk_cut_host *host)
{
    static const unsigned char none[16];
    struct sockaddr_storage a;
    unsigned char peer[16];
    int protocol = 0;
    socklen_t n = sizeof protocol, m = sizeof a;
    if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &n) || protocol != IPPROTO_TCP || getpeername(fd, (struct sockaddr *)&a, &m) ||
        !widened((struct sockaddr *)&a, peer) || !memcmp(peer, none, sizeof none))
        return 0;
    for (int i = 0; i < SK_CUT_ADDRESSES; i++)
        if (!memcmp(peer, host->address[i], sizeof peer))
            return 1;
    return 0;
}

/* 1: it leads to nobody now. */
static int silence(int fd)
{
    int two[2], flags = fcntl(fd, F_GETFL), on_exec = fcntl(fd, F_GETFD);
    if (flags < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, two)) /* the other end stays open */
        return 0;
    fcntl(two[0], F_SETFL, flags);
    int done = dup3(two[0], fd, on_exec & FD_CLOEXEC ? O_CLOEXEC : 0) == fd;
    close(two[0]);
    if (!done)
        close(two[1]);
    return done;
}

int sk_cut_off(const struct sk_cut_host *host)
{
    int n = 0, fds[4096], cut = 0;
    DIR *d = opendir("/proc/self/fd");
    for (const struct dirent *e; d && n < (int)(sizeof fds / sizeof *fds) && (e = readdir(d));) {
        int fd = *e->d_name == '.' ? -1 : (int)strtol(e->d_name, NULL, 10);
        if (fd >= 0 && leads_to(fd, host))
            fds[n++] = fd;
    }
    if (d)
        closedir(d);
    for (int i = 0; i < n; i++)
        cut += silence(fds[i]);
    return cut;
}
