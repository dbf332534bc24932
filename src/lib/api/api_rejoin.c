/* A repair in which this rank stays where it is in the program (the protocol logging): the session is begun anew beside that of a new process,
 * which runs saikai_init and saikai_restart, and the program's data stay as they are. Compiled once for each MPI.
 *
 * From the generation that the new process goes on from, each rank counts the candidates to where it is. Those up to the farthest are slept
 * through; from there on the ticks of all ranks are alike again. */
#include "lib/api/api.h"

#include "lib/restart/restart.h"
#include "world/world.h"

static int64_t key_of(const struct sk_session *s)
{
    return s->resume.from.incarnation ? sk_gen_key(s->resume.from) : 0;
}

int sk_rejoin_place(struct saikai *h, uint64_t mine, int survives)
{
    struct sk_session *s = h->session;
    uint64_t at = 0;
    if (!saikai_world_settle || !saikai_world_settle(key_of(s), &at))
        return 0;
    int64_t most = (int64_t)(survives ? mine : at);
    int rc = sk_group_allreduce(s->g, &most, 1, SK_OP_MAX);
    if (rc)
        return sk_fail(&sk_last, rc, "the ranks lost contact after the restart");
    mine = survives ? mine : at;
    sk_clock_sleep(&s->clock, mine, (uint64_t)most - mine);
    saikai_world_settled();
    return 0;
}

int sk_rejoin_able(void)
{
    const struct saikai *h = sk_default;
    if (!h || sk_api_inside || !sk_is_only_handle(h) || !h->of_world || h->chose)
        return 0;
    const struct sk_session *s = h->session;
    return s->resume.called && !s->ending.stop_agreed && !s->ending.halted && !s->capture.in_files && !s->capture.inexact &&
           !s->resume.gate.name && !*s->resume.restored_files;
}

int sk_rejoin(void)
{
    struct saikai *h = sk_default;
    struct sk_vars vars = h->session->vars;
    uint64_t mine = sk_clock_position(&h->session->clock);
    int restored = 0;
    int64_t iteration = 0;
    h->session->vars = (struct sk_vars){0};
    int rc = sk_reopen(h);
    if (rc)
        return rc;
    h->session->vars = vars;
    h->session->resume.keeps = 1;
    rc = sk_session_restart(h->session, &restored, &iteration, &sk_last);
    h->session->resume.keeps = 0;
    return rc ? rc : sk_rejoin_place(h, mine, 1);
}
