/* Where a session saves to: the prefix on the shared file system and the node-local directory. */
#include "lib/start/places.h"

#include "base/file/denied.h"
#include "base/file/io.h"
#include "base/log.h"
#include "base/file/modes.h"
#include "base/file/patience.h"
#include "store/owner/private.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int sk_path_is_none(const char *path)
{
    return !strcmp(path, "none");
}

/* From here on all that this process makes belongs to a store. */
static int set_modes(const struct sk_session *s, struct saikai_error *err)
{
    int mode, rc = sk_modes_parse(sk_config_text(s->config, "store.mode"), &mode, err);
    if (!rc)
        sk_modes_set(mode);
    return rc;
}

/* The prefix as it was given, and as an absolute path; for a thread that may hang there. */
struct visit {
    char given[PATH_MAX], found[PATH_MAX];
    int read_only; /* an errno */
    int sync;      /* a new directory is to last */
    int absent;    /* it is not there, and cannot be made now */
};

int sk_places_refuse(struct saikai_error *err, int rc)
{
    if (err && sk_denied(err))
        sk_error_append(err, "; name a directory that can be written with store.prefix, or none to save on the nodes alone");
    return rc;
}

static int visit(void *arg, struct saikai_error *err)
{
    struct visit *v = arg;
    struct stat sb;
    int rc = v->sync ? sk_io_mkdirs_lasting(v->given, err) : sk_io_mkdirs(v->given, err);
    int e = rc ? err->sys_errno : 0;
    if ((e == ENOSPC || e == EDQUOT || e == EROFS) && stat(v->given, &sb) && errno == ENOENT) {
        sk_log(SK_LOG_WARN, "%s; going on without it until it can be made", err->text);
        v->absent = 1; /* so nothing is in it */
        return 0;
    }
    if (rc)
        return sk_places_refuse(err, rc);
    if (!realpath(v->given, v->found))
        return sk_fail_errno(err, errno, "cannot resolve %s", v->given);
    if (stat(v->found, &sb) || !S_ISDIR(sb.st_mode))
        return sk_fail_errno(err, ENOTDIR, "cannot use %s (store.prefix)", v->found);
    if (access(v->found, R_OK | X_OK))
        return sk_places_refuse(err, sk_fail_at(err, errno, v->found, "cannot look into %s", v->found));
    v->read_only = access(v->found, W_OK) ? errno : 0;
    return 0;
}

/* Without asking the file system; what has no symbolic link in it comes to the same. */
static int absolute(const char *given, char *out, size_t cap, struct saikai_error *err)
{
    char from[PATH_MAX] = "";
    size_t n = strlen(given);
    while (n > 1 && given[n - 1] == '/')
        n--;
    if (*given != '/' && !getcwd(from, sizeof from))
        return sk_fail_errno(err, errno, "cannot find the working directory");
    if (!strncmp(given, "./", 2))
        given += 2, n -= 2;
    return sk_io_path(out, cap, err, "%s%s%.*s", from, *given == '/' ? "" : "/", (int)n, given);
}

int sk_places_find_prefix(struct sk_session *s, struct sk_start *st, struct saikai_error *err)
{
    const char *given = sk_config_text(s->config, "store.prefix");
    int rc = set_modes(s, err);
    if (rc || sk_path_is_none(given))
        return rc;
    struct visit *v = calloc(1, sizeof *v);
    if (!v)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the name of %s", given);
    rc = sk_io_path(v->given, sizeof v->given, err, "%s", given);
    if (rc) {
        free(v);
        return rc;
    }
    v->sync = sk_config_bool(s->config, "store.fsync");
    rc = sk_patience_call(s->place.patience, given, visit, free, v, err);
    if (rc) {
        if (rc != SAIKAI_ETIMEDOUT && err->sys_errno == ENOTDIR) { /* that is no trouble which passes */
            free(v);
            return rc;
        }
        int made = absolute(given, st->prefix, sizeof st->prefix, NULL);
        if (rc != SAIKAI_ETIMEDOUT)
            free(v);
        return made ? made : rc;
    }
    if (v->absent) {
        rc = absolute(given, st->prefix, sizeof st->prefix, err);
        free(v);
        return rc;
    }
    if (v->read_only)
        sk_log(SK_LOG_WARN, "cannot write in %s (store.prefix): %s; what is in it can be read", v->found,
               strerror(v->read_only));
    rc = sk_io_path(st->prefix, sizeof st->prefix, err, "%s", v->found);
    free(v);
    return rc;
}

