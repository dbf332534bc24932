/* What happens to messages in a repair. Each survivor tells each other how many it has from it, and gets again what was under way in the
 * world that is no more; receives that have not ended are begun again. The new process gets the messages of the set-up, runs to its
 * saikai_restart with the library of the others (sk_logging.rejoin), and is then given, from the mark of its generation, what it was sent, and
 * told what the others have from it. These calls block inside MPI, as those of the repair do, and have the same limit. */
#include "world/log/go_on.h"

#include "world/form/form.h"
#include "world/form/moves.h"
#include "world/log/held.h"
#include "world/log/log.h"
#include "world/log/witness.h"
#include "world/repair.h"

#include "world/world.h"

#include <stdlib.h>
#include <string.h>

/* ---- whether it can be ---- */

/* What is known of a receive. 1: it has ended, with what was sent. */
static int look(struct sk_object *o)
{
    MPI_Request r = (MPI_Request)(uintptr_t)o->key;
    MPI_Status s;
    int ended = 0, cancelled = 0;
    if (sk_form()->ends_requests && sk_is_dead(o->of, o->from)) /* with what was sent, or with an error: it is sent again */
        return 0;
    if (SK_CALL(Request_get_status, (r, &ended, &s)) || !ended)
        return 0;
    SK_CALL(Test_cancelled, (&s, &cancelled));
    return !cancelled;
}

static int is_open(const struct sk_object *o)
{
    return o->key && o->epoch == sk_world.epoch && (o->flags & SK_OBJECT_LOGGED) && !(o->flags & SK_OBJECT_MOVED);
}

/* 1: all receives of the program are the protocol's, and the counts tell which of them have ended. */
static int count_receives(void)
{
    struct sk_objects *t = &sk_world.requests;
    for (size_t i = 0; i < t->slots; i++) {
        struct sk_object *o = &t->slot[i];
        if (is_open(o) && look(o))
            sk_logging_count(o->more);
        else if (o->key && o->epoch == sk_world.epoch && !(o->flags & (SK_OBJECT_LOGGED | SK_OBJECT_QUIET | SK_OBJECT_MOVED | SK_OBJECT_HELD | SK_OBJECT_LASTING)))
            return 0;
    }
    for (size_t i = 0; i < t->slots; i++) {
        struct sk_logging_open *r = is_open(&t->slot[i]) ? t->slot[i].more : NULL;
        const struct sk_kept_channel *c = r && !r->counted ? sk_kept_channel(sk_logging.kept, r->source, r->tag) : NULL;
        if (r && !r->counted && (!c || r->index < c->done)) /* one that was posted later has ended before it */
            return 0;
    }
    return 1;
}

int sk_logging_is_able(void)
{
    return sk_world.logs && !sk_logging.refused && sk_logging.running && !sk_logging.in_library && sk_logging.able && sk_logging.rejoin && !sk_made_has_others() &&
           sk_logging.able() && count_receives();
}

/* All of the repaired world tell whether they are able, and who is new. 1: all are. */
static int agree(int able, int new)
{
    int mine[2] = {able, new}, yes = 1;
    size_t n = (size_t)sk_world.size;
    int *all = malloc(sizeof mine * n);
    char *is_new = realloc(sk_logging.is_new, n);
    if (is_new)
        sk_logging.is_new = is_new;
    if (!all || !is_new || SK_CALL(Allgather, (mine, 2, MPI_INT, all, 2, MPI_INT, sk_world.comm)))
        sk_world_fail(SK_WORLD_FAILED, "the ranks could not agree on how to go on: the job is started again");
    for (size_t r = 0; r < n; r++) {
        yes &= all[2 * r];
        is_new[r] = (char)all[2 * r + 1];
    }
    free(all);
    yes = yes && sk_witness_is_known(is_new);
    if (yes)
        sk_witness_exchange();
    return yes;
}

/* ---- what was under way ---- */

/* What MPI has not done with belongs to the world before: it is left to it. */
static void leave_to_world_before(struct sk_kept_list *l)
{
    for (struct sk_kept_message *m = l->first; m; m = m->next)
        if (!sk_logging_is_sent(m)) {
            m->lent = 1;
            m->request = 0;
        }
}

