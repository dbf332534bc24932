/* The secret of a run: drawn or read, left in a file, brought to hosts that do not see that. */
#include "recovery/keyring.h"

#include "base/log.h"

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
enum { DIRS_MAX = 5, WORDS_MAX = 32, AT_ONCE = 32 };

struct sk_keyring {
    uint8_t secret[SK_KEY_BYTES], nonce[SK_NONCE_BYTES];
    int users_own, far, may_bring;
    char path[PATH_MAX]; /* the file; empty: none is there */
    char agent[1024], prefix[PATH_MAX];
    uint32_t incarnation;
    int waits;       /* for ranks of this start to be heard */
    double bring_at; /* when it is next brought to silent hosts; INFINITY: never */
    char *brought;   /* by host: in this start; NULL: to none */
};

static void choose_agent(const struct sk_config *c, char *out, size_t cap)
{
    const char *told = sk_config_text(c, "run.agent");
    const char *const names[] = {"OMPI_MCA_plm_rsh_agent", "HYDRA_LAUNCHER_EXEC"};
    for (size_t i = 0; !*told && i < sizeof names / sizeof *names; i++)
        told = getenv(names[i]) ? getenv(names[i]) : "";
    snprintf(out, cap, "%.*s", (int)strcspn(told, ":"), told); /* Open MPI takes a list */
    if (!out[strspn(out, " \t")])
        snprintf(out, cap, "ssh");
}

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
    choose_agent(c, k->agent, sizeof k->agent);
    snprintf(k->prefix, sizeof k->prefix, "%s", sk_config_text(c, "store.prefix"));
    int rc = sk_key_draw(k->nonce, sizeof k->nonce, err);
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

static void take_away(struct sk_keyring *k)
{
    if (!k->users_own && *k->path) {
        unlink(k->path);
        *k->path = 0;
    }
    k->waits = 0;
}

void sk_keyring_free(struct sk_keyring *k)
{
    if (!k)
        return;
    take_away(k);
    free(k->brought);
    explicit_bzero(k, sizeof *k);
    free(k);
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

/* Where the file may go, the best place first. */
static int places(const struct sk_keyring *k, char dir[DIRS_MAX][PATH_MAX])
{
    const char *home = getenv("HOME");
    int n = 0;
    if (!k->far) { /* in memory: nothing of it ever reaches a disk */
        strcpy(dir[n++], "/dev/shm");
        strcpy(dir[n++], "/tmp");
    }
    n += !nearest(k->prefix, dir[n]);
    n += realpath(".", dir[n]) != NULL;
    n += home && realpath(home, dir[n]);
    return n;
}

int sk_keyring_leave(struct sk_keyring *k, uint32_t incarnation, double now,
                     struct sk_link_settings *link, struct saikai_error *err)
{
    char(*dir)[PATH_MAX] = k->users_own ? NULL : malloc(sizeof *dir * DIRS_MAX);
    struct saikai_error first = {0}, why;
    int n = 0, rc = 0;
    take_away(k);
    if (!k->users_own) {
        n = dir ? places(k, dir) : 0;
        rc = -1;
    }
    for (int i = 0; rc && i < n; i++) {
        why = (struct saikai_error){0};
        rc = sk_key_file_write(dir[i], k->nonce, incarnation, k->secret, k->path, &why);
        if (!rc && strlen(k->path) >= sizeof link->key_file) {
            take_away(k);
            rc = sk_fail(&why, SAIKAI_EINVAL, "%.80s… is too long a name", dir[i]);
        }
        if (rc && !first.code)
            first = why;
    }
    free(dir);
    if (rc || strlen(k->path) >= sizeof link->key_file) {
        *k->path = k->users_own ? *k->path : 0;
        return sk_fail(err, SAIKAI_EAUTH,
                       "there is no place to leave the key of this run for its ranks (%.300s): make "
                       "the working directory writable, or use --key-file",
                       first.code ? first.text : "the name of the key file is too long");
    }
    snprintf(link->key_file, sizeof link->key_file, "%s", k->path);
    k->incarnation = incarnation;
    k->bring_at = k->may_bring && !k->users_own ? now + bring_after_s : INFINITY;
    k->waits = 1;
    free(k->brought);
    k->brought = NULL;
    return 0;
}

/* ---- bringing it ---- */

static int split(char *text, char *word[], int max)
{
    char *save = NULL;
    int n = 0;
    for (char *w = strtok_r(text, " \t", &save); w && n < max; w = strtok_r(NULL, " \t", &save))
        word[n++] = w;
    return n;
}

static int is_ssh(const char *program)
{
    const char *slash = strrchr(program, '/');
    return !strcmp(slash ? slash + 1 : program, "ssh");
}

/* The remote shell writes what comes through its standard input; the pipe holds it until then. */
static int start_agent(const struct sk_keyring *k, const char *host, const char *script, int input,
                       const sigset_t *mask)
{
    static const char *const quiet[] = {"-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"};
    char agent[sizeof k->agent], *argv[WORDS_MAX + 8];
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    pid_t pid;
    strcpy(agent, k->agent);
    int n = split(agent, argv, WORDS_MAX - 8);
    for (size_t i = 0; is_ssh(argv[0]) && i < sizeof quiet / sizeof *quiet; i++)
        argv[n++] = (char *)quiet[i];
    argv[n++] = (char *)host;
    argv[n++] = (char *)script;
    argv[n] = NULL;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&how, mask);
    int rc = posix_spawnp(&pid, argv[0], &files, &how, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
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
    for (int h = 0; heard && used && h < hosts->n && started < AT_ONCE; h++)
        if (used[h] && !heard[h] && !k->brought[h]) {
            bring(k, hosts->host[h].name, mask);
            k->brought[h] = 1;
            started++;
        }
    free(heard);
    free(used);
    return started == AT_ONCE;
}

void sk_keyring_tick(struct sk_keyring *k, const struct sk_hub *hub, const struct sk_hosts *hosts,
                     const int *seat, int n, double now, const sigset_t *mask)
{
    if (!k->waits)
        return;
    int missing = 0;
    for (int r = 0; r < n && !missing; r++)
        missing = !sk_hub_has_heard(hub, k->incarnation, (uint32_t)r);
    if (!missing) {
        take_away(k);
    } else if (now >= k->bring_at) {
        if (!k->brought)
            k->brought = calloc((size_t)hosts->n, 1);
        k->bring_at = k->brought && bring_to_silent(k, hub, hosts, seat, n, mask)
                          ? now + next_round_s
                          : INFINITY;
    }
}

double sk_keyring_next(const struct sk_keyring *k)
{
    return k->waits ? k->bring_at : INFINITY;
}
