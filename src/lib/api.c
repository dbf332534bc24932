/* The public functions: a thin skin around the one session of the process. Compiled once for each MPI. */
#include "base/clock.h"
#include "base/log.h"
#include "base/types.h"
#include "group/mpi.h"
#include "lib/kinds.h"
#include "lib/session.h"
#include "lib/strict.h"

#include <errno.h>
#include <float.h>
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

static struct sk_session *session;
static __thread struct saikai_error last;

static int not_begun(void)
{
    return sk_fail(&last, SAIKAI_ESTATE, "saikai_init was not called, or failed");
}

/* ---- begin and end ---- */

/* A program compiled for one MPI that runs with the library or under the launcher of another one does not fail: each
 * process believes that it is alone. */
static int check_mpi(const char *mpi_of_program, struct saikai_error *err)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int n = 0, ranks = 0, ready = 0;
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
    int rc = sk_config_load(c, err);
    struct saikai_error local = {0};
    int more = text ? sk_config_set_all(c, text, SK_FROM_API, &local) : 0;
    if (!rc && more)
        *err = local;
    return rc ? rc : more;
}

static void set_log(const struct sk_config *c, int rank)
{
    int level = sk_log_level_parse(sk_config_text(c, "log.level"));
    if (rank && level > SK_LOG_WARN)
        level = SK_LOG_WARN; /* what all ranks would say alike, rank 0 says */
    sk_log_set(strcmp(sk_config_text(c, "log.to"), "none") ? sk_log_stderr : NULL, NULL, level);
}

/* A SAIKAI_… variable that means nothing is most likely a mistyped one. */
static void tell_unknown(void *arg, const char *name, const char *meant)
{
    (void)arg;
    sk_log(SK_LOG_WARN, "the environment variable %s is none of Saikai's and has no effect; did you mean %s?", name, meant);
}

/* config is taken over. */
static int begin(struct sk_group *g, struct sk_config *config, int config_rc)
{
    struct sk_session *s = NULL;
    int rc = sk_group_verdict(g, config_rc, &last);
    if (rc) {
        sk_config_free(config);
        sk_group_free(g);
        return rc;
    }
    if (!g->rank)
        sk_config_unknown_variables(tell_unknown, NULL);
    rc = sk_session_new(g, config, program_invocation_name, &s, &last);
    if (!rc)
        session = s;
    return rc;
}

API int saikai_init_checked(MPI_Comm comm, const char *text, const char *mpi_of_program)
{
    static const char call[] = "saikai_init";
    struct sk_config *config = NULL;
    struct sk_group *g = NULL;
    struct saikai_error bad_config = {0};
    sk_error_clear(&last);
    if (session)
        return sk_strict(call, sk_fail(&last, SAIKAI_ESTATE, "it was called before"), &last, 0);
    int config_rc = load_config(text, &config, &bad_config);
    sk_strict_set(config, 0);
    if (config)
        set_log(config, 0);
    int rc = check_mpi(mpi_of_program, &last);
    if (!rc)
        rc = sk_group_mpi(&comm, &g, &last);
    if (rc) {
        sk_config_free(config);
        return sk_strict(call, rc, &last, 0);
    }
    int rank = g->rank;
    sk_strict_set(config, rank);
    if (config)
        set_log(config, rank);
    if (config_rc)
        last = bad_config;
    return sk_strict(call, begin(g, config, config_rc), &last, 1);
}

/* A program of another language, or one that took the address: its headers are not known. */
API int(saikai_init)(MPI_Comm comm, const char *text)
{
    return saikai_init_checked(comm, text, SAIKAI_MPI_OF_HEADER);
}

API int saikai_finalize(void)
{
    sk_error_clear(&last);
    if (!session)
        return not_begun();
    struct sk_session *s = session;
    session = NULL;
    int rc = sk_session_finalize(s, &last);
    sk_requests_remove();
    return rc;
}

/* ---- what survives ---- */

static int set_name(struct sk_var *v, const char *name)
{
    if (!name || strlen(name) > SAIKAI_MAX_NAME)
        return sk_fail(&last, SAIKAI_EINVAL, "the name of a variable must have 1 to %d bytes", SAIKAI_MAX_NAME);
    strcpy(v->name, name);
    return 0;
}