static void send_from(struct sk_kept_list *l, int peer, int all)
{
    int rc = 0;
    for (struct sk_kept_message *m = l->first; m && !rc; m = m->next)
        if (all || !sk_kept_is_had(sk_logging.kept, peer, m))
            rc = sk_logging_send_again(m, peer);
    if (rc)
        sk_world_fail(SK_WORLD_FAILED, "messages could not be sent again: the job is started again");
}

/* Words of a channel: its tag and numbers. */
enum { WORDS = 4, MOST_WORDS = 2 + WORDS * SK_KEPT_CHANNELS };

static void tell(int peer, const uint64_t *word, size_t n)
{
    if (SK_CALL(Send, (word, (int)n, MPI_UINT64_T, peer, SK_LOGGING_TAG_REPAIR, sk_world.comm)))
        sk_world_fail(SK_WORLD_FAILED, "the ranks could not tell each other what they have: the job is started again");
}

static void hear(int peer, uint64_t word[MOST_WORDS])
{
    int rc = SK_CALL(Recv, (word, MOST_WORDS, MPI_UINT64_T, peer, SK_LOGGING_TAG_REPAIR, sk_world.comm, MPI_STATUS_IGNORE));
    if (rc || word[1] > SK_KEPT_CHANNELS)
        sk_world_fail(SK_WORLD_FAILED, "the ranks could not tell each other what they have: the job is started again");
}

static struct sk_kept_channel *channel(int peer, uint64_t tag)
{
    struct sk_kept_channel *c = sk_kept_channel(sk_logging.kept, peer, (int)tag);
    if (!c)
        sk_world_fail(SK_WORLD_FAILED, "no memory for the counts of messages: the job is started again");
    return c;
}

/* Two survivors tell each other how many they have, the lower one first; what one lacks is sent again. */
static void settle_with(int peer)
{
    static uint64_t mine[MOST_WORDS], theirs[MOST_WORDS];
    const struct sk_kept_peer *p = &sk_logging.kept->peer[peer];
    mine[0] = 0;
    mine[1] = (uint64_t)p->channels;
    for (int i = 0; i < p->channels; i++) {
        uint64_t *w = mine + 2 + WORDS * i;
        w[0] = (uint64_t)p->channel[i].tag;
        w[1] = p->channel[i].done;
    }
    size_t n = 2 + WORDS * (size_t)p->channels;
    if (sk_world.rank < peer)
        tell(peer, mine, n);
    hear(peer, theirs);
    if (sk_world.rank > peer)
        tell(peer, mine, n);
    for (int i = 0; i < p->channels; i++)
        p->channel[i].had = 0;
    for (uint64_t i = 0; i < theirs[1]; i++)
        channel(peer, theirs[2 + WORDS * i])->had = theirs[3 + WORDS * i];
    send_from(&sk_logging.kept->peer[peer].setup, peer, 0);
    send_from(&sk_logging.kept->peer[peer].run, peer, 0);
}

/* Messages to oneself. */
static void settle_alone(void)
{
    struct sk_kept_peer *p = &sk_logging.kept->peer[sk_world.rank];
    for (int i = 0; i < p->channels; i++)
        p->channel[i].had = p->channel[i].done;
    send_from(&p->setup, sk_world.rank, 0);
    send_from(&p->run, sk_world.rank, 0);
}

/* To a new process: all that it was sent before its saikai_restart. What it is sent from now on it lacks. */
static void send_setup(int peer)
{
    struct sk_kept_peer *p = &sk_logging.kept->peer[peer];
    for (int i = 0; i < p->channels; i++)
        p->channel[i].had = 0;
    send_from(&p->setup, peer, 1);
}

static int by_serial(const void *a, const void *b)
{
    const struct sk_logging_open *x = ((const struct sk_object *)a)->more, *y = ((const struct sk_object *)b)->more;
    return x->serial < y->serial ? -1 : x->serial > y->serial;
}

/* The receive goes on as another request of MPI's; the program's handle leads there. The old one is not freed, so that no other gets
 * its name. */
