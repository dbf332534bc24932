/* From configuration and environment to the settings of a job. */
#ifndef SK_RECOVERY_SETTINGS_H
#define SK_RECOVERY_SETTINGS_H

#include "recovery/job.h"
#include "recovery/launch/launcher.h"
#include "recovery/supervisor.h"

/* The settings of the supervisor, and of the keepers' links. SAIKAI_ECONFIG: run.recovery names what is not there. */
int sk_job_settings(const struct sk_job_options *o, const struct sk_config *c, double deadline, struct sk_supervisor_config *s,
                    struct sk_link_settings *link, struct saikai_error *err);
/* Let so many files be open as `saikai run` and the MPI's launcher need for so many ranks on this host. SAIKAI_ENOTSUP: they may not. With fewer,
 * libraries end the process (ZeroMQ), and launchers crash or hang. */
int sk_job_allow_files(int ranks, struct saikai_error *err);
/* Is there a working directory? MPI's launchers crash, or say something of their own, where it was removed. SAIKAI_ENOENT: it was. */
int sk_job_is_somewhere(struct saikai_error *err);
/* When the job's time slot ends (schedule.time_limit from now on, else that of Slurm's allocation) on the
 * clock of sk_now; 0: no limit is known. */
double sk_job_deadline(const struct sk_config *c);
/* Put what the command line set into the environment, where the ranks find it. */
int sk_export_settings(const struct sk_config *c, struct saikai_error *err);
/* The executable of the keeper: run.keeper, else saikaid beside this program. */
int sk_find_keeper(const struct sk_config *c, char *path, size_t cap, struct saikai_error *err);
/* libsaikai-yield.so, where it is installed or built: beside the keeper or in its library
 * directory. *path is empty when it is not found or run.yield says no. */
/* A library of ours that is preloaded: path[cap] is filled, or empty and -1 when it is not there. */
int sk_find_preload(const char *keeper, const char *name, char *path, size_t cap);
void sk_find_yield(const struct sk_config *c, const char *keeper, char *path, size_t cap);
/* The hosts: the hosts file, else those that the launcher knows of, else this host (*told 0). */
int sk_job_hosts(const struct sk_job_options *o, const struct sk_launcher_ops *form, struct sk_hosts *h, int *told,
                 struct saikai_error *err);

#endif
