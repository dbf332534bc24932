/* The jobs of a prefix: one in the directory itself, others in jobs/NAME below it. */
#ifndef SK_CLI_JOBS_H
#define SK_CLI_JOBS_H

#include "base/error.h"
#include "cli/cli.h"

#include <limits.h>

/* each(arg, dir, err) for the prefix itself and for all directories below jobs, whether a job has them or not, until one returns another
 * code than 0 and SAIKAI_ENOENT. Beside other jobs, one that this user may not look at is left out, and that is said on stderr. */
int cli_jobs_each(const char *root, int (*each)(void *arg, const char *dir, struct saikai_error *err), void *arg,
                  struct saikai_error *err);

/* What `operand` means, NULL: none was given: a directory is the prefix, another word the name of a job in the prefix of the
 * configuration. job: what --job says, NULL: nothing. *only: NULL: all jobs are meant. later: 1: the directory may be made later.
 * SAIKAI_EINVAL: the two name two jobs. SAIKAI_ENOENT: the operand is a directory that is not there, or, unless later, what is meant has nothing of a store's. */
int cli_jobs_target(const struct cli *cli, const char *operand, const char *job, int later, const char **root, const char **only,
                    struct saikai_error *err);

#endif
