/* Commands of every launcher, the MPI that a program is linked with, and which launcher is chosen
 * for it. */
#include "recovery/launch/launcher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *program[] = {"./app", "-n", "two words", NULL};
static struct sk_host two[] = {{.name = "n1"}, {.name = "n2"}};
static const struct sk_hosts hosts = {two, 2};

static struct sk_launch launch(void)
{
    return (struct sk_launch){.n_ranks = 3,
                              .program = program,
                              .keeper = "/opt/saikaid",
                              .launcher = "/usr/bin/x",
                              .extra = ""};
}

static int has(const struct sk_command *c, const char *word)
{
    for (int i = 0; i < c->n; i++)
        if (!strcmp(c->argv[i], word))
            return i;
    return -1;
}

static struct sk_command build(const struct sk_launcher_ops *ops, const struct sk_launch *l)
{
    struct sk_command c = {.hosts_fd = -1};
    struct saikai_error err = {0};
    if (sk_command_build(ops, l, &c, &err))
        fail_msg("%s", err.text);
    return c;
}

static void every_form_ends_in_the_keeper_and_the_program(void **state)
{
    const struct sk_launcher_ops *forms[] = {&sk_launcher_openmpi, &sk_launcher_mpich,
                                             &sk_launcher_srun};
    static const char *const tail[] = {"/opt/saikaid", "rank", "--", "./app", "-n", "two words"};
    for (int i = 0; i < 3; i++) {
        struct sk_launch l = launch();
        struct sk_command c = build(forms[i], &l);
        assert_string_equal(c.argv[0], "/usr/bin/x");
        assert_string_equal(c.argv[1], "-n");
        assert_string_equal(c.argv[2], "3");
        for (int k = 0; k < 6; k++)
            assert_string_equal(c.argv[c.n - 6 + k], tail[k]);
        assert_null(c.argv[c.n]);
        sk_command_free(&c);
    }
}

static void read_hosts(const struct sk_command *c, char *text, size_t cap)
{
    ssize_t n = pread(c->hosts_fd, text, cap - 1, 0);
    assert_true(n > 0);
    text[n] = 0;
}

static void hosts_are_listed_as_each_form_wants_them(void **state)
{
    char text[256];
    static const int seat[3] = {1, 1, 0};
    struct sk_launch l = launch();
    l.hosts = &hosts;
    l.seat = seat;
    struct sk_command c = build(&sk_launcher_openmpi, &l);
    read_hosts(&c, text, sizeof text);
    assert_string_equal(text, "n2\nn2\nn1\n");
    assert_true(has(&c, "seq") > 0);
    sk_command_free(&c);
    c = build(&sk_launcher_mpich, &l);
    read_hosts(&c, text, sizeof text);
    assert_string_equal(text, "n2:2\nn1:1\n");
    sk_command_free(&c);
    c = build(&sk_launcher_srun, &l);
    read_hosts(&c, text, sizeof text);
    assert_string_equal(text, "n2\nn2\nn1\n");
    assert_true(has(&c, "--distribution=arbitrary") > 0);
    assert_int_equal(strncmp(c.env[0], "SLURM_HOSTFILE=/proc/self/fd/", 29), 0);
    sk_command_free(&c);
}

static void settings_are_exported_by_name_alone(void **state)
{
    struct sk_launch l = launch();
    struct sk_command c = {.hosts_fd = -1};
    struct saikai_error err = {0};
    setenv("SAIKAI_STORE_PREFIX", "/secret/place", 1);
    sk_command_set(&c, "SAIKAI_KEEPER_LINK=secret");
    assert_int_equal(sk_command_build(&sk_launcher_openmpi, &l, &c, &err), 0);
    assert_true(has(&c, "SAIKAI_STORE_PREFIX") > 0);
    assert_true(has(&c, "SAIKAI_KEEPER_LINK") > 0);
    for (int i = 0; i < c.n; i++)
        assert_null(strstr(c.argv[i], "secret"));
    sk_command_free(&c);
    unsetenv("SAIKAI_STORE_PREFIX");
}

