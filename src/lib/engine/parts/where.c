/* Where this rank's files are: paths, and leave to write. */
#include "lib/engine/parts/where.h"

#include "base/file/io.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sk_where_set(struct sk_where *w, const struct sk_engine_config *c)
{
    *w = (struct sk_where){
        .local_root = strdup(c->local_root),
        .prefix_root = c->prefix_root ? strdup(c->prefix_root) : NULL,
        .leased_root = c->leased_root ? strdup(c->leased_root) : NULL,
        .lease = c->lease,
        .hold = c->hold,
        .incarnation = c->incarnation,
        .rank = c->rank,
        .nranks = c->nranks,
        .sync_local = c->sync_local,
        .sync_prefix = c->sync_prefix,
    };
    return !w->local_root || (c->prefix_root && !w->prefix_root) || (c->leased_root && !w->leased_root) ? SAIKAI_ENOMEM : 0;
}

void sk_where_free(struct sk_where *w)
{
    free(w->local_root);
    free(w->prefix_root);
    free(w->leased_root);
}

int sk_where_may_write(const struct sk_where *w, const char *root, double wait_s, struct saikai_error *err)
{
    int rc = w->hold && !strcmp(root, w->local_root) ? sk_hold_renew(w->hold, err) : 0;
    if (rc)
        return rc;
    if (!w->leased_root || strcmp(root, w->leased_root))
        return 0;
    return sk_lease_check(root, w->lease, wait_s, err);
}

int sk_where_tmp(const struct sk_where *w, const char *root, int number, char out[PATH_MAX], struct saikai_error *err)
{
    return sk_io_path(out, PATH_MAX, err, "%s/slot-%04u-%06d-%d.tmp", root, w->incarnation, w->rank, INT_MAX - number);
}

int sk_where_has_file(const struct sk_where *w, struct sk_gen gen)
{
    char path[PATH_MAX];
    return !sk_gen_file(w->local_root, gen, w->rank, path, sizeof path, NULL) && !access(path, F_OK);
}
