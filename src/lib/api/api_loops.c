/* What directives become (saikai/directives.h): loops that are left out, or entered in the middle, after a restart. Each run of an enabled
 * loop has a number, which is the same on all ranks and in each start of the program; with the place it is saved beside the loop's
 * variables. A restored state belongs to one run of one loop: those before it are not run again. Compiled once for each MPI. */
#include "lib/api/api.h"

#include "base/hash.h"
#include "base/log.h"
#include "lib/restart/restore.h"
#include "lib/run/questions.h"

#include <mpi.h>
#include <saikai/directives.h>
#include <saikai/handle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POSITION "saikai.loop"

enum { RUN, TURN, PLACE, NAME, WORDS };

/* Loops of directives belong to the process, and so does this. Several are begun one after the other, one is open at a time. */
static struct {
    int64_t position[WORDS]; /* as it is saved; WORDS of I64 */
    int64_t here;            /* runs of loops begun so far */
    int64_t pending;         /* the run of which a state was found and not given back yet, 0: none */
    struct saikai_loop *open;
    char which[200]; /* the open loop's name */
    int restarted, began_mpi;
} loops;

static int fail(const char *sentence)
{
    char text[700];
    snprintf(text, sizeof text, "loop %s: %s", loops.which, sentence);
    return saikai_refuse(text);
}

API int saikai_loop_init(MPI_Comm comm, const char *config, const char *mpi_of_header)
{
    int begun = 0;
    MPI_Initialized(&begun);
    if (!begun)
        loops.began_mpi = MPI_Init(NULL, NULL) == MPI_SUCCESS;
    struct saikai_loop *open = loops.open;
    int began_mpi = loops.began_mpi;
    memset(&loops, 0, sizeof loops);
    loops.open = open;
    loops.began_mpi = began_mpi;
    return saikai_init_checked(comm, config, mpi_of_header);
}

API int saikai_loop_fini(void)
{
    int rc = saikai_finalize();
    if (loops.began_mpi)
        MPI_Finalize();
    loops.began_mpi = 0;
    return rc;
}

API int saikai_loop_begin(struct saikai_loop *loop, const char *which, long every)
{
    *loop = (struct saikai_loop){.every = every};
    if (!sk_default) {
        char text[400];
        snprintf(text, sizeof text, "loop %.200s: 'enable' was reached before 'init', or after 'fini': write '#pragma MICP init' behind MPI_Init",
                 which);
        sk_log_stderr(NULL, SK_LOG_ERROR, text);
        exit(SAIKAI_EXIT_CODE); /* the launcher ends the other ranks */
    }
    if (loops.open)
        return fail("another enabled loop begins inside of it; only one of them can be enabled");
    snprintf(loops.which, sizeof loops.which, "%s", which);
    if (every < 0)
        return fail("'every' is less than nothing");
    loops.here++;
    loops.open = loop;
    loop->open = 1;
    loop->first = sk_session_vars(sk_default->session)->next_id;
    loop->skipped = loops.pending > loops.here;
    return 0;
}

/* Elements side by side are told without strides. */
static int is_dense(int ndims, const ptrdiff_t *count, const ptrdiff_t *stride, size_t bytes)
{
    size_t next = bytes;
    for (int d = ndims; d-- > 0; next *= (size_t)count[d])
        if (stride[d] != (ptrdiff_t)next && count[d] > 1)
            return 0;
    return 1;
}

static int protect(const char *name, void *data, enum saikai_type type, int n, const ptrdiff_t *count, const ptrdiff_t *stride,
                   size_t bytes, const long *global)
{
    size_t dims[SAIKAI_MAX_DIMS + 1], whole[SAIKAI_MAX_DIMS + 1], offset[SAIKAI_MAX_DIMS + 1];
    ptrdiff_t apart[SAIKAI_MAX_DIMS + 1];
    int own = n;
    for (int d = 0; d < n; d++) {
        dims[d] = (size_t)count[d];
        apart[d] = stride[d];
        whole[d] = global ? (size_t)global[d] : 0;
        offset[d] = global ? (size_t)global[n + d] : 0;
    }
    size_t width = type == SAIKAI_U8 ? bytes : 1;
    if (width > 1) {
        dims[own] = whole[own] = width;
        offset[own] = 0;
        apart[own++] = 1;
    }
    if (own > SAIKAI_MAX_DIMS)
        return fail("a variable has too many dimensions: 8, or 7 when its elements are no numbers");
    if (!is_dense(n, count, stride, bytes))
        return saikai_protect_strided(name, data, type, own, dims, apart, global ? whole : NULL, global ? offset : NULL);
    return global ? saikai_protect_global(name, data, type, own, dims, whole, offset) : saikai_protect(name, data, type, own, dims);
}

API int saikai_loop_variable(const char *name, void *data, enum saikai_type type, size_t bytes, int ndims, const ptrdiff_t shape[],
                             int nglobal, const long global[], const char *bound)
{
    char text[400];
    int rc = 0;
    const int is_real = type == SAIKAI_F32 || type == SAIKAI_F64;
    if (ndims > SAIKAI_MAX_DIMS) {
        snprintf(text, sizeof text, "'%.100s' has %d dimensions, more than %d", name, ndims, SAIKAI_MAX_DIMS);
        rc = fail(text);
    } else if (nglobal && nglobal != ndims) {
        snprintf(text, sizeof text, "'%.100s' has %d dimensions, and 'global' tells %d sizes: it wants as many sizes, and as many offsets", name,
                 ndims, nglobal);
        rc = fail(text);
    }
    for (int d = 0; !rc && d < ndims; d++)
        if (shape[d] < 0) {
            snprintf(text, sizeof text, "a section of '%.100s' ends before it begins: %td elements", name, shape[d]);
            rc = fail(text);
        }
    for (int d = 0; !rc && d < 2 * nglobal; d++)
        if (global[d] < 0) {
            snprintf(text, sizeof text, "'%.100s': 'global' tells a number below 0, %ld", name, global[d]);
            rc = fail(text);
        }
    if (!rc)
        rc = protect(name, data, type, ndims, shape, shape + ndims, bytes, nglobal ? global : NULL);
    return rc < 0 || !*bound || !is_real ? rc : saikai_set(name, "bound", bound);
}

