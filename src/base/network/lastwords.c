/* Reads /proc/net/sockstat and /proc/net/tcp, and the states of this process's own sockets. */
#include "base/network/lastwords.h"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* After so many looks without any change what is unread counts as somebody else's. */
enum { MOST_TURNS = 50 };

/* How often connections of others are looked for: the longer that takes, the less often. */
static const double look_s = 5, look_part = 1000;

/* Its end was sent, behind all data, and is not confirmed. */
static int has_closed(unsigned state)
{
    return state == TCP_FIN_WAIT1 || state == TCP_CLOSING || state == TCP_LAST_ACK;
}

/* Of both ends' addresses and ports; FNV-1a. */
static uint64_t name_of(const char *local, const char *remote)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (const char *p = local; *p; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    for (const char *p = remote; *p; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    return h;
}

/* What has no process is root's where the kernel does not tell. */
static int may_be_own(unsigned user)
{
    unsigned own = getuid();
    return !user || !own || user == own;
}

/* A connection that has lost its process. */
typedef void found(void *to, uint64_t name, unsigned user);

/* sl local:port remote:port state tx:rx timer:when retransmits uid timeout inode */
static void look_in(const char *path, found *f, void *to)
{
    char line[512], local[48], remote[48];
    int l, r;
    unsigned state, user;
    unsigned long inode;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        int n = sscanf(line, " %*u: %47[0-9A-F:] %47[0-9A-F:] %x %*x:%*x %*x:%*x %*x %u %*u %lu", local, remote, &state, &user, &inode);
        if (n != 5 || inode || !has_closed(state))
            continue;
        l = (int)strcspn(local, ":"), r = (int)strcspn(remote, ":");
        if (l != r || strncmp(local, remote, (size_t)l)) /* this host to itself */
            f(to, name_of(local, remote), user);
    }
    if (file)
        fclose(file);
}

/* 1: no connection of this system is without a process. The kernel's tables of connections are long, and take milliseconds to walk where a number says so at once. */
static int none_in_sockstat(void)
{
    char line[256];
    int orphans = -1;
    FILE *f = fopen("/proc/self/net/sockstat", "re");
    while (f && orphans < 0 && fgets(line, sizeof line, f))
        sscanf(line, "TCP: inuse %*d orphan %d", &orphans);
    if (f)
        fclose(f);
    return !orphans;
}

/* The number is summed up while others change it, so that one look may miss one. */
static void look_everywhere(found *f, void *to)
{
    if (none_in_sockstat() && none_in_sockstat())
        return;
    look_in("/proc/self/net/tcp", f, to);
    look_in("/proc/self/net/tcp6", f, to);
}

/* More than there is room for are taken for own ones later: whoever waits for them waits in vain, but nothing is missed. */
static void note(void *to, uint64_t name, unsigned user)
{
    struct sk_lastwords_others *o = to;
    (void)user;
    if (o->n_seen < (int)(sizeof o->seen / sizeof *o->seen))
        o->seen[o->n_seen++] = name;
}

static void keep_seen(struct sk_lastwords_others *o)
{
    memcpy(o->known, o->seen, sizeof o->known);
    o->n_known = o->n_seen;
}

/* Of this thread: how long a busy machine takes for a look says nothing. */
static double processor_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void sk_lastwords_look(struct sk_lastwords_others *o, double now)
{
    int first = o->look_at == 0;
    if (now < o->look_at)
        return;
    double begun = processor_s();
    keep_seen(o);
    o->n_seen = 0;
    look_everywhere(note, o);
    if (first) /* before there was a process */
        keep_seen(o);
    o->look_at = now + look_s + look_part * (processor_s() - begun);
}

struct count {
    const struct sk_lastwords_others *others;
    int n;
};

static void count(void *to, uint64_t name, unsigned user)
{
    struct count *c = to;
    int known = !may_be_own(user);
    for (int i = 0; c->others && !known && i < c->others->n_known; i++)
        known = c->others->known[i] == name;
    c->n += !known;
}

int sk_lastwords_unsent(const struct sk_lastwords_others *o)
{
    struct count c = {o, 0};
    look_everywhere(count, &c);
    return c.n;
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
