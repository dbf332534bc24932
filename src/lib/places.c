/* Where a session saves to: the prefix on the shared file system and the node-local directory. */
#include "lib/start.h"

#include "base/io.h"
#include "base/modes.h"
#include "store/private.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int sk_places_find_prefix(struct sk_session *s, struct sk_start *st, struct saikai_error *err)
{
    const char *given = sk_config_text(s->config, "store.prefix");
    char real[PATH_MAX];
    int rc = set_modes(s, err);
    if (rc || sk_path_is_none(given))
        return rc;
    rc = sk_config_bool(s->config, "store.fsync") ? sk_io_mkdirs_lasting(given, err) : sk_io_mkdirs(given, err);
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
    char user[PATH_MAX], real[PATH_MAX];
    int rc = set_modes(s, err);
    if (rc)
        return rc;
    snprintf(s->prefix_root, sizeof s->prefix_root, "%s", st->prefix);
    if (sk_path_is_none(given)) {
        if (!*st->prefix)
            return sk_fail(err, SAIKAI_ECONFIG,
                           "store.local and store.prefix are both 'none': there is nowhere to save to");
        snprintf(s->local_root, sizeof s->local_root, "%s", st->prefix);
        return 0;
    }
    rc = sk_io_mkdirs(given, err);
    if (rc)
        return rc;
    if (!realpath(given, real)) /* the program may go to another directory */
        return sk_fail_errno(err, errno, "cannot resolve %s (store.local)", given);
    rc = sk_private_dir(real, 1, user, sizeof user, err);
    if (!rc)
        rc = sk_io_path(s->local_root, sizeof s->local_root, err, "%s/%s", user, st->job);
    return rc ? rc : sk_io_mkdirs(s->local_root, err);
}