/* mpirun takes no -x then. */
static void a_list_of_variables_grows(void **state)
{
    static const char name[] = "OMPI_MCA_mca_base_env_list";
    struct sk_launch l = launch();
    struct sk_command c = {.hosts_fd = -1};
    const char *list = NULL;
    setenv(name, "FOO=a b;BAR", 1);
    setenv("SAIKAI_STORE_PREFIX", "/secret/place", 1);
    sk_command_set(&c, "SAIKAI_KEEPER_LINK=secret");
    assert_int_equal(sk_command_build(&sk_launcher_openmpi, &l, &c, NULL), 0);
    assert_int_equal(has(&c, "-x"), -1);
    for (int i = 0; i < c.n_env; i++)
        if (!strncmp(c.env[i], name, strlen(name)))
            list = c.env[i] + strlen(name) + 1;
    assert_non_null(list);
    assert_int_equal(strncmp(list, "FOO=a b;BAR;", 12), 0);
    assert_non_null(strstr(list, ";SAIKAI_STORE_PREFIX"));
    assert_non_null(strstr(list, ";SAIKAI_KEEPER_LINK"));
    assert_null(strstr(list, "secret"));
    sk_command_free(&c);
    unsetenv("SAIKAI_STORE_PREFIX");
    unsetenv(name);
}

static void more_arguments_are_split_as_a_shell_would(void **state)
{
    struct sk_launch l = launch();
    l.extra = "  --bind-to core --mca 'a b' \"\" x\"y z\"w ";
    struct sk_command c = build(&sk_launcher_mpich, &l);
    static const char *const want[] = {"--bind-to", "core", "--mca", "a b", "", "xy zw"};
    for (int k = 0; k < 6; k++)
        assert_string_equal(c.argv[3 + k], want[k]);
    assert_string_equal(c.argv[9], "/opt/saikaid");
    sk_command_free(&c);
    l.extra = "--mca 'open";
    struct saikai_error err = {0};
    c = (struct sk_command){.hosts_fd = -1};
    assert_int_equal(sk_command_build(&sk_launcher_mpich, &l, &c, &err), SAIKAI_ECONFIG);
    sk_command_free(&c);
}

/* Every launcher would take it for itself. */
static void a_second_program_is_refused(void **state)
{
    static char *two_programs[] = {"./master", ":", "-n", "3", "./worker", NULL}, *one[] = {"./app", "a:b", "::", NULL};
    struct saikai_error err = {0};
    assert_int_equal(sk_command_check(two_programs, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "an argument ':' begins another program"));
    assert_int_equal(sk_command_check(one, NULL), 0);
    assert_int_equal(sk_command_check(NULL, NULL), 0);
}

static void ranks_that_share_cores_yield(void **state)
{
    struct sk_launch l = launch();
    l.yield = "/opt/libsaikai-yield.so";
    l.n_ranks = 1;
    unsetenv("LD_PRELOAD");
    struct sk_command c = build(&sk_launcher_mpich, &l);
    assert_int_equal(c.n_env, 0);
    sk_command_free(&c);
    l.n_ranks = 100000;
    setenv("LD_PRELOAD", "", 1);
    c = build(&sk_launcher_mpich, &l);
    assert_string_equal(c.env[0], "LD_PRELOAD=/opt/libsaikai-yield.so");
    sk_command_free(&c);
    unsetenv("LD_PRELOAD");
}

static void spares_are_started_beyond_the_ranks(void **state)
{
    struct sk_launch l = launch();
    l.survives = 1;
    l.n_ranks = 1;
    l.warm = 2;
    struct sk_command c = build(&sk_launcher_openmpi, &l);
    assert_string_equal(c.argv[1], "-n");
    assert_string_equal(c.argv[2], "3");
    assert_true(has(&c, "mpi_yield_when_idle") > 0); /* the ranks have a core each all the same */
    sk_command_free(&c);
    l.warm = 0;
    c = build(&sk_launcher_openmpi, &l);
    assert_string_equal(c.argv[2], "1");
    assert_true(has(&c, "mpi_yield_when_idle") <= 0);
    sk_command_free(&c);
}