/* An error in what is to survive. */
static int refuse(int rc)
{
    return session ? sk_strict("saikai_protect", rc, &last, 0) : rc;
}

static int put(const char *name, struct sk_var *v)
{
    sk_error_clear(&last);
    if (!session)
        return not_begun();
    int rc = set_name(v, name);
    return refuse(rc ? rc : sk_vars_put(&session->vars, v, &last));
}

API int saikai_protect(const char *name, void *data, enum saikai_type type, int ndims, const size_t dims[])
{
    struct sk_var v = {.form = SK_VAR_FIXED, .type = (int)type, .ndims = ndims, .data = data};
    if (ndims > 0 && !dims)
        return refuse(sk_fail(&last, SAIKAI_EINVAL, "variable '%.60s' has %d dimensions, but dims is NULL", name ? name : "", ndims));
    for (int d = 0; d < ndims && d < SAIKAI_MAX_DIMS; d++)
        v.dims[d] = dims[d];
    return put(name, &v);
}

/* A block of a global array into *v; low, high NULL: without a halo. */
static int describe_global(struct sk_var *v, const char *name, const size_t *dims, const size_t *global, const size_t *offset,
                           const size_t *low, const size_t *high)
{
    if (v->ndims < 1 || v->ndims > SAIKAI_MAX_DIMS || !dims || !global || !offset)
        return sk_fail(&last, SAIKAI_EINVAL, "variable '%.60s': a global array needs 1 to %d dimensions, all told",
                       name ? name : "", SAIKAI_MAX_DIMS);
    v->scope = SK_SKC_GLOBAL;
    for (int d = 0; d < v->ndims; d++) {
        v->dims[d] = dims[d];
        v->tile.global[d] = global[d];
        v->tile.offset[d] = offset[d];
    }
    return low && high ? sk_var_set_halo(v, low, high, &last) : 0;
}

API int saikai_protect_global(const char *name, void *data, enum saikai_type type, int ndims, const size_t dims[],
                              const size_t global_dims[], const size_t offset[])
{
    struct sk_var v = {.form = SK_VAR_FIXED, .type = (int)type, .ndims = ndims, .data = data};
    int rc = describe_global(&v, name, dims, global_dims, offset, NULL, NULL);
    return rc ? refuse(rc) : put(name, &v);
}

API int saikai_protect_global_halo(const char *name, void *data, enum saikai_type type, int ndims, const size_t dims[],
                                   const size_t global_dims[], const size_t offset[], const size_t low[],
                                   const size_t high[])
{
    struct sk_var v = {.form = SK_VAR_FIXED, .type = (int)type, .ndims = ndims, .data = data};
    if (!low || !high)
        return refuse(sk_fail(&last, SAIKAI_EINVAL, "variable '%.60s': how wide is its halo?", name ? name : ""));
    int rc = describe_global(&v, name, dims, global_dims, offset, low, high);
    return rc ? refuse(rc) : put(name, &v);
}

API int saikai_protect_strided(const char *name, void *data, enum saikai_type type, int ndims, const size_t dims[],
                               const ptrdiff_t strides_bytes[], const size_t global_dims[], const size_t offset[])
{
    struct sk_var v = {.form = SK_VAR_FIXED, .type = (int)type, .ndims = ndims, .data = data, .strided = ndims > 0};
    if (ndims > 0 && (!dims || !strides_bytes))
        return refuse(sk_fail(&last, SAIKAI_EINVAL, "variable '%.60s' has %d dimensions, but dims or strides_bytes is NULL",
                              name ? name : "", ndims));
    int rc = global_dims ? describe_global(&v, name, dims, global_dims, offset, NULL, NULL) : 0;
    for (int d = 0; !rc && d < ndims && d < SAIKAI_MAX_DIMS; d++) {
        v.dims[d] = dims[d];
        v.strides[d] = strides_bytes[d];
    }
    return rc ? refuse(rc) : put(name, &v);
}

