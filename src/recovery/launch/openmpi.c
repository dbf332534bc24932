/* Open MPI's mpirun. */
#include "recovery/launch/launcher.h"

#include "backbone/keeper_page.h"
#include "base/buf.h"
#include "recovery/launch/version/openmpi_version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* In a list that is not NULL, or by an option. */
static void export_one(struct sk_command *c, const char *entry, struct sk_buf *list)
{
    int n = (int)strcspn(entry, "=");
    if (strncmp(entry, "SAIKAI_", 7))
        return;
    if (list) {
        sk_buf_printf(list, ";%.*s", n, entry);
        return;
    }
    sk_command_add(c, "-x");
    sk_command_add(c, "%.*s", n, entry);
}

/* Every variable of ours has to be named, or only this host's ranks would see it. A user or a site may have a list of their own in the environment, which
 * excludes the option -x: then it becomes longer. */
static void export_environment(struct sk_command *c, struct saikai_error *err, int *rc)
{
    static const char name[] = "OMPI_MCA_mca_base_env_list";
    const char *theirs = getenv(name);
    struct sk_buf list = {0};
    if (theirs)
        sk_buf_printf(&list, "%s", theirs);
    for (char **e = environ; *e; e++)
        export_one(c, *e, theirs ? &list : NULL);
    for (int i = 0, n = c->n_env; i < n; i++)
        export_one(c, c->env[i], theirs ? &list : NULL);
    sk_buf_put_u8(&list, 0);
    if (theirs && sk_buf_ok(&list))
        sk_command_set(c, "%s=%s", name, (const char *)list.data);
    else if (theirs)
        *rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of variables");
    sk_buf_free(&list);
}

/* mpirun knows this host by its name alone. */
static const char *known_name(const char *name, const char *self)
{
    return !strcmp(name, "localhost") || !strncmp(name, "127.", 4) || !strcmp(name, "::1") ? self
                                                                                           : name;
}

/* As MPI counts them: a core's threads are one. The hosts are taken to be alike. */
static long cores(void)
{
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
    char active = '0';
    FILE *f = fopen("/sys/devices/system/cpu/smt/active", "re");
    if (f && fread(&active, 1, 1, f) != 1)
        active = '0';
    if (f)
        fclose(f);
    return active == '1' ? threads / 2 : threads;
}

static int seat_of(const struct sk_launch *l, int process)
{
    return process < l->n_ranks ? l->seat[process] : sk_hosts_warm(l->seat, l->n_ranks, process - l->n_ranks);
}

/* For the layer: which host has which processes. A name is known without its domain, unless it is an address. */
static void tell_places(const struct sk_launch *l, struct sk_command *c, struct saikai_error *err, int *rc)
{
    struct sk_buf text = {0};
    char self[256] = "localhost";
    gethostname(self, sizeof self - 1);
    for (int r = 0, next, n = l->n_ranks + l->warm; r < n; r = next) {
        const char *name = known_name(l->hosts->host[seat_of(l, r)].name, self);
        int is_address = strchr(name, ':') || !name[strspn(name, "0123456789.")];
        for (next = r + 1; next < n && seat_of(l, next) == seat_of(l, r);)
            next++;
        sk_buf_printf(&text, "%s%.*s*%d", r ? "," : "", (int)(is_address ? strlen(name) : strcspn(name, ".")), name, next - r);
    }
    sk_buf_put_u8(&text, 0);
    if (sk_buf_ok(&text))
        sk_command_set(c, "%s=%s", SK_WORLD_HOSTS_ENV, (const char *)text.data);
    else
        *rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of hosts");
    sk_buf_free(&text);
}

static int most_on_a_host(const struct sk_launch *l)
{
    int most = 0;
    for (int h = 0; h < l->hosts->n; h++) {
        int count = 0;
        for (int r = 0; r < l->n_ranks + l->warm; r++)
            count += seat_of(l, r) == h;
        most = count > most ? count : most;
    }
    return most;
}

/* Open MPI 5 binds what its sequential mapper has placed also where there are more ranks than cores, and fails; version 4 does not bind then. */
static void leave_unbound(const struct sk_launch *l, struct sk_command *c)
{
    static const char policy[] = "PRTE_MCA_hwloc_default_binding_policy";
    if (!getenv(policy) && most_on_a_host(l) > cores())
        sk_command_set(c, "%s=none", policy);
}