static int64_t hash_name(void)
{
    return (int64_t)(sk_hash64(loops.which, strlen(loops.which)) >> 1);
}

static int opens(const void *restored)
{
    int64_t saved[WORDS];
    memcpy(saved, restored, sizeof saved);
    return saved[RUN] == loops.here;
}

/* The state in loops.position is that of this run of this loop. */
static int resume(struct saikai_loop *loop)
{
    if (loops.position[NAME] != hash_name())
        return fail("the checkpoint was made in another loop, so the program has changed: start it afresh with restart.mode=never");
    loop->resume = (int)loops.position[PLACE] + 1;
    return 0;
}

static int restart(struct saikai_loop *loop)
{
    long at = 0;
    struct sk_session *s = sk_default->session;
    s->resume.gate = (struct sk_resume_gate){POSITION, opens};
    loops.restarted = 1;
    int rc = saikai_restart(&at);
    s->resume.gate.name = NULL;
    if (rc <= 0)
        return rc;
    if (loops.position[RUN] == loops.here)
        return resume(loop);
    if (loops.position[RUN] < loops.here)
        return fail("the checkpoint was made in a loop that was not reached in this start: start it afresh with restart.mode=never");
    loops.pending = loops.position[RUN];
    loop->skipped = 1;
    if (s->g->rank == 0)
        sk_log(SK_LOG_NOTICE, "the checkpoint was made in enabled loop %lld of this run: those before it are not run again, and what they computed "
                              "comes back as far as that loop lists it", (long long)loops.pending);
    return 0;
}

/* Where a variable is a block of a global array, single numbers are taken for the same on all ranks: so the loop can go on with another
 * number of ranks. That they are the same is looked at then. */
static int replicate_numbers(const struct saikai_loop *loop)
{
    struct sk_vars *vars = sk_session_vars(sk_default->session);
    int any = 0, rc = 0;
    for (size_t i = 0; i < vars->count; i++)
        any |= vars->v[i].id >= loop->first && vars->v[i].scope == SK_SKC_GLOBAL;
    for (size_t i = 0; any && rc >= 0 && i < vars->count; i++)
        if (vars->v[i].id >= loop->first && vars->v[i].scope == SK_SKC_OWN && !vars->v[i].ndims)
            rc = saikai_replicated(vars->v[i].name);
    return rc;
}

API int saikai_loop_restore(struct saikai_loop *loop)
{
    size_t dims[] = {WORDS};
    int rc = 0;
    if (!loop->open)
        return SAIKAI_ESTATE;
    if (loop->skipped)
        return 0;
    struct saikai_error err = {0};
    int64_t turn = loops.position[TURN];
    rc = saikai_protect(POSITION, loops.position, SAIKAI_I64, 1, dims);
    if (rc >= 0)
        rc = saikai_replicated(POSITION);
    if (rc >= 0)
        rc = replicate_numbers(loop);
    if (rc >= 0 && !loops.restarted) {
        rc = restart(loop);
    } else if (rc >= 0 && loops.pending == loops.here) {
        loops.pending = 0;
        if ((rc = sk_session_restore_again(sk_default->session, &err)))
            return fail(err.text);
        rc = resume(loop);
    }
    if (rc >= 0 && !loop->resume && !loop->skipped) {
        loops.position[TURN] = turn;
        loops.position[RUN] = loops.here;
        loops.position[NAME] = hash_name();
    }
    return rc;
}

API void saikai_loop_next(struct saikai_loop *loop)
{
    if (!loop->resume)
        loops.position[TURN]++;
    else if (loop->turned++)
        fail("the place that it is to be resumed from was not reached: is it in a condition, or the loop left or continued before it?");
}

API void saikai_loop_candidate(struct saikai_loop *loop, int place)
{
    if (loop->resume) {
        loop->resume = loop->resume == place + 1 ? 0 : loop->resume;
        return;
    }
    int64_t turn = loops.position[TURN];
    loops.position[PLACE] = place;
    if (!loop->every || turn % loop->every || loop->forced == turn) {
        saikai_checkpoint_at(place, (long)turn);
        return;
    }
    loop->forced = (long)turn; /* once in this turn */
    saikai_checkpoint_now((long)turn);
}

API void saikai_loop_end(struct saikai_loop *loop)
{
    if (!loop->open)
        return;
    loop->open = 0;
    loops.open = NULL;
    if (loop->resume)
        fail("it ended before the place that it is to be resumed from was reached: are all variables listed that decide when it ends?");
    struct sk_vars *vars = sk_default ? sk_session_vars(sk_default->session) : NULL;
    for (size_t i = vars ? vars->count : 0; i-- > 0;)
        if (vars->v[i].id >= loop->first)
            saikai_unprotect(vars->v[i].name);
}
