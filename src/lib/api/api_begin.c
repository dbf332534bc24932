/* Begin and end of handles, and what needs none. Compiled once for each MPI. */
#include "lib/api/api.h"

#include "base/log.h"
#include "group/mpi.h"
#include "lib/levels/kinds.h"
#include "lib/run/questions.h"
#include "lib/run/requests.h"
#include "world/world.h"

#include <errno.h>
#include <mpi.h>
#include <saikai/handle.h>
#include <stdlib.h>
#include <string.h>

struct saikai *sk_default;
__thread struct saikai_error sk_last;

int sk_not_begun(void)
{
    return sk_fail(&sk_last, SAIKAI_ESTATE, "saikai_init was not called, or failed");
}

/* ---- begin and end ---- */

/* A program compiled for one MPI that runs with the library or under the launcher of another one does not fail: each
 * process believes that it is alone. */
static int check_mpi(const char *mpi_of_program, struct saikai_error *err)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int n = 0, ranks = 0, ready = 0, over = 0;
    if (strcmp(mpi_of_program, SAIKAI_MPI_OF_HEADER) && strcmp(mpi_of_program, "Fortran"))
        return sk_fail(err, SAIKAI_EMPI,
                       "the program was compiled with the headers of %s, but this libsaikai is made for %s: link "
                       "with -lsaikai_%s",
                       mpi_of_program, SAIKAI_MPI_OF_HEADER,
                       strcmp(mpi_of_program, "MPICH") ? "openmpi" : "mpich");
    MPI_Get_library_version(version, &n);
    int is_open = strstr(version, "Open MPI") != NULL;
    if (strcmp(SAIKAI_MPI_OF_HEADER, "other") && is_open != !strcmp(SAIKAI_MPI_OF_HEADER, "Open MPI"))
        return sk_fail(err, SAIKAI_EMPI,
                       "the program runs with the MPI library '%.40s', but libsaikai is made for %s: build both "
                       "with the same mpicc",
                       version, SAIKAI_MPI_OF_HEADER);
    MPI_Initialized(&ready);
    if (!ready)
        return sk_fail(err, SAIKAI_ESTATE, "call MPI_Init before saikai_init");
    MPI_Finalized(&over);
    if (over)
        return sk_fail(err, SAIKAI_ESTATE, "call saikai_init before MPI_Finalize");
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *env = is_open ? "PMI_SIZE" : "OMPI_COMM_WORLD_SIZE", *launched = getenv(env);
    if (ranks == 1 && launched && atoi(launched) > 1 && !getenv(is_open ? "OMPI_COMM_WORLD_SIZE" : "PMI_SIZE"))
        return sk_fail(err, SAIKAI_EMPI,
                       "started as %s ranks by another MPI's launcher (%s is set), but this %s program sees one rank: "
                       "use the mpirun of %s",
                       launched, env, SAIKAI_MPI_OF_HEADER, SAIKAI_MPI_OF_HEADER);
    return 0;
}

/* All settings that are right are taken, also when others are not: among them is what an error means. */
static int load_config(const char *text, struct sk_config **out, struct saikai_error *err)
{
    sk_lib_kinds_tell();
    struct sk_config *c = *out = sk_config_new();
    if (!c)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the configuration");
    sk_config_expect_components(c);
    int rc = sk_config_load(c, err);
    struct saikai_error local = {0}, late = {0};
    int more = text ? sk_config_set_all(c, text, SK_FROM_API, &local) : 0;
    if (!rc && more)
        *err = local;
    rc = rc ? rc : more;
    more = sk_config_settle(c, &late);
    if (!rc && more)
        *err = late;
    return rc ? rc : more;
}

static int open_handles; /* of this process; the log and the signals are for all of them */

/* The log is the process's: the first handle says what is shown, others can only make it more. */
static void set_log(const struct sk_config *c, int rank)
{
    static int shown;
    int level = sk_log_level_parse(sk_config_text(c, "log.level"));
    if (rank && level > SK_LOG_WARN)
        level = SK_LOG_WARN; /* what all ranks would say alike, rank 0 says */
    if (open_handles && level <= shown)
        return;
    shown = level;
    sk_log_set(strcmp(sk_config_text(c, "log.to"), "none") ? sk_log_stderr : sk_log_nowhere, NULL, level);
}

/* A SAIKAI_… variable that means nothing is most likely a mistyped one. */
static void tell_unknown(void *arg, const char *name, const char *meant)
{
    (void)arg;
    sk_log(SK_LOG_WARN, "the environment variable %s is none of Saikai's and has no effect; did you mean %s?", name, meant);
}

/* Each rank is two processes that have to do the same (run.protocol=replication): each of them is alone, and saves nothing. */
static int replicates(void)
{
    return saikai_world_replicates && saikai_world_replicates();
}

/* config is taken over. */
static int begin(struct sk_group *g, struct sk_config *config, int config_rc, struct sk_session **s)
{
    int rc = sk_group_verdict(g, config_rc, &sk_last);
    if (rc) {
        sk_config_free(config);
        sk_group_free(g);
        return rc;
    }
    if (replicates())
        return sk_session_new_silent(g, config, s, &sk_last);
    if (!g->rank)
        sk_config_unknown_variables(tell_unknown, NULL);
    return sk_session_new(g, config, program_invocation_name, s, &sk_last);
}

