/* Whether requests are over, asked of an MPI that ends those of the dead with an error and has forgotten them when it says so (the form ulfm). The
 * protocol logging begins them again, as what they are, in the world that is repaired: so they have to stay, and MPI is asked by MPI_Request_get_status
 * first, which neither frees a request nor ends it with an error. With any other form, and without that protocol, these are MPI's own functions. */
#ifndef SK_WORLD_OVER_H
#define SK_WORLD_OVER_H

#include "world/layer.h"

int sk_over_test(MPI_Request *r, int *done, MPI_Status *status);
int sk_over_test_all(int n, MPI_Request r[], int *done, MPI_Status status[]);
int sk_over_test_any(int n, MPI_Request r[], int *index, int *done, MPI_Status *status);
int sk_over_test_some(int n, MPI_Request r[], int *ended, int index[], MPI_Status status[]);
/* The same of a message: one to the dead is over, whatever became of it. */
int sk_over_sent(MPI_Request *r, int *done);
/* Looks for a message in the world. Where somebody has died nothing is found, until the world is repaired. */
int sk_over_iprobe(int source, int tag, int *found, MPI_Status *status);
int sk_over_improbe(int source, int tag, int *found, MPI_Message *message, MPI_Status *status);
/* 1: one of these is at work: an error that means a death is nothing to do anything about. */
int sk_over_is_at_work(void);

#endif