/* The newest start that a rank finds a file of, for a thread that may hang there. */
struct scan {
    char root[PATH_MAX];
    int rank;
    int64_t newest;
};

static int scan(void *arg, struct saikai_error *err)
{
    struct scan *c = arg;
    struct sk_gen_list l = {0};
    int rc = sk_gen_scan(c->root, c->rank, &l, err);
    if (!rc && l.count)
        c->newest = l.gen[0].incarnation;
    sk_gen_list_free(&l);
    return rc;
}

int sk_places_scan_prefix(struct sk_session *s, int64_t *newest, struct saikai_error *err)
{
    struct scan *c = calloc(1, sizeof *c);
    if (!c)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to list %s", s->place.prefix_root);
    snprintf(c->root, sizeof c->root, "%s", s->place.prefix_root);
    c->rank = s->g->rank ? s->g->rank : -1; /* rank 0 also looks at files of ranks that there are no more */
    int rc = sk_patience_call(s->place.patience, s->place.prefix_root, scan, free, c, err);
    if (rc == SAIKAI_ETIMEDOUT)
        return rc;
    if (!rc && c->newest > *newest)
        *newest = c->newest;
    free(c);
    return rc;
}

/* What an older version left there goes on under the new name; whichever rank of the node is first does it. */
static int adopt_old(const char *user, const char *old, const char *root, struct saikai_error *err)
{
    char path[PATH_MAX];
    struct saikai_error why = {0};
    int rc = sk_io_path(path, sizeof path, err, "%s/%s", user, old);
    if (rc || access(path, F_OK) || !(rc = sk_io_rename(path, root, &why)))
        return rc;
    if (rc == SAIKAI_ENOENT || why.sys_errno == ENOTEMPTY || rc == SAIKAI_EEXIST)
        return 0; /* another rank was faster */
    return sk_fail(err, rc, "%s", why.text);
}

/* The directory that the user named, by its whole path, since the program may go to another directory. SAIKAI_ENOSPC: it cannot be made now. */
static int make_given(const char *given, char real[PATH_MAX], struct saikai_error *err)
{
    int rc = sk_io_mkdirs(given, err);
    if (rc == SAIKAI_ENOSPC) {
        int bad = absolute(given, real, PATH_MAX, err);
        return bad ? bad : rc;
    }
    if (!rc && !realpath(given, real))
        rc = sk_fail_errno(err, errno, "cannot resolve %s (store.local)", given);
    if (rc)
        sk_private_refuse(err);
    return rc;
}

/* Where there is no room for a directory of this user's: the name that it gets when there is. rc: there is one, or why not. */
static int first_name(const char *real, char *user, size_t cap, int rc, struct saikai_error *err)
{
    if (rc && (rc = sk_io_path(user, cap, err, "%s/saikai-%ld", real, (long)geteuid())) == 0)
        sk_modes_guard(user);
    return rc;
}

int sk_places_make_local(struct sk_session *s, const struct sk_start *st, struct saikai_error *err)
{
    const char *given = sk_config_text(s->config, "store.local");
    char user[PATH_MAX], real[PATH_MAX];
    int rc = set_modes(s, err);
    if (rc)
        return rc;
    snprintf(s->place.prefix_root, sizeof s->place.prefix_root, "%s", st->prefix);
    if (sk_path_is_none(given)) {
        if (!*st->prefix)
            return sk_fail(err, SAIKAI_ECONFIG,
                           "store.local and store.prefix are both 'none': there is nowhere to save to");
        snprintf(s->place.local_root, sizeof s->place.local_root, "%s", st->prefix);
        return 0;
    }
    rc = make_given(given, real, err);
    if (!rc || rc == SAIKAI_ENOSPC) {
        int full = rc;
        rc = sk_private_dir(real, !full, user, sizeof user, full ? NULL : err);
        full = full ? full : rc;
        rc = full == SAIKAI_ENOSPC ? first_name(real, user, sizeof user, rc, err) : rc;
    }
    if (!rc)
        rc = sk_io_path(s->place.local_root, sizeof s->place.local_root, err, "%s/%s", user, st->local);
    if (!rc && *st->old_local)
        rc = adopt_old(user, st->old_local, s->place.local_root, err);
    if (!rc && (rc = sk_io_mkdirs(s->place.local_root, err)) == SAIKAI_ENOSPC)
        rc = 0; /* it is tried again when there is something to save */
    return rc;
}
