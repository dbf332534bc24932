/* Events, between the program and those who keep them. */
#include "world/log/chance.h"

#include "world/log/lasting.h"
#include "world/log/log.h"
#include "world/log/witness.h"

#include <stdio.h>

/* Which part of the program this is. */
static struct sk_outcomes_log *now(void)
{
    return sk_logging.running ? &sk_witness_log : &sk_witness_setup;
}

int sk_chance_is_kept(const char *function)
{
    char line[200];
    if (!sk_world.logs || sk_logging.refused)
        return 0;
    if (sk_witness_is_kept())
        return 1;
    snprintf(line, sizeof line, "%s in a process of whose events nobody else could keep any", function);
    sk_logging_refuse(line);
    return 0;
}

/* A request that is not known has ended: what was sent is kept. */
int sk_chance_of(int n, MPI_Request r[], const char *function)
{
    sk_logging_forward(n, r);
    for (int i = 0; i < n; i++) {
        const MPI_Request *inner = sk_lasting_inner(r[i]), known = inner ? *inner : r[i];
        const struct sk_object *o = known == MPI_REQUEST_NULL ? NULL : sk_objects_find(&sk_world.requests, SK_KEY(known));
        if (o && !(o->flags & SK_OBJECT_QUIET))
            return sk_chance_is_kept(function);
    }
    return 0;
}

int sk_chance_told(enum sk_chance call, int *number, int most, int below)
{
    int n = sk_outcomes_tell(now(), (int)call, number, most), wrong = n == SK_OUTCOMES_OTHER;
    for (int i = 0; i < n; i++)
        wrong |= number[i] < 0 || (below && number[i] >= below);
    if (wrong)
        sk_world_fail(SK_WORLD_FAILED, "the new process does not call MPI as the one before it did (docs/recovery.md): the job is started again");
    return n == SK_OUTCOMES_OVER ? SK_CHANCE_FREE : n == SK_OUTCOMES_NONE ? SK_CHANCE_NONE : n;
}

/* rc: they could not be kept. */
static void after(int rc)
{
    if (rc)
        sk_logging_refuse(sk_logging.running ? "more is left to chance since the newest complete generation than can be kept"
                                             : "more is left to chance before saikai_restart than can be kept");
    else if (sk_outcomes_used(now()) > SK_OUTCOMES_WORDS / 2)
        sk_logging_ask();
}

void sk_chance_happened(enum sk_chance call, int n, const int *number)
{
    if (!sk_logging.refused)
        after(sk_outcomes_add(now(), (int)call, n, number));
}

int sk_chance_next(uint64_t *number, int *source, int *tag)
{
    *number = now()->wild++;
    return sk_outcomes_tell_match(now(), *number, source, tag);
}

int sk_chance_begin(void)
{
    return sk_outcomes_tell_back(now(), now()->begun++) == 1;
}

uint64_t sk_chance_newest(void)
{
    return now()->begun - 1;
}

int sk_chance_told_back(uint64_t number)
{
    return sk_outcomes_tell_back(now(), number);
}

void sk_chance_took_back(uint64_t number, int taken)
{
    if (!sk_logging.refused)
        after(sk_outcomes_back(now(), number, taken));
}

void sk_chance_matched(uint64_t number, int source, int tag)
{
    if (!sk_logging.refused)
        after(sk_outcomes_match(now(), number, source, tag));
}
