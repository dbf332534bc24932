/* The ranks of a node divide what memory and space there is for their node-local files. */
#include "lib/engine/room.h"

#include "base/clock.h"
#include "base/host/headroom.h"
#include "base/own/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Seconds to wait for another rank that takes its part; one that was stopped meanwhile must not stop the others. */
static const double longest_wait = 5;

static int lock_directory(const char *root)
{
    int fd = sk_own(open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), SK_OWN_GOES); /* a process forked meanwhile would hold the lock */
    for (double until = sk_now() + longest_wait; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && sk_now() < until;) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            break;
        sk_sleep(0.001);
    }
    return fd;
}

/* What the files below dir take; *mine: those of rank. Two levels: slots, and the files of generations. */
static uint64_t taken_below(int dir, int rank, int depth, uint64_t *mine)
{
    uint64_t sum = 0;
    int fd = dup(dir);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat sb;
        int r = -1;
        if (e->d_name[0] == '.' || fstatat(fd, e->d_name, &sb, AT_SYMLINK_NOFOLLOW))
            continue;
        if (S_ISDIR(sb.st_mode) && depth) {
            int sub = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            sum += sub < 0 ? 0 : taken_below(sub, rank, depth - 1, mine);
            if (sub >= 0)
                close(sub);
            continue;
        }
        uint64_t bytes = (uint64_t)sb.st_blocks * 512;
        if ((sscanf(e->d_name, "rank-%d", &r) == 1 || sscanf(e->d_name, "slot-%*u-%d", &r) == 1 ||
             sscanf(e->d_name, "parity-%d", &r) == 1) && r == rank)
            *mine += bytes;
        sum += bytes;
    }
    if (d)
        closedir(d);
    return sum;
}

int sk_room_enter(const char *root, int rank, double share, uint64_t more, int *lock, struct saikai_error *err)
{
    struct sk_headroom room;
    uint64_t mine = 0, all, largest = sk_headroom_largest_file();
    *lock = -1;
    if (more > largest)
        return sk_fail(err, SAIKAI_ENOSPC, "no file of %llu bytes may be written: ulimit -f allows %llu",
                       (unsigned long long)more, (unsigned long long)largest);
    if (share <= 0)
        return 0;
    *lock = lock_directory(root);
    sk_headroom_look_for(root, &room);
    if (room.bytes == UINT64_MAX || *lock < 0)
        return 0;
    all = taken_below(*lock, rank, 1, &mine);
    double part = share * ((double)room.bytes + (double)all);
    if (more <= room.bytes && (double)mine + (double)more <= part)
        return 0;
    sk_room_leave(*lock);
    *lock = -1;
    return sk_fail(err, SAIKAI_ENOSPC, "no room for %llu bytes in %s: %s leaves %llu, this rank's share is %.0f and it has %llu",
                   (unsigned long long)more, root, room.limit, (unsigned long long)room.bytes, part, (unsigned long long)mine);
}

void sk_room_leave(int lock)
{
    sk_own_close(lock); /* and with it the lock */
}