static void begin_again(const struct sk_object *old)
{
    struct sk_logging_open *o = old->more;
    MPI_Request r = MPI_REQUEST_NULL;
    if (SK_CALL(Irecv, (o->buf, o->count, o->type, o->source, o->tag, sk_world.comm, &r)))
        sk_world_fail(SK_WORLD_FAILED, "a receive could not be begun again: the job is started again");
    sk_made_receive(r, MPI_COMM_WORLD, o->source, SK_OBJECT_LOGGED);
    sk_objects_find(&sk_world.requests, SK_KEY(r))->more = o;
    struct sk_object *was = sk_objects_find(&sk_world.requests, old->key);
    was->flags |= SK_OBJECT_MOVED;
    was->of = SK_KEY(r);
    was->more = NULL;
}

/* Receives in the order in which the program posted them. before: the number of the repair before this one. */
static void begin_receives(uint32_t before)
{
    struct sk_objects *t = &sk_world.requests;
    size_t n = 0;
    struct sk_object *open = malloc((t->count + 1) * sizeof *open);
    if (!open)
        sk_world_fail(SK_WORLD_FAILED, "no memory to begin receives again: the job is started again");
    for (size_t i = 0; i < t->slots; i++) {
        struct sk_object *o = &t->slot[i];
        if (!o->key || o->epoch != before || !(o->flags & (SK_OBJECT_LOGGED | SK_OBJECT_HELD | SK_OBJECT_LASTING)))
            continue;
        o->epoch = sk_world.epoch;
        if (o->flags & SK_OBJECT_LOGGED && !(o->flags & (SK_OBJECT_MOVED | SK_OBJECT_HELD)) && !((struct sk_logging_open *)o->more)->counted)
            open[n++] = *o;
    }
    qsort(open, n, sizeof *open, by_serial);
    for (size_t i = 0; i < n; i++)
        begin_again(&open[i]);
    free(open);
}

int sk_logging_go_on(int able, uint32_t before)
{
    if (!sk_logging.chosen || !agree(able, 0))
        return 0;
    struct sk_kept *k = sk_logging.kept;
    sk_kept_none_late(k);
    sk_moves_lose(sk_logging.is_new);
    for (int p = 0; p < k->n; p++) {
        leave_to_world_before(&k->peer[p].setup);
        leave_to_world_before(&k->peer[p].run);
    }
    for (int p = 0; p < k->n; p++)
        if (p == sk_world.rank)
            settle_alone();
        else if (sk_logging.is_new[p])
            sk_witness_send_setup(p), send_setup(p);
        else
            settle_with(p);
    sk_made_go_on(before);
    sk_held_forget();
    begin_receives(before);
    sk_logging.going_on = 1;
    int rc = sk_logging.rejoin();
    sk_logging.going_on = 0;
    if (rc < 0)
        sk_world_fail(SK_WORLD_FAILED, "this rank could not go on beside a new process: the job is started again");
    sk_world_tell(SK_WORLD_READY, SK_WORLD_FINE);
    return 1;
}

void sk_logging_join(void)
{
    if (!sk_logging.chosen || !agree(1, 1))
        return;
    sk_logging.joining = 1;
    sk_logging.kept = sk_kept_new(sk_world.size);
    if (!sk_logging.kept)
        sk_world_fail(SK_WORLD_FAILED, "no memory for what is kept of messages: the job is started again");
    sk_witness_receive_setup();
    for (int p = 0; p < sk_world.size; p++)
        sk_logging.kept->peer[p].has_all = p != sk_world.rank && !sk_logging.is_new[p];
}

/* ---- the library's ---- */

SK_WORLD_EXPORT void saikai_world_on_repair(int (*able)(void), int (*rejoin)(void))
{
    sk_logging.able = able;
    sk_logging.rejoin = rejoin;
}

static int ended(struct sk_kept_message *m)
{
    return sk_logging_is_sent(m);
}

/* To a new process: its place, the counts there, and what it was sent since. */
static void settle_new(int peer, const struct sk_kept_mark *mark)
{
    static uint64_t word[MOST_WORDS];
    struct sk_kept_peer *p = &sk_logging.kept->peer[peer];
    word[0] = mark->position;
    word[1] = (uint64_t)p->channels;
    for (int i = 0; i < p->channels; i++) {
        uint64_t *w = word + 2 + WORDS * i;
        struct sk_kept_count at = sk_kept_at(mark, peer, i);
        w[0] = (uint64_t)p->channel[i].tag;
        w[1] = at.sent;
        w[2] = at.posted;
        w[3] = p->channel[i].done;
        p->channel[i].had = at.sent;
    }
    tell(peer, word, 2 + WORDS * (size_t)p->channels);
    send_from(&p->run, peer, 0);
}

