/* Messages that are kept by their sender, and receives by which they are counted. */
#include "world/log/log.h"

#include "world/form/moves.h"
#include "world/form/over.h"
#include "world/log/chance.h"
#include "world/log/held.h"
#include "world/log/meanwhile.h"
#include "world/log/witness.h"
#include "world/replica/message.h"
#include "world/wait.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct sk_logging sk_logging;

/* ---- begin and end ---- */

void sk_logging_choose(const char *limit)
{
    sk_world.makes = sk_logging.chosen = limit != NULL;
    sk_logging.limit = limit ? strtoull(limit, NULL, 10) : 0;
}

void sk_logging_begin(void)
{
    if (!sk_logging.chosen || sk_world.unwatched)
        return;
    sk_world.logs = 1; /* what cannot be repaired is sent in the same way: all ranks have to agree on that */
    sk_made_begin();
    sk_meanwhile_begin();
    if (sk_logging.joining)
        return;
    sk_witness_exchange();
    sk_moves_begin();
    sk_witness_begin();
    sk_logging.held = NULL; /* they are of a world that is no more */
    sk_held_forget();
    sk_later_forget();
    sk_kept_free(sk_logging.kept);
    sk_logging.kept = sk_logging.refused || sk_world.cannot ? NULL : sk_kept_new(sk_world.size);
    sk_logging.running = sk_logging.restarted = sk_logging.asked = 0;
    sk_logging.is_checked = 1;
    sk_logging.refused = sk_logging.kept == NULL;
}

static void drain(struct sk_kept_list *l)
{
    for (struct sk_kept_message *m = l->first; m; m = m->next)
        sk_logging_wait_sent(m);
}

void sk_logging_end(void)
{
    for (int p = 0; sk_logging.kept && p < sk_logging.kept->n; p++) {
        drain(&sk_logging.kept->peer[p].setup);
        drain(&sk_logging.kept->peer[p].run);
    }
    sk_kept_free(sk_logging.kept);
    sk_logging.kept = NULL;
    sk_logging.held = NULL;
    sk_logging.refused = 1; /* on communicators of the program's, messages go on as they did */
    sk_world.logs = 0;
}

/* 1: no other rank of this job on this host has done so. The name goes with the process. */
int sk_logging_is_first_to_say(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const char *job = getenv("PMIX_NAMESPACE");
    int n = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "saikai-coordinated-%u-%s", (unsigned)getuid(), job ? job : "");
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t most = sizeof a - sizeof a.sun_path, bytes = n < (int)sizeof a.sun_path - 1 ? (socklen_t)n : sizeof a.sun_path - 1;
    return s < 0 || !bind(s, (struct sockaddr *)&a, most + 1 + bytes); /* s stays open */
}

/* 1: the others have messages from the process before this one that it has still to come to. */
static int is_behind(void)
{
    const struct sk_kept *k = sk_logging.kept;
    for (int p = 0; k && p < k->n; p++)
        for (int i = 0; i < k->peer[p].channels; i++)
            if (k->peer[p].channel[i].had > k->peer[p].channel[i].sent)
                return 1;
    return !sk_outcomes_is_told(&sk_witness_log) || !sk_outcomes_is_told(&sk_witness_setup);
}

void sk_logging_refuse(const char *what)
{
    char line[300];
    if (sk_world.replicates)
        sk_replica_refuse(what);
    if (!sk_world.logs || sk_logging.refused)
        return;
    if (sk_logging.joining || is_behind()) /* the others wait for it */
        sk_world_fail(SK_WORLD_FAILED, "the new process does what cannot be logged: the job is started again");
    sk_logging.refused = 1;
    if (sk_witness_course()) /* also when it dies before the others hear of it */
        sk_witness_course()->refused = 1;
    sk_held_refuse();
    sk_kept_free(sk_logging.kept);
    sk_logging.kept = NULL;
    snprintf(line, sizeof line, "%s: messages are not logged any more, and after a fault all ranks go back to the newest generation "
                                "(run.protocol: coordinated)", what);
    if (sk_logging_is_first_to_say())
        sk_world_say(line);
}

/* ---- between the program's communicators and the world ---- */

static int wrong(MPI_Comm c, int code)
{
    SK_CALL(Comm_call_errhandler, (sk_asked(c), code));
    return code;
}

