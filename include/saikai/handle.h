/* Saikai with handles: several jobs in one process, each with a communicator, variables and a store of its own.
 *
 *     struct saikai *ocean;
 *     saikai_open(ocean_comm, "job.name=ocean", &ocean);
 *     saikai_h_protect(ocean, "u", u, SAIKAI_F64, 1, (size_t[]){n});
 *     saikai_h_restart(ocean, &it);
 *     saikai_h_checkpoint(ocean, it);
 *     saikai_close(ocean);
 *
 * saikai_init begins the *default handle*, and the functions of saikai.h are those of it. What each does is said there; saikai_h_…
 * does the same for the handle h, with the same results and errors; SAIKAI_ESTATE: h is NULL. A function that is collective there is
 * so over the handle's communicator, and the order of calls counts for each handle by itself.
 *
 * Jobs must have names of their own (job.name): two handles that are open at once with the same name and prefix are two starts of
 * one job, and the second one is refused (SAIKAI_EBUSY).
 *
 * Threads: one thread at a time may use a handle. Several threads may use several handles at once, if MPI was initialised for that
 * (MPI_THREAD_MULTIPLE), except for opening and closing, which one thread at a time does.
 *
 * What is the process's is shared: the log (log.level: the most that any handle wants; log.to: of the first one), the handlers of
 * signals (a request is for all handles), the keeper of `saikai run` (a rank has ended its use of Saikai when its last handle is
 * closed). While several handles are open, none of them ends a program that never asks saikai_should_stop: each saves at its next
 * candidate, and the program ends when it asks, or after the time that whoever sent the signal gives it. A variable that two handles
 * protect is saved by both; where the kernel can watch its pages for one of them only, the other one compares or copies. */
#ifndef SAIKAI_HANDLE_H
#define SAIKAI_HANDLE_H

#include <saikai/saikai.h>

#ifdef __cplusplus
extern "C" {
#endif

struct saikai;

/* As saikai_init; *out is a new handle, the caller's until saikai_close, or NULL after an error. A program may open any number of
 * them, with or without saikai_init. Beside the errors of saikai_init: SAIKAI_EINVAL, out is NULL. */
int saikai_open(MPI_Comm comm, const char *config, struct saikai **out);
#define saikai_open(comm, config, out) saikai_open_checked((comm), (config), (out), SAIKAI_MPI_OF_HEADER)
int saikai_open_checked(MPI_Comm comm, const char *config, struct saikai **out, const char *mpi_of_header);
/* As saikai_finalize. The handle is gone, whatever is returned. */
int saikai_close(struct saikai *h);
/* The handle that saikai_init began, NULL: there is none. Local. It may be used as any other, and closed. */
struct saikai *saikai_default(void);

int saikai_h_protect(struct saikai *h, const char *name, void *data, enum saikai_type type, int ndims,
                     const size_t dims[]);
int saikai_h_protect_array(struct saikai *h, const char *name, void **data, size_t *count, size_t width,
                           enum saikai_type type);
int saikai_h_protect_resizable(struct saikai *h, const char *name, int (*look)(void *arg, void **data, size_t *count),
                               int (*resize)(void *arg, size_t count, void **data), void *arg, size_t width,
                               enum saikai_type type);
int saikai_h_protect_stream(struct saikai *h, const char *name, int (*write)(FILE *f, void *arg),
                            int (*read)(FILE *f, void *arg), void *arg);
int saikai_h_protect_global(struct saikai *h, const char *name, void *data, enum saikai_type type, int ndims,
                            const size_t dims[], const size_t global_dims[], const size_t offset[]);
int saikai_h_protect_global_halo(struct saikai *h, const char *name, void *data, enum saikai_type type, int ndims,
                                 const size_t dims[], const size_t global_dims[], const size_t offset[],
                                 const size_t low[], const size_t high[]);
int saikai_h_protect_strided(struct saikai *h, const char *name, void *data, enum saikai_type type, int ndims,
                             const size_t dims[], const ptrdiff_t strides_bytes[], const size_t global_dims[],
                             const size_t offset[]);
int saikai_h_replicated(struct saikai *h, const char *name);
int saikai_h_bound(struct saikai *h, const char *name, enum saikai_bound_kind kind, double value);
int saikai_h_set(struct saikai *h, const char *name, const char *attribute, const char *value);
int saikai_h_set_sizes(struct saikai *h, const char *name, const char *attribute, size_t count, const size_t sizes[]);
int saikai_h_unprotect(struct saikai *h, const char *name);
int saikai_h_refuse(struct saikai *h, const char *sentence);
int saikai_h_restart(struct saikai *h, long *iteration);
int saikai_h_restart_from(struct saikai *h, const char *generation, long *iteration);
int saikai_h_restored_place(struct saikai *h);
int saikai_h_checkpoint(struct saikai *h, long iteration);
int saikai_h_checkpoint_at(struct saikai *h, int place, long iteration);
int saikai_h_checkpoint_now(struct saikai *h, long iteration);
int saikai_h_should_stop(struct saikai *h);
int saikai_h_checkpoint_begin(struct saikai *h, long iteration);
int saikai_h_file_path(struct saikai *h, const char *name, char *path, size_t size_bytes);
int saikai_h_checkpoint_end(struct saikai *h, int ok);
int saikai_h_restored_file(struct saikai *h, const char *name, char *path, size_t size_bytes);
int saikai_h_get_status(struct saikai *h, struct saikai_status *out, size_t size_bytes);
int saikai_h_wait(struct saikai *h);
int saikai_h_event_publish(struct saikai *h, const char *name, int severity, const char *const fields[]);
int saikai_h_event_next(struct saikai *h, const char *filter, double seconds, struct saikai_event *out, size_t size_bytes);

#ifdef __cplusplus
}
#endif
#endif
