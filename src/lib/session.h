/* A session: everything between saikai_init and saikai_finalize, over any group of ranks and without MPI. The public
 * functions (api.c) are a thin skin around one session; tests run several in one process.
 *
 * How the ranks agree. Every rank calls the candidates in the same order; a *tick* counts them and is therefore the same
 * number at the same place on all ranks. Ranks exchange measurements and requests by one non-blocking reduction at a time
 * (poll.c): it is started at an agreed tick and its result taken up at an agreed later tick, about schedule.poll later.
 * All decisions follow from results that are equal on all ranks, at ticks that are equal on all ranks: nothing else has
 * to be negotiated, and every generation is complete unless writing failed. */
#ifndef SK_LIB_SESSION_H
#define SK_LIB_SESSION_H

#include "base/config.h"
#include "base/patience.h"
#include "backbone/keeper_page.h"
#include "group/group.h"
#include "lib/aggregator.h"
#include "lib/cadence.h"
#include "lib/changes.h"
#include "lib/engine.h"
#include "lib/ledger.h"
#include "lib/protector.h"
#include "lib/vars.h"
#include "schedule/advice.h"
#include "schedule/suffered.h"
#include "store/hold.h"
#include "store/job.h"
#include "store/lease.h"
#include "store/state.h"

#include <limits.h>
#include <signal.h>

/* What one rank tells the others in a poll. Reduced by minimum; fields named max_… hold the negative of the value, so
 * that the minimum is the maximum. */
enum sk_poll_field {
    SK_POLL_MIN_COMMITTED, /* newest generation committed here */
    SK_POLL_MAX_COMMITTED,
    SK_POLL_MIN_ARCHIVED, /* newest generation archived here */
    SK_POLL_MAX_ARCHIVED,
    SK_POLL_MIN_IDLE,    /* the archiver has nothing to do */
    SK_POLL_MAX_REQUEST, /* SK_REQUEST_… bits: 0, 1 checkpoint, 3 checkpoint and stop */
    SK_POLL_MAX_TICK_NS, /* measured time of a tick, without checkpoints */
    SK_POLL_MAX_COST_NS, /* measured time a checkpoint held the program up */
    SK_POLL_MAX_ARCHIVE, /* 1: rank 0 says that a copy to the prefix is due */
    SK_POLL_MIN_CODE_READY, /* the protector's news */
    SK_POLL_MIN_CODE_ENDED,
    SK_POLL_MIN_CODED,
    SK_POLL_MAX_PROTECT, /* 1: rank 0 says that a coding is due */
    SK_POLL_MAX_INTERVAL_NS, /* rank 0: what the model of several levels finds best, 0: nothing */
    SK_POLL_MAX_LOST, /* 1: the lease of the prefix is another job's */
    SK_POLL_MAX_HEAL, /* 1: something is damaged, a checkpoint is wanted that heals it */
    SK_POLL_FIELDS,
};

/* What is measured for the cadence of the levels (pace.c). */
struct sk_pace {
    struct sk_cadence cadence;
    double cost;            /* as agreed */
    double slices, slices_before; /* time this rank spent in slices of codings; of those before the last */
    int coding;                   /* when the exchange under way was started */
    int busy[SK_CADENCES];        /* when the one before was */
};

/* The generation that a restart is to go on from (chosen.h): one by name, or the newest of an iteration. */
struct sk_chosen {
    int is_set;
    char text[48];
    struct sk_gen gen; /* incarnation 0: by its iteration */
    int64_t iteration;
    uint32_t first; /* the session's first_incarnation without it, or that of the one restored when that is less */
};

struct sk_session {
    struct sk_group *g;
    struct sk_config *config;
    struct sk_keeper_page *page; /* NULL without a keeper */
    struct sk_vars vars;
    struct sk_coding_policy *coding;
    struct sk_changes *changes;
    struct sk_saver *saver;
    struct sk_ledger *ledger; /* all generations of this run */
    struct sk_engine *engine;
    struct sk_protector *protector; /* NULL: nothing is protected */
    struct sk_aggregator *aggregator; /* NULL: each rank copies its file to the prefix */
    struct sk_state state; /* rank 0 only */
    struct sk_job job;     /* whose store it is, and its id */
    struct sk_lease *lease; /* rank 0, with a prefix … */
    struct sk_id lease_token; /* … which all ranks know */
    int prefix_lost; /* on all ranks: another job has the place by now, nothing is written there */
    struct sk_hold *hold;   /* of the local directory, when there is one of its own */
    uint64_t run;           /* number of the `saikai run` above, 0: none */
    char aside[600];        /* rank 0: what a fresh start is to say of other jobs' generations … */
    uint32_t finished_from; /* the first start of the run before, when that came to its end; else 0 */
    char fresh_why[160];    /* … and why it is one, "": there is nothing to go on from */
    char local_root[PATH_MAX - 128], prefix_root[PATH_MAX - 128]; /* "" when there is none */
    struct sk_patience *patience; /* for what may hang in the prefix */
    int prefix_away;  /* on all ranks: it could not be read at the start, or at the restart */
    int ledger_left;  /* to a thread of the engine that hangs in the prefix */
    int engine_left; /* an archive that hangs in the prefix still uses the engine */
    int node_ranks;   /* ranks on this node */
    int state_behind; /* rank 0: the state in the prefix is not the newest */
    char host[256];
    uint64_t run_id;
    uint32_t incarnation, first_incarnation;

