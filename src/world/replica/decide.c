/* What chance decides: the source of a receive that names none, which requests have ended, what a probe finds. The lead lets MPI decide and
 * tells its twin, in the order of the program; the twin waits until it hears. Before the lead sends its next message, from which others could
 * learn what was decided, the twin has said that it has all of it (as pessimistic message logging does: Alvisi and Marzullo 1998). So what it
 * has not heard of when the lead dies nobody has, and it decides by itself. */
#include "world/replica/decide.h"
#include "world/replica/look.h"

#include "world/replica/message.h"
#include "world/replica/receives/list.h"
#include "world/view/errors.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An outcome in the stream: how often there was none before it, how many numbers follow (NONE: it is none), and those. */
enum { OFTEN, MANY, HEAD };
#define NONE UINT64_MAX

static struct {
    uint64_t in_vain;     /* looks in a row */
    uint64_t often;       /* by the lead: nothing was found so often, which the twin does not know */
    uint64_t sent, taken; /* messages with decisions, and those of them that the twin has */
    uint64_t got;         /* by the twin */
    uint64_t tried;       /* receives that were to be taken back, in the order of the program; … */
    uint64_t by_twin;     /* … so many of them by the twin, as far as it has told the lead, … */
    int could;            /* … which could take back the newest of these */
    uint64_t *stream;
    size_t n, at, room;
    struct wild {
        uint64_t serial;
        int source, tag;
    } *wild;
    size_t n_wild, wild_room;
} d;

static void *more(void *p, size_t n, size_t *room, size_t each)
{
    if (n <= *room)
        return p;
    *room = 2 * n + 64;
    p = realloc(p, *room * each);
    if (!p)
        sk_world_fail(SK_WORLD_FAILED, "no memory for messages between copies: the job is started again");
    return p;
}

/* ---- telling ---- */

static int twin(void)
{
    return sk_replica_process(!sk_replica.copy, sk_world.rank);
}

static int has_twin(void)
{
    return !sk_replica.dead[twin()] && !sk_replica.copy;
}

static void tell(const uint64_t *word, int n)
{
    uint64_t out[SK_CONTROL_WORDS] = {SK_CONTROL_OUTCOME};
    for (int done = 0; has_twin() && done < n;) {
        int part = n - done < SK_CONTROL_WORDS - 1 ? n - done : SK_CONTROL_WORDS - 1;
        memcpy(out + 1, word + done, sizeof *word * (size_t)part);
        sk_control_tell(twin(), out, part + 1);
        d.sent++;
        done += part;
    }
}

static void found(int n, const int *number)
{
    uint64_t head[HEAD] = {d.often, (uint64_t)n};
    tell(head, HEAD);
    for (int i = 0; i < n; i++)
        tell(&(uint64_t){(uint64_t)(int64_t)number[i]}, 1);
    d.often = d.in_vain = 0;
}

/* What is looked for in vain here is so in the twin, as often. After a death a survivor may have its messages from that twin alone, and this process wait for the
 * survivor: if it looked as fast as the twin can, each step would have as many looks as the one before, and more. So it looks in vain much more slowly than one who knows it
 * already (sk_replica_glance). */
static void nothing(void)
{
    enum { PATIENT = 16, SLEEP_NS = 50000 };
    d.often += (uint64_t)has_twin();
    if (sk_replica.losses && has_twin() && ++d.in_vain > PATIENT)
        nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
}

void sk_replica_glance(void)
{
    enum { ONE_IN = 256 };
    static unsigned glances;
    const uint64_t *head = d.stream + d.at;
    if (d.n - d.at < HEAD || !head[OFTEN] || !(++glances % ONE_IN))
        sk_replica_turn();
}

/* Before anything else is told: the twin comes to what follows only if it finds nothing as often. */
void sk_replica_tell(void)
{
    uint64_t head[HEAD] = {d.often, NONE};
    if (d.often)
        tell(head, HEAD);
    d.often = 0;
}

void sk_replica_settle(void)
{
    sk_replica_tell();
    while (d.sent > d.taken && has_twin())
        sk_replica_wait();
}

void sk_replica_take_decision(enum sk_control kind, const uint64_t *word, int n)
{
    if (kind == SK_CONTROL_TAKEN) {
        d.taken = word[1];
        return;
    }
    if (kind == SK_CONTROL_BACK) {
        d.by_twin = word[1];
        d.could = word[2] != 0;
        return;
    }
    if (kind == SK_CONTROL_WILD) {
        d.wild = more(d.wild, d.n_wild + 1, &d.wild_room, sizeof *d.wild);
        d.wild[d.n_wild++] = (struct wild){word[1], (int)word[2], (int)word[3]};
    } else {
        if (d.at == d.n)
            d.at = d.n = 0;
        d.stream = more(d.stream, d.n + (size_t)n, &d.room, sizeof *d.stream);
        memcpy(d.stream + d.n, word + 1, sizeof *word * (size_t)(n - 1));
        d.n += (size_t)n - 1;
    }
    sk_control_tell(twin(), (uint64_t[]){SK_CONTROL_TAKEN, ++d.got}, 2);
}

