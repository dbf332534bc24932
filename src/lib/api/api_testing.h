/* For tests: the public functions over a loop group in place of MPI. Of MPI itself only what they
 * ask it is here. */
#ifndef SK_LIB_API_TESTING_H
#define SK_LIB_API_TESTING_H

#include "group/group.h"

#include <saikai/handle.h>
#include <stdio.h>
#include <string.h>

/* What the stand-in for MPI answers. */
struct api_testing_mpi {
    const char *its_version; /* MPI_Get_library_version; NULL: the one of the headers */
    int ready, over, ranks;
};
extern struct api_testing_mpi api_testing_mpi;
/* How it ends a program that called MPI_Abort with this code. */
#define API_TESTING_ABORT(code) ((code) + 100)

/* A directory for each test, the log so far, and the highest level of its lines. */
extern char api_testing_dir[64], api_testing_log[8192];
extern int api_testing_most_level;
int api_testing_make_dir(void **state);
int api_testing_remove_dir(void **state);
/* The settings of a small job in that directory, and more. */
const char *api_testing_settings(const char *more);

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d: %s: '%s'\n%s", __LINE__, #x, saikai_error_text(),            \
                    api_testing_log);                                                              \
            return -1000 - __LINE__;                                                               \
        }                                                                                          \
    } while (0)

/* The call fails with this code, and its sentence has these words. */
#define FAILS(call, code, words) CHECK((call) == (code) && strstr(saikai_error_text(), words))

/* saikai_open and saikai_init refuse to begin with these settings: no handle, and none is the
 * default one. */
int api_testing_refused(const char *more, const char *mpi, int code, const char *words);

/* As api_testing_run, with a new log. */
int api_testing_logged(int (*body)(void));
/* A failure of it is one of the test. */
void api_testing_runs(int (*body)(void));
/* Run body() as the only rank of a loop group, which is what every communicator stands for
 * meanwhile. */
int api_testing_run(int (*body)(void));

#endif
