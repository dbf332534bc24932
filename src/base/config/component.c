/* Loads shared objects with components: who may change the file, whether it bears being loaded, and whether what it tells of itself
 * can be used, before anything of it is. */
#include "base/config/component.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <saikai/component.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_FILES = 32, MOST_COMPONENTS = 64, LONGEST_NAME = 31 };

/* Of kinds that this process may not have, such as a rank those of the launcher. */
static const char *const all_kinds[] = {
    SAIKAI_KIND_INTERVAL_MODEL, SAIKAI_KIND_FAILURE_RATES, SAIKAI_KIND_CODEC, SAIKAI_KIND_MONITOR, SAIKAI_KIND_FAULT_MODEL,
    SAIKAI_KIND_EVENT_SOURCE, SAIKAI_KIND_OUTPUT_METHOD, SAIKAI_KIND_RECOVERY_PROTOCOL,
    SAIKAI_KIND_PARALLEL_PROTOCOL,
};
enum { n_all_kinds = sizeof all_kinds / sizeof *all_kinds };

/* Components that were loaded, and what their files added; under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *files[MOST_FILES];
static int n_files;
static struct added {
    const struct sk_kind *kind;
    const char *name, *path;
} added[MOST_COMPONENTS];
static int n_added;

/* ---- who may change it ---- */

/* Others can neither write it nor, in a directory, put another file in its place. In one with the sticky bit they cannot replace what is
 * not theirs. */
static int check_owner(const char *file, const char *path, struct saikai_error *err)
{
    struct stat st;
    if (stat(path, &st))
        return sk_fail_errno(err, errno, "%s", path);
    if (st.st_uid && st.st_uid != geteuid())
        return sk_fail(err, SAIKAI_ECONFIG, "%s belongs to another user (%u): a component is loaded only when it and all directories "
                                            "above it are yours or root's", path, (unsigned)st.st_uid);
    if (st.st_mode & (S_IWGRP | S_IWOTH) && !(S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX))
        return sk_fail(err, SAIKAI_ECONFIG, "%s may be written by others (mode %03o): 'chmod go-w %s', and make sure that %s is what "
                                            "it should be", path, (unsigned)(st.st_mode & 0777), path, file);
    return 0;
}

static int check_owners(const char *path, struct saikai_error *err)
{
    char at[PATH_MAX];
    struct stat st;
    if (!realpath(path, at))
        return sk_fail_errno(err, errno, "it cannot be found");
    if (!stat(at, &st) && !S_ISREG(st.st_mode))
        return sk_fail(err, SAIKAI_ECONFIG, "it is no file");
    int rc = check_owner(path, at, err);
    for (char *slash; !rc && (slash = strrchr(at, '/'));) {
        slash[slash == at] = 0; /* of "/x" the "/" stays */
        rc = check_owner(path, at, err);
        if (slash == at)
            break;
    }
    return rc;
}

/* ---- whether it bears being loaded ---- */

/* A shell that ends with this code, with the object loaded before it begins. */
enum { GOOD = 83, NOT_LOADABLE = 127 };
/* For so long it may take to be loaded. */
static const double try_s = 20;