/* 1: the lead has decided, for *n numbers at *number, 0: it found nothing; 0: this process decides. */
static int follow(uint64_t *n, const uint64_t **number)
{
    for (;;) {
        uint64_t *head = d.stream + d.at;
        size_t there = d.n - d.at;
        if (there >= HEAD && head[OFTEN]) {
            head[OFTEN]--;
            *n = 0;
            return 1;
        }
        if (there >= HEAD && head[MANY] == NONE) {
            d.at += HEAD;
        } else if (there >= HEAD && there >= HEAD + head[MANY]) {
            *n = head[MANY];
            *number = head + HEAD; /* valid until the next is heard: the caller takes them first */
            d.at += HEAD + head[MANY];
            return 1;
        } else if (sk_replica_leads()) {
            d.at = d.n; /* half an outcome is none */
            return 0;
        } else {
            sk_replica_wait();
        }
    }
}

/* ---- receives ---- */

static int look_at(int context, int source, int tag, int *found_tag)
{
    MPI_Comm c;
    MPI_Status s;
    int there = 0, from = sk_replica_reach(sk_replica_feeder(source), source, context, &c);
    if (SK_CALL(Iprobe, (from, tag, c, &there, &s)) || !there)
        return 0;
    *found_tag = s.MPI_TAG;
    return 1;
}

/* The next source in turn that has sent something. o: the receive that it is for, which stands behind others; NULL: none. */
static int look_at_all(const struct sk_replica_open *o, int context, int tag, int *source, int *found_tag)
{
    static int next;
    MPI_Status s;
    int there = 0;
    if (!sk_replica.losses && !o) { /* nothing is there from the dead: one look is enough */
        if (SK_CALL(Iprobe, (MPI_ANY_SOURCE, tag, sk_replica.same[context], &there, &s)) || !there)
            return 0;
        *source = s.MPI_SOURCE;
        *found_tag = s.MPI_TAG;
        return 1;
    }
    for (int i = 0; i < sk_replica.n; i++) {
        *source = next = (next + 1) % sk_replica.n;
        if (look_at(context, *source, tag, found_tag) && !(o && sk_receives_is_claimed(o, context, *source, *found_tag)))
            return 1;
    }
    return 0;
}

static int is_told(struct sk_replica_open *o)
{
    for (size_t i = 0; i < d.n_wild; i++)
        if (d.wild[i].serial == o->serial && !sk_receives_is_claimed(o, o->context, d.wild[i].source, d.wild[i].tag)) {
            o->source = d.wild[i].source;
            o->tag = d.wild[i].tag;
            d.wild[i] = d.wild[--d.n_wild];
            return 1;
        }
    return 0;
}

static int choose(struct sk_replica_open *o)
{
    int behind = sk_receives_is_behind(o), source = o->source, tag = o->tag;
    if (source != MPI_ANY_SOURCE && tag != MPI_ANY_TAG)
        return !behind;
    if (source != MPI_ANY_SOURCE) {
        if (!look_at(o->context, source, tag, &tag) || sk_receives_is_claimed(o, o->context, source, tag))
            return 0;
        o->tag = tag;
        return 1;
    }
    if (is_told(o))
        return 1;
    if (!sk_replica_leads() || !look_at_all(behind ? o : NULL, o->context, tag, &source, &tag))
        return 0;
    o->source = source;
    o->tag = tag;
    if (has_twin()) {
        sk_replica_tell();
        sk_control_tell(twin(), (uint64_t[]){SK_CONTROL_WILD, o->serial, (uint64_t)o->source, (uint64_t)o->tag}, 4);
        d.sent++;
    }
    return 1;
}

/* Receives of this turn for which there was nothing: there is nothing for others that are just like them, of which there may be thousands. */
enum { REMEMBERED = 32 };
struct in_vain {
    const struct sk_replica_open *like[REMEMBERED];
    int n;
};

static int is_in_vain(const struct in_vain *v, const struct sk_replica_open *o)
{
    for (int i = 0; i < v->n; i++)
        if (v->like[i]->source == o->source && v->like[i]->tag == o->tag && v->like[i]->context == o->context)
            return 1;
    return 0;
}

void sk_replica_decide(void)
{
    struct in_vain v = {.n = 0};
    for (struct sk_replica_open *o = sk_receives_first_waiting(), *next; o; o = next) {
        next = o->next;
        if (o->channel || o->out || is_in_vain(&v, o))
            continue;
        if (choose(o))
            sk_replica_begin_receive(o);
        else if (v.n < REMEMBERED)
            v.like[v.n++] = o;
    }
}