    /* candidates */
    uint64_t tick, next_tick; /* the slow path is taken at next_tick … */
    int64_t next_iteration;   /* … or at this iteration */
    int told_less; /* that an iteration was less than one before */
    int64_t last_iteration; /* the highest one that a candidate had, or the restored one */
    uint64_t due_tick;    /* next checkpoint by advice, UINT64_MAX: none */
    int64_t due_iteration; /* next checkpoint by schedule.every, INT64_MAX: none */
    uint64_t now_tick;    /* a checkpoint was requested for this tick */
    int every;
    int stop_agreed; /* all ranks took a stop request up at the same tick */
    int asked, told; /* the program has asked whether it should stop; and was told that it should */
    uint64_t end_tick; /* where it is seen whether it asks: a program that does not is ended there; UINT64_MAX: nowhere */
    int halted;        /* all is saved, and the process waits for its end */
    int damages_told;      /* of the engine's, to the other ranks */
    int64_t heals_from;    /* a generation newer than this one is to be protected and archived without waiting; -1: none */
    double protected_at;   /* when the last coding was begun, 0: none was */
    int in_files; /* between checkpoint_begin and _end */
    double files_begun; /* when the program began to write its files */

    /* poll */
    int64_t poll[SK_POLL_FIELDS];
    struct sk_request *poll_request;
    uint64_t poll_post_tick, poll_take_tick, poll_span;
    double poll_posted_at;

    /* measurements of this rank, and what was agreed */
    double tick_mark, tick_paused; /* when measuring began; time spent in checkpoints since */
    uint64_t tick_mark_count;
    double cost_seconds;
    double last_checkpoint_at, started_at, archived_at;
    struct sk_advice_state advice; /* counted in ticks */
    struct sk_suffered suffered;   /* by this job before this start, as far as the launcher told */
    double host_rate;              /* failures per second of the hosts in use */
    uint64_t restored_bytes;       /* of this rank's part of the generation restored */
    struct sk_pace pace;
    uint64_t last_checkpoint_tick;
    int deadline_done;
    double deadline; /* sk_now() at the end of the time slot, 0: none known */

    /* restart */
    int restarted;     /* saikai_restart was called */
    int reshapable;    /* every variable is global or replicated: any number of ranks can read a generation */
    struct sk_chosen chosen;
    struct sk_gen from; /* generation restored, incarnation 0: none */
    int64_t from_created_ms; /* wall clock, 0: not known */
    int unread;         /* a newer one is there, and could not be read: the same on all ranks */
    int from_others;    /* it was written by another number of ranks, or with other tiles */
    int proven;        /* the restored generation got past the first candidate */
    int code_from;     /* 1: it is in all local directories, and is to be protected on the nodes of now */
    char restored_files[PATH_MAX];

    /* statistics */
    int direct_told; /* that checkpoints go to the prefix, for lack of room */
    int64_t checkpoints, failed;
    uint64_t bytes_last;
    uint64_t delta_room; /* of the slot for the next delta */
    double blocked_seconds;
};

/* Collective over g (taken over, also on failure). Takes over config. */
int sk_session_new(struct sk_group *g, struct sk_config *config, const char *program,
                   struct sk_session **out, struct saikai_error *err);
/* Collective: wait for what is being written, tell the store that the run ended, free. keep_going: the program was asked
 * to stop and will be started again. */
int sk_session_finalize(struct sk_session *s, struct saikai_error *err);
/* Collective: wait until all that was captured is committed or has failed, and learn what is complete. */
int sk_session_wait(struct sk_session *s, struct saikai_error *err);
/* Local: free without agreement; what is not committed is lost. */
void sk_session_abandon(struct sk_session *s);

/* The same from a generation by name or iteration (chosen.h), or with an error; NULL: by restart.from. */
int sk_session_restart_from(struct sk_session *s, const char *which, int *restored, int64_t *iteration, struct saikai_error *err);
/* Collective: restore the newest generation that all ranks can give. *restored 1 and *iteration, or 0. */
int sk_session_restart(struct sk_session *s, int *restored, int64_t *iteration, struct saikai_error *err);

/* The slow path of a candidate; 1 captured, 0 nothing was due. */
int sk_session_candidate(struct sk_session *s, uint32_t place, int64_t iteration, struct saikai_error *err);
/* 1 when a checkpoint is due at this candidate; counts the tick. For programs that write files. */
int sk_session_due(struct sk_session *s, uint32_t place, int64_t iteration, struct saikai_error *err);
/* Capture now, at this candidate (collective in the sense that all ranks call it). */
int sk_session_capture(struct sk_session *s, uint32_t place, int64_t iteration, struct saikai_error *err);
/* A file checkpoint: files in the work directory are packed with the variables. valid 0: this rank's part failed. */
int sk_session_capture_files(struct sk_session *s, uint32_t place, int64_t iteration, int valid,
                             struct saikai_error *err);