int sk_logging_address(struct sk_members *g, MPI_Comm c, int *peer, int *tag, int receives)
{
    const struct sk_members *p = sk_members_peers(g);
    if (*peer == MPI_PROC_NULL)
        return 0;
    if ((*peer < 0 || *peer >= p->n) && !(receives && *peer == MPI_ANY_SOURCE))
        return wrong(c, MPI_ERR_RANK);
    if (*tag > SK_WIRE_TAG_MOST) {
        char line[160];
        snprintf(line, sizeof line, "tag %d is more than the layer leaves of a tag (%d, which MPI_TAG_UB says): use other tags or another run.protocol", *tag,
                 SK_WIRE_TAG_MOST);
        sk_world_say(line);
        return wrong(c, MPI_ERR_TAG);
    }
    if (*tag < 0 && !(receives && *tag == MPI_ANY_TAG))
        return wrong(c, MPI_ERR_TAG);
    int context = receives ? g->context : sk_members_to(p, *peer);
    *peer = *peer == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : p->world[*peer];
    *tag = *tag == MPI_ANY_TAG ? sk_wire_any(context) : sk_wire(context, *tag);
    return 0;
}

void sk_logging_translate(const struct sk_members *g, MPI_Status *s)
{
    if (s == MPI_STATUS_IGNORE || !g->context || s->MPI_SOURCE < 0)
        return;
    s->MPI_SOURCE = sk_members_peers(g)->rank_of[s->MPI_SOURCE];
    s->MPI_TAG = sk_wire_tag(s->MPI_TAG);
}

void sk_logging_tell(uint64_t key, MPI_Status *s)
{
    const struct sk_object *o = sk_objects_find(&sk_world.requests, key);
    const struct sk_logging_open *r = o && o->flags & (SK_OBJECT_LOGGED | SK_OBJECT_HELD) ? o->more : NULL;
    if (r && r->members)
        sk_logging_translate(r->members, s);
}

/* ---- sending ---- */

/* A copy of what is sent, at the end of its channel. NULL: not possible. */
static struct sk_kept_message *keep(enum sk_logging_mode mode, const void *buf, int count, MPI_Datatype type, int dest, int tag)
{
    int each = sk_plain_bytes(type), most = 0, at = 0;
    if (each < 0 && SK_CALL(Pack_size, (count, type, sk_world.comm, &most)))
        return NULL;
    size_t bytes = each < 0 ? (size_t)most : (size_t)each * (size_t)count;
    struct sk_kept_message *m = bytes > INT_MAX ? NULL : sk_kept_add(sk_logging.kept, dest, tag, bytes);
    if (!m)
        return NULL;
    m->synchronous = mode == SK_LOGGING_SYNCHRONOUS;
    sk_logging.all_bytes += sk_kept_whole(bytes);
    if (each >= 0 && bytes)
        memcpy(m->data, buf, bytes);
    if (each < 0 && SK_CALL(Pack, (buf, count, type, m->data, most, &at, sk_world.comm)))
        sk_world_fail(SK_WORLD_FAILED, "MPI cannot pack a message: the job is started again");
    if (each < 0) {
        sk_logging.kept->bytes -= bytes - (size_t)at;
        m->bytes = (size_t)at;
    }
    return m;
}

void sk_logging_ask(void)
{
    if (sk_logging.asked || !sk_logging.running)
        return;
    sk_logging.asked = 1;
    atomic_fetch_or(&sk_world.page->requests, SK_REQUEST_CHECKPOINT);
}

/* Too much is kept: a generation is asked for, and then it is given up. */
static void look_at_memory(void)
{
    uint64_t bytes = sk_logging.kept->bytes;
    char line[200];
    if (bytes > sk_logging.limit / 2)
        sk_logging_ask();
    if (bytes <= sk_logging.limit)
        return;
    snprintf(line, sizeof line, "the messages since the newest complete generation need more than the %llu bytes of run.log_memory",
             (unsigned long long)sk_logging.limit);
    sk_logging_refuse(line);
}

/* Of a small one MPI has made a copy by then, and is done. */
enum { SMALL = 4096 };

int sk_logging_send_again(struct sk_kept_message *m, int dest)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int done = 0;
    int rc = m->synchronous ? SK_CALL(Issend, (m->data, (int)m->bytes, MPI_PACKED, dest, m->tag, sk_world.comm, &r))
                            : SK_CALL(Isend, (m->data, (int)m->bytes, MPI_PACKED, dest, m->tag, sk_world.comm, &r));
    if (!rc && m->bytes <= SMALL) /* to look costs a turn of all that MPI has to do, when it is not over */
        rc = sk_over_sent(&r, &done);
    m->request = rc || done ? 0 : SK_KEY(r);
    return rc;
}