/* What the lead came to cannot be here. A program that goes by the time, or by chance of its own, may come to that. */
static void differ(void)
{
    sk_world_fail(SK_WORLD_FAILED, "the two processes of this rank do not do the same (docs/recovery.md): the job is started again");
}

/* ---- taking back ---- */

/* In the twin a message may be there that is not there in the lead, or the other way round, and it is of no use to anybody else once a receive has it. So the lead waits for
 * the twin to come to the same place and say whether it can. A twin that dies first has heard of nothing that was decided here. */
static int twin_could(void)
{
    sk_replica_tell();
    while (d.by_twin < d.tried && has_twin())
        sk_replica_wait();
    return d.by_twin < d.tried || d.could;
}

int sk_replica_cancel(struct sk_replica_open *o)
{
    uint64_t n;
    const uint64_t *number;
    int taken;
    sk_replica_look();
    sk_errors_muted++;
    int mine = sk_replica_withdraw(o);
    sk_errors_muted--;
    d.tried++;
    if (!sk_replica_leads())
        sk_control_tell(twin(), (uint64_t[]){SK_CONTROL_BACK, d.tried, (uint64_t)mine}, 3);
    if (follow(&n, &number)) {
        taken = n && number[0];
    } else {
        taken = mine && (o->source == MPI_ANY_SOURCE || twin_could()); /* without a source, neither has given it to MPI */
        found(1, &taken);
    }
    if (taken && !mine)
        differ();
    sk_errors_muted++;
    if (taken)
        sk_replica_drop(o);
    sk_replica_put_back();
    sk_errors_muted--;
    return 0;
}

/* ---- requests ---- */

/* What MPI gives for a message that has ended when it is begun: so have sends that are not synchronous (sk_replica_isend). */
static MPI_Request ended(void)
{
    static MPI_Request request;
    static int is_known;
    if (!is_known && SK_CALL(Isend, (NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, sk_world.comm, &request)))
        sk_world_fail(SK_WORLD_FAILED, "MPI cannot send a message: the job is started again");
    is_known = 1;
    return request;
}

/* Whatever else a request stands for, and be it MPI's own affair: when it ends is chance. What cannot be replicated must not take the two apart either,
 * or each would wait for what the other one does not do. */
static int is_chance(int n, const MPI_Request request[])
{
    for (int i = 0; i < n; i++)
        if (request[i] != MPI_REQUEST_NULL && request[i] != ended())
            return 1;
    return 0;
}

static int wait_for(MPI_Request *request, MPI_Status *status)
{
    int done = 0, rc = 0;
    while (!rc && !done) {
        sk_replica_wait();
        rc = SK_CALL(Test, (request, &done, status));
    }
    return rc;
}

/* The request that the lead has found to be over. */
static int over_there(uint64_t number, int n, const MPI_Request request[])
{
    if (number >= (uint64_t)n || request[number] == MPI_REQUEST_NULL)
        differ();
    return (int)number;
}

int sk_replica_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    uint64_t n;
    const uint64_t *number;
    if (!is_chance(1, request))
        return SK_CALL(Test, (request, flag, status));
    if (follow(&n, &number)) {
        *flag = n > 0;
        return n ? wait_for(request, status) : 0;
    }
    int rc = SK_CALL(Test, (request, flag, status));
    if (*flag)
        found(1, (int[]){0});
    else
        nothing();
    return rc;
}

int sk_replica_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    uint64_t n;
    const uint64_t *number;
    int rc = 0;
    *flag = 0;
    if (!is_chance(1, &request))
        return SK_CALL(Request_get_status, (request, flag, status));
    if (follow(&n, &number)) {
        while (n && !rc && !*flag) {
            sk_replica_wait();
            rc = SK_CALL(Request_get_status, (request, flag, status));
        }
        return rc;
    }
    rc = SK_CALL(Request_get_status, (request, flag, status));
    if (*flag)
        found(1, (int[]){0});
    else
        nothing();
    return rc;
}

int sk_replica_test_all(int n_requests, MPI_Request request[], int *flag, MPI_Status status[])
{
    uint64_t n;
    const uint64_t *number;
    int rc = 0;
    if (!is_chance(n_requests, request))
        return SK_CALL(Testall, (n_requests, request, flag, status));
    if (follow(&n, &number)) {
        *flag = 0;
        while (n && !rc && !*flag) {
            sk_replica_wait();
            rc = SK_CALL(Testall, (n_requests, request, flag, status));
        }
        return rc;
    }
    rc = SK_CALL(Testall, (n_requests, request, flag, status));
    if (*flag)
        found(1, (int[]){0});
    else
        nothing();
    return rc;
}