static int place(const struct sk_launch *l, struct sk_command *c, struct saikai_error *err)
{
    struct sk_buf text = {0};
    char path[32], self[256] = "localhost";
    gethostname(self, sizeof self - 1);
    for (int r = 0; r < l->n_ranks + l->warm; r++) /* the sequential mapper: line n is where rank n goes */
        sk_buf_printf(&text, "%s\n", known_name(l->hosts->host[seat_of(l, r)].name, self));
    sk_buf_put_u8(&text, 0);
    int rc = sk_buf_ok(&text) ? sk_command_hosts(c, (char *)text.data, path, err)
                              : sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of hosts");
    sk_buf_free(&text);
    if (rc)
        return rc;
    sk_command_add(c, "--hostfile");
    sk_command_add(c, "%s", path);
    sk_command_add(c, "--map-by");
    sk_command_add(c, "seq");
    leave_unbound(l, c);
    return 0;
}

/* One variable for mpirun and the ranks, unless the user has set it; what is said on the command line goes before it. */
static void prefer(struct sk_command *c, const char *name, const char *value)
{
    if (!getenv(name))
        sk_command_set(c, "%s=%s", name, value);
}

/* PMIx's server (3.2 to 5.0 at least, PMIx_server_deregister_client) closes the socket of a process that is known to be dead before it forgets the socket's event.
 * The next process that is started gets the same number, libevent takes it for one that is watched already and does not tell epoll, and that process waits in
 * MPI_Init for ever. With poll, which takes numbers as they are, there is nothing to miss. So it is for mpirun and, by the command that starts it, for Open MPI
 * 4's daemon of another host. */
static void watch_sockets(const struct sk_launch *l, struct sk_command *c)
{
    prefer(c, "EVENT_NOEPOLL", "1");
    if (l->hosts && !sk_openmpi_notices_deaths(l->launcher))
        prefer(c, "OMPI_MCA_orte_launch_agent", "env EVENT_NOEPOLL=1 orted");
}

/* Open MPI 4 shares memory among the processes of one start alone: one that is made again reaches those of its own host by TCP. There a message of more than 64 KiB is
 * announced, asked for, sent, and said to be over, and each of these may find the other one without a core. Up to this size it is sent at once. Between
 * hosts it is left as it is: what is right there depends on the network. */
static void send_at_once(struct sk_command *c)
{
    static const char most[] = "262144";
    prefer(c, "OMPI_MCA_btl_tcp_eager_limit", most);
    prefer(c, "OMPI_MCA_btl_tcp_rndv_eager_limit", most);
    prefer(c, "OMPI_MCA_btl_tcp_max_send_size", most);
}

/* Survivors of a death live on, each MPI by a means of its own. Open MPI 5 needs all of these for it to be reliable; on several hosts the user says by which
 * network they reach each other, if it is to be said. */
static void survive(const struct sk_launch *l, struct sk_command *c)
{
    watch_sockets(l, c);
    if (!sk_openmpi_notices_deaths(l->launcher)) {
        sk_command_add(c, "--enable-recovery");
        if (l->hosts) /* the dead keep their slots for a while */
            sk_command_add(c, "--oversubscribe");
        else
            send_at_once(c);
        return;
    }
    sk_command_add(c, "--with-ft");
    sk_command_add(c, "ulfm");
    if (l->hosts) /* the dead keep their slots there, too */
        prefer(c, "PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    else
        prefer(c, "OMPI_MCA_btl_tcp_if_include", "lo");
    prefer(c, "OMPI_MCA_async_mpi_finalize", "1");
    prefer(c, "OMPI_MCA_mpi_add_procs_cutoff", "1024");
}

static int build(const struct sk_launch *l, struct sk_command *c, struct saikai_error *err)
{
    int rc = 0;
    if (!geteuid()) {
        sk_command_set(c, "OMPI_ALLOW_RUN_AS_ROOT=1");
        sk_command_set(c, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
    }
    if (l->survives && l->hosts)
        tell_places(l, c, err, &rc);
    export_environment(c, err, &rc);
    if (l->survives)
        survive(l, c);
    if (rc || l->hosts)
        return rc ? rc : place(l, c, err);
    if (l->survives || l->n_ranks > sysconf(_SC_NPROCESSORS_ONLN))
        sk_command_add(c, "--oversubscribe");
    if (l->warm && l->n_ranks <= sysconf(_SC_NPROCESSORS_ONLN)) { /* spares sleep: the ranks have a core each */
        sk_command_add(c, "--mca");
        sk_command_add(c, "mpi_yield_when_idle");
        sk_command_add(c, "0");
    }
    return 0;
}

static const char *const programs[] = {"mpirun.openmpi", "mpirun", "mpiexec", NULL};
static const char *const marks[] = {"orterun", "prte", NULL};
const struct sk_launcher_ops sk_launcher_openmpi = {"openmpi", "mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", programs, marks,
                                                    build, NULL};