struct sk_kept_message *sk_logging_post(enum sk_logging_mode mode, const void *buf, int count, MPI_Datatype type, int dest, int tag)
{
    if (dest < 0 || count < 0 || !sk_logging.kept) /* nowhere, or MPI says what is wrong with it */
        return NULL;
    look_at_memory();
    sk_logging.count.sends++;
    struct sk_kept_message *m = sk_logging.refused ? NULL : keep(mode, buf, count, type, dest, tag);
    if (!m) {
        sk_logging_refuse("a message cannot be kept (memory, more than 2 GiB, or more tags than 256 between two ranks)");
        return NULL;
    }
    if (!sk_kept_is_had(sk_logging.kept, dest, m) && sk_logging_send_again(m, dest))
        sk_world_fail(SK_WORLD_FAILED, "MPI cannot send a message: the job is started again");
    return m;
}

int sk_logging_is_sent(struct sk_kept_message *m)
{
    MPI_Request r = (MPI_Request)(uintptr_t)m->request;
    int done = 0;
    if (!m->request)
        return 1;
    if (!sk_over_sent(&r, &done) && !done)
        return 0;
    m->request = 0;
    return 1;
}

int sk_logging_wait_sent(struct sk_kept_message *m)
{
    int rc;
    while (!sk_logging_is_sent(m)) {
        sk_looks();
        sk_held_progress();
        if (sk_careful() && sk_pending() && (rc = sk_world_give_way(0)))
            return rc;
    }
    sk_finds();
    return 0;
}

/* The program goes on as soon as MPI has it, or it comes to its receiver without this process: it was copied, and is ended when there is time. A small one that MPI has not
 * taken at once waits for room, which is this process's affair. */
static int go_on_from(struct sk_kept_message *m, int dest)
{
    if (m->request && !m->synchronous && m->bytes > SMALL && sk_moves_to(dest)) {
        sk_kept_arrived(sk_logging.kept, dest, sk_logging_is_sent);
        if (sk_kept_is_late(sk_logging.kept, dest, m))
            return 0;
    }
    return sk_logging_wait_sent(m);
}

int sk_logging_nothing(MPI_Request *out)
{
    return SK_CALL(Isend, (NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, sk_world.comm, out));
}

/* ---- receiving ---- */

static const char UNCOUNTED[] = "a receive cannot be counted (memory, or more tags than 256 between two ranks)";

/* g: whose status has to be told otherwise than MPI has it, or NULL. */
static struct sk_logging_open *open_receive(struct sk_members *g, void *buf, int count, MPI_Datatype type, int source, int tag)
{
    struct sk_kept_channel *c = sk_logging.refused ? NULL : sk_kept_channel(sk_logging.kept, source, tag);
    struct sk_logging_open *o = malloc(sizeof *o);
    if (!o)
        sk_world_fail(SK_WORLD_FAILED, "no memory to remember a receive");
    if (!c)
        sk_logging_refuse(UNCOUNTED);
    *o = (struct sk_logging_open){.buf = buf, .count = count, .type = type, .source = source, .tag = tag, .serial = sk_logging.serial++,
                              .index = c ? c->posted++ : 0, .begun = sk_chance_newest(), .in_run = sk_logging.running};
    sk_logging_hold_members(o, g);
    if (sk_plain_bytes(type) < 0 && !SK_CALL(Type_dup, (type, &o->type))) /* the program may free its own before this ends */
        o->own_type = 1;
    return o;
}

void sk_logging_hold_members(struct sk_logging_open *o, struct sk_members *g)
{
    o->members = g && g->context ? sk_members_hold(g) : NULL;
    o->is_program = o->members && !sk_wire_is_own(o->tag);
    if (o->is_program)
        sk_made_begin_receive(g);
    sk_logging.translated += o->members != NULL;
}

void sk_logging_let_members_go(struct sk_logging_open *o)
{
    sk_logging.translated -= o->members != NULL;
    if (o->is_program)
        sk_made_end_receive(o->members);
    o->is_program = 0;
    sk_members_let_go(o->members);
    o->members = NULL;
}

