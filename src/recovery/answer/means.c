/* The layer, twins and spares: who can have them, and what their processes and the supervisor are told. */
#include "recovery/answer/means.h"

#include "backbone/keeper_page.h"
#include "base/config/component.h"
#include "base/log.h"
#include "recovery/launch/version/openmpi_version.h"
#include "recovery/repair/compare.h"
#include "recovery/settings.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* The layer, and what calls the hooks of a component's protocol before it. */
static void find_libraries(struct sk_recovery_means *m, const struct sk_recovery_for *f, int hooks)
{
    const char *lost = "faults are answered by a restart";
    if (f->form != &sk_launcher_openmpi)
        sk_log(SK_LOG_NOTICE, "recovery in place needs Open MPI and its own mpirun: %s%s", lost, hooks ? ", and the hooks of the protocol are not called" : "");
    else if (sk_find_preload(f->keeper, "libsaikai-world-openmpi.so", m->world, sizeof m->world))
        sk_log(SK_LOG_NOTICE, "libsaikai-world-openmpi.so is not beside %s: %s", f->keeper, lost);
    else if (strpbrk(m->world, " :")) { /* LD_PRELOAD ends a name there */
        sk_log(SK_LOG_NOTICE, "%s cannot be preloaded, since its path has a space or a colon: %s", m->world, lost);
        *m->world = 0;
    } else if (hooks && sk_find_preload(f->keeper, "libsaikai-hooks-openmpi.so", m->hooks, sizeof m->hooks))
        sk_log(SK_LOG_NOTICE, "libsaikai-hooks-openmpi.so is not beside %s: the hooks of protocol %s are not called", f->keeper, m->protocol->name);
}

int sk_means_find(struct sk_recovery_means *m, const struct sk_config *config, const struct sk_recovery_for *f, struct saikai_error *err)
{
    struct sk_recovery_plan plan;
    int rc = sk_recovery_parse(sk_config_text(config, "run.recovery"), &plan, err);
    if (!rc)
        rc = sk_protocol_find(sk_config_text(config, "run.protocol"), &m->protocol, err);
    if (rc)
        return rc;
    if ((m->compare = sk_compare_parse(sk_config_text(config, "run.compare"), err)) < 0)
        return m->compare;
    const char *name = m->protocol->name;
    int in_place = m->in_place = sk_recovery_has(&plan, SAIKAI_ANSWER_IN_PLACE), copies = sk_protocol_needs(m->protocol, SAIKAI_NEEDS_TWINS),
        hooks = sk_protocol_has_hooks(m->protocol);
    if (m->compare && !copies)
        sk_log(SK_LOG_NOTICE, "run.compare has no effect: each rank is one process (--protocol replication makes it two)");
    if (in_place && !sk_protocol_needs(m->protocol, SAIKAI_NEEDS_LAYER)) {
        sk_log(SK_LOG_NOTICE, "run.protocol=%s: no process is made again in place, and faults are answered by a restart", name);
        return 0;
    }
    if (!in_place && sk_protocol_needs(m->protocol, SAIKAI_NEEDS_LOG))
        sk_log(SK_LOG_NOTICE, "run.protocol=%s has no effect%s: no fault is answered in place (--recovery process=in-place)", name,
               hooks ? " but its hooks" : "");
    if (in_place || copies || hooks)
        find_libraries(m, f, hooks);
    m->notices = *m->world && sk_openmpi_notices_deaths(f->launcher);
    return 0;
}

/* Two processes of each rank, or of those that are named, where run.protocol=replication can be had. */
static int find_copies(struct sk_recovery_means *m, const struct sk_config *config, const struct sk_recovery_for *f, struct saikai_error *err)
{
    const char *named = sk_config_text(config, "run.replicate");
    int twins = sk_protocol_needs(m->protocol, SAIKAI_NEEDS_TWINS);
    struct sk_copies c;
    if (*named && !twins)
        return sk_fail(err, SAIKAI_ECONFIG, "run.replicate: ranks are two processes with --protocol replication alone, and not with %s", m->protocol->name);
    int rc = twins ? sk_copies_make(&c, f->ranks, named, err) : 0;
    if (rc || !twins)
        return rc;
    int lacks = f->has_hosts && m->notices;
    if (lacks)
        sk_log(SK_LOG_NOTICE, "run.protocol=%s: on several hosts each rank runs once with this Open MPI, and faults are answered by a restart", m->protocol->name);
    if (!*m->world || lacks) {
        *m->world = *m->hooks = 0;
        m->notices = 0;
        sk_copies_free(&c);
        return 0;
    }
    m->copies = c;
    return 0;
}

/* Whoever says where processes go, or gives mpirun other arguments, may have counted them. */
static int maps_processes(const struct sk_config *config)
{
    static const char prefix[] = "OMPI_MCA_rmaps_";
    if (*sk_config_text(config, "run.mpirun_args"))
        return 1;
    for (char **v = environ; *v; v++)
        if (!strncmp(*v, prefix, sizeof prefix - 1))
            return 1;
    return 0;
}

