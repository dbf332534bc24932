/* A stand-in for the MPI library under the public functions. */
#include "lib/api/api_testing.h"

#include "base/file/io.h"
#include "group/mpi.h"
#include "group/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

struct api_testing_mpi api_testing_mpi = {NULL, 1, 0, 1};
static struct sk_group *world;

int sk_group_mpi(const void *comm, struct sk_group **out, struct saikai_error *err)
{
    (void)comm;
    int rc = sk_group_dup(world, out);
    return rc ? sk_fail(err, rc, "no group") : 0;
}

int MPI_Get_library_version(char *version, int *length)
{
    const char *own = strcmp(SAIKAI_MPI_OF_HEADER, "Open MPI") ? "MPICH Version: 4" : "Open MPI v4";
    strcpy(version, api_testing_mpi.its_version ? api_testing_mpi.its_version : own);
    *length = (int)strlen(version);
    return MPI_SUCCESS;
}

int MPI_Initialized(int *flag)
{
    *flag = api_testing_mpi.ready;
    return MPI_SUCCESS;
}

int MPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    api_testing_mpi.ready = 1;
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    api_testing_mpi.over = 1;
    return MPI_SUCCESS;
}

int MPI_Finalized(int *flag)
{
    *flag = api_testing_mpi.over;
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = api_testing_mpi.ranks;
    return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm comm, int code)
{
    (void)comm;
    _exit(API_TESTING_ABORT(code));
}

static int in_group(struct sk_group *g, void *arg)
{
    int (**body)(void) = arg;
    world = g;
    int rc = (*body)();
    world = NULL;
    return rc;
}

int api_testing_run(int (*body)(void))
{
    return sk_loop_run(1, in_group, &body);
}

char api_testing_dir[64], api_testing_log[8192];
int api_testing_most_level;

static void log_line(void *user, int level, const char *line)
{
    size_t n = strlen(api_testing_log);
    (void)user;
    api_testing_most_level = level > api_testing_most_level ? level : api_testing_most_level;
    snprintf(api_testing_log + n, sizeof api_testing_log - n, "%s\n", line);
}

const char *api_testing_settings(const char *more)
{
    static char text[1024];
    snprintf(text, sizeof text,
             "store.prefix=%s/prefix; store.local=%s/local; schedule.poll=1ms; schedule.signals=; "
             "job.name=test; store.fsync=no; "
             "schedule.every=3; schedule.first=no; lib.on_error=return; %s",
             api_testing_dir, api_testing_dir, more);
    return text;
}

int api_testing_make_dir(void **state)
{
    (void)state;
    strcpy(api_testing_dir, "/tmp/saikai-api-XXXXXX");
    return mkdtemp(api_testing_dir) ? 0 : -1;
}

int api_testing_remove_dir(void **state)
{
    (void)state;
    api_testing_mpi = (struct api_testing_mpi){NULL, 1, 0, 1};
    return sk_io_rmtree(api_testing_dir, NULL);
}

int api_testing_refused(const char *more, const char *mpi, int code, const char *words)
{
    struct saikai *h = (struct saikai *)&api_testing_mpi;
    FAILS(saikai_open_checked(MPI_COMM_WORLD, api_testing_settings(more), &h, mpi), code, words);
    CHECK(!h);
    FAILS(saikai_init_checked(MPI_COMM_WORLD, api_testing_settings(more), mpi), code, words);
    CHECK(!saikai_default());
    CHECK(strstr(api_testing_log, "saikai_open: ") && strstr(api_testing_log, "saikai_init: "));
    return 0;
}

int api_testing_logged(int (*body)(void))
{
    api_testing_log[0] = 0;
    api_testing_most_level = 0;
    saikai_set_log(log_line, NULL);
    return api_testing_run(body);
}

void api_testing_runs(int (*body)(void))
{
    int rc = api_testing_logged(body);
    if (rc)
        fail_msg("ended with %d (line %d)", rc, -1000 - rc);
}
