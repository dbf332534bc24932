/* The secret of a run: drawn or read, left in a file, brought to hosts that do not see that. */
#include "recovery/keyring.h"

#include "base/log.h"
#include "base/file/patience.h"
#include "recovery/launch/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* Of a host that is this silent after a start nobody knows whether it sees the file. */
static const double bring_after_s = 5, next_round_s = 2;
/* AT_ONCE: remote shells of one round; on many hosts the launcher itself takes longer than this. */
enum { PLACES_MAX = 5, AT_ONCE = 32 };

struct sk_keyring {
    uint8_t secret[SK_KEY_BYTES], nonce[SK_NONCE_BYTES];
    int users_own, far, may_bring;
    char path[PATH_MAX]; /* the file; empty: none is there */
    char where[PATH_MAX]; /* its directory, in the newest start */
    char agent[1024], prefix[PATH_MAX];
    uint32_t incarnation;
    struct sk_message late; /* the order to repair by which others come after the ranks of the start; n_dead 0: nobody does */
    int waits;       /* for ranks of this start to be heard */
    uint32_t beyond, n_beyond; /* others that are to be heard */
    int heard;       /* all ranks below this one have been */
    double bring_at; /* when it is next brought to silent hosts; INFINITY: never */
    char *brought;   /* by host: since the file was left; NULL: to none */
    char *blind;     /* by host: it had to be brought there once; NULL: to none */
    struct sk_heir *heir; /* NULL: none */
    struct sk_patience *patience; /* with the places of files: the launcher goes on though one of them hangs */
};

static int read_users_own(struct sk_keyring *k, const char *path, uint8_t job[SK_KEY_BYTES],
                          struct saikai_error *err)
{
    uint8_t content[SK_KEY_FILE_MAX];
    size_t n = 0;
    if (!realpath(path, k->path)) {
        sk_fail_errno(err, errno, "the key file %s (run.key_file) cannot be read", path);
        return err->code = SAIKAI_ECONFIG;
    }
    int rc = sk_key_file_read(k->path, content, &n, err);
    if (!rc)
        sk_key_job(content, n, k->nonce, job);
    else if (rc != SAIKAI_ENOMEM)
        rc = err->code = SAIKAI_ECONFIG;
    explicit_bzero(content, sizeof content);
    return rc;
}

int sk_keyring_new(const struct sk_config *c, int far, int may_bring, struct sk_link_settings *link,
                   uint8_t job[SK_KEY_BYTES], struct sk_keyring **out, struct saikai_error *err)
{
    const char *own = sk_config_text(c, "run.key_file");
    struct sk_keyring *k = calloc(1, sizeof *k);
    if (!k)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the keys of this run");
    *k = (struct sk_keyring){.users_own = *own != 0, .far = far, .may_bring = far && may_bring};
    sk_agent_choose(c, k->agent, sizeof k->agent);
    snprintf(k->prefix, sizeof k->prefix, "%s", sk_config_text(c, "store.prefix"));
    int rc = sk_patience_new(sk_config_time(c, "store.prefix_timeout"), &k->patience, err);
    if (!rc)
        rc = sk_key_draw(k->nonce, sizeof k->nonce, err);
    memcpy(link->nonce, k->nonce, sizeof k->nonce);
    if (!rc && k->users_own) {
        rc = read_users_own(k, own, job, err);
    } else if (!rc) {
        rc = sk_key_draw(k->secret, sizeof k->secret, err);
        sk_key_job(k->secret, sizeof k->secret, k->nonce, job);
    }
    if (rc)
        sk_keyring_free(k);
    else
        *out = k;
    return rc;
}

static int unlink_file(void *path, struct saikai_error *err)
{
    (void)err;
    unlink(path);
    return 0;
}

static void take_away(struct sk_keyring *k)
{
    char *path = !k->users_own && *k->path ? strdup(k->path) : NULL;
    if (path && sk_patience_call(k->patience, path, unlink_file, free, path, NULL) != SAIKAI_ETIMEDOUT)
        free(path);
    if (!k->users_own)
        *k->path = 0;
    k->waits = 0;
}

void sk_keyring_free(struct sk_keyring *k)
{
    if (!k)
        return;
    if (k->patience)
        take_away(k);
    sk_patience_free(k->patience);
    free(k->brought);
    free(k->blind);
    explicit_bzero(k, sizeof *k);
    free(k);
}

void sk_keyring_set_heir(struct sk_keyring *k, struct sk_heir *heir)
{
    k->heir = heir;
}

/* ---- the file ---- */

/* The directory, or the nearest one above it that is there. */
static int nearest(const char *path, char out[PATH_MAX])
{
    char part[PATH_MAX];
    if (!strcmp(path, "none") || strlen(path) >= sizeof part)
        return -1;
    strcpy(part, path);
    while (!realpath(part, out)) {
        char *slash = strrchr(part, '/');
        if (errno != ENOENT)
            return -1;
        if (!slash)
            return realpath(".", out) ? 0 : -1;
        slash[slash == part] = 0;
    }
    return 0;
}

