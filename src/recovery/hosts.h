/* The hosts of a job: the hosts file, which of them are spares, and which rank sits where. Pure but
 * for the reading.
 *
 * Hosts file: one "host [slots=N]" a line, '#' begins a comment. Hosts without slots share the
 * ranks evenly. */
#ifndef SK_RECOVERY_HOSTS_H
#define SK_RECOVERY_HOSTS_H

#include "base/error.h"

#include <stddef.h>

enum sk_host_state { SK_HOST_ACTIVE, SK_HOST_SPARE, SK_HOST_LOST };

struct sk_host {
    char name[256];
    int slots; /* 0: not told */
    enum sk_host_state state;
    int shunned; /* lost for good: it is no spare when it is heard again */
};

struct sk_hosts {
    struct sk_host *host;
    int n;
};

/* Parse text; errors name path and the line. On failure *out is untouched; else free it with
 * sk_hosts_free. */
int sk_hosts_parse(const char *text, size_t n, const char *path, struct sk_hosts *out,
                   struct saikai_error *err);
int sk_hosts_load(const char *path, struct sk_hosts *out, struct saikai_error *err);
/* Append a host; SAIKAI_EEXIST when it is there already. */
int sk_hosts_add(struct sk_hosts *h, const char *name, int slots, struct saikai_error *err);
void sk_hosts_free(struct sk_hosts *h);

/* The last `spares` hosts become spares; seat[0 … n_ranks) gets the host of each rank: blocks of
 * neighbouring ranks, in the order of the file. Errors: no host is left, or the slots do not
 * suffice. */
int sk_hosts_place(struct sk_hosts *h, int spares, int n_ranks, int *seat,
                   struct saikai_error *err);

/* The host of a process beyond the ranks, which waits to take the place of one that dies: they go round the hosts that have ranks. */
int sk_hosts_warm(const int *seat, int n_ranks, int spare);

/* How many ranks sit on a host. */
int sk_hosts_ranks(const int *seat, int n_ranks, int host);

/* Host `lost` is gone: its ranks move to a spare with enough slots; when there is none, to free
 * slots of the active hosts and then evenly over them. Ranks on other hosts stay where their
 * node-local checkpoints are. Returns the spare taken, -1 when the ranks were spread, -2 when no
 * host is left (nothing changed but the host's state). */
int sk_hosts_lose(struct sk_hosts *h, int lost, int n_ranks, int *seat);
/* A lost host has been heard again: it is a spare from now on, unless it is shunned. */
void sk_hosts_return(struct sk_hosts *h, int host);

/* The host of this name: equal, or equal up to the first dot; -1: none, or more than one. */
int sk_hosts_find(const struct sk_hosts *h, const char *name);

#endif
