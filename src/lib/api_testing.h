/* For tests: the public functions over a loop group in place of MPI. Of MPI itself only what they
 * ask it is here. */
#ifndef SK_LIB_API_TESTING_H
#define SK_LIB_API_TESTING_H

#include "group/group.h"

#include <saikai/handle.h>

/* What the stand-in for MPI answers. */
struct api_testing_mpi {
    const char *library; /* MPI_Get_library_version; NULL: the one of the headers */
    int ready, over, ranks;
};
extern struct api_testing_mpi api_testing_mpi;
/* How it ends a program that called MPI_Abort with this code. */
#define API_TESTING_ABORT(code) ((code) + 100)

/* Run body() as the only rank of a loop group, which is what every communicator stands for
 * meanwhile. */
int api_testing_run(int (*body)(void));

#endif