API int saikai_refuse(const char *sentence)
{
    return refuse(sk_fail(&last, SAIKAI_EINVAL, "%s", sentence ? sentence : ""));
}

API int saikai_replicated(const char *name)
{
    sk_error_clear(&last);
    return session ? refuse(sk_vars_replicated(&session->vars, name ? name : "", &last)) : not_begun();
}

API int saikai_protect_array(const char *name, void **data, size_t *count, size_t width, enum saikai_type type)
{
    struct sk_var v = {.form = SK_VAR_ARRAY, .type = (int)type, .ndims = width == 1 ? 1 : 2,
                       .dims = {0, width}, .pdata = data, .pcount = count};
    if (!width)
        return refuse(sk_fail(&last, SAIKAI_EINVAL, "an element of '%.60s' needs a width of 1 or more", name ? name : ""));
    return put(name, &v);
}

API int saikai_protect_resizable(const char *name, int (*look)(void *arg, void **data, size_t *count),
                                 int (*resize)(void *arg, size_t count, void **data), void *arg, size_t width,
                                 enum saikai_type type)
{
    struct sk_var v = {.form = SK_VAR_ARRAY, .type = (int)type, .ndims = width == 1 ? 1 : 2,
                       .dims = {0, width}, .look = look, .resize = resize, .arg = arg};
    if (!width)
        return refuse(sk_fail(&last, SAIKAI_EINVAL, "an element of '%.60s' needs a width of 1 or more", name ? name : ""));
    return put(name, &v);
}

API int saikai_protect_stream(const char *name, int (*write)(FILE *f, void *arg), int (*read)(FILE *f, void *arg),
                              void *arg)
{
    struct sk_var v = {.form = SK_VAR_STREAM, .type = SAIKAI_U8, .ndims = 1, .write = write, .read = read,
                       .arg = arg};
    return put(name, &v);
}

API int saikai_bound(const char *name, enum saikai_bound_kind kind, double value)
{
    sk_error_clear(&last);
    struct sk_var *v = session ? sk_vars_find(&session->vars, name ? name : "") : NULL;
    if (!session)
        return not_begun();
    if (!v)
        return sk_fail(&last, SAIKAI_EINVAL, "no variable '%.60s' is protected", name ? name : "");
    if (kind != SAIKAI_EXACT && (!sk_type_is_float(v->type) || v->form == SK_VAR_STREAM))
        return sk_fail(&last, SAIKAI_EINVAL, "variable '%.60s' is not floating point: it is always exact", name);
    if ((unsigned)kind > SAIKAI_PSNR || (kind != SAIKAI_EXACT && !(value > 0 && value <= DBL_MAX)))
        return sk_fail(&last, SAIKAI_EINVAL, "variable '%.60s': bound kind %d with value %g cannot be", name, (int)kind,
                       value);
    v->bound = (struct sk_bound){(int)kind, value};
    return 0;
}

API int saikai_unprotect(const char *name)
{
    sk_error_clear(&last);
    if (!session)
        return not_begun();
    sk_saver_wait(session->saver); /* afterwards the memory may be freed */
    return sk_vars_remove(&session->vars, name ? name : "", &last);
}

/* ---- back ---- */

API int saikai_restart(long *iteration)
{
    int restored = 0;
    int64_t at = 0;
    sk_error_clear(&last);
    if (!session)
        return not_begun();
    int rc = sk_session_restart(session, &restored, &at, &last);
    if (rc)
        return sk_strict("saikai_restart", rc, &last, 1);
    if (restored && iteration)
        *iteration = (long)at;
    return restored;
}

API int saikai_restored_place(void)
{
    return session ? (int)session->from.place : 0;
}

/* ---- candidates ---- */

API int saikai_checkpoint(long iteration)
{
    struct sk_session *s = session;
    if (__builtin_expect(s && sk_session_idle(s, iteration), 1)) {
        s->tick++;
        s->last_iteration = iteration;
        if (s->page)
            sk_keeper_page_progress(s->page, iteration);
        return 0;
    }
    return saikai_checkpoint_at(0, iteration);
}