/* In the new process, from a survivor. */
static uint64_t settle_with_survivor(int peer)
{
    static uint64_t word[MOST_WORDS];
    struct sk_kept_peer *p = &sk_logging.kept->peer[peer];
    hear(peer, word);
    for (uint64_t i = 0; i < word[1]; i++) {
        const uint64_t *w = word + 2 + WORDS * i;
        struct sk_kept_channel *c = channel(peer, w[0]);
        c->posted = c->done = w[1];
        c->sent = w[2];
        c->had = w[3];
        if (c->had < c->sent)
            sk_world_fail(SK_WORLD_FAILED, "a message was open at a checkpoint: the job is started again");
    }
    p->has_all = 0;
    return word[0];
}

static uint64_t settle_survivor(int64_t key)
{
    const struct sk_kept_mark *mark = sk_kept_find(sk_logging.kept, key);
    if (!mark)
        sk_world_fail(SK_WORLD_FAILED, "the messages since the generation that the new process goes on from are not all kept: the job is started again");
    sk_kept_forget_after(sk_logging.kept, key);
    for (int p = 0; p < sk_logging.kept->n; p++)
        if (sk_logging.is_new[p])
            settle_new(p, mark);
    for (int p = 0; p < sk_logging.kept->n; p++) /* when all have told all that, nobody waits for another one */
        if (sk_logging.is_new[p])
            sk_witness_send(p, key);
    sk_kept_cut(sk_logging.kept, key, ended);
    sk_outcomes_cut(&sk_witness_log, key);
    return mark->position;
}

static uint64_t settle_joined(int64_t key)
{
    uint64_t position = 0;
    for (int p = 0; p < sk_logging.kept->n; p++)
        if (!sk_logging.is_new[p])
            position = settle_with_survivor(p);
    sk_witness_receive(key, &sk_logging.check);
    if (!sk_outcomes_is_told(&sk_witness_setup))
        sk_world_fail(SK_WORLD_FAILED, "the new process does not call MPI before saikai_restart as the one before it did (docs/recovery.md): the job is started again");
    sk_logging.joining = sk_logging.is_checked = 0;
    sk_logging.from = sk_logging.count;
    return position;
}

/* Its number is one of the set-up, and its message would be one of the run. */
static int leaves_to_chance(void)
{
    for (const struct sk_logging_open *o = sk_logging.held; o; o = o->next)
        if (o->waits && o->number != UINT64_MAX)
            return 1;
    return 0;
}

SK_WORLD_EXPORT int saikai_world_settle(int64_t key, uint64_t *position)
{
    int joins = sk_logging.joining;
    *position = 0;
    sk_logging.restarted = 1;
    if (!sk_world.logs || (sk_logging.refused && !joins))
        return 0;
    if (sk_logging.going_on) {
        *position = settle_survivor(key);
        return 1;
    }
    if (joins)
        *position = settle_joined(key);
    if (leaves_to_chance()) {
        sk_logging_refuse("a receive whose message is left to chance is open when saikai_restart is over");
        return joins;
    }
    sk_kept_end_setup(sk_logging.kept);
    struct sk_course *c = sk_witness_course();
    if (c && joins)
        sk_course_inherit(c, &sk_logging.check, sk_logging.count);
    else if (c)
        sk_course_begin(c, sk_logging.count);
    if (c)
        sk_course_set_mark(c, key, sk_logging.count);
    if (sk_kept_set_mark(sk_logging.kept, key, *position) || (!joins && sk_witness_log.ring && sk_outcomes_mark(&sk_witness_log, key)))
        sk_world_fail(SK_WORLD_FAILED, "no memory for what is kept of messages: the job is started again");
    sk_logging.running = 1;
    return joins;
}

SK_WORLD_EXPORT void saikai_world_settled(void)
{
    if (!sk_logging.going_on) /* they tell it themselves */
        sk_world_tell(SK_WORLD_READY, SK_WORLD_FINE);
}

