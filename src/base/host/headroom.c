/* Limits of memory and space: the system's, the control groups', the process's, the file system's. */
#include "base/host/headroom.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Left to everybody else, as a part of what there is; of a control group at least so much. */
enum { PART_LEFT = 64, LEAST_LEFT = 8 << 20 };

static const char *below = ""; /* tests put a directory in place of / */

void sk_headroom_look_below(const char *root)
{
    below = root;
}

static void limit_to(struct sk_headroom *r, uint64_t limit, uint64_t used, uint64_t left, const char *what, const char *where)
{
    uint64_t taken = used > UINT64_MAX - left ? UINT64_MAX : used + left, room = limit > taken ? limit - taken : 0;
    if (room >= r->bytes)
        return;
    r->bytes = room;
    snprintf(r->limit, sizeof r->limit, "%.60s%.90s", what, where);
}

static FILE *open_below(const char *dir, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s/%s", below, dir, name);
    return n > 0 && (size_t)n < sizeof path ? fopen(path, "re") : NULL;
}

/* "key value" or "key: value kB" of a file; 0: there is none. */
static uint64_t value_of(const char *dir, const char *file, const char *key)
{
    char line[256];
    uint64_t v = 0;
    size_t n = strlen(key);
    FILE *f = open_below(dir, file);
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, n) && (line[n] == ' ' || line[n] == ':')) {
            v = strtoull(line + n + 1, NULL, 10) * (strstr(line + n, "kB") ? 1024 : 1);
            break;
        }
    if (f)
        fclose(f);
    return v;
}

/* The number in a file; UINT64_MAX for "max", and when there is none. */
static uint64_t number_in(const char *dir, const char *file)
{
    char line[64];
    FILE *f = open_below(dir, file);
    uint64_t v = f && fgets(line, sizeof line, f) && line[0] >= '0' && line[0] <= '9' ? strtoull(line, NULL, 10) : UINT64_MAX;
    if (f)
        fclose(f);
    return v;
}

/* ---- control groups ---- */

/* Pages of files that are dropped when memory is needed; those of tmpfs are not among them. The kernel parts with pages in
 * use less readily. */
static uint64_t can_be_dropped(const char *dir, int version)
{
    const char *inactive = version == 2 ? "inactive_file" : "total_inactive_file";
    const char *active = version == 2 ? "active_file" : "total_active_file";
    return value_of(dir, "memory.stat", inactive) + value_of(dir, "memory.stat", active) / 2;
}

static void look_at_group(const char *dir, int version, const char *shown, struct sk_headroom *r)
{
    static const char *const files[3][2] = {{"memory.limit_in_bytes", "memory.usage_in_bytes"},
                                            {"memory.max", "memory.current"},
                                            {"memory.high", "memory.current"}};
    for (int i = version - 1; i < (version == 2 ? 3 : 1); i++) {
        uint64_t limit = number_in(dir, files[i][0]), used = number_in(dir, files[i][1]);
        if (limit >= UINT64_MAX / 4 || used == UINT64_MAX)
            continue;
        uint64_t free_again = can_be_dropped(dir, version), left = limit / PART_LEFT;
        char what[64];
        snprintf(what, sizeof what, "%s of control group ", files[i][0]);
        limit_to(r, limit, used > free_again ? used - free_again : 0, left > LEAST_LEFT ? left : LEAST_LEFT, what, shown);
    }
}

/* Where the hierarchy with the memory controller is mounted, and which group that shows. */
static int find_mount(int version, char *mount, char *group)
{
    char line[3 * 1024], options[1024];
    int found = 0;
    FILE *f = open_below("/proc/self", "mountinfo");
    while (f && !found && fgets(line, sizeof line, f)) {
        const char *rest = strstr(line, " - ");
        if (!rest || sscanf(line, "%*d %*d %*s %1023s %1023s", group, mount) != 2)
            continue;
        if (version == 2)
            found = !strncmp(rest, " - cgroup2 ", 11);
        else
            found = !strncmp(rest, " - cgroup ", 10) && sscanf(rest + 10, "%*s %1023s", options) == 1 &&
                    (strstr(options, ",memory") || !strncmp(options, "memory", 6));
    }
    if (f)
        fclose(f);
    return found;
}

