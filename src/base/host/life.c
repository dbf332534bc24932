/* Knows a process by its id, its start time and the system it runs on, all read from /proc. */
#include "base/host/life.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t read_text(const char *path, char *out, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, cap - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    return n;
}

/* When the process began, in ticks of its system's clock, and its state; -1: there is none. */
static int look_at(int64_t pid, uint64_t *started, char *state)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    if (read_text(path, text, sizeof text) <= 0)
        return -1;
    const char *p = strrchr(text, ')'); /* the name before it may hold anything */
    return p && sscanf(p + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
                       state, started) == 2
               ? 0
               : -1;
}

static void find_place(char *out, size_t cap)
{
    char boot[64];
    struct stat sb;
    if (read_text("/proc/sys/kernel/random/boot_id", boot, sizeof boot) <= 0 || stat("/proc/self/ns/pid", &sb)) {
        *out = 0;
        return;
    }
    boot[strcspn(boot, "\n ")] = 0;
    snprintf(out, cap, "%s/%llu", boot, (unsigned long long)sb.st_ino);
}

void sk_life_own(struct sk_life *out)
{
    char state;
    *out = (struct sk_life){.pid = getpid()};
    find_place(out->place, sizeof out->place);
    if (look_at(out->pid, &out->started, &state))
        *out->place = 0; /* without it nobody can tell */
}

int sk_life_goes_on(const struct sk_life *l)
{
    char here[sizeof l->place], state = 0;
    uint64_t started = 0;
    if (l->pid <= 0)
        return 0;
    find_place(here, sizeof here);
    if (!*here || strcmp(here, l->place))
        return -1;
    if (look_at(l->pid, &started, &state))
        return kill((pid_t)l->pid, 0) && errno == ESRCH ? 0 : -1;
    return started == l->started && state != 'Z' && state != 'X';
}

char *sk_life_print(const struct sk_life *l, char out[SK_LIFE_TEXT])
{
    snprintf(out, SK_LIFE_TEXT, "%s %" PRId64 " %" PRIu64, *l->place ? l->place : "-", l->pid, l->started);
    return out;
}

int sk_life_parse(const char *text, struct sk_life *out)
{
    struct sk_life l = {0};
    int end = 0;
    if (sscanf(text, "%79s %" SCNd64 " %" SCNu64 "%n", l.place, &l.pid, &l.started, &end) != 3 || text[end] || l.pid < 0)
        return -1;
    for (const char *p = l.place; *p; p++)
        if (!isgraph((unsigned char)*p))
            return -1;
    if (!strcmp(l.place, "-"))
        *l.place = 0;
    *out = l;
    return 0;
}