SK_WORLD_EXPORT int saikai_world_is_logged(void)
{
    return sk_world.logs && !sk_logging.refused && sk_logging.running;
}

SK_WORLD_EXPORT void saikai_world_candidate(void)
{
    if (!saikai_world_is_logged())
        return;
    if (sk_witness_course())
        sk_course_candidate(sk_witness_course(), sk_logging.count);
    if (sk_logging.is_checked)
        return;
    sk_logging.is_checked = 1;
    struct sk_course_count did = {sk_logging.count.sends - sk_logging.from.sends, sk_logging.count.receives - sk_logging.from.receives};
    if (sk_course_is_right(&sk_logging.check, did))
        return;
    if (!sk_logging.check.known && !sk_logging.check.habits.turns) /* it may be right, but there is nothing to show it */
        sk_world_fail(SK_WORLD_FAILED, "the process before this one died before its second candidate, so it cannot be told whether the program communicates between "
                                       "saikai_restart and its loop: the job is started again");
    if (!sk_logging.check.known) /* chance, or the same again */
        sk_world_fail(SK_WORLD_FAILED, "the new process sent and received just as much before its first candidate as the program did at its beginning, and in no turn since: maybe it "
                                       "did again what stands between saikai_restart and its loop; the job is started again");
    sk_world_fail(SK_WORLD_FAILED, "the new process did not send and receive as much before its first candidate as the one before it: the program "
                                   "communicates between saikai_restart and its loop, or does other things each time; the job is started again");
}

SK_WORLD_EXPORT void saikai_world_mark(int64_t key, uint64_t position)
{
    if (!sk_world.logs || sk_logging.refused || !sk_logging.running)
        return;
    if (sk_witness_course())
        sk_course_set_mark(sk_witness_course(), key, sk_logging.count);
    for (size_t i = 0; i < sk_world.requests.slots; i++) {
        const struct sk_object *o = &sk_world.requests.slot[i];
        if (is_open(o) || (o->key && o->epoch == sk_world.epoch && o->flags & SK_OBJECT_HELD)) {
            sk_logging_refuse("a receive, a synchronous send or a collective is open at a checkpoint");
            return;
        }
    }
    if (sk_kept_set_mark(sk_logging.kept, key, position) || (sk_witness_log.ring && sk_outcomes_mark(&sk_witness_log, key)))
        sk_logging_refuse("no memory for what is kept of messages");
}

SK_WORLD_EXPORT void saikai_world_cut(int64_t key)
{
    if (!sk_world.logs || sk_logging.refused || !sk_logging.running)
        return;
    sk_kept_cut(sk_logging.kept, key, ended);
    sk_outcomes_cut(&sk_witness_log, key);
    sk_logging.asked = 0;
}

/* A generation is asked for at half of the limit, and it takes about four exchanges until it is complete and known to be so: to ask, to agree,
 * to tell, to hear. They shall be over at three quarters; from there on ranks wait at each candidate (is_pressed). If they waited
 * earlier, it would be for exchanges that are not due: many times the step of a program whose steps are quick. */
SK_WORLD_EXPORT uint64_t saikai_world_pace(uint64_t candidate)
{
    static uint64_t then, bytes_then;
    static double each; /* bytes between two candidates; a rank that sent less lately may send more again */
    if (!sk_world.logs || sk_logging.refused)
        return UINT64_MAX;
    double now = candidate > then ? (double)(sk_logging.all_bytes - bytes_then) / (double)(candidate - then) : 0;
    each = now > 0.9 * each ? now : 0.9 * each;
    then = candidate;
    bytes_then = sk_logging.all_bytes;
    double most = each > 0 ? (double)sk_logging.limit / 16 / each : 1e18;
    return most < 1 ? 1 : most > 1e18 ? UINT64_MAX : (uint64_t)most;
}

SK_WORLD_EXPORT int saikai_world_is_pressed(void)
{
    return sk_world.logs && !sk_logging.refused && sk_logging.asked && sk_logging.kept->bytes > sk_logging.limit / 4 * 3;
}

SK_WORLD_EXPORT int saikai_world_goes_on(void)
{
    return sk_world.armed && sk_world.logs && sk_pending();
}
