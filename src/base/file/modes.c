/* The permissions of what a store is made of, and whose its place is. */
#include "base/file/modes.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GUARDS = 8 };

static atomic_int directories; /* permissions of those of the store */
static pthread_mutex_t guard_lock = PTHREAD_MUTEX_INITIALIZER;
static char guarded[GUARDS][PATH_MAX]; /* the newest few, in a ring */
static int next_guard;

int sk_modes_parse(const char *text, int *mode, struct saikai_error *err)
{
    char *end;
    long v = strtol(text, &end, 8);
    if (!strcmp(text, "private"))
        v = SK_MODE_PRIVATE;
    else if (!strcmp(text, "group"))
        v = SK_MODE_GROUP;
    else if (end == text || *end || v < 0 || v > 07777 || (v & 0700) != 0700)
        return sk_fail(err, SAIKAI_ECONFIG,
                       "store.mode: '%.40s' is not understood: write private, group, or the mode of "
                       "directories in octal, such as 0770",
                       text);
    *mode = (int)v;
    return 0;
}

void sk_modes_set(int mode)
{
    atomic_store(&directories, mode);
}

int sk_modes_of_directories(void)
{
    return atomic_load(&directories);
}

int sk_modes_of_files(void)
{
    return atomic_load(&directories) & 0666;
}

void sk_modes_guard(const char *path)
{
    int known = 0;
    pthread_mutex_lock(&guard_lock);
    for (int i = 0; path && i < GUARDS; i++)
        known |= !strcmp(guarded[i], path);
    if (!path)
        memset(guarded, 0, sizeof guarded);
    else if (!known)
        snprintf(guarded[next_guard++ % GUARDS], PATH_MAX, "%s", path);
    pthread_mutex_unlock(&guard_lock);
}

int sk_modes_check(const char *path, struct saikai_error *err)
{
    int known = 0;
    struct stat st;
    pthread_mutex_lock(&guard_lock);
    for (int i = 0; i < GUARDS; i++)
        known |= *guarded[i] && !strcmp(guarded[i], path);
    pthread_mutex_unlock(&guard_lock);
    if (!known || (lstat(path, &st) && errno == ENOENT))
        return 0;
    if (lstat(path, &st))
        return sk_fail_errno(err, errno, "cannot look at %s", path);
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return sk_fail(err, SAIKAI_EAUTH,
                       "%s is %s of user %ld: somebody put it where this user's had been (set "
                       "store.local)",
                       path, S_ISDIR(st.st_mode) ? "a directory" : "no directory, but a file",
                       (long)st.st_uid);
    return 0;
}
