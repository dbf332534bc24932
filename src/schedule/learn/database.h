/* The failure database: what hosts and programs suffered, and for how long they were seen. SQLite; local, may block.
 *
 *   exposure(side, name, week, seconds)       a host or a job was seen for so long in a week (604800 s since 1970)
 *   event(time, side, host, source, job)      a fault: side 'node' is one of the host, 'program' one of the job
 *   rates(host, rate)                         failures per second that somebody stated, as in the database of failure.rates
 *   taken(number, id)                         the newest additions that came as messages, by the id of each (sk_database_take)
 *
 * Several jobs may use it at once: what is added goes in one transaction, and all additions are sums or rows of their own. */
#ifndef SK_SCHEDULE_DATABASE_H
#define SK_SCHEDULE_DATABASE_H

#include "base/error.h"
#include "base/id.h"
#include "schedule/learn/belief.h"

#include <stddef.h>
#include <stdint.h>

enum sk_side { SK_SIDE_NODE, SK_SIDE_PROGRAM, SK_SIDES };
/* As in the file: "node", "program"; NULL past the last. */
const char *sk_side_name(int side);

enum { SK_NAME_BYTES = 256 };

struct sk_fault_event {
    double time; /* seconds since 1970 */
    enum sk_side side;
    char host[SK_NAME_BYTES], source[64], job[SK_NAME_BYTES];
};

/* Where it is: what failure.database tells; for "auto" saikai/failures.db below $XDG_STATE_HOME or ~/.local/state. Returns 0 with
 * *own = 1 when it is the user's own place; 1: it is switched off ("none", ""). SAIKAI_ENOENT: the user has no home. */
int sk_database_place(const char *told, char *path, size_t cap, int *own, struct saikai_error *err);

struct sk_database;

/* own: the file and its folder must be this user's, and are made with the folder (for him alone) when write is set. Without write a
 * file that is not there is SAIKAI_ENOENT. SAIKAI_EFORMAT: it is none of ours, damaged, or of a newer release; SAIKAI_EAUTH: another
 * user's; SAIKAI_ENOTSUP: made without SQLite; SAIKAI_EBUSY: locked for longer than 2 s; SAIKAI_EIO. Each sentence names the file. */
int sk_database_open(const char *path, int own, int write, struct sk_database **out, struct saikai_error *err);
void sk_database_close(struct sk_database *db); /* NULL is accepted; what was not committed is gone */

/* All that is added between the two counts, or nothing of it. */
int sk_database_begin(struct sk_database *db, struct saikai_error *err);
int sk_database_commit(struct sk_database *db, struct saikai_error *err);

/* Between begin and commit: *is_new, and remembered, unless an addition of this id was committed before; so many of the newest are known. */
enum { SK_DATABASE_TAKEN = 65536 };
int sk_database_take(struct sk_database *db, struct sk_id id, int *is_new, struct saikai_error *err);

/* name was seen for so long, at this time; replace: instead of what the week has. */
int sk_database_add_time(struct sk_database *db, enum sk_side side, const char *name, double at, double seconds, int replace,
                         struct saikai_error *err);
/* The same event again is one. */
int sk_database_add_event(struct sk_database *db, const struct sk_fault_event *e, struct saikai_error *err);
/* Somebody states the rate of a host. */
int sk_database_add_rate(struct sk_database *db, const char *host, double rate, struct saikai_error *err);

/* What is known of one host or job, or of all (name NULL), as it fades. */
int sk_database_seen(struct sk_database *db, enum sk_side side, const char *name, double memory, struct sk_belief *seen,
                     struct saikai_error *err);
/* What is known of programs but for this one (NULL: none), each counted as one fault at most: programs are very different, and one that
 * died thirty times while somebody looked for its mistake says little about the others. */
int sk_database_others(struct sk_database *db, const char *except, double memory, struct sk_belief *seen, struct saikai_error *err);
/* Weibull's shape of the times between faults of one side, all hosts or programs together (schedule/failure/weibull.h), from the newest *n of them, 65536 at
 * most; faults within ten minutes are one. */
int sk_database_shape(struct sk_database *db, enum sk_side side, double *shape, size_t *n, struct saikai_error *err);
/* The stated rate of a host, -1: none. */
int sk_database_stated(struct sk_database *db, const char *host, double *rate, struct saikai_error *err);

/* Every host and job, by side and name: in all, nothing faded. Ends early with what `each` returns if that is not 0. */
struct sk_database_row {
    enum sk_side side;
    const char *name;
    double seconds, faults, newest; /* time of the newest fault, 0: none */
};
int sk_database_each(struct sk_database *db, int (*each)(void *arg, const struct sk_database_row *row), void *arg,
                     struct saikai_error *err);

#endif