static int is_wild(int source, int tag)
{
    return source != MPI_PROC_NULL && (source == MPI_ANY_SOURCE || sk_wire_is_any(tag));
}

/* 1: the receive has to be held: which message it gets is chance and not known, or the affair of one before it. */
static int has_to_wait(int *source, int *tag, uint64_t *number)
{
    int wild = is_wild(*source, *tag);
    *number = UINT64_MAX;
    if (wild && sk_chance_is_kept(*source == MPI_ANY_SOURCE ? "a receive from MPI_ANY_SOURCE" : "a receive with MPI_ANY_TAG"))
        wild = !sk_chance_next(number, source, tag);
    return wild || sk_held_stands_before(*source, *tag);
}

/* It is remembered until it has ended, so that a repair can begin it again. */
static void remember_receive(struct sk_members *g, void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Request r)
{
    struct sk_logging_open *o = sk_logging.refused && !g->context ? NULL : open_receive(g, buf, count, type, source, tag);
    sk_made_receive(r, MPI_COMM_WORLD, source, o ? SK_OBJECT_LOGGED : 0);
    struct sk_object *made = o ? sk_objects_find(&sk_world.requests, SK_KEY(r)) : NULL;
    if (made)
        made->more = o;
}

/* The source and tag are named. */
static int begin_receive(struct sk_members *g, void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Request *out)
{
    int rc = sk_held_receive(buf, count, type, source, tag, out);
    if (!rc && source != MPI_PROC_NULL)
        remember_receive(g, buf, count, type, source, tag, *out);
    return rc;
}

int sk_logging_irecv(struct sk_members *g, void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Request *out)
{
    uint64_t number;
    sk_logging.count.receives += source != MPI_PROC_NULL;
    int is_void = source != MPI_PROC_NULL && !sk_wire_is_own(tag) && sk_chance_begin(), waits = has_to_wait(&source, &tag, &number);
    if (is_void)
        return sk_held_void(out);
    if (waits)
        return sk_held_add(g, buf, count, type, source, tag, number, out);
    return begin_receive(g, buf, count, type, source, tag, out);
}

void sk_logging_count(struct sk_logging_open *o)
{
    struct sk_kept_channel *c = sk_logging.kept && !o->counted ? sk_kept_channel(sk_logging.kept, o->source, o->tag) : NULL;
    if (c)
        c->done++;
    o->counted = 1;
}

void sk_logging_ended(struct sk_logging_open *o)
{
    sk_logging_count(o);
    sk_logging_let_members_go(o);
    if (o->own_type)
        SK_CALL(Type_free, (&o->type));
    free(o);
}

/* ---- taking back ---- */

/* Those behind it in its channel get the messages before theirs. */
static void leave_place(struct sk_logging_open *o)
{
    struct sk_kept_channel *c = sk_kept_channel(sk_logging.kept, o->source, o->tag);
    for (size_t i = 0; i < sk_world.requests.slots; i++) {
        const struct sk_object *s = &sk_world.requests.slot[i];
        struct sk_logging_open *b = s->key && s->flags & SK_OBJECT_LOGGED && !(s->flags & SK_OBJECT_MOVED) ? s->more : NULL;
        if (b && b != o && !b->counted && b->source == o->source && b->tag == o->tag && b->index > o->index)
            b->index--;
    }
    if (c)
        c->posted--;
    o->counted = o->cancelled = 1;
}

/* MPI takes back what has no message yet at once, and nothing else. 1: it has. */
static int take_back(MPI_Request r)
{
    MPI_Status s;
    int ended = 0, cancelled = 0;
    if (SK_CALL(Cancel, (&r)) || SK_CALL(Request_get_status, (r, &ended, &s)) || !ended)
        return 0;
    SK_CALL(Test_cancelled, (&s, &cancelled));
    return cancelled;
}

/* 1: it was taken back. */
static int try_to(struct sk_logging_open *o, MPI_Request r)
{
    if (SK_KEY(o->handle)) { /* it is held, or was */
        sk_held_progress();
        if (o->waits)
            return 1;
        if (o->inner == MPI_REQUEST_NULL || o->number != UINT64_MAX) /* it has its message */
            return 0;
        sk_logging_forward(1, &o->inner);
        r = o->inner;
    }
    if (!take_back(r))
        return 0;
    leave_place(o);
    return 1;
}