API int saikai_checkpoint_at(int place, long iteration)
{
    struct sk_session *s = session;
    if (!s)
        return not_begun();
    if (place < 0)
        return sk_fail(&last, SAIKAI_EINVAL, "place %d; 0 to 63 are possible", place);
    if (s->page)
        sk_keeper_page_progress(s->page, iteration);
    if (sk_session_idle(s, iteration) && place <= SK_GEN_MAX_PLACE && !s->in_files) {
        s->tick++;
        s->last_iteration = iteration;
        return 0;
    }
    sk_error_clear(&last);
    return sk_session_candidate(s, (uint32_t)place, iteration, &last);
}

API int saikai_checkpoint_now(long iteration)
{
    struct sk_session *s = session;
    sk_error_clear(&last);
    if (!s)
        return not_begun();
    int due = sk_session_due(s, 0, iteration, &last);
    if (due < 0)
        return due;
    if (s->page)
        sk_keeper_page_progress(s->page, iteration);
    int rc = sk_session_capture(s, 0, iteration, &last);
    return rc ? rc : 1;
}

API int saikai_should_stop(void)
{
    if (!session)
        return 0;
    session->asked = 1;
    session->told |= session->stop_agreed;
    return session->stop_agreed;
}

/* ---- files ---- */

API int saikai_checkpoint_begin(long iteration)
{
    struct sk_session *s = session;
    sk_error_clear(&last);
    if (!s)
        return not_begun();
    if (s->page)
        sk_keeper_page_progress(s->page, iteration);
    int due = sk_session_due(s, 0, iteration, &last);
    if (due > 0) {
        s->in_files = 1;
        s->next_tick = 0; /* a candidate before the end takes the slow path, which says so */
        s->files_begun = sk_now();
    }
    return due;
}

API int saikai_file_path(const char *name, char *path, size_t size_bytes)
{
    sk_error_clear(&last);
    return session ? sk_session_file_path(session, name ? name : "", path, size_bytes, &last) : not_begun();
}

API int saikai_checkpoint_end(int ok)
{
    sk_error_clear(&last);
    if (!session)
        return not_begun();
    if (!session->in_files)
        return sk_fail(&last, SAIKAI_ESTATE, "saikai_checkpoint_begin did not return 1 before saikai_checkpoint_end");
    session->in_files = 0;
    return sk_session_capture_files(session, 0, session->last_iteration, ok, &last);
}

API int saikai_restored_file(const char *name, char *path, size_t size_bytes)
{
    sk_error_clear(&last);
    return session ? sk_session_restored_file(session, name ? name : "", path, size_bytes, &last) : not_begun();
}

/* ---- questions ---- */

API int saikai_get_status(struct saikai_status *out, size_t size_bytes)
{
    sk_error_clear(&last);
    if (!session)
        return not_begun();
    if (!out)
        return sk_fail(&last, SAIKAI_EINVAL, "saikai_get_status: status is NULL");
    const struct sk_session *s = session;
    struct saikai_status st = {
        .checkpoints = (long)s->checkpoints,
        .failed = (long)s->failed,
        .complete_iteration = (long)sk_ledger_iteration(s->ledger, SK_LEDGER_COMPLETE),
        .archived_iteration = (long)sk_ledger_iteration(s->ledger, SK_LEDGER_ARCHIVED),
        .advice_every = s->every ? s->every : (long)s->advice.now.every,
        .cost_seconds = s->cost_seconds,
        .blocked_seconds = s->blocked_seconds,
        .failure_rate = s->advice.policy.rate,
        .bytes = s->bytes_last,
        .protected_iteration = (long)sk_ledger_iteration(s->ledger, SK_LEDGER_PROTECTED),
    };
    struct sk_protector_status coding;
    sk_protector_status(s->protector, &coding);
    st.coding_seconds = coding.seconds;
    /* all of what was given: a program of a later version finds zeros in what this one does not know */
    memset(out, 0, size_bytes);
    memcpy(out, &st, size_bytes < sizeof st ? size_bytes : sizeof st);
    return 0;
}

API int saikai_wait(void)
{
    sk_error_clear(&last);
    return session ? sk_session_wait(session, &last) : not_begun();
}

API const char *saikai_error_text(void)
{
    return last.text;
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
