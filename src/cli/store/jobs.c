/* Walks the directories that jobs of a prefix have. */
#include "cli/store/jobs.h"

#include "base/file/denied.h"
#include "base/file/io.h"
#include "base/text/shown.h"
#include "cli/store/store_dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What another user keeps to himself is left out, which is said at the first walk: a job of one's own may stand beside it. */
static int left_out(const struct saikai_error *err, int first_walk)
{
    if (!sk_denied(err))
        return 0;
    if (first_walk)
        fprintf(stderr, "saikai: %s: left out\n", sk_shown(err->text));
    return 1;
}

int cli_jobs_each(const char *root, int (*each)(void *arg, const char *dir, struct saikai_error *err), void *arg,
                  struct saikai_error *err)
{
    static int walks;
    char dir[PATH_MAX], path[PATH_MAX];
    struct saikai_error why = {0};
    int first_walk = !walks++, rc = each(arg, root, &why), missing = rc == SAIKAI_ENOENT;
    DIR *d = (rc && !missing && !sk_denied(&why)) || sk_io_path(dir, sizeof dir, NULL, "%s/jobs", root) ? NULL : sk_io_opendir(dir);
    if (!d && (!rc || missing))
        rc = errno == ENOENT || errno == ENOTDIR ? 0 : sk_fail_at(&why, errno, dir, "cannot read directory %s", dir);
    else if (d && (missing || (rc && left_out(&why, first_walk))))
        rc = 0;
    for (struct dirent *e; d && !rc && (e = readdir(d));)
        if (*e->d_name != '.' && !sk_io_path(path, sizeof path, NULL, "%s/%s", dir, e->d_name)) {
            rc = each(arg, path, &why);
            if (rc == SAIKAI_ENOENT || (rc && left_out(&why, first_walk)))
                rc = 0;
        }
    if (d)
        closedir(d);
    if (rc && err)
        *err = why;
    return rc;
}

int cli_jobs_target(const struct cli *cli, const char *operand, const char *job, int later, const char **root, const char **only,
                    struct saikai_error *err)
{
    struct stat st;
    int is_directory = operand && (strchr(operand, '/') || (!stat(operand, &st) && S_ISDIR(st.st_mode)));
    *root = is_directory ? operand : sk_config_text(cli->config, "store.prefix");
    *only = job;
    if (is_directory && !later && stat(operand, &st) && errno == ENOENT)
        return sk_fail(err, SAIKAI_ENOENT, "%s: there is no such directory", operand);
    if (!operand || is_directory)
        return later ? 0 : cli_store_refuse_others(*root, err);
    if (job && strcmp(job, operand))
        return sk_fail(err, SAIKAI_EINVAL, "'%.60s' is no directory, and --job names another job", operand);
    *only = operand;
    return 0;
}