/* An mpirun that says of itself what Open MPI's says. */
static void with_version(const char *version, const char *says, char path[])
{
    strcpy(path, "/tmp/saikai-launcher-test-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && dprintf(fd, "#!/bin/sh\necho '%s%s'\n", says, version) > 0 && !fchmod(fd, 0700));
    close(fd);
}

static int is_set(const struct sk_command *c, const char *what)
{
    for (int i = 0; i < c->n_env; i++)
        if (!strcmp(c->env[i], what))
            return 1;
    return 0;
}

static void survivors_live_on_by_the_means_of_each_version(void **state)
{
    static const struct {
        const char *says, *version;
        int notices;
    } cases[] = {{"mpirun (Open MPI) ", "4.1.4", 0}, {"mpirun (Open MPI) ", "5.0.7", 1}, {"prterun (Open MPI) ", "10.0.0rc1", 1}, {"HYDRA build details: ", "5.0", 0}};
    char path[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_launch l = launch();
        with_version(cases[i].version, cases[i].says, path);
        l.launcher = path;
        l.survives = 1;
        struct sk_command c = build(&sk_launcher_openmpi, &l);
        int at = has(&c, "--with-ft");
        assert_int_equal(has(&c, "--enable-recovery") > 0, !cases[i].notices);
        assert_int_equal(at > 0 && !strcmp(c.argv[at + 1], "ulfm"), cases[i].notices);
        assert_int_equal(is_set(&c, "OMPI_MCA_btl_tcp_if_include=lo"), cases[i].notices);
        assert_int_equal(is_set(&c, "OMPI_MCA_btl_tcp_eager_limit=262144"), !cases[i].notices);
        sk_command_free(&c);
        setenv("OMPI_MCA_btl_tcp_if_include", "eth0", 1); /* the user's own */
        c = build(&sk_launcher_openmpi, &l);
        assert_false(is_set(&c, "OMPI_MCA_btl_tcp_if_include=lo"));
        sk_command_free(&c);
        unsetenv("OMPI_MCA_btl_tcp_if_include");
        l.hosts = &hosts;
        l.seat = (int[]){0, 0, 1};
        c = build(&sk_launcher_openmpi, &l);
        assert_int_equal(has(&c, "--with-ft") > 0, cases[i].notices);
        assert_false(is_set(&c, "OMPI_MCA_btl_tcp_if_include=lo")); /* it leads nowhere */
        assert_false(is_set(&c, "OMPI_MCA_btl_tcp_eager_limit=262144"));
        assert_int_equal(is_set(&c, "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"), cases[i].notices);
        sk_command_free(&c);
        l.hosts = NULL;
        l.survives = 0;
        c = build(&sk_launcher_openmpi, &l);
        assert_true(has(&c, "--enable-recovery") < 0 && has(&c, "--with-ft") < 0);
        assert_false(is_set(&c, "OMPI_MCA_btl_tcp_eager_limit=262144"));
        sk_command_free(&c);
        unlink(path);
    }
}

/* Where processes are started while others die, PMIx's server must not wait for sockets by epoll. */
static void sockets_of_the_dead_hide_none_of_the_new(void **state)
{
    static const char agent[] = "OMPI_MCA_orte_launch_agent=env EVENT_NOEPOLL=1 orted";
    static const char *const versions[] = {"4.1.4", "5.0.7"};
    char path[64];
    for (int i = 0; i < 2; i++) {
        struct sk_launch l = launch();
        with_version(versions[i], "mpirun (Open MPI) ", path);
        l.launcher = path;
        struct sk_command c = build(&sk_launcher_openmpi, &l);
        assert_false(is_set(&c, "EVENT_NOEPOLL=1")); /* nobody is made again */
        sk_command_free(&c);
        l.survives = 1;
        c = build(&sk_launcher_openmpi, &l);
        assert_true(is_set(&c, "EVENT_NOEPOLL=1") && !is_set(&c, agent));
        sk_command_free(&c);
        l.hosts = &hosts;
        l.seat = (int[]){0, 0, 1};
        c = build(&sk_launcher_openmpi, &l);
        assert_int_equal(is_set(&c, agent), !i);
        sk_command_free(&c);
        setenv("EVENT_NOEPOLL", "", 1); /* the user's own */
        setenv("OMPI_MCA_orte_launch_agent", "/opt/orted", 1);
        c = build(&sk_launcher_openmpi, &l);
        assert_false(is_set(&c, "EVENT_NOEPOLL=1") || is_set(&c, agent));
        sk_command_free(&c);
        unsetenv("EVENT_NOEPOLL");
        unsetenv("OMPI_MCA_orte_launch_agent");
        unlink(path);
    }
}

static void the_layer_hears_which_host_has_which_process(void **state)
{
    static const int seat[3] = {1, 1, 0};
    char path[64], text[256];
    struct sk_launch l = launch();
    with_version("4.1.4", "mpirun (Open MPI) ", path);
    l.launcher = path;
    l.hosts = &hosts;
    l.seat = seat;
    l.warm = 2;
    struct sk_command c = build(&sk_launcher_openmpi, &l);
    assert_false(is_set(&c, "SAIKAI_WORLD_HOSTS=n2*2,n1*1,n2*1,n1*1")); /* nobody is made again */
    sk_command_free(&c);
    l.survives = 1;
    c = build(&sk_launcher_openmpi, &l);
    assert_true(is_set(&c, "SAIKAI_WORLD_HOSTS=n2*2,n1*1,n2*1,n1*1"));
    assert_true(has(&c, "SAIKAI_WORLD_HOSTS") > 0 && has(&c, "--enable-recovery") > 0);
    read_hosts(&c, text, sizeof text);
    assert_string_equal(text, "n2\nn2\nn1\nn2\nn1\n");
    sk_command_free(&c);
    unlink(path);
}

/* Open MPI 5 fails to bind what goes beyond the cores. */
static void spares_count_where_processes_are_bound(void **state)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int *seat = calloc((size_t)cores, sizeof *seat);
    assert_non_null(seat);
    struct sk_launch l = launch();
    l.hosts = &hosts;
    l.seat = seat;
    l.survives = 1;
    l.n_ranks = (int)cores;
    l.warm = 1;
    struct sk_command c = build(&sk_launcher_openmpi, &l);
    assert_true(is_set(&c, "PRTE_MCA_hwloc_default_binding_policy=none"));
    sk_command_free(&c);
    free(seat);
}

