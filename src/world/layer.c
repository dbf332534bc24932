/* The one struct of this process: what handles stand for, what cannot be repaired, and the way out of MPI. */
#include "world/layer.h"

#include "world/bounce.h"
#include "world/comms/bound.h"
#include "world/comms/made.h"
#include "world/hooks/hooks.h"
#include "world/log/go_on.h"
#include "world/log/log.h"
#include "world/next/next.h"
#include "world/repair.h"
#include "world/replica/replica.h"
#include "world/rest/blocked.h"
#include "world/rest/core.h"
#include "world/rest/drain.h"
#include "world/view/errors.h"

#include <saikai/saikai.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sk_world sk_world;
_Thread_local int sk_world_depth, sk_world_aside;

/* How long a process that is of no more use waits for its keeper to end it. */
enum { MOST_WAIT_S = 60 };
/* How long receives may take to end that can no longer be cancelled, in turns of a millisecond. */
enum { MOST_CANCEL_TURNS = 3000, TURNS_AT_ONCE = 100, TURNS_FOR_THE_DEAD = 110 };

void *sk_world_real(const char *name)
{
    void *f = sk_next_find(name);
    if (!f) {
        fprintf(stderr, "saikai: libsaikai-world: this MPI has no %s\n", name);
        abort();
    }
    return f;
}

void sk_world_say(const char *line)
{
    fprintf(stderr, "saikai: rank %d: %s\n", sk_world.rank, line);
}

void sk_world_tell(enum sk_world_state state, enum sk_world_reason why)
{
    atomic_store(&sk_world.page->world, SK_WORLD_WORD(state, why, sk_world.epoch));
}

void sk_world_cannot(enum sk_world_reason why, const char *what)
{
    char line[300];
    if (sk_world.armed && sk_world.replicates) { /* each time */
        sk_replica_refuse(what);
        return;
    }
    if (!sk_world.armed || sk_world.cannot)
        return;
    sk_world.cannot = 1;
    sk_world_tell(SK_WORLD_CANNOT, why);
    snprintf(line, sizeof line, "%s: after a fault this job is started again, and not repaired in place", what);
    if (!sk_world.rank)
        sk_world_say(line);
}

void sk_world_fail(enum sk_world_reason why, const char *what)
{
    sk_world.cannot = 1;
    sk_world_tell(SK_WORLD_CANNOT, why);
    sk_world_say(what);
    if (sk_pending())
        sleep(MOST_WAIT_S); /* the launcher hears why, ends all, and starts the job again */
    fflush(NULL);
    _exit(SAIKAI_EXIT_CODE);
}

static _Thread_local int calls; /* this thread is the one that calls MPI */

void sk_world_expect_one_thread(void)
{
    calls = sk_world.one_thread = 1;
}

int sk_world_look_who_calls(void)
{
    if (calls)
        return 0;
    sk_world.one_thread = 0;
    sk_world_cannot(SK_WORLD_FUNCTION, "MPI called by a second thread");
    return 0;
}

/* ---- handles ---- */

static void check(const struct sk_objects *t, uint64_t key, const char *what)
{
    const struct sk_object *o = sk_world.epoch ? sk_objects_find(t, key) : NULL;
    if (o && o->epoch != sk_world.epoch)
        sk_world_fail(SK_WORLD_STALE, what);
}

MPI_Comm sk_world_translate(MPI_Comm c)
{
    struct sk_members *m;
    if (c == MPI_COMM_WORLD)
        return sk_world.comm;
    if (sk_world.makes && (m = sk_made_members(c)))
        return sk_made_below(m);
    check(&sk_world.comms, SK_KEY(c), "a communicator is used that was made before the repair");
    return c;
}

MPI_Comm sk_world_own(MPI_Comm c)
{
    return sk_world.makes && c != MPI_COMM_WORLD && sk_made_members(c) ? c : sk_world_translate(c);
}

MPI_Group sk_group(MPI_Group g)
{
    if (sk_world.armed && sk_world_depth <= 1)
        check(&sk_world.groups, SK_KEY(g), "a group is used that was made before the repair");
    return g;
}

static struct sk_object *remember(struct sk_objects *t, uint64_t key, uint32_t flags)
{
    if (sk_world.unwatched)
        return NULL;
    struct sk_object *o = sk_objects_add(t, key);
    if (!o)
        sk_world_fail(SK_WORLD_FAILED, "no memory to remember a handle of MPI");
    o->epoch = sk_world.epoch;
    o->flags = flags;
    o->more = NULL;
    o->of = o->errors = 0;
    return o;
}

int sk_world_is_quiet(MPI_Comm c)
{
    const struct sk_object *o = sk_objects_find(&sk_world.comms, SK_KEY(c));
    return o && o->flags & SK_OBJECT_QUIET;
}