int sk_replica_any(int n_requests, MPI_Request request[], int *index, int *flag, MPI_Status *status, int waits)
{
    uint64_t n;
    const uint64_t *number;
    if (!is_chance(n_requests, request))
        return SK_CALL(Testany, (n_requests, request, index, flag, status));
    if (follow(&n, &number)) {
        *flag = n > 0;
        *index = n ? (int)number[0] : MPI_UNDEFINED;
        if (n && *index == MPI_UNDEFINED) /* none of them is under way, here as there */
            return SK_CALL(Testany, (n_requests, request, index, flag, status));
        return n ? wait_for(&request[over_there(number[0], n_requests, request)], status) : 0;
    }
    int rc = SK_CALL(Testany, (n_requests, request, index, flag, status));
    if (*flag)
        found(1, index);
    else if (!waits)
        nothing();
    return rc;
}

int sk_replica_some(int n_requests, MPI_Request request[], int *count, int index[], MPI_Status status[], int waits)
{
    uint64_t n;
    const uint64_t *number;
    int rc = 0;
    if (!is_chance(n_requests, request))
        return SK_CALL(Testsome, (n_requests, request, count, index, status));
    if (follow(&n, &number)) {
        *count = (int)n;
        if (n && (int)number[0] == MPI_UNDEFINED) /* none of them is under way, here as there */
            return SK_CALL(Testsome, (n_requests, request, count, index, status));
        if (n > (uint64_t)n_requests)
            differ();
        for (uint64_t i = 0; i < n; i++)
            index[i] = over_there(number[i], n_requests, request);
        for (int i = 0; i < *count && !rc; i++)
            rc = wait_for(&request[index[i]], status == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &status[i]);
        return rc;
    }
    rc = SK_CALL(Testsome, (n_requests, request, count, index, status));
    if (*count)
        found(*count > 0 ? *count : 1, *count > 0 ? index : count); /* MPI_UNDEFINED is negative */
    else if (!waits)
        nothing();
    return rc;
}

/* ---- probes ---- */

/* What a receive before this is still to get is not found. */
static int probe_of(int context, int source, int tag, int *flag, MPI_Status *status)
{
    MPI_Comm c;
    MPI_Status s;
    int from = sk_replica_reach(sk_replica_feeder(source), source, context, &c);
    int rc = SK_CALL(Iprobe, (from, tag, c, flag, &s));
    if (!rc && *flag && sk_receives_is_claimed(NULL, context, source, s.MPI_TAG))
        *flag = 0;
    if (!rc && *flag && status != MPI_STATUS_IGNORE) {
        *status = s;
        status->MPI_SOURCE = source;
    }
    return rc;
}

int sk_replica_probe(int context, int source, int tag, int *flag, MPI_Status *status, int waits)
{
    uint64_t n;
    const uint64_t *number;
    int rc = 0, at[2] = {source, tag};
    *flag = 0;
    if (source != MPI_ANY_SOURCE && (source < 0 || source >= sk_replica.n))
        return SK_CALL(Iprobe, (source, tag, sk_world.comm, flag, status));
    sk_replica_glance();
    if (waits && source != MPI_ANY_SOURCE) /* chance decides nothing */
        return probe_of(context, source, tag, flag, status);
    if (follow(&n, &number)) {
        if (n) {
            at[0] = (int)number[0];
            at[1] = (int)number[1];
        }
        while (n && !rc && !*flag) {
            rc = probe_of(context, at[0], at[1], flag, status);
            sk_replica_turn();
        }
        return rc;
    }
    if (source == MPI_ANY_SOURCE ? look_at_all(NULL, context, tag, &at[0], &at[1]) : look_at(context, source, tag, &at[1]))
        rc = probe_of(context, at[0], at[1], flag, status);
    if (*flag)
        found(2, at);
    else if (!waits)
        nothing();
    return rc;
}

int sk_replica_match(int source, int tag, int *flag, MPI_Message *message, MPI_Status *status)
{
    uint64_t n;
    const uint64_t *number;
    int rc = 0, there = 0, at[2] = {source, tag};
    MPI_Status s;
    sk_replica_glance();
    int told = follow(&n, &number);
    if (told && n) {
        at[0] = (int)number[0];
        at[1] = (int)number[1];
    }
    while (!(told && !n)) {
        rc = SK_CALL(Improbe, (at[0], at[1], sk_replica.same[SK_REPLICA_PROGRAM], &there, message, &s));
        if (rc || there || (flag && !told))
            break;
        sk_replica_turn();
    }
    if (there && !told)
        found(2, (int[]){s.MPI_SOURCE, s.MPI_TAG});
    else if (!told)
        nothing();
    if (there && status != MPI_STATUS_IGNORE) {
        s.MPI_ERROR = status->MPI_ERROR; /* it is no concern of a call for one message */
        *status = s;
    }
    if (flag)
        *flag = there;
    return rc;
}