/* A minimal ELF file with one needed library. */
static size_t make_elf(uint8_t *out, const char *needed)
{
    Elf64_Ehdr h = {.e_phoff = 64, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2};
    memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    Elf64_Phdr p[2] = {{.p_type = PT_LOAD, .p_vaddr = 0x400000, .p_filesz = 512},
                       {.p_type = PT_DYNAMIC, .p_offset = 256, .p_filesz = 3 * sizeof(Elf64_Dyn)}};
    Elf64_Dyn d[3] = {{.d_tag = DT_NEEDED, .d_un.d_val = 1},
                      {.d_tag = DT_STRTAB, .d_un.d_ptr = 0x400000 + 384},
                      {0}};
    memset(out, 0, 512);
    memcpy(out, &h, sizeof h);
    memcpy(out + 64, p, sizeof p);
    memcpy(out + 256, d, sizeof d);
    strcpy((char *)out + 385, needed);
    return 512;
}

static enum sk_mpi mpi_of(const void *data, size_t n)
{
    char path[] = "/tmp/saikai-launcher-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    close(fd);
    enum sk_mpi mpi = sk_mpi_of_program(path);
    unlink(path);
    return mpi;
}

static void the_mpi_of_a_program_is_seen(void **state)
{
    static const struct {
        const char *needed;
        enum sk_mpi mpi;
    } cases[] = {
        {"libmpi.so.40", SK_MPI_OPENMPI},     {"libmpich.so.12", SK_MPI_MPICH},
        {"libmpi.so.12", SK_MPI_MPICH},       {"libmpi_mpifh.so.40", SK_MPI_OPENMPI},
        {"libmpichfort.so.12", SK_MPI_MPICH}, {"libsaikai_mpich.so.0", SK_MPI_MPICH},
        {"libc.so.6", SK_MPI_UNKNOWN},
    };
    uint8_t elf[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(mpi_of(elf, make_elf(elf, cases[i].needed)), cases[i].mpi);
    assert_int_equal(mpi_of("#!/bin/sh\n", 10), SK_MPI_UNKNOWN);
    assert_int_equal(sk_mpi_of_program("/no/such/program"), SK_MPI_UNKNOWN);
}

static void damaged_programs_do_no_harm(void **state)
{
    uint8_t elf[512], bad[512];
    size_t n = make_elf(elf, "libmpi.so.40");
    for (size_t cut = 1; cut < n; cut += 13)
        mpi_of(elf, cut);
    for (size_t at = 0; at < n; at++)
        for (int v = 0; v < 2; v++) {
            memcpy(bad, elf, n);
            for (size_t k = at; k < at + 8 && k < n; k++)
                bad[k] = v ? 0xff : 0x80;
            enum sk_mpi mpi = mpi_of(bad, n);
            assert_true(mpi == SK_MPI_UNKNOWN || mpi == SK_MPI_OPENMPI || mpi == SK_MPI_MPICH);
        }
}

static void programs_are_looked_for_in_the_path(void **state)
{
    char out[4096];
    setenv("PATH", "/nowhere:/usr/bin:/bin", 1);
    assert_int_equal(sk_find_program("env", out, sizeof out), 0);
    assert_string_equal(out, "/usr/bin/env");
    assert_int_equal(sk_find_program("/usr/bin/env", out, sizeof out), 0);
    assert_int_equal(sk_find_program("no-such-program", out, sizeof out), ENOENT);
    assert_int_equal(sk_find_program("/tmp", out, sizeof out), EACCES);
}

static void a_launcher_is_chosen(void **state)
{
    const struct sk_launcher_ops *ops;
    enum sk_mpi mpi;
    struct saikai_error err = {0};
    unsetenv("SLURM_JOB_ID");
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(sk_launcher_choose("auto", "", "/no/such", &ops, &mpi, &err), 0);
    assert_ptr_equal(ops, &sk_launcher_openmpi);
    assert_int_equal(sk_launcher_choose("mpich", "", "/no/such", &ops, &mpi, &err), 0);
    assert_ptr_equal(ops, &sk_launcher_mpich);
    assert_int_equal(sk_launcher_choose("lsf", "", "/no/such", &ops, &mpi, &err), SAIKAI_EINVAL);
}

/* A directory with executables, each a file or a link to another one. */
static void make_programs(char *dir, const char *const (*programs)[2])
{
    strcpy(dir, "/tmp/sk-launcher-XXXXXX");
    assert_non_null(mkdtemp(dir));
    for (int i = 0; programs[i][0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", dir, programs[i][0]);
        if (programs[i][1]) {
            assert_int_equal(symlink(programs[i][1], path), 0);
        } else {
            int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);
            assert_true(fd >= 0);
            close(fd);
        }
    }
}

static void remove_programs(const char *dir, const char *const (*programs)[2])
{
    for (int i = 0; programs[i][0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", dir, programs[i][0]);
        unlink(path);
    }
    assert_int_equal(rmdir(dir), 0);
}

/* Of a script or of Python nobody sees which MPI it will use: it gets what is there, or what was asked for. */
static void what_is_there_is_taken_for_scripts(void **state)
{
    enum { MOST = 6 };
    static const struct {
        const char *programs[MOST][2], *wanted;
        const struct sk_launcher_ops *ops;
    } cases[] = {
        {{{"orterun", NULL}, {"mpirun", "orterun"}, {"mpirun.openmpi", "orterun"}, {"mpiexec.hydra", NULL}, {NULL, NULL}}, "", &sk_launcher_openmpi},
        {{{"orterun", NULL}, {"mpirun", "orterun"}, {"mpiexec.hydra", NULL}, {NULL, NULL}}, "mpiexec.hydra", &sk_launcher_mpich},
        {{{"mpiexec.hydra", NULL}, {"mpirun", "mpiexec.hydra"}, {"mpirun.openmpi", NULL}, {NULL, NULL}}, "", &sk_launcher_mpich},
        {{{"mpiexec.hydra", NULL}, {"mpirun", NULL}, {NULL, NULL}}, "", &sk_launcher_mpich}, /* a script beside it */
        {{{"mpiexec.hydra", NULL}, {"own", NULL}, {NULL, NULL}}, "own", &sk_launcher_mpich},
        {{{"mpiexec", NULL}, {NULL, NULL}}, "", &sk_launcher_openmpi},
        {{{"mpiexec.mpich", NULL}, {NULL, NULL}}, "", &sk_launcher_mpich},
        {{{"srun", NULL}, {"mpirun", NULL}, {NULL, NULL}}, "srun", &sk_launcher_srun},
        {{{"srun", NULL}, {"mpirun", NULL}, {NULL, NULL}}, "none", &sk_launcher_openmpi},
    };
    (void)state;
    unsetenv("SLURM_JOB_ID");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sk_launcher_ops *ops = NULL;
        enum sk_mpi mpi;
        char dir[64];
        make_programs(dir, cases[i].programs);
        setenv("PATH", dir, 1);
        assert_int_equal(sk_launcher_choose("auto", cases[i].wanted, "/no/such", &ops, &mpi, NULL), 0);
        remove_programs(dir, cases[i].programs);
        if (ops != cases[i].ops)
            fail_msg("case %zu: %s", i, ops->name);
    }
}

/* Modules of a cluster put theirs before the system's; an mpirun of the other MPI is passed over. */
static void the_first_in_the_path_is_taken(void **state)
{
    static const char *const own[][2] = {{"mpiexec.hydra", NULL}, {"mpiexec", "mpiexec.hydra"}, {"mpirun", "mpiexec.hydra"}, {NULL, NULL}};
    static const char *const other[][2] = {{"orterun", NULL}, {"mpirun", "orterun"}, {NULL, NULL}};
    static const char *const systems[][2] = {{"mpirun.openmpi", NULL}, {"mpiexec.mpich", NULL}, {NULL, NULL}};
    char a[64], b[64], c[64], path[256], found[4096], want[128];
    (void)state;
    make_programs(a, own);
    make_programs(b, other);
    make_programs(c, systems);
    snprintf(path, sizeof path, "/nowhere:%s:%s:%s", a, b, c);
    setenv("PATH", path, 1);
    assert_int_equal(sk_launcher_find(&sk_launcher_mpich, "", found, sizeof found, NULL), 0);
    snprintf(want, sizeof want, "%s/mpiexec.hydra", a);
    assert_string_equal(found, want);
    assert_int_equal(sk_launcher_find(&sk_launcher_openmpi, "", found, sizeof found, NULL), 0);
    snprintf(want, sizeof want, "%s/mpirun", b);
    assert_string_equal(found, want);
    assert_int_equal(sk_launcher_find(&sk_launcher_openmpi, "mpirun.openmpi", found, sizeof found, NULL), 0);
    snprintf(want, sizeof want, "%s/mpirun.openmpi", c);
    assert_string_equal(found, want);
    assert_int_equal(sk_launcher_find(&sk_launcher_srun, "", found, sizeof found, NULL), SAIKAI_ENOENT);
    remove_programs(a, own);
    remove_programs(b, other);
    remove_programs(c, systems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_ends_in_the_keeper_and_the_program),
        cmocka_unit_test(hosts_are_listed_as_each_form_wants_them),
        cmocka_unit_test(settings_are_exported_by_name_alone),
        cmocka_unit_test(a_list_of_variables_grows),
        cmocka_unit_test(more_arguments_are_split_as_a_shell_would),
        cmocka_unit_test(a_second_program_is_refused),
        cmocka_unit_test(ranks_that_share_cores_yield),
        cmocka_unit_test(spares_are_started_beyond_the_ranks),
        cmocka_unit_test(survivors_live_on_by_the_means_of_each_version),
        cmocka_unit_test(spares_count_where_processes_are_bound),
        cmocka_unit_test(sockets_of_the_dead_hide_none_of_the_new),
        cmocka_unit_test(the_layer_hears_which_host_has_which_process),
        cmocka_unit_test(what_is_there_is_taken_for_scripts),
        cmocka_unit_test(the_first_in_the_path_is_taken),
        cmocka_unit_test(the_mpi_of_a_program_is_seen),
        cmocka_unit_test(damaged_programs_do_no_harm),
        cmocka_unit_test(programs_are_looked_for_in_the_path),
        cmocka_unit_test(a_launcher_is_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
