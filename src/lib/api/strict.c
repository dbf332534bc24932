/* Says the sentence of an error and ends the program, or gives the code back where the program
 * asked for that. */
#include "lib/api/strict.h"

#include "backbone/keeper_page.h"
#include "base/clock.h"
#include "base/log.h"
#include "world/world.h"

#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The rank that speaks is to have spoken before another one ends the job. */
static const double patience = 2;
/* MPICH's launcher may drop what was written just before an abort: it gets a moment to read it. */
static const double moment = 0.3;

struct sk_strictness sk_strictness(const struct sk_config *c, int rank)
{
    return (struct sk_strictness){.ends = !c || strcmp(sk_config_text(c, "lib.on_error"), "return") != 0, .rank = rank};
}

/* 1: the keeper's page says that there is to be no other start. */
static int is_last_start(void)
{
    struct sk_keeper_page *page = NULL;
    int is_last = !sk_keeper_page_attach(&page, NULL) && page && atomic_load(&page->state) == SK_KEEPER_HOPELESS;
    sk_keeper_page_unmap(page);
    return is_last;
}

void sk_strict_for_good(struct sk_strictness own)
{
    struct sk_keeper_page *page = NULL;
    if (own.ends && !sk_keeper_page_attach(&page, NULL) && page && !page->incarnation)
        atomic_store(&page->state, SK_KEEPER_HOPELESS);
    sk_keeper_page_unmap(page);
}

static void end_program(int code)
{
    int ready = 0, over = 0;
    if ((code == SAIKAI_EXIT_REFUSED && getenv(SK_KEEPER_FD_ENV)) || is_last_start()) {
        fflush(NULL); /* the keeper has to tell why: an abort may end it, too */
        _exit(code);
    }
    MPI_Initialized(&ready);
    MPI_Finalized(&over);
    if (ready && !over)
        MPI_Abort(MPI_COMM_WORLD, code);
    exit(code);
}

int sk_strict(struct sk_strictness own, const char *call, int rc, const struct saikai_error *err, int collective)
{
    char line[1000];
    int speaks = !collective || !own.rank;
    if (rc >= 0)
        return rc;
    if (saikai_world_leave) /* the error may be that another process has died, which is repaired */
        saikai_world_leave();
    if (collective)
        snprintf(line, sizeof line, "%s: %s", call, err->text);
    else
        snprintf(line, sizeof line, "%s: rank %d: %s", call, own.rank, err->text);
    if (!own.ends) {
        if (speaks)
            sk_log(SK_LOG_ERROR, "%s", line);
        return rc;
    }
    if (speaks) {
        sk_log_stderr(NULL, SK_LOG_ERROR, line);
        if (sk_log_is_diverted()) /* the program's own log is to have the reason, too */
            sk_log(SK_LOG_ERROR, "%s", line);
        if (rc != SAIKAI_EBUSY)
            sk_log_stderr(NULL, SK_LOG_ERROR, "the program ends here, so that it does not go on without its state "
                                              "(lib.on_error=return gives the error to the program instead)");
        sk_sleep(moment);
    } else {
        sk_sleep(patience);
    }
    end_program(rc == SAIKAI_EBUSY ? SAIKAI_EXIT_REFUSED : SAIKAI_EXIT_CODE);
    return rc;
}