/* The group of this process. */
static int find_group(int version, char *group)
{
    char line[2048], controllers[1024];
    int found = 0;
    FILE *f = open_below("/proc/self", "cgroup");
    while (f && !found && fgets(line, sizeof line, f)) {
        *controllers = 0;
        if (version == 2)
            found = sscanf(line, "0::%1023[^\n]", group) == 1;
        else if (sscanf(line, "%*d:%1023[^:]:%1023[^\n]", controllers, group) == 2)
            found = strstr(controllers, "memory") != NULL;
    }
    if (f)
        fclose(f);
    return found;
}

/* The group itself and all above it: each may have a limit. */
static void look_at_groups(int version, struct sk_headroom *r)
{
    char mount[1024], top[1024], group[1024], dir[2100];
    if (!find_mount(version, mount, top) || !find_group(version, group))
        return;
    size_t n = strcmp(top, "/") ? strlen(top) : 0;
    const char *rest = !strncmp(group, top, n) ? group + n : "";
    snprintf(dir, sizeof dir, "%s%s", mount, strcmp(rest, "/") ? rest : "");
    for (size_t m = strlen(mount);;) {
        look_at_group(dir, version, dir[m] ? dir + m : "/", r);
        char *slash = strrchr(dir, '/');
        if (!slash || (size_t)(slash - dir) < m)
            return;
        *slash = 0;
    }
}

/* ---- all of it ---- */

static void look(int is_private, struct sk_headroom *out)
{
    *out = (struct sk_headroom){.bytes = UINT64_MAX};
    uint64_t total = value_of("/proc", "meminfo", "MemTotal");
    if (total)
        limit_to(out, value_of("/proc", "meminfo", "MemAvailable"), 0, total / PART_LEFT, "available memory of this node", "");
    look_at_groups(1, out);
    look_at_groups(2, out);
    struct rlimit as, data;
    uint64_t pages = number_in("/proc/self", "statm");
    /* pages of mapped files are not among these */
    if (!getrlimit(RLIMIT_DATA, &data) && data.rlim_cur != RLIM_INFINITY && is_private)
        limit_to(out, data.rlim_cur, value_of("/proc/self", "status", "VmData"), LEAST_LEFT, "data of a process (ulimit -d)", "");
    if (!getrlimit(RLIMIT_AS, &as) && as.rlim_cur != RLIM_INFINITY && pages != UINT64_MAX)
        limit_to(out, as.rlim_cur, pages * (uint64_t)sysconf(_SC_PAGESIZE), LEAST_LEFT, "address space of a process (ulimit -v)",
                 "");
}

void sk_headroom_look(struct sk_headroom *out)
{
    look(1, out);
}

void sk_headroom_look_for(const char *dir, struct sk_headroom *out)
{
    enum { TMPFS = 0x01021994, RAMFS = (int)0x858458f6 };
    struct statvfs v;
    struct statfs s;
    *out = (struct sk_headroom){.bytes = UINT64_MAX};
    int is_memory = !statfs(dir, &s) && (s.f_type == TMPFS || (int)s.f_type == RAMFS);
    if (is_memory)
        look(0, out);
    if (!statvfs(dir, &v) && v.f_blocks) /* a ramfs says 0 */
        limit_to(out, (uint64_t)v.f_bavail * v.f_frsize, 0, 0, "free space of ", dir);
}

uint64_t sk_headroom_largest_file(void)
{
    struct rlimit l;
    return getrlimit(RLIMIT_FSIZE, &l) || l.rlim_cur == RLIM_INFINITY ? UINT64_MAX : l.rlim_cur;
}
