/* For tests of the supervisor: keepers and hosts that do as the test says, and a clock of their own. */
#ifndef SK_SUPERVISOR_TESTING_H
#define SK_SUPERVISOR_TESTING_H

#include "backbone/keeper_page.h"
#include "recovery/supervisor.h"

#include <stddef.h>

enum { N = 4,
       HOSTS = 3 };

struct crew {
    struct sk_supervisor *s;
    double now;
    uint32_t incarnation; /* of the newest start */
    int starts, abandoned, kills, releases, signals, requests;
    double started_at[16];
    int seat[N];
    uint32_t asked;  /* bits of the newest request */
    int silent_host; /* -1: none */
    int mute_host;   /* does not answer probes; -1: none */
    int obeys;       /* keepers die when ordered to */
    int alive[N];
    uint32_t id[N];    /* as whom each rank's keeper reports */
    uint32_t world[N]; /* what its layer says of itself */
    struct sk_printed printed; /* how far the output is of who exits next */
    struct sk_message order; /* the newest one to repair */
    int orders, admit_fails;
    struct sk_progress at; /* what all ranks say */
    char said[4096];
    int start_fails, is_unread;
    struct sk_past past;   /* what the newest start was told */
    struct sk_event event; /* the newest record */
    int events;
};

/* What the supervisor calls: it starts and ends keepers, probes hosts and says lines. */
extern const struct sk_supervisor_ops crew_ops;

struct sk_supervisor_config crew_config(void);
/* A job that has been running for a second; mute_host never answers (-1: all do). */
struct crew *crew_begin_with(const struct sk_supervisor_config *c, int mute_host);
struct crew *crew_begin(const struct sk_supervisor_config *c);
/* The same of a program with something to save. */
struct crew *crew_begin_with_library(struct sk_supervisor_config *c);
/* And on several hosts, also where faults are repaired in place: two ranks on each of two, and a spare one. */
struct crew *crew_begin_on_hosts(struct sk_supervisor_config *c);
void crew_finish(struct crew *w);
/* So many seconds go by. */
void crew_run(struct crew *w, double seconds);
/* A keeper says how its rank ended. */
void crew_exit(struct crew *w, int rank, uint32_t how, uint32_t code, uint32_t ordered);
/* What the job ended with, -1: it has not. */
int crew_exit_code(struct crew *w);

#endif