static int open_session(const char *call, MPI_Comm comm, const char *text, const char *mpi_of_program, struct saikai *h)
{
    struct sk_config *config = NULL;
    struct sk_group *g = NULL;
    struct saikai_error bad_config = {0};
    int config_rc = load_config(text, &config, &bad_config);
    h->strict = sk_strictness(config, 0);
    if (config)
        set_log(config, 0);
    int rc = check_mpi(mpi_of_program, &sk_last);
    if (rc)
        sk_strict_for_good(h->strict);
    MPI_Comm alone = MPI_COMM_SELF;
    if (!rc)
        rc = sk_group_mpi(replicates() ? &alone : &comm, &g, &sk_last);
    if (rc) {
        sk_config_free(config);
        return sk_strict(h->strict, call, rc, &sk_last, 0);
    }
    int rank = g->rank;
    h->strict = sk_strictness(config, rank);
    if (config)
        set_log(config, rank);
    if (config_rc)
        sk_last = bad_config;
    return sk_strict(h->strict, call, begin(g, config, config_rc, &h->session), &sk_last, 1);
}

static struct saikai *handles; /* that are open */

static void enlist(struct saikai *h)
{
    h->next = handles;
    handles = h;
    sk_requests_share(++open_handles);
}

static void strike(struct saikai *h)
{
    struct saikai **p = &handles;
    while (*p && *p != h)
        p = &(*p)->next;
    if (*p)
        *p = h->next;
    sk_requests_share(--open_handles);
}

static int open_handle(const char *call, MPI_Comm comm, const char *text, const char *mpi_of_program, struct saikai **out)
{
    struct saikai *h = calloc(1, sizeof *h);
    if (!h)
        return sk_strict(sk_strictness(NULL, 0), call, sk_fail(&sk_last, SAIKAI_ENOMEM, "no memory for a handle"), &sk_last, 0);
    int rc = open_session(call, comm, text, mpi_of_program, h);
    if (rc) {
        free(h);
        return rc;
    }
    h->text = text ? strdup(text) : NULL;
    h->mpi_of_program = mpi_of_program;
    h->of_world = comm == MPI_COMM_WORLD && (!text || h->text);
    enlist(h);
    *out = h;
    return 0;
}

API int saikai_open_checked(MPI_Comm comm, const char *text, struct saikai **out, const char *mpi_of_program)
{
    sk_error_clear(&sk_last);
    if (!out)
        return sk_fail(&sk_last, SAIKAI_EINVAL, "saikai_open: where is the handle to go?");
    *out = NULL;
    return open_handle("saikai_open", comm, text, mpi_of_program, out);
}

API int(saikai_open)(MPI_Comm comm, const char *text, struct saikai **out)
{
    return saikai_open_checked(comm, text, out, SAIKAI_MPI_OF_HEADER);
}

API int saikai_close(struct saikai *h)
{
    sk_error_clear(&sk_last);
    if (!h)
        return sk_not_begun();
    if (h == sk_default)
        sk_default = NULL;
    struct sk_id store = sk_session_store(h->session);
    int rc = sk_session_finalize(h->session, &sk_last);
    strike(h);
    if (open_handles)
        sk_requests_forget(store);
    else
        sk_requests_remove();
    free(h->text);
    free(h);
    return rc;
}

/* The world was repaired: what the handles have of the one before is of no more use, and their stores are opened again. */
static void abandon_all(void)
{
    while (handles) {
        struct saikai *h = handles;
        strike(h);
        sk_session_abandon(h->session);
        free(h->text);
        free(h);
    }
    sk_api_inside = 0;
    sk_default = NULL;
    sk_requests_remove();
}

int sk_is_only_handle(const struct saikai *h)
{
    return handles == h && !h->next;
}

int sk_reopen(struct saikai *h)
{
    strike(h);
    sk_session_abandon(h->session);
    sk_requests_remove();
    h->session = NULL;
    int rc = open_session("saikai_init", MPI_COMM_WORLD, h->text, h->mpi_of_program, h);
    enlist(h);
    return rc;
}

API void saikai_in_place(void (*body)(void *arg), void *arg)
{
    if (saikai_world_on_repair)
        saikai_world_on_repair(sk_rejoin_able, sk_rejoin);
    if (saikai_world_in_place)
        saikai_world_in_place(body, arg, abandon_all);
    else
        body(arg);
}

API struct saikai *saikai_default(void)
{
    return sk_default;
}

API int saikai_init_checked(MPI_Comm comm, const char *text, const char *mpi_of_program)
{
    static const char call[] = "saikai_init";
    sk_error_clear(&sk_last);
    if (sk_default) {
        sk_strict_for_good(sk_default->strict);
        return sk_strict(sk_default->strict, call, sk_fail(&sk_last, SAIKAI_ESTATE, "it was called before"), &sk_last, 0);
    }
    return open_handle(call, comm, text, mpi_of_program, &sk_default);
}

/* A program of another language, or one that took the address: its headers are not known. */
API int(saikai_init)(MPI_Comm comm, const char *text)
{
    return saikai_init_checked(comm, text, SAIKAI_MPI_OF_HEADER);
}

API int saikai_finalize(void)
{
    return saikai_close(sk_default);
}

/* ---- what needs no handle ---- */

API int saikai_set_log(void (*write)(void *user, int level, const char *line), void *user)
{
    sk_log_divert(write, user);
    return 0;
}

API const char *saikai_error_text(void)
{
    return sk_last.text;
}

API const char *saikai_error_name(int code)
{
    return sk_error_name(code);
}

API const char *saikai_version(void)
{
    return SAIKAI_VERSION;
}

API int saikai_version_number(void)
{
    return SAIKAI_VERSION_NUMBER;
}
