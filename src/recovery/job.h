/* `saikai run`: one job from its first start to its end, with everything it needs from the system.
 */
#ifndef SK_RECOVERY_JOB_H
#define SK_RECOVERY_JOB_H

#include "base/config/config.h"

struct sk_job_options {
    int n_ranks;
    const char *hosts_path; /* NULL: this host alone, or the hosts of the Slurm allocation */
    int spares;
    const char *launcher; /* "auto" or one of sk_launcher_kind */
    char **program;       /* argv, ends with NULL */
    const char *command;  /* what the user typed; NULL: not known */
};

/* Run the job. Blocks until it is over and nothing of it is left on this host; takes over the
 * process's signals. Returns the exit code for `saikai run` (0 and up), or a negative code with
 * *err when it could not even begin. */
int sk_job_run(const struct sk_job_options *o, const struct sk_config *config,
               struct saikai_error *err);

#endif