int sk_logging_cancel(struct sk_logging_open *o, MPI_Request *request)
{
    if (o->message || o->cancelled)
        return 0;
    if (o->in_run != sk_logging.running)
        sk_logging_refuse("MPI_Cancel of a receive that was begun before saikai_restart");
    if (!sk_chance_is_kept("MPI_Cancel"))
        return SK_CALL(Cancel, (request));
    int told = sk_chance_told_back(o->begun), taken = told < 0 ? try_to(o, *request) : told;
    o->tried = 1;
    if (taken && (o->waits || o->is_void))
        sk_held_give_up(o);
    if (told < 0)
        sk_chance_took_back(o->begun, taken);
    return 0;
}

int sk_logging_was_tried(MPI_Request r)
{
    const struct sk_object *o = r == MPI_REQUEST_NULL ? NULL : sk_objects_find(&sk_world.requests, SK_KEY(r));
    const struct sk_logging_open *l = o && o->flags & (SK_OBJECT_LOGGED | SK_OBJECT_HELD) ? o->more : NULL;
    return l && l->tried;
}

void sk_logging_forward(int n, MPI_Request r[])
{
    for (int i = 0; i < n && sk_world.epoch; i++) /* there was a repair */
        for (const struct sk_object *o; r[i] != MPI_REQUEST_NULL && (o = sk_objects_find(&sk_world.requests, SK_KEY(r[i]))) &&
                                        o->flags & SK_OBJECT_MOVED;)
            r[i] = (MPI_Request)(uintptr_t)o->of;
}

/* ---- both, for calls that block ---- */

/* As ever, by a rank that keeps nothing any more. */
static int begin_send(enum sk_logging_mode mode, const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Request *out)
{
    switch (mode) {
    case SK_LOGGING_SYNCHRONOUS: return SK_CALL(Issend, (buf, count, type, dest, tag, sk_world.comm, out));
    case SK_LOGGING_BUFFERED: return SK_CALL(Ibsend, (buf, count, type, dest, tag, sk_world.comm, out));
    default: return SK_CALL(Isend, (buf, count, type, dest, tag, sk_world.comm, out));
    }
}

int sk_logging_send(enum sk_logging_mode mode, const void *buf, int count, MPI_Datatype type, int dest, int tag)
{
    if (sk_world.replicates) /* a collective's */
        return sk_replica_send(SK_LOGGING_PLAIN, buf, count, type, dest, tag, SK_REPLICA_COLLECTIVE);
    MPI_Request r = MPI_REQUEST_NULL;
    struct sk_kept_message *m = sk_logging.refused ? NULL : sk_logging_post(mode, buf, count, type, dest, tag);
    if (m)
        return mode == SK_LOGGING_BUFFERED ? 0 : go_on_from(m, dest);
    int rc = begin_send(mode, buf, count, type, dest, tag, &r);
    return rc ? rc : sk_wait(&r, MPI_STATUS_IGNORE, 0);
}

int sk_logging_isend(enum sk_logging_mode mode, const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Request *out)
{
    struct sk_kept_message *m = sk_logging.refused ? NULL : sk_logging_post(mode, buf, count, type, dest, tag);
    if (dest == MPI_PROC_NULL)
        return sk_logging_nothing(out);
    if (m)
        return mode == SK_LOGGING_SYNCHRONOUS ? sk_held_send(m, out) : sk_logging_nothing(out);
    int rc = begin_send(mode, buf, count, type, dest, tag, out);
    if (!rc)
        sk_made_request(*out, MPI_COMM_WORLD, 0);
    return rc;
}

/* MPI has this receive of a call that waits for it, and the program has not been left since. Mostly the message is there, or nearly: then there is nothing
 * to remember. */
static int finish_receive(struct sk_members *g, void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Request r, MPI_Status *status)
{
    int done = 0, rc = sk_over_test(&r, &done, status);
    if (!rc && !done && source != MPI_PROC_NULL)
        remember_receive(g, buf, count, type, source, tag, r);
    if (!rc && !done)
        return sk_wait(&r, status, 0);
    sk_finds();
    struct sk_kept_channel *c = sk_logging.refused || source == MPI_PROC_NULL ? NULL : sk_kept_channel(sk_logging.kept, source, tag);
    if (c) {
        c->posted++;
        c->done++;
    } else if (source != MPI_PROC_NULL) {
        sk_logging_refuse(UNCOUNTED);
    }
    if (!rc)
        sk_logging_translate(g, status);
    return rc;
}

