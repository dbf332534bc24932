/* A component: a method that keeps each object in one file of a flat directory, its name with '/' as '~', as a store without directories would.
 * For trying out how a method is written; the place is the directory. */
#define _POSIX_C_SOURCE 200809L
#include <saikai/component.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int say(char *why, size_t cap, const char *path)
{
    snprintf(why, cap, "%s: %s", path, strerror(errno));
    return -1;
}

static int path_of(const char *place, const char *name, const char *end, char path[PATH_MAX])
{
    int begin = snprintf(path, PATH_MAX, "%s/", place), n = snprintf(path, PATH_MAX, "%s/%s%s", place, name, end);
    if (begin < 0 || n < 0 || n >= PATH_MAX)
        return -1;
    for (char *p = path + begin; *p; p++)
        if (*p == '/')
            *p = '~';
    return 0;
}

static int copy(const char *from, const char *to, char *why, size_t cap)
{
    char part[1 << 16];
    ssize_t n = 0;
    int in = open(from, O_RDONLY | O_CLOEXEC), out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int bad = in < 0 || out < 0;
    while (!bad && (n = read(in, part, sizeof part)) > 0)
        for (ssize_t at = 0, w; !bad && at < n; at += w)
            bad = (w = write(out, part + at, (size_t)(n - at))) < 0;
    bad |= n < 0 || (out >= 0 && fsync(out));
    if (bad)
        say(why, cap, in < 0 ? from : to);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return bad ? -1 : 0;
}

static int put(const char *place, const char *name, const char *path, char *why, size_t cap)
{
    char tmp[PATH_MAX], to[PATH_MAX];
    if (path_of(place, name, ".part", tmp) || path_of(place, name, "", to)) {
        snprintf(why, cap, "the name is too long");
        return -1;
    }
    if (copy(path, tmp, why, cap)) {
        unlink(tmp);
        return -1;
    }
    return rename(tmp, to) ? say(why, cap, to) : 0;
}

static int get(const char *place, const char *name, const char *path, char *why, size_t cap)
{
    char from[PATH_MAX];
    if (path_of(place, name, "", from) || (access(from, F_OK) && errno == ENOENT))
        return 1;
    return copy(from, path, why, cap);
}

static int list(const char *place, const char *begins, saikai_take_name *take, void *to, char *why, size_t cap)
{
    DIR *d = opendir(place);
    int rc = 0;
    if (!d)
        return say(why, cap, place);
    for (struct dirent *e; !rc && (e = readdir(d));) {
        char name[NAME_MAX + 1], path[PATH_MAX];
        struct stat st;
        size_t n = strlen(e->d_name);
        if (n > 5 && !strcmp(e->d_name + n - 5, ".part"))
            continue;
        snprintf(name, sizeof name, "%s", e->d_name);
        for (char *p = name; *p; p++)
            if (*p == '~')
                *p = '/';
        if (strncmp(name, begins, strlen(begins)) || path_of(place, name, "", path) || stat(path, &st))
            continue;
        rc = take(to, name, (uint64_t)st.st_size);
    }
    closedir(d);
    return rc;
}

static int take_away(const char *place, const char *name, char *why, size_t cap)
{
    char path[PATH_MAX];
    if (path_of(place, name, "", path))
        return 0;
    return unlink(path) && errno != ENOENT ? say(why, cap, path) : 0;
}

static const struct saikai_output_method_ops ops = {put, get, list, take_away};

static const struct saikai_component flat = {
    .abi = SAIKAI_COMPONENT_ABI,
    .size_bytes = sizeof flat,
    .kind = SAIKAI_KIND_OUTPUT_METHOD,
    .name = "flat",
    .description = "one directory without directories in it",
    .ops = &ops,
    .ops_size_bytes = sizeof ops,
};

const struct saikai_component *const *saikai_components(void)
{
    static const struct saikai_component *const all[] = {&flat, NULL};
    return all;
}