static pid_t start_trial(const char *path, int *error)
{
    char preload[PATH_MAX + 16];
    char *argv[] = {"sh", "-c", "exit 83", NULL};
    char *env[] = {"LD_BIND_NOW=1", "PATH=/usr/bin:/bin", preload, NULL, NULL};
    char libraries[PATH_MAX];
    const char *told = getenv("LD_LIBRARY_PATH");
    posix_spawn_file_actions_t quiet;
    pid_t pid = -1;
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", path);
    if (told && snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", told) < (int)sizeof libraries)
        env[3] = libraries;
    *error = posix_spawn_file_actions_init(&quiet);
    if (*error)
        return -1;
    for (int fd = 0; fd < 3 && !*error; fd++)
        *error = posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
    if (!*error)
        *error = posix_spawn(&pid, "/bin/sh", &quiet, NULL, argv, env);
    posix_spawn_file_actions_destroy(&quiet);
    return *error ? -1 : pid;
}

/* A constructor that crashes, hangs or ends the process does so in another one first. */
static int try_out(const char *path, struct saikai_error *err)
{
    int status = 0, error = 0;
    pid_t pid = start_trial(path, &error), got = 0;
    if (pid < 0)
        return sk_fail_errno(err, error, "it cannot be tried");
    for (double end = sk_now() + try_s; !(got = waitpid(pid, &status, WNOHANG)) || (got < 0 && errno == EINTR);) {
        if (sk_now() > end) {
            kill(pid, SIGKILL);
            while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
            return sk_fail(err, SAIKAI_ECONFIG, "it was not loaded within %g s: does its constructor hang?", try_s);
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (got < 0) /* somebody else waits for all children of this process: what the loading itself says must do */
        return 0;
    if (WIFSIGNALED(status))
        return sk_fail(err, SAIKAI_ECONFIG, "it crashes while it is loaded (signal %d, %s): see its constructors", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != GOOD && WEXITSTATUS(status) != NOT_LOADABLE) /* of the latter, dlopen says why */
        return sk_fail(err, SAIKAI_ECONFIG, "it ends the process that loads it (code %d): see its constructors", WEXITSTATUS(status));
    return 0;
}

/* ---- whether what it tells can be used ---- */

static int is_name(const char *s)
{
    size_t n = s ? strlen(s) : 0;
    return n && n <= LONGEST_NAME && *s >= 'a' && *s <= 'z' && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static int is_any_kind(const char *name)
{
    for (int i = 0; i < n_all_kinds; i++)
        if (!strcmp(all_kinds[i], name))
            return 1;
    return 0;
}

static const struct sk_kind *kind_of(const struct saikai_component *c)
{
    const struct sk_kind *k;
    for (int i = 0; (k = sk_kind_at(i)); i++)
        if (k->component && !strcmp(k->component, c->kind))
            return k;
    return NULL;
}

static int count_of(const struct sk_kind *k)
{
    int n = 0;
    for (int i = 0; i < n_added; i++)
        n += added[i].kind == k;
    return n;
}

static int check_kind(const struct saikai_component *c, const struct sk_kind *k, struct saikai_error *err)
{
    char kinds[240] = "";
    size_t n = 0;
    if (!k && is_any_kind(c->kind))
        return 0;
    for (int i = 0; i < n_all_kinds; i++)
        n += (size_t)snprintf(kinds + n, sizeof kinds - n, "%s%s", i ? "|" : "", all_kinds[i]);
    if (!k) {
        char words[280];
        return sk_fail(err, SAIKAI_ECONFIG, "component '%s' is of the kind '%.40s', which cannot be added to: %s", c->name, c->kind,
                       sk_words_spell(kinds, words, sizeof words));
    }
    if (!c->ops || c->ops_size_bytes < k->ops_size_bytes)
        return sk_fail(err, SAIKAI_ECONFIG, "component '%s': its table of functions has %u bytes, that of the kind %s has %zu", c->name,
                       c->ops ? (unsigned)c->ops_size_bytes : 0, c->kind, k->ops_size_bytes);
    if (sk_is_auto(c->name) || sk_kind_form(k, c->name) >= 0) {
        const char *from = sk_component_path(k, c->name);
        return sk_fail(err, SAIKAI_ECONFIG, "component '%s': there is a %s of this name already (%s): take another name", c->name,
                       k->what, from ? from : "built in");
    }
    return 0;
}

static int check(const struct saikai_component *c, struct saikai_error *err)
{
    if (c->abi != SAIKAI_COMPONENT_ABI)
        return sk_fail(err, SAIKAI_ECONFIG, "it was compiled for version %u of saikai/component.h, this is version %d: compile it anew",
                       (unsigned)c->abi, SAIKAI_COMPONENT_ABI);
    if (c->size_bytes < sizeof *c)
        return sk_fail(err, SAIKAI_ECONFIG, "a component has %u bytes and not %zu: set size_bytes", (unsigned)c->size_bytes, sizeof *c);
    if (!is_name(c->name))
        return sk_fail(err, SAIKAI_ECONFIG, "'%.40s' is no name of a component: a to z, 0 to 9 and '-', at most %d, a letter first",
                       c->name ? c->name : "", LONGEST_NAME);
    if (!c->kind)
        return sk_fail(err, SAIKAI_ECONFIG, "component '%s' has no kind", c->name);
    return check_kind(c, kind_of(c), err);
}

/* All of the list are right, and new also among themselves. */
static int check_all(const struct saikai_component *const *list, int *n, struct saikai_error *err)
{
    int rc = 0;
    for (*n = 0; !rc && list && list[*n]; ++*n) {
        const struct saikai_component *c = list[*n];
        rc = check(c, err);
        for (int i = 0; !rc && i < *n; i++)
            if (!strcmp(c->kind, list[i]->kind) && !strcmp(c->name, list[i]->name))
                rc = sk_fail(err, SAIKAI_ECONFIG, "component '%s' is in it twice", c->name);
        const struct sk_kind *k = rc ? NULL : kind_of(c);
        int alike = 1;
        for (int i = 0; k && i < *n; i++)
            alike += kind_of(list[i]) == k;
        if (!rc && (n_added + *n >= MOST_COMPONENTS || (k && count_of(k) + alike > SK_MOST_ADDED)))
            rc = sk_fail(err, SAIKAI_ECONFIG, "component '%s' is one too many: at most %d of a kind", c->name, SK_MOST_ADDED);
    }
    if (!rc && !*n)
        rc = sk_fail(err, SAIKAI_ECONFIG, "it has no components: " SAIKAI_COMPONENTS_SYMBOL " gives an empty list");
    return rc;
}

static void add_all(const struct saikai_component *const *list, int n, const char *path)
{
    for (int i = 0; i < n; i++) {
        const struct sk_kind *k = kind_of(list[i]);
        if (!k)
            continue;
        k->add(list[i], count_of(k));
        added[n_added++] = (struct added){k, list[i]->name, path};
    }
}

/* With the lock. */
static int load(const char *path, struct saikai_error *err)
{
    for (int i = 0; i < n_files; i++)
        if (!strcmp(files[i], path))
            return 0;
    if (*path != '/' || strpbrk(path, ": \t"))
        return sk_fail(err, SAIKAI_ECONFIG, "write the whole path, from '/' on, and without white space or ':'");
    if (n_files == MOST_FILES)
        return sk_fail(err, SAIKAI_ECONFIG, "it is one too many: at most %d are loaded", MOST_FILES);
    int rc = check_owners(path, err), n = 0;
    if (!rc)
        rc = try_out(path, err);
    if (rc)
        return rc;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return sk_fail(err, SAIKAI_ECONFIG, "it cannot be loaded: %.300s", dlerror());
    const struct saikai_component *const *(*list)(void) = NULL;
    *(void **)&list = dlsym(handle, SAIKAI_COMPONENTS_SYMBOL);
    if (!list)
        rc = sk_fail(err, SAIKAI_ECONFIG, "it does not export the function " SAIKAI_COMPONENTS_SYMBOL ": is it a component of Saikai?");
    else
        rc = check_all(list(), &n, err);
    char *kept = rc ? NULL : strdup(path);
    if (!rc && !kept)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory");
    if (rc) {
        dlclose(handle);
        return rc;
    }
    files[n_files++] = kept;
    add_all(list(), n, kept);
    return 0;
}

int sk_components_load(const char *list, struct saikai_error *err)
{
    char path[PATH_MAX];
    int rc = 0;
    pthread_mutex_lock(&lock);
    for (const char *p = list; !rc && *(p += strspn(p, ", \t\n"));) {
        size_t n = strcspn(p, ",\n");
        const char *next = p + n;
        while (n && (p[n - 1] == ' ' || p[n - 1] == '\t'))
            n--;
        if (n >= sizeof path)
            rc = sk_fail(err, SAIKAI_ECONFIG, "the path is too long");
        snprintf(path, sizeof path, "%.*s", (int)n, p);
        if (!rc)
            rc = load(path, err);
        if (rc) {
            sk_error_prefix(err, "component %.200s", path);
            if (err)
                err->code = rc == SAIKAI_ENOMEM ? rc : SAIKAI_ECONFIG; /* what is asked for is wrong */
            rc = rc == SAIKAI_ENOMEM ? rc : SAIKAI_ECONFIG;
        }
        p = next;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

const char *sk_component_path(const struct sk_kind *k, const char *form)
{
    for (int i = 0; i < n_added; i++)
        if (added[i].kind == k && !strcmp(added[i].name, form))
            return added[i].path;
    return NULL;
}
