/* What Slurm tells a program that runs in an allocation. */
#ifndef SK_RECOVERY_SLURM_H
#define SK_RECOVERY_SLURM_H

#include "recovery/hosts.h"

/* 1: this process runs in an allocation. */
int sk_slurm_present(void);
/* 1: the allocation has more than one host. */
int sk_slurm_has_several(void);
/* The allocation's hosts, added to *h. */
int sk_slurm_hosts(struct sk_hosts *h, struct saikai_error *err);
/* Seconds until the allocation's time limit, at least 1 when that has passed; 0: none, or none known. From SLURM_JOB_END_TIME, or
 * where Slurm does not set it (older versions), from squeue, for which it waits 10 s at most. */
double sk_slurm_time_left(void);
/* Seconds of a span as Slurm prints it: [[DAYS-]HOURS:]MINUTES:SECONDS; -1: it is none ("UNLIMITED", "INVALID"). */
double sk_slurm_span(const char *text);

#endif
