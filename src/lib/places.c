/* Where a session saves to: the prefix on the shared file system and the node-local directory. */
#include "lib/start.h"

#include "base/io.h"

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

int sk_places_find_prefix(struct sk_session *s, struct sk_start *st, struct saikai_error *err)
{
    const char *given = sk_config_text(s->config, "store.prefix");
    char real[PATH_MAX];
    if (sk_path_is_none(given))
        return 0;
    int rc = sk_config_bool(s->config, "store.fsync") ? sk_io_mkdirs_lasting(given, err) : sk_io_mkdirs(given, err);
    if (rc)
        return rc;
    if (!realpath(given, real))
        return sk_fail_errno(err, errno, "cannot resolve %s", given);
    if (access(real, W_OK | X_OK))
        return sk_fail_errno(err, errno, "cannot write in %s (store.prefix)", real);
    return sk_io_path(st->prefix, sizeof st->prefix, err, "%s", real);
}

int sk_places_make_local(struct sk_session *s, const struct sk_start *st, struct saikai_error *err)
{
    const char *given = sk_config_text(s->config, "store.local");
    char user[PATH_MAX];
    struct stat sb;
    snprintf(s->prefix_root, sizeof s->prefix_root, "%s", st->prefix);
    if (sk_path_is_none(given)) {
        if (!*st->prefix)
            return sk_fail(err, SAIKAI_ECONFIG,
                           "store.local and store.prefix are both 'none': there is nowhere to save to");
        snprintf(s->local_root, sizeof s->local_root, "%s", st->prefix);
        return 0;
    }
    int rc = sk_io_path(user, sizeof user, err, "%s/saikai-%ld", given, (long)getuid());
    if (!rc)
        rc = sk_io_mkdirs(given, err);
    if (rc)
        return rc;
    if (mkdir(user, 0700) && errno != EEXIST)
        return sk_fail_errno(err, errno, "cannot make directory %s (store.local)", user);
    /* a directory of this name that somebody else put into a public place must not be trusted */
    if (lstat(user, &sb) || !S_ISDIR(sb.st_mode) || sb.st_uid != getuid())
        return sk_fail(err, SAIKAI_EAUTH, "%s does not belong to this user: set store.local", user);
    rc = sk_io_path(s->local_root, sizeof s->local_root, err, "%s/%s", user, st->job);
    return rc ? rc : sk_io_mkdirs(s->local_root, err);
}
