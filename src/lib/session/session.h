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

#include "base/config/config.h"
#include "backbone/keeper_page.h"
#include "group/group.h"
#include "lib/session/capture.h"
#include "lib/session/clock.h"
#include "lib/session/ending.h"
#include "lib/session/agreement.h"
#include "lib/session/identity.h"
#include "lib/session/levels.h"
#include "lib/session/measured.h"
#include "lib/session/place.h"
#include "lib/session/resume.h"
#include "lib/data/vars.h"

#include <saikai/status.h>
#include <signal.h>

/* Each part has its header; what is done with several of them is declared below. */
struct sk_session {
    struct sk_group *g;
    struct sk_config *config;
    struct sk_keeper_page *page; /* NULL without a keeper */
    struct sk_vars vars;
    struct sk_place place;
    struct sk_identity who;
    struct sk_clock clock;
    struct sk_agreement agreement;
    struct sk_measured measured;
    struct sk_levels levels;
    struct sk_capture capture;
    struct sk_resume resume;
    struct sk_ending ending;
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
/* The place of the candidate of the generation that was restored. */
uint32_t sk_session_restored_place(const struct sk_session *s);
/* Collective: restore the newest generation that all ranks can give. *restored 1 and *iteration, or 0. */
int sk_session_restart(struct sk_session *s, int *restored, int64_t *iteration, struct saikai_error *err);

/* Collective: what is protected now gets the content that it has in the generation restored before, of which not all was wanted then
 * (resume.gate). Before the first candidate. */
int sk_session_restore_again(struct sk_session *s, struct saikai_error *err);

/* A candidate at which nothing is due, as nearly all are: 1, and it is counted. */
static inline int sk_session_passes(struct sk_session *s, int64_t iteration)
{
    if (!sk_clock_passes(&s->clock, iteration))
        return 0;
    if (s->page)
        sk_keeper_page_progress(s->page, iteration);
    return 1;
}
/* The launcher, if any, hears that the program has come so far. */
void sk_session_progress(struct sk_session *s, int64_t iteration);
/* The slow path of a candidate; 1 captured, 0 nothing was due. */
int sk_session_candidate(struct sk_session *s, uint32_t place, int64_t iteration, struct saikai_error *err);
/* 1 when a checkpoint is due at this candidate; counts the tick. For programs that write files. */
int sk_session_due(struct sk_session *s, uint32_t place, int64_t iteration, struct saikai_error *err);
/* Capture now, at this candidate (collective in the sense that all ranks call it). */
int sk_session_capture(struct sk_session *s, uint32_t place, int64_t iteration, struct saikai_error *err);
/* The same when one is due, with files that the program writes until _end: 1 due, 0 not. */
int sk_session_files_begin(struct sk_session *s, int64_t iteration, struct saikai_error *err);
/* A file checkpoint: files in the work directory are packed with the variables. valid 0: this rank's part failed. */
int sk_session_files_end(struct sk_session *s, int valid, struct saikai_error *err);
int sk_session_capture_files(struct sk_session *s, uint32_t place, int64_t iteration, int valid,
                             struct saikai_error *err);
int sk_session_file_path(struct sk_session *s, const char *name, char *out, size_t cap,
                         struct saikai_error *err);
int sk_session_restored_file(struct sk_session *s, const char *name, char *out, size_t cap,
                             struct saikai_error *err);

/* 1: all ranks agreed that the program should stop; it has asked. */
int sk_session_should_stop(struct sk_session *s);
/* What the program may know; the first size_bytes of it, and zeros where the caller's is longer. */
void sk_session_status(const struct sk_session *s, struct saikai_status *out, size_t size_bytes);
/* What is protected; for the functions of vars.h and attributes.h. */
struct sk_vars *sk_session_vars(struct sk_session *s);
int sk_session_unprotect(struct sk_session *s, const char *name, struct saikai_error *err);
/* Whose store it is. */
struct sk_id sk_session_store(const struct sk_session *s);

/* ---- parts shared by the files of a session ---- */

/* Restart: 0, or SAIKAI_EDAMAGED when a container is another job's. */
int sk_session_check_store(const struct sk_session *s, const struct sk_skc_header *h, const char *path,
                           struct saikai_error *err);
/* What the ledger calls a generation that is in the prefix: where there is no other place, one that is complete is there. */
enum sk_ledger_state sk_session_in_prefix(const struct sk_session *s);
/* Collective: wait for what is being written, bring the newest generation to the prefix, and give the node's memory back. */
int sk_session_wind_up(struct sk_session *s, struct saikai_error *err);
/* 1: there is a local directory of its own. */
int sk_session_has_local(const struct sk_session *s);

/* restore.c: sk_session_restart with the places as they are; s->place.prefix_root "" leaves the prefix out. */
int sk_restore_newest(struct sk_session *s, int *restored, int64_t *iteration, struct saikai_error *err);

/* leftovers.c: after a restart, whatever came of it. Collective. */
int sk_session_remove_leftovers(struct sk_session *s);

/* report.c: rank 0 puts up how the job is doing, unless it did a moment ago; others do nothing. Local, does not block. */
void sk_session_report(struct sk_session *s, int at_once);

/* poll.c: at a candidate, take up and start the exchange of the ranks when its tick has come. */
int sk_poll_step(struct sk_session *s, struct saikai_error *err);
/* Wait for the exchange under way, if any, and drop its result. */
void sk_poll_end(struct sk_session *s);
/* All ranks agree that the prefix is another job's by now. */
void sk_session_lose_prefix(struct sk_session *s);

/* walk.c: what this rank says of its levels; and what follows from the least of what all said: what has arrived is marked, and
 * retires what it replaces, and what is due is sent on. due: bits 1 << place. tick, cost: as sk_pace_hear. At the same tick on all
 * ranks. */
void sk_walk_tell(struct sk_session *s, int64_t *word);
void sk_walk_on(struct sk_session *s, const int64_t *least, unsigned due, double tick, double cost);
/* All ranks have this generation in this place; 0: the restored one. */
void sk_walk_arrived(struct sk_session *s, enum sk_level_place place, int64_t seq);
/* Bring a generation that is complete to a level, whatever is due; when nothing is on its way there. Does not block. */
void sk_walk_bring(struct sk_session *s, enum sk_level_place place, int64_t seq);

/* pace.c: how often to protect and to archive. Local. What a checkpoint of this rank costs: as the last one was measured;
 * before the first, as long as its bytes may take. */
double sk_pace_cost(const struct sk_session *s);
/* When the session is set up: */
void sk_pace_start(struct sk_session *s);
/* A generation is sent to a level, and all ranks have it there. */
void sk_pace_begun(struct sk_session *s, enum sk_level_place place);
void sk_pace_arrived(struct sk_session *s, enum sk_level_place place, int64_t seq);
/* The agreed time of a candidate and cost of a checkpoint, and what was on its way when the exchange began. */
void sk_pace_hear(struct sk_session *s, double tick, double cost, const struct sk_level_heard h[SK_LEVELS]);
/* Rank 0: 1 when a newer generation is to be brought to this level; others: 0. */
int sk_pace_due(struct sk_session *s, enum sk_level_place place);
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