void sk_made_comm(MPI_Comm made, MPI_Comm parent)
{
    const struct sk_object *of = sk_objects_find(&sk_world.comms, SK_KEY(parent));
    uint32_t unknown = parent == MPI_COMM_WORLD || parent == MPI_COMM_NULL ? 0 : SK_OBJECT_FOREIGN;
    uint32_t flags = parent == MPI_COMM_SELF ? SK_OBJECT_ALONE : of ? of->flags & (SK_OBJECT_QUIET | SK_OBJECT_ALONE | SK_OBJECT_FOREIGN) : unknown;
    uint64_t errors = parent == MPI_COMM_WORLD && sk_world.has_errors ? SK_KEY(sk_world.errors) : of ? of->errors : 0;
    struct sk_object *o = made == MPI_COMM_NULL ? NULL : remember(&sk_world.comms, SK_KEY(made), flags);
    if (o) /* its errors are treated as those of the one that it is made from */
        o->errors = errors;
    if (parent == MPI_COMM_WORLD && sk_world.comm != MPI_COMM_WORLD)
        sk_errors_inherit(made);
}

void sk_made_group(MPI_Group made)
{
    if (made != MPI_GROUP_NULL && made != MPI_GROUP_EMPTY)
        remember(&sk_world.groups, SK_KEY(made), 0);
}

/* What MPI gives for all that has ended when it begins: always the same one, so it stands for nothing that could be remembered. What was remembered of
 * it for the library would be held against the program. */
static int is_everybodys(MPI_Request r)
{
    static MPI_Request ended;
    static int is_known;
    if (!is_known && !SK_CALL(Isend, (NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &ended)))
        is_known = 1;
    return is_known && r == ended;
}

struct sk_object *sk_made_request(MPI_Request made, MPI_Comm c, uint32_t flags)
{
    if (made == MPI_REQUEST_NULL || (!flags && is_everybodys(made)))
        return NULL;
    return remember(&sk_world.requests, SK_KEY(made), flags | (sk_world_is_quiet(c) ? SK_OBJECT_QUIET : 0));
}

void sk_made_receive(MPI_Request made, MPI_Comm c, int source, uint32_t flags)
{
    struct sk_object *o = sk_made_request(made, c, flags | SK_OBJECT_RECEIVES);
    if (!o)
        return;
    o->of = SK_KEY(c);
    o->from = source >= 0 ? source : -1;
}

void sk_request_ended(uint64_t key)
{
    struct sk_object *o = sk_objects_find(&sk_world.requests, key);
    if (!o)
        return;
    if (o->flags & SK_OBJECT_BOUNCED)
        sk_bounce_end(o->more);
    if (o->flags & (SK_OBJECT_LOGGED | SK_OBJECT_HELD) && o->more)
        sk_logging_ended(o->more);
    if (o->flags & SK_OBJECT_COPIED && o->of)
        sk_made_end_receive((struct sk_members *)(uintptr_t)o->of);
    if (!(o->flags & SK_OBJECT_PERSISTENT))
        sk_objects_remove(&sk_world.requests, key);
}

/* ---- datatypes ---- */

int sk_plain_bytes(MPI_Datatype type)
{
    static MPI_Datatype last;
    static int bytes, is_known;
    int n[3], combiner = 0, size = -1;
    MPI_Aint lb = 0, extent = 0;
    if (is_known && type == last)
        return bytes;
    SK_CALL(Type_get_envelope, (type, &n[0], &n[1], &n[2], &combiner));
    SK_CALL(Type_size, (type, &size));
    SK_CALL(Type_get_extent, (type, &lb, &extent));
    if (combiner != MPI_COMBINER_NAMED)
        return -1; /* its handle may mean another type later */
    last = type;
    is_known = 1;
    return bytes = lb || extent != size ? -1 : size;
}

/* ---- the way out ---- */

/* 0: it has ended, or what it still waits for will never come. */
static int wait_for_end(MPI_Request r, const struct sk_object *o)
{
    int ended = 0;
    for (int turn = 0; turn < MOST_CANCEL_TURNS; turn++) {
        if (SK_CALL(Request_get_status, (r, &ended, MPI_STATUS_IGNORE)))
            return -1;
        if (ended || (turn > TURNS_FOR_THE_DEAD && o->from >= 0 && sk_is_dead(o->of, o->from)))
            return 0;
        if (turn > TURNS_AT_ONCE)
            usleep(1000);
    }
    return -1;
}

/* What is still to be received would be written into memory that is used for something else by then: take it back. What MPI has begun
 * to receive comes to its end, since whoever sends it lives; what comes from the dead has arrived by now, and is taken in, whether MPI counts its receive
 * as ended by now or not. 0: nothing is left. */
static int cancel_receives(void)
{
    struct sk_objects *t = &sk_world.requests;
    for (size_t i = 0; i < t->slots; i++) {
        struct sk_object *o = &t->slot[i];
        if (!o->key || o->epoch != sk_world.epoch || !(o->flags & SK_OBJECT_RECEIVES) || o->flags & SK_OBJECT_MOVED)
            continue;
        MPI_Request r = (MPI_Request)(uintptr_t)o->key;
        int ended = 0;
        if (SK_CALL(Request_get_status, (r, &ended, MPI_STATUS_IGNORE)) || ended)
            continue;
        if (SK_CALL(Cancel, (&r)))
            return -1;
        if (wait_for_end(r, o))
            return -1;
    }
    return sk_drain();
}

