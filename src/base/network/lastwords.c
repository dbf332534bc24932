/* Reads /proc/net/tcp, and the states of this process's own sockets. */
#include "base/network/lastwords.h"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* After so many looks without any change what is unread counts as somebody else's. */
enum { MOST_TURNS = 50 };

/* Its end was sent, behind all data, and is not confirmed. */
static int has_closed(unsigned state)
{
    return state == TCP_FIN_WAIT1 || state == TCP_CLOSING || state == TCP_LAST_ACK;
}

/* sl local:port remote:port state tx:rx timer:when retransmits uid timeout inode */
static int unsent_in(const char *path)
{
    char line[512], local[33], remote[33];
    unsigned state;
    unsigned long inode;
    int found = 0;
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        int n = sscanf(line, " %*u: %32[0-9A-F]:%*x %32[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %lu", local, remote, &state, &inode);
        found += n == 4 && !inode && has_closed(state) && strcmp(local, remote);
    }
    if (f)
        fclose(f);
    return found;
}

int sk_lastwords_unsent(void)
{
    return unsent_in("/proc/self/net/tcp") + unsent_in("/proc/self/net/tcp6");
}

/* What is unread of a connection whose other end has closed. */
static size_t unread_of(int fd)
{
    struct tcp_info info;
    int protocol = 0, bytes = 0;
    socklen_t n = sizeof protocol, m = sizeof info;
    if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &n) || protocol != IPPROTO_TCP || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &m))
        return 0;
    int closed = info.tcpi_state == TCP_CLOSE_WAIT || info.tcpi_state == TCP_CLOSE; /* the latter when it was reset */
    return closed && !ioctl(fd, FIONREAD, &bytes) && bytes > 0 ? (size_t)bytes : 0;
}

static size_t unread(void)
{
    size_t all = 0;
    DIR *d = opendir("/proc/self/fd");
    for (const struct dirent *e; d && (e = readdir(d));)
        if (*e->d_name != '.')
            all += unread_of((int)strtol(e->d_name, NULL, 10));
    if (d)
        closedir(d);
    return all;
}

int sk_lastwords_unread(struct sk_lastwords *l)
{
    size_t now = unread();
    int changed = !l->least || now < l->least;
    l->turns = changed ? 0 : l->turns + 1;
    if (changed)
        l->least = now;
    return now && l->turns < MOST_TURNS;
}
