/* Asks Slurm's environment and tools about the allocation. */
#include "recovery/launch/slurm.h"

#include "base/clock.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *job_id(void)
{
    const char *id = getenv("SLURM_JOB_ID");
    return id && *id ? id : NULL;
}

int sk_slurm_present(void)
{
    return job_id() != NULL;
}

int sk_slurm_has_several(void)
{
    const char *n = getenv("SLURM_JOB_NUM_NODES");
    if (!n || !*n)
        n = getenv("SLURM_NNODES");
    return sk_slurm_present() && n && strtol(n, NULL, 10) > 1;
}

int sk_slurm_hosts(struct sk_hosts *h, struct saikai_error *err)
{
    char line[256];
    int rc = 0;
    FILE *f = popen("scontrol show hostnames", "re"); /* expands SLURM_JOB_NODELIST */
    while (f && !rc && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (*line)
            rc = sk_hosts_add(h, line, 0, err);
    }
    if (f)
        pclose(f);
    if (!rc && !h->n)
        rc = sk_fail(err, SAIKAI_ENOENT,
                     "`scontrol show hostnames` names no host of this allocation: use --hosts");
    return rc;
}

double sk_slurm_span(const char *text)
{
    double all = 0;
    int parts = 0, days = 0;
    for (const char *p = text; isdigit((unsigned char)*p) && parts < 3; p++) {
        char *end;
        double n = (double)strtol(p, &end, 10);
        p = end;
        if (*p == '-' && !parts && !days) {
            days = 1;
            all = n * 24;
            continue;
        }
        all = (parts ? all * 60 : all) + n;
        parts++;
        if (!*p || *p == '\n')
            return days && parts < 3 ? -1 : all;
        if (*p != ':')
            break;
    }
    return -1;
}

/* Older versions do not tell a program when its allocation ends, but know it. */
static double asked_for(const char *id)
{
    char command[160], line[64] = "";
    if (strspn(id, "0123456789") != strlen(id) || strlen(id) > 20)
        return 0;
    snprintf(command, sizeof command, "timeout 10 squeue --noheader --jobs=%s --format=%%L 2>/dev/null </dev/null", id);
    FILE *f = popen(command, "re");
    int told = f && fgets(line, sizeof line, f);
    if (f)
        pclose(f);
    double left = told ? sk_slurm_span(line) : -1;
    return left < 0 ? 0 : fmax(left, 1);
}

double sk_slurm_time_left(void)
{
    const char *told = getenv("SLURM_JOB_END_TIME"); /* seconds since 1970 */
    char *end;
    long long at = told ? strtoll(told, &end, 10) : 0;
    if (at > 0 && !*end)
        return fmax((double)at - (double)sk_wall_ms() / 1000, 1);
    return job_id() ? asked_for(job_id()) : 0;
}
