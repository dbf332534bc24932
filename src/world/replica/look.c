/* One look at all that may have come, of which each wait is a loop; and what is done with the core between two looks. */
#include "world/replica/look.h"

#include "world/form/form.h"
#include "world/log/later/later.h"
#include "world/replica/compare.h"
#include "world/replica/control.h"
#include "world/replica/decide.h"
#include "world/replica/message.h"
#include "world/replica/takeover.h"
#include "world/rest/bell.h"
#include "world/rest/core.h"
#include "world/view/errors.h"

/* So many receives are asked for at once; those behind them when none of these has ended, as mostly they end in their order. */
enum { AT_ONCE = 256 };

/* MPI's requests of receives that are posted. They are asked for together: each call that finds nothing gives the processor away on a machine
 * with more processes than cores. */
static struct {
    struct sk_replica_open *open[AT_ONCE];
    MPI_Request request[AT_ONCE];
    MPI_Status status[AT_ONCE];
    int index[AT_ONCE];
} asked;

void sk_replica_stop_at_death(int error)
{
    if (sk_form_is_death(error))
        sk_world_fail(SK_WORLD_FAILED, "MPI has noticed a death, and no twin goes on then: the job is started again");
}

/* The next that MPI has, from *o on. */
static int gather(struct sk_replica_open **o)
{
    int n = 0;
    for (; *o && n < AT_ONCE; *o = (*o)->next) {
        if (!(*o)->channel || (*o)->out)
            continue;
        asked.open[n] = *o;
        asked.request[n++] = (*o)->request;
    }
    return n;
}

/* How many of these have ended. */
static int end_some(int n)
{
    int ended = 0, rc = SK_CALL(Testsome, (n, asked.request, &ended, asked.index, asked.status));
    if (rc && rc != MPI_ERR_IN_STATUS)
        sk_world_fail(SK_WORLD_FAILED, "MPI cannot receive messages: the job is started again");
    for (int i = 0; i < ended; i++) { /* MPI_UNDEFINED is negative */
        struct sk_replica_open *o = asked.open[asked.index[i]];
        o->request = MPI_REQUEST_NULL;
        o->status = asked.status[i];
        if (rc)
            sk_replica_stop_at_death(o->status.MPI_ERROR);
        sk_replica_end_receive(o, rc ? o->status.MPI_ERROR : 0);
    }
    return ended > 0 ? ended : 0;
}

static void end_receives(void)
{
    struct sk_replica_open *o = sk_replica.first;
    for (int n = gather(&o); n && !end_some(n); n = gather(&o))
        ;
}

int sk_replica_look(void)
{
    uint32_t finds = sk_replica.finds;
    sk_core_keep();
    atomic_store_explicit(&sk_world.page->looks, ++sk_replica.looks, memory_order_relaxed);
    if (__builtin_expect(atomic_load_explicit(&sk_world.page->repair, memory_order_acquire) > sk_replica.heard, 0))
        sk_replica_hear();
    sk_control_listen();
    sk_errors_muted++;
    sk_replica_decide();
    if (sk_replica.compares)
        sk_compare_idle();
    end_receives();
    sk_errors_muted--;
    sk_replica_end_sends();
    if (sk_logging.later)
        sk_later_look();
    sk_core_let_go();
    return sk_replica.finds != finds;
}

void sk_replica_turn(void)
{
    if (!sk_replica_look())
        sk_core_give();
}

void sk_replica_wait(void)
{
    static uint32_t finds, rings; /* by then */
    static unsigned vain;
    uint32_t rung = sk_bell_rung();
    sk_replica_look();
    sk_replica_look_after_crowd();
    int crowded = sk_replica.crowded || sk_replica.floods; /* there is room when others have taken something, and they are to look then */
    int all = sk_replica.moves && !crowded && !sk_world.cannot; /* of what is not replicated nobody rings */
    unsigned what = SK_BELL_SENT | (sk_replica.awaits || crowded ? SK_BELL_TAKEN : 0) | (all ? SK_BELL_ALL : 0);
    if (sk_replica.finds != finds || rung != rings)
        vain = 0;
    if (sk_replica.finds == finds && !(sk_core_gives() && sk_bell_sleep(rung, vain++, what)))
        sk_core_give();
    finds = sk_replica.finds;
    rings = rung;
}