/* Where nobody says how many: one, as it sleeps, has a few MiB of its own, and those who take its place are reached by shared memory. On several hosts it would rarely wait on the
 * right one. Open MPI 5 has functions newer than MPI 3.1, which the layer does not know: who gives them MPI_COMM_WORLD would wait for the spare. And of a script nobody knows whether
 * the layer reaches what it starts. */
static int usual_warm(const struct sk_recovery_means *m, const struct sk_config *config, const struct sk_recovery_for *f)
{
    return !maps_processes(config) && m->in_place && *m->world && !m->copies.ranks && !m->notices && !f->has_hosts && f->ranks > 1 && f->mpi == SK_MPI_OPENMPI;
}

/* Warm spares are of use where a repair in place is. */
static int find_warm(struct sk_recovery_means *m, const struct sk_config *config, const struct sk_recovery_for *f, struct saikai_error *err)
{
    int64_t n = sk_config_int_or_auto(config, "run.warm");
    if (n == (int64_t)SK_CONFIG_AUTO)
        n = usual_warm(m, config, f);
    if (n < 0 || n > SK_IN_PLACE_MOST)
        return sk_fail(err, SAIKAI_ECONFIG, "run.warm: %lld is no number of processes from 0 to %d", (long long)n, SK_IN_PLACE_MOST);
    if (n && (!*m->world || m->copies.ranks))
        sk_log(SK_LOG_NOTICE, "run.warm: no process is started beyond the ranks: that is for recovery in place with Open MPI");
    else
        m->warm = (int)n;
    return 0;
}

int sk_means_count(struct sk_recovery_means *m, const struct sk_config *config, const struct sk_recovery_for *f, struct saikai_error *err)
{
    int rc = find_copies(m, config, f, err);
    return rc ? rc : find_warm(m, config, f, err);
}

void sk_means_free(struct sk_recovery_means *m)
{
    sk_copies_free(&m->copies);
}

int sk_means_place(const struct sk_recovery_means *m, const struct sk_hosts *h, int has_hosts, int *seat, struct saikai_error *err)
{
    int together = m->copies.ranks ? sk_copies_place(&m->copies, h, seat) : 0;
    if (together < 0)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for %d ranks", m->copies.processes);
    if (together && has_hosts)
        sk_log(SK_LOG_NOTICE, "both processes of %d ranks are on one host, since the others have no slots for them", together);
    return 0;
}

void sk_means_export(const struct sk_recovery_means *m, const struct sk_config *config, int processes, int has_hosts, struct sk_command *c)
{
    long long memory = (long long)sk_config_size(config, "run.log_memory");
    if (*m->world)
        sk_command_set(c, "%s=%s%s%s", SK_WORLD_LIBRARY_ENV, m->hooks, *m->hooks ? ":" : "", m->world);
    if (*m->hooks)
        sk_command_set(c, "%s=%s %s", SK_WORLD_PROTOCOL_ENV, m->protocol->name, sk_component_path(&sk_protocol_kind, m->protocol->name));
    if (*m->world && sk_protocol_needs(m->protocol, SAIKAI_NEEDS_LOG))
        sk_command_set(c, "%s=%lld", SK_WORLD_LOG_ENV, memory);
    if (m->copies.ranks)
        sk_command_set(c, "%s=%d %lld %d %d %s", SK_WORLD_COPIES_ENV, m->copies.ranks, memory, m->compare != 0, has_hosts, sk_config_text(config, "run.replicate"));
    else if (*m->world)
        sk_command_set(c, "%s=%d", SK_WORLD_RANKS_ENV, processes);
}

/* A repair that makes a world without the dead needs what this MPI knows of them; a twin goes on in the world that there is. */
void sk_means_tell(const struct sk_recovery_means *m, struct sk_supervisor_config *sc)
{
    if (!*m->world)
        sc->repair_s = 0;
    sc->copies = m->copies.ranks ? &m->copies : NULL;
    sc->compare = m->copies.ranks ? m->compare : SK_COMPARE_OFF;
    sc->hides_deaths = m->notices && m->copies.ranks;
    sc->mpi_notices = m->notices && !m->copies.ranks;
    sc->warm = m->warm;
}

void sk_means_say_where_spares_wait(const struct sk_recovery_means *m, const struct sk_hosts *h, const int *seat, int processes)
{
    char where[600] = "";
    for (int i = 0; i < m->warm; i++) {
        size_t n = strlen(where);
        snprintf(where + n, sizeof where - n, "%s%s", i ? ", " : "", h->host[sk_hosts_warm(seat, processes, i)].name);
    }
    if (m->warm)
        sk_log(SK_LOG_NOTICE, "run.warm: spares wait on %s; each takes the place of a process of its host", where);
}