/* A place for the file, and the file in it; for a thread that may hang there. */
struct attempt {
    char where[PATH_MAX], path[PATH_MAX]; /* path: empty as long as there is none */
    int or_above; /* the nearest directory above will do */
    uint8_t secret[SK_KEY_BYTES], nonce[SK_NONCE_BYTES];
    uint32_t incarnation;
};

static void forget(struct attempt *a)
{
    explicit_bzero(a, sizeof *a);
    free(a);
}

/* Nobody waits for it any more. */
static void drop(void *arg)
{
    struct attempt *a = arg;
    if (*a->path)
        unlink(a->path);
    forget(a);
}

static int attempt(void *arg, struct saikai_error *err)
{
    struct attempt *a = arg;
    char dir[PATH_MAX];
    if (a->or_above ? nearest(a->where, dir) != 0 : !realpath(a->where, dir))
        return sk_fail(err, SAIKAI_ENOENT, "there is no %s", a->where);
    int rc = sk_key_file_write(dir, a->nonce, a->incarnation, a->secret, a->path, err);
    if (rc)
        *a->path = 0;
    return rc;
}

/* Where the file may go, the best place first; *prefix: which of them is one, -1: none. */
static int places(const struct sk_keyring *k, const char *where[PLACES_MAX], int *prefix)
{
    const char *home = getenv("HOME");
    int n = 0;
    *prefix = -1;
    if (!k->far) { /* in memory: nothing of it ever reaches a disk */
        where[n++] = "/dev/shm";
        where[n++] = "/tmp";
    }
    if (strcmp(k->prefix, "none")) {
        *prefix = n;
        where[n++] = k->prefix;
    }
    where[n++] = ".";
    if (home)
        where[n++] = home;
    return n;
}

/* Fills k->path. */
static int leave_at(struct sk_keyring *k, const char *where, int or_above, size_t cap, struct saikai_error *err)
{
    struct attempt *a = calloc(1, sizeof *a);
    char name[SK_KEY_NAME_MAX];
    if (!a)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to leave the key of this run");
    sk_heir_tell(k->heir, where, sk_key_file_name(k->nonce, k->incarnation, name)); /* also of one that hangs and comes later */
    snprintf(a->where, sizeof a->where, "%s", where);
    memcpy(a->secret, k->secret, sizeof a->secret);
    memcpy(a->nonce, k->nonce, sizeof a->nonce);
    a->incarnation = k->incarnation;
    a->or_above = or_above;
    int rc = sk_patience_call(k->patience, where, attempt, drop, a, err);
    if (rc == SAIKAI_ETIMEDOUT)
        return rc;
    if (!rc && strlen(a->path) >= cap) {
        unlink(a->path);
        rc = sk_fail(err, SAIKAI_EINVAL, "%.80s… is too long a name", where);
    }
    if (!rc)
        snprintf(k->path, sizeof k->path, "%s", a->path);
    forget(a);
    return rc;
}

int sk_keyring_leave(struct sk_keyring *k, uint32_t incarnation, double now,
                     struct sk_link_settings *link, struct saikai_error *err)
{
    const char *where[PLACES_MAX];
    struct saikai_error first = {0}, why;
    int prefix = -1, n = k->users_own ? 0 : places(k, where, &prefix), rc = k->users_own ? 0 : -1;
    int again = rc && incarnation == k->incarnation && *k->where; /* for those who were told of it: the prefix may be there by now, and was not */
    take_away(k);
    k->incarnation = incarnation;
    if (again)
        rc = leave_at(k, k->where, 0, sizeof link->key_file, &(struct saikai_error){0});
    for (int i = 0; rc && i < n; i++) {
        why = (struct saikai_error){0};
        rc = leave_at(k, where[i], i == prefix, sizeof link->key_file, &why);
        if (rc && rc != SAIKAI_ENOENT && !first.code)
            first = why;
    }
    if (rc || strlen(k->path) >= sizeof link->key_file) {
        *k->path = k->users_own ? *k->path : 0;
        return sk_fail(err, SAIKAI_EAUTH,
                       "there is no place to leave the key of this run for its ranks (%.300s): make "
                       "the working directory writable, or use --key-file",
                       first.code ? first.text : "no directory for it is there");
    }
    snprintf(link->key_file, sizeof link->key_file, "%s", k->path);
    const char *slash = strrchr(k->path, '/');
    snprintf(k->where, sizeof k->where, "%.*s", slash ? (int)(slash - k->path) : 0, k->path);
    k->bring_at = k->may_bring && !k->users_own ? now + bring_after_s : INFINITY;
    k->waits = 1;
    k->heard = 0;
    k->late.n_dead = 0;
    free(k->brought);
    k->brought = NULL;
    return 0;
}

