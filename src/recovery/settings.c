/* Reads times and limits for supervisor and keepers, the job's deadline, the keeper's path, and the
 * hosts of file or allocation. */
#include "recovery/settings.h"

#include "base/clock.h"
#include "base/own/allowed.h"
#include "recovery/launch/slurm.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint32_t milliseconds(double s, uint32_t least)
{
    double ms = s * 1000;
    return ms < least ? least : ms > 999999999 ? 999999999 : (uint32_t)ms;
}

int sk_job_is_somewhere(struct saikai_error *err)
{
    char here[PATH_MAX];
    if (getcwd(here, sizeof here) || errno != ENOENT)
        return 0;
    return sk_fail_errno(err, ENOENT, "the directory that this was started in has been removed: go there again if it was made anew (cd \"$PWD\"), or to another one");
}

/* Measured: jobs of 1, 4 and 8 ranks of Open MPI 4.1 come to their end with 36, 44 and 64 files, those of MPICH 4.0 with 36, 44 and 56. */
enum { FILES_ALWAYS = 32, FILES_RANK = 4 };

int sk_job_allow_files(int ranks, struct saikai_error *err)
{
    return sk_allowed_files(FILES_ALWAYS + FILES_RANK * (unsigned)ranks, err);
}

int sk_job_settings(const struct sk_job_options *o, const struct sk_config *c, double deadline, struct sk_supervisor_config *s,
                    struct sk_link_settings *link, struct saikai_error *err)
{
    link->heartbeat_ms = milliseconds(sk_config_time(c, "run.heartbeat"), 10);
    link->node_timeout_ms = milliseconds(sk_config_time(c, "run.node_timeout"), 100);
    link->orphan_timeout_ms = milliseconds(sk_config_time(c, "run.orphan_timeout"), 1000);
    *s = (struct sk_supervisor_config){
        .detector =
            {
                .n_ranks = o->n_ranks,
                .heartbeat_s = link->heartbeat_ms / 1000.0,
                .node_timeout_s = link->node_timeout_ms / 1000.0,
                .hang_timeout_s = sk_config_time(c, "run.hang_timeout"),
                .setup_timeout_s = sk_config_time(c, "run.setup_timeout"),
                .start_timeout_s = sk_config_time(c, "run.start_timeout"),
                .finish_timeout_s = sk_config_time(c, "run.finish_timeout"),
            },
        .assess =
            {
                .repeated_faults = (int)sk_config_int(c, "run.repeated_faults"),
                .repeated_window_s = sk_config_time(c, "run.repeated_window"),
                .network_patience_s = sk_config_time(c, "run.network_patience"),
            },
        .retries = (int)sk_config_int(c, "run.retries"),
        .no_progress = (int)sk_config_int(c, "run.no_progress"),
        .short_life_s = sk_config_time(c, "run.short_life"),
        .stop_grace_s = sk_config_time(c, "schedule.stop_grace"),
        .command = o->command,
        .then = *sk_config_text(c, "run.then") != 0,
        .program = *sk_config_text(c, "run.then") ? NULL : o->program[0],
        .backoff_s = sk_config_time(c, "run.backoff"),
        .grace_s = sk_config_time(c, "run.grace"),
        .repair_s = sk_config_time(c, "run.repair_limit"),
        .renews = sk_config_bool(c, "run.restart_slower"),
        .deadline = deadline,
    };
    return sk_recovery_parse(sk_config_text(c, "run.recovery"), &s->assess.plan, err);
}

double sk_job_deadline(const struct sk_config *c)
{
    double limit = sk_config_time(c, "schedule.time_limit");
    double left = limit > 0 ? limit : sk_slurm_time_left();
    return left > 0 ? sk_now() + left : 0;
}

int sk_export_settings(const struct sk_config *c, struct saikai_error *err)
{
    for (int i = 0; i < sk_config_count(); i++) {
        const struct sk_key *k = sk_config_key(i);
        char name[96];
        if (sk_config_origin_kind_at(c, i) != SK_FROM_COMMAND_LINE)
            continue;
        snprintf(name, sizeof name, "SAIKAI_%s_%s", k->section, k->key);
        for (char *p = name; *p; p++)
            *p = (char)toupper((unsigned char)*p);
        if (setenv(name, sk_config_value_at(c, i), 1))
            return sk_fail_errno(err, errno, "cannot set %s", name);
    }
    return 0;
}

int sk_find_keeper(const struct sk_config *c, char *path, size_t cap, struct saikai_error *err)
{
    const char *told = sk_config_text(c, "run.keeper");
    char self[PATH_MAX] = "";
    if (*told) {
        snprintf(path, cap, "%s", told);
    } else {
        ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        char *slash = n > 0 ? strrchr(self, '/') : NULL;
        if (slash)
            *slash = 0;
        snprintf(path, cap, "%s/saikaid", self);
    }
    struct stat st;
    int e = stat(path, &st) ? errno : S_ISDIR(st.st_mode) ? EISDIR : access(path, X_OK) ? errno : 0;
    if (!e)
        return 0;
    sk_fail_errno(err, e, "%s, which has to start each rank, cannot be executed (run.keeper)", path);
    return *told ? err->code = SAIKAI_ECONFIG : err->code;
}

int sk_find_preload(const char *keeper, const char *name, char *path, size_t cap)
{
    static const char *const places[] = {"", "../" SAIKAI_LIBDIR "/saikai/"};
    const char *slash = strrchr(keeper, '/');
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        int n = snprintf(path, cap, "%.*s/%s%s", (int)(slash - keeper), keeper, places[i], name);
        if (n > 0 && (size_t)n < cap && !access(path, R_OK))
            return 0;
    }
    *path = 0;
    return -1;
}

void sk_find_yield(const struct sk_config *c, const char *keeper, char *path, size_t cap)
{
    *path = 0;
    if (sk_config_bool(c, "run.yield"))
        sk_find_preload(keeper, "libsaikai-yield.so", path, cap);
}

int sk_job_hosts(const struct sk_job_options *o, const struct sk_launcher_ops *form, struct sk_hosts *h, int *told,
                 struct saikai_error *err)
{
    char name[256] = "localhost";
    *told = 1;
    if (o->hosts_path) {
        int rc = sk_hosts_load(o->hosts_path, h, err);
        if (rc && rc != SAIKAI_ENOMEM) /* what was asked for is wrong, not what was found on the way */
            rc = err->code = SAIKAI_ECONFIG;
        return rc;
    }
    if (form->hosts)
        return form->hosts(h, err);
    if (sk_slurm_has_several()) /* mpirun would start ranks there by itself, and nothing here would know */
        return sk_slurm_hosts(h, err);
    *told = 0;
    if (o->spares)
        return sk_fail(err, SAIKAI_ECONFIG,
                       "--spares needs --hosts: the last hosts of the file are the spares");
    gethostname(name, sizeof name - 1);
    return sk_hosts_add(h, name, 0, err);
}
