/* Walks the directories that jobs of a prefix have. */
#include "cli/store/jobs.h"

#include "base/file/io.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int cli_jobs_each(const char *root, int (*each)(void *arg, const char *dir, struct saikai_error *err), void *arg,
                  struct saikai_error *err)
{
    char dir[PATH_MAX], path[PATH_MAX];
    int rc = each(arg, root, err);
    if (rc == SAIKAI_ENOENT)
        rc = 0;
    DIR *d = rc || sk_io_path(dir, sizeof dir, NULL, "%s/jobs", root) ? NULL : sk_io_opendir(dir);
    for (struct dirent *e; d && !rc && (e = readdir(d));)
        if (*e->d_name != '.' && !sk_io_path(path, sizeof path, NULL, "%s/%s", dir, e->d_name)) {
            rc = each(arg, path, err);
            if (rc == SAIKAI_ENOENT)
                rc = 0;
        }
    if (d)
        closedir(d);
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
        return 0;
    if (job && strcmp(job, operand))
        return sk_fail(err, SAIKAI_EINVAL, "'%.60s' is no directory, and --job names another job", operand);
    *only = operand;
    return 0;
}
