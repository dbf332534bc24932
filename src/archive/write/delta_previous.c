/* Which archive a new one builds on: one in the same directory, of which not too many stand in a row. */
#include "archive/write/delta.h"

#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* The directory of a file, as the disk knows it. */
static int directory_of(const char *path, struct stat *st)
{
    const char *slash = strrchr(path, '/');
    char dir[4096];
    if (!slash)
        return stat(".", st);
    if ((size_t)(slash - path) + 2 > sizeof dir)
        return -1;
    memcpy(dir, path, (size_t)(slash - path) + 1);
    dir[slash - path + 1] = 0;
    return stat(dir, st);
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int sk_ska_plan_previous(struct sk_ska_plan *p, const char *out, const char *previous,
                         struct saikai_error *err)
{
    struct stat a, b;
    int rc = sk_opened_new(previous, &p->previous, err);
    if (rc)
        return rc;
    if (p->opt.scheme != SK_SCHEME_AUTO)
        sk_log(SK_LOG_WARN, "only the scheme 'auto' builds on another archive: this one stands alone, without %s", previous);
    if (directory_of(previous, &a) || directory_of(out, &b))
        return sk_fail_errno(err, errno, "cannot read the directories of %s and %s", previous, out);
    if (a.st_dev != b.st_dev || a.st_ino != b.st_ino || !strcmp(name_of(previous), name_of(out)))
        return sk_fail(err, SAIKAI_EINVAL,
                       "%s cannot build on %s: that must be another archive in the same directory",
                       out, previous);
    int most = p->opt.chain > 0 ? p->opt.chain : SK_CHAIN;
    if (most > SK_SKA_MAX_DEPTH)
        most = SK_SKA_MAX_DEPTH;
    if (p->previous->a->depth >= (uint32_t)most) {
        sk_opened_free(p->previous); /* enough in a row: this one stands alone */
        p->previous = NULL;
    }
    return 0;
}
