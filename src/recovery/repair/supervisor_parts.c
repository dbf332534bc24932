/* What the supervisor's files share: saying, sending to ranks, ending them for a fault, asking which fault model matches, and keeping
 * what came of it. */
#include "recovery/repair/supervisor_parts.h"

#include "base/log.h"
#include "recovery/fault/describe.h"

#include <stdarg.h>
#include <stdio.h>

void sk_say(struct sk_supervisor *s, int level, const char *fmt, ...)
{
    char line[1000];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    s->ops->say(s->arg, level, line);
}

void sk_supervisor_send_as(struct sk_supervisor *s, int rank, uint32_t incarnation, enum sk_message_kind kind, uint32_t number)
{
    struct sk_message m = {
        .kind = kind, .incarnation = incarnation, .rank = (uint32_t)rank, .number = number};
    s->ops->send(s->arg, &m);
}

void sk_supervisor_send(struct sk_supervisor *s, int rank, uint32_t incarnation, enum sk_message_kind kind, uint32_t number)
{
    sk_supervisor_send_as(s, s->place ? (int)sk_in_place_id(s->place, rank) : rank, incarnation, kind, number);
}

void sk_supervisor_send_to_all(struct sk_supervisor *s, enum sk_message_kind kind, uint32_t number)
{
    for (int r = 0; r < s->c.detector.n_ranks; r++)
        if (sk_detector_rank_runs(s->detector, r))
            sk_supervisor_send(s, r, s->incarnation, kind, number);
}

/* Whom the fault took: known as long as the others live. */
static void note_lost(struct sk_supervisor *s, const struct sk_fault *f, double now)
{
    int takes = sk_fault_means(f, SK_FAULT_TAKES_HOST | SK_FAULT_ENDS_HOST), silence = sk_fault_means(f, SK_FAULT_SILENCE);
    for (int r = 0; r < s->c.detector.n_ranks; r++)
        s->lost[r] = r == f->rank || (takes && s->seat[r] == f->host) || (silence && sk_detector_rank_silent(s->detector, r, now)) ||
                     (!sk_detector_rank_runs(s->detector, r) && !sk_detector_rank_ended_well(s->detector, r));
}

void sk_supervisor_clear(struct sk_supervisor *s, const struct sk_fault *f, double now)
{
    if (s->state == RUNNING)
        note_lost(s, f, now);
    s->state = CLEARING;
    s->fault = *f;
    s->since = now;
    s->repeat = now + SK_REPEAT_S;
    sk_supervisor_send_to_all(s, SK_MSG_KILL, 0);
}

/* When a host is lost, the MPI's launcher may take the processes of the others along, and one of those be the first to count as silent. */
static void find_who_is_gone(struct sk_supervisor *s, struct sk_fault *f)
{
    if (!sk_fault_means(f, SK_FAULT_SILENCE | SK_FAULT_TAKES_HOST) || f->host < 0 || !s->answers[f->host])
        return;
    if (s->transfers.lost_host) { /* it was left to the twins, and is not used any more */
        f->host = s->transfers.lost_host - 1;
        return;
    }
    for (int h = 0; h < s->hosts.n; h++)
        if (s->hosts.host[h].state == SK_HOST_ACTIVE && s->answered[h] && !s->answers[h]) {
            f->host = h;
            for (f->rank = 0; f->rank < s->c.detector.n_ranks - 1 && s->seat[f->rank] != h;)
                f->rank++;
            return;
        }
}

struct sk_verdict sk_supervisor_assess(struct sk_supervisor *s, const struct sk_fault *f, int ask, struct sk_means can, double now)
{
    struct sk_scene scene = {
        .hosts = &s->hosts, .seat = s->seat, .n_ranks = s->c.detector.n_ranks, .detector = s->detector, .lost = s->lost, .copies = s->c.copies,
        .twins = can.twins, .in_place = can.in_place, .cannot = *s->no_place ? s->no_place : "there is no layer for it", .now = now,
    };
    if (s->state == RUNNING)
        note_lost(s, f, now);
    if (ask && s->probed && s->hosts.n > 1) {
        s->ops->probe(s->arg, s->answers);
        if (f == &s->fault)
            find_who_is_gone(s, &s->fault);
        scene.answered = s->answered;
        scene.answers = s->answers;
    }
    return sk_assess(s->assessor, f, &scene);
}

void sk_supervisor_record(struct sk_supervisor *s, const struct sk_fault *f, const struct sk_verdict *v, const char *no, const char *then)
{
    struct sk_fault of_rank = *f;
    if (s->c.copies && f->rank >= 0)
        of_rank.rank = s->c.copies->rank[f->rank];
    struct sk_event e = {.start = s->incarnation, .rank = of_rank.rank};
    sk_fault_describe(&of_rank, &s->hosts, s->c.program, e.what, sizeof e.what);
    snprintf(e.node, sizeof e.node, "%s", f->host >= 0 && f->host < s->hosts.n ? s->hosts.host[f->host].name : "");
    snprintf(e.fault, sizeof e.fault, "%s", f->kind ? f->kind->name : "");
    snprintf(e.model, sizeof e.model, "%s", v->model ? v->model->name : "");
    snprintf(e.answer, sizeof e.answer, "%s", no ? "given-up" : sk_answer_name(v->answer));
    snprintf(e.then, sizeof e.then, "%.*s", (int)sizeof e.then - 1, no ? no : then);
    sk_say(s, SK_LOG_NOTICE, "%s; fault model: %s; answer: %s%s%s", e.what, *e.model ? e.model : "none", e.answer, *e.then ? ", " : "",
        e.then);
    if (s->ops->record && !s->refused && !s->hopeless) /* else nothing began: the store may be another's, and its history with it */
        s->ops->record(s->arg, &e);
}