int sk_world_give_way(int quiet)
{
    if (quiet)
        return MPI_ERR_OTHER;
    if (!sk_world.in_body || sk_world.cannot)
        sk_world_fail(SK_WORLD_BEFORE, "a process has died where this one cannot go back: the job is started again");
    if (cancel_receives())
        sk_world_fail(SK_WORLD_FAILED, "a receive could not be taken back: the job is started again");
    uint32_t before = sk_world.epoch;
    int able = sk_logging_is_able();
    sk_blocked_begin();
    sk_repair(); /* here, above what the program has on its stack, into which a message may still come until then */
    int goes_on = sk_logging_go_on(able, before);
    sk_blocked_end();
    if (goes_on)
        return 0;
    sk_world.in_body = 0;
    if (saikai_hooks_left)
        saikai_hooks_left();
    longjmp(sk_world.back, 1);
}

int sk_world_enter(MPI_Comm c)
{
    if (!sk_world.in_body) {
        if (!sk_world.communicated++ && sk_world.epoch && SK_WORLD_STATE(atomic_load(&sk_world.page->world)) == SK_WORLD_OUTSIDE)
            sk_world_fail(SK_WORLD_BEFORE, "the program communicates before saikai_in_place: its process cannot be made again");
        return 0;
    }
    return !sk_world.cannot && sk_pending() ? sk_world_give_way(sk_world_is_quiet(c)) : 0;
}

/* ---- for the library ---- */

SK_WORLD_EXPORT int saikai_world_dup(const void *comm, void *copy)
{
    MPI_Comm c = *(const MPI_Comm *)comm;
    int rc = sk_world.armed ? sk_world_enter(c) : 0;
    if (sk_world.epoch) /* those that live may wait for all that a new process does before this */
        sk_blocked_begin();
    if (!rc && sk_world.armed)
        rc = sk_bound_begin(c, 1);
    if (!rc)
        rc = SK_CALL_ASIDE(Comm_dup, (sk_comm(c), copy));
    if (sk_world.armed)
        sk_bound_end();
    if (sk_world.epoch)
        sk_blocked_end();
    if (!rc && sk_world.armed)
        sk_made_comm(*(MPI_Comm *)copy, c);
    saikai_world_quiet(copy);
    return rc;
}

SK_WORLD_EXPORT void saikai_world_quiet(const void *comm)
{
    struct sk_object *o = sk_world.armed ? sk_objects_find(&sk_world.comms, SK_KEY(*(const MPI_Comm *)comm)) : NULL;
    if (o)
        o->flags |= SK_OBJECT_QUIET;
}

SK_WORLD_EXPORT int saikai_world_is_quiet(const void *comm)
{
    return sk_world_is_quiet(*(const MPI_Comm *)comm);
}

SK_WORLD_EXPORT int saikai_world_repairs(void)
{
    return !sk_world.armed || sk_world.unwatched ? -1 : (int)sk_world.epoch;
}

SK_WORLD_EXPORT void saikai_world_leave(void)
{
    if (!sk_world.armed || !sk_careful() || !sk_pending())
        return;
    sk_logging.in_library = 1; /* whose session could not be replaced now */
    sk_world_give_way(0);
    sk_logging.in_library = 0;
}

void sk_world_end_body(void)
{
    if (!sk_world.in_body)
        return;
    sk_logging_end();
    sk_world.in_body = 0;
    if (!sk_world.cannot)
        sk_world_tell(SK_WORLD_OVER, SK_WORLD_FINE);
}

SK_WORLD_EXPORT void saikai_world_in_place(void (*body)(void *), void *arg, void (*abandon)(void))
{
    static int entered, options;
    if (!sk_world.armed || sk_world.replicates || entered++) {
        if (sk_world.armed && !sk_world.replicates)
            sk_world_cannot(SK_WORLD_FUNCTION, "saikai_in_place is called again");
        body(arg);
        return;
    }
    if (sk_world.communicated || sk_world.comms.count || sk_world.groups.count)
        sk_world_cannot(SK_WORLD_BEFORE, "the program communicates, or makes communicators, before saikai_in_place");
    options = optind;
    if (_setjmp(sk_world.back)) {
        if (options == 1) /* a body that reads the command line reads all of it again, as that of the new process does */
            optind = 0;
        sk_world_depth = sk_world_aside = 0;
        sk_core_let_all_go();
        sk_blocked_end_all();
        sk_logging.in_library = 0;
        abandon();
    }
    sk_logging_begin();
    sk_world.in_body = 1;
    if (!sk_world.cannot && !sk_logging.joining)
        sk_world_tell(SK_WORLD_READY, SK_WORLD_FINE);
    body(arg);
    sk_world_end_body();
}