int sk_session_file_path(struct sk_session *s, const char *name, char *out, size_t cap,
                         struct saikai_error *err);
int sk_session_restored_file(struct sk_session *s, const char *name, char *out, size_t cap,
                             struct saikai_error *err);

static inline int sk_session_idle(struct sk_session *s, int64_t iteration)
{
    return s->tick + 1 < s->next_tick && iteration < s->next_iteration && iteration >= s->last_iteration;
}

/* ---- parts shared by the files of a session ---- */

/* Restart: 0, or SAIKAI_EDAMAGED when a container is another job's. */
int sk_session_check_store(const struct sk_session *s, const struct sk_skc_header *h, const char *path,
                           struct saikai_error *err);
/* Where the state file is. */
const char *sk_session_state_root(const struct sk_session *s);
/* What this rank knows to be in the prefix, and whether nothing is on its way there. */
void sk_session_archive_status(struct sk_session *s, int64_t *archived_seq, int *idle);
/* Bring a complete generation to the prefix; all ranks at the same tick. Does not block. */
void sk_session_archive(struct sk_session *s, int64_t seq);
/* Collective: wait for what is being written, bring the newest generation to the prefix, and give the node's memory back. */
int sk_session_wind_up(struct sk_session *s, struct saikai_error *err);
/* 1: there is a local directory of its own. */
int sk_session_has_local(const struct sk_session *s);

/* restore.c: sk_session_restart with the places as they are; s->prefix_root "" leaves the prefix out. */
int sk_restore_newest(struct sk_session *s, int *restored, int64_t *iteration, struct saikai_error *err);

/* leftovers.c: after a restart, whatever came of it. Collective. */
int sk_session_remove_leftovers(struct sk_session *s);

/* poll.c: at a candidate, take up and start the exchange of the ranks when its tick has come. */
int sk_poll_step(struct sk_session *s, struct saikai_error *err);
/* Wait for the exchange under way, if any, and drop its result. */
void sk_poll_end(struct sk_session *s);
/* All ranks have committed and archived these generations (0: unknown). */
void sk_session_learn(struct sk_session *s, int64_t committed, int64_t archived);
/* All ranks agree that the prefix is another job's by now. */
void sk_session_lose_prefix(struct sk_session *s);
/* A generation became protected; 0: the restored one. */
void sk_session_learn_protected(struct sk_session *s, int64_t seq);

/* pace.c: how often to protect and to archive. Local. What a checkpoint of this rank costs: as the last one was measured;
 * before the first, as long as its bytes may take. */
double sk_pace_cost(const struct sk_session *s);
/* When the session is set up: */
void sk_pace_start(struct sk_session *s);
/* All ranks have committed a generation, or brought it to a level. */
void sk_pace_complete(struct sk_session *s, int64_t seq);
void sk_pace_done(struct sk_session *s, enum sk_cadence_level level, int64_t seq);
/* The agreed time of a candidate and cost of a checkpoint, and whether nobody was archiving when the exchange began. */
void sk_pace_hear(struct sk_session *s, double tick, double cost, int archive_idle);
/* Rank 0: 1 when a newer generation is to be brought to this level; others: 0. */
int sk_pace_due(struct sk_session *s, enum sk_cadence_level level);
/* Rank 0, where all levels that there are have the interval `auto`: seconds between local checkpoints by the same model; 0:
 * not known, or others decide. */
double sk_pace_interval(struct sk_session *s);

/* requests.c: signals of the program that mean "checkpoint" and "checkpoint, then stop". Signal handlers are the
 * process's: they are installed once, by the first session, and removed after the last one; each job of the process hears of every
 * request. */
int sk_requests_install(const struct sk_config *c, int watched, struct saikai_error *err); /* watched: by a launcher */
void sk_requests_remove(void);
/* The job of this store is no more, others of the process are. */
void sk_requests_forget(struct sk_id store);
/* So many handles are open in this process: with several, none of them may end it. */
void sk_requests_share(int handles);
int sk_requests_shared(void);
/* A candidate was reached: from now on there is something to save before the program ends. */
void sk_requests_worthy(void);
/* The signal that asks for the program's end, SIGTERM when that is not known. */
int sk_requests_reason(void);
/* 1: the program has a handler of its own for this signal. */
int sk_requests_left_to_program(int number);
/* 1: a signal that is to end the program came, and a handler of its own got it. */
int sk_requests_handed_on(void);
/* End the process by the signal's default action. */
void sk_requests_die(int number);
/* The requests that this rank knows of and has not told yet: from signals, the keeper and the clock. */
unsigned sk_requests_gather(struct sk_session *s);

/* stop.c: one candidate after an end was asked for. Does not come back from a program that never asks whether it should stop. */
int sk_stop_step(struct sk_session *s, struct saikai_error *err);
/* For tests: called where the process would wait for its end. */
extern void (*sk_stop_hook)(void);

#endif