/* ---- bringing it ---- */

/* The remote shell writes what comes through its standard input; the pipe holds it until then. */
static int start_agent(const struct sk_keyring *k, const char *host, const char *script, int input,
                       const sigset_t *mask)
{
    struct sk_command c = {.hosts_fd = -1};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    pid_t pid;
    sk_agent_command(&c, k->agent, host, script);
    if (c.failed) {
        sk_command_free(&c);
        return ENOMEM;
    }
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&how, mask);
    int rc = posix_spawnp(&pid, c.argv[0], &files, &how, c.argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    sk_command_free(&c);
    return rc;
}

static void bring(const struct sk_keyring *k, const char *host, const sigset_t *mask)
{
    char script[1024], own[2][128];
    int p[2], e;
    for (int i = 0; i < 2; i++)
        sk_key_file_own(i, k->nonce, k->incarnation, own[i]);
    snprintf(script, sizeof script,
             "umask 077; for f in %s %s; do rm -f $f $f.new; "
             "(set -C; cat >$f.new) 2>/dev/null && mv $f.new $f && exit 0; done; exit 1",
             own[0], own[1]);
    if (pipe2(p, O_CLOEXEC))
        return;
    if (write(p[1], k->secret, sizeof k->secret) != (ssize_t)sizeof k->secret)
        e = EIO;
    else
        e = start_agent(k, host, script, p[0], mask);
    close(p[0]);
    close(p[1]);
    if (e)
        sk_log(SK_LOG_WARN, "cannot bring the key of this run to %s by '%s': %s (run.agent)", host,
               k->agent, strerror(e));
    else
        sk_log(SK_LOG_INFO,
               "nobody on %s has been heard: the key of this run is brought there by '%s'", host,
               k->agent);
}

/* One round; 1: there may be more to do. */
static int bring_to_silent(const struct sk_keyring *k, const struct sk_hub *hub,
                           const struct sk_hosts *hosts, const int *seat, int n,
                           const sigset_t *mask)
{
    char *heard = calloc((size_t)hosts->n, 1), *used = calloc((size_t)hosts->n, 1);
    int started = 0;
    for (int r = 0; heard && used && r < n; r++) {
        used[seat[r]] = 1;
        heard[seat[r]] |= (char)sk_hub_has_heard(hub, k->incarnation, (uint32_t)r);
    }
    for (uint32_t i = 0; heard && used && i < k->late.n_dead; i++) /* the ranks of the start have been heard by then */
        if (!sk_hub_has_heard(hub, k->incarnation, k->late.first + i))
            heard[seat[k->late.dead[i]]] = 0;
    for (int h = 0; heard && used && h < hosts->n && started < AT_ONCE; h++)
        if (used[h] && !heard[h] && !k->brought[h]) {
            bring(k, hosts->host[h].name, mask);
            k->brought[h] = 1;
            if (k->blind)
                k->blind[h] = 1;
            started++;
        }
    free(heard);
    free(used);
    return started == AT_ONCE;
}

void sk_keyring_await(struct sk_keyring *k, uint32_t first, uint32_t n)
{
    k->beyond = first;
    k->n_beyond = n;
}

void sk_keyring_tick(struct sk_keyring *k, const struct sk_hub *hub, const struct sk_hosts *hosts,
                     const int *seat, int n, double now, const sigset_t *mask)
{
    if (!k->waits)
        return;
    while (k->heard < n && sk_hub_has_heard(hub, k->incarnation, (uint32_t)k->heard))
        k->heard++;
    int missing = k->heard < n;
    for (uint32_t i = 0; i < k->late.n_dead && !missing; i++)
        missing = !sk_hub_has_heard(hub, k->incarnation, k->late.first + i);
    for (uint32_t i = 0; i < k->n_beyond && !missing; i++)
        missing = !sk_hub_has_heard(hub, k->incarnation, k->beyond + i);
    if (!missing) {
        sk_log(SK_LOG_INFO, "all %d ranks have been heard", n);
        take_away(k);
    } else if (now >= k->bring_at) {
        if (!k->brought)
            k->brought = calloc((size_t)hosts->n, 1);
        if (!k->blind)
            k->blind = calloc((size_t)hosts->n, 1);
        k->bring_at = k->brought && bring_to_silent(k, hub, hosts, seat, n, mask)
                          ? now + next_round_s
                          : INFINITY;
    }
}

void sk_keyring_expect(struct sk_keyring *k, const struct sk_message *order, const struct sk_hosts *hosts, const int *seat)
{
    k->late = *order;
    for (uint32_t i = 0; k->blind && i < order->n_dead; i++)
        if (seat[order->dead[i]] < hosts->n && k->blind[seat[order->dead[i]]])
            k->bring_at = fmin(k->bring_at, 0);
}

double sk_keyring_next(const struct sk_keyring *k)
{
    return k->waits ? k->bring_at : INFINITY;
}