int sk_logging_recv(struct sk_members *g, void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Status *status)
{
    if (sk_world.replicates)
        return sk_replica_recv(NULL, buf, count, type, source, tag, SK_REPLICA_COLLECTIVE, status);
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status s;
    uint64_t number;
    int rc = 0;
    sk_logging.count.receives += source != MPI_PROC_NULL;
    if (has_to_wait(&source, &tag, &number) && !(rc = sk_held_await(source, tag, &s))) {
        source = s.MPI_SOURCE;
        tag = s.MPI_TAG;
        if (number != UINT64_MAX)
            sk_chance_matched(number, source, tag);
    }
    if (!rc)
        rc = sk_held_receive(buf, count, type, source, tag, &r);
    return rc ? rc : finish_receive(g, buf, count, type, source, tag, r, status);
}

int sk_logging_probe(struct sk_members *g, int source, int tag, int *flag, MPI_Status *status)
{
    enum sk_chance call = flag ? SK_CHANCE_IPROBE : SK_CHANCE_PROBE;
    int is_chance = source != MPI_PROC_NULL && (flag || is_wild(source, tag)), got[2], found = 1, rc;
    MPI_Status s;
    if (is_chance)
        is_chance = sk_chance_is_kept(flag ? "MPI_Iprobe" : "MPI_Probe with MPI_ANY_SOURCE or MPI_ANY_TAG");
    int n = is_chance ? sk_chance_told(call, got, 2, 0) : SK_CHANCE_FREE;
    if (n == SK_CHANCE_NONE) {
        sk_held_progress();
        *flag = 0;
        return 0;
    }
    if (n == 2)
        rc = sk_held_await(got[0], got[1], &s);
    else
        rc = flag ? sk_held_probe(source, tag, &found, &s) : sk_held_await(source, tag, &s);
    if (!rc && is_chance && n == SK_CHANCE_FREE)
        sk_chance_happened(call, found ? 2 : -1, (int[]){s.MPI_SOURCE, s.MPI_TAG});
    if (!rc && found && status != MPI_STATUS_IGNORE) {
        *status = s;
        sk_logging_translate(g, status);
    }
    if (flag)
        *flag = found;
    return rc;
}

int sk_logging_receive_after(struct sk_members *g, struct sk_kept_message *m, void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Status *status)
{
    int rc = sk_logging_recv(g, buf, count, type, source, tag, status);
    return rc || sk_logging.refused || !m ? rc : sk_logging_wait_sent(m); /* a refusal meanwhile has freed it, or left it to MPI */
}

int sk_logging_exchange(struct sk_members *g, const void *send, int nsend, MPI_Datatype stype, int dest, int stag, void *recv, int nrecv, MPI_Datatype rtype,
                    int source, int rtag, MPI_Status *status)
{
    if (sk_world.replicates)
        return sk_replica_exchange(NULL, send, nsend, stype, dest, stag, SK_REPLICA_COLLECTIVE, recv, nrecv, rtype, source, rtag, SK_REPLICA_COLLECTIVE, status);
    MPI_Request s = MPI_REQUEST_NULL, r = MPI_REQUEST_NULL;
    int first = !is_wild(source, rtag) && !sk_held_stands_before(source, rtag); /* what comes finds its place, and is not copied twice */
    int rc = first ? sk_held_receive(recv, nrecv, rtype, source, rtag, &r) : 0;
    if (rc)
        return rc;
    struct sk_kept_message *m = sk_logging.refused ? NULL : sk_logging_post(SK_LOGGING_PLAIN, send, nsend, stype, dest, stag);
    if (!m)
        rc = SK_CALL(Isend, (send, nsend, stype, dest, stag, sk_world.comm, &s));
    sk_logging.count.receives += first && source != MPI_PROC_NULL;
    int received = first ? finish_receive(g, recv, nrecv, rtype, source, rtag, r, status) : rc ? rc : sk_logging_recv(g, recv, nrecv, rtype, source, rtag, status);
    if (!rc)
        rc = received;
    if (!rc && m && !sk_logging.refused) /* a refusal meanwhile has freed it, or left it to MPI */
        rc = go_on_from(m, dest);
    return rc || s == MPI_REQUEST_NULL ? rc : sk_wait(&s, MPI_STATUS_IGNORE, 0);
}
