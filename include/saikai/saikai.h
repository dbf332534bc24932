/* Saikai: keep an MPI program alive.
 *
 *     saikai_init(MPI_COMM_WORLD, NULL);
 *     saikai_protect("u", u, SAIKAI_F64, 3, (size_t[]){nz, ny, nx});
 *     long first = 0;
 *     saikai_restart(&first);
 *     for (long it = first; it < last; it++) {
 *         step(u);
 *         saikai_checkpoint(it + 1);
 *     }
 *     saikai_finalize();
 *
 * Functions return 0 (or a count, where it says so) or a negative SAIKAI_E… number; saikai_error_text() then has one
 * sentence that names the file, the rank and what to do. An error of saikai_init, saikai_protect… and saikai_restart ends the
 * program, unless it asks for the code (lib.on_error=return, below); nothing else does. Collective functions are
 * called by all ranks of the communicator in the same order and give all of them the same verdict. Sizes are in elements
 * unless a name ends in _bytes.
 *
 * Threads. The functions below use the default handle: one thread at a time may call them, which need not always be the same one;
 * with MPI_THREAD_FUNNELED it is the one that called MPI_Init. From any thread, at any time: saikai_error_text (of the calling
 * thread), saikai_error_name, saikai_version, saikai_version_number, saikai_set_log. None may be called in a signal handler. The
 * functions that a program gives (write, read, look, resize) are called by the thread that calls saikai_checkpoint… or
 * saikai_restart, within that call. Several jobs in one process: saikai/handle.h. */
#ifndef SAIKAI_SAIKAI_H
#define SAIKAI_SAIKAI_H

#include <saikai/codes.h>
#include <saikai/event.h>
#include <saikai/status.h>
#include <saikai/version.h>

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(OPEN_MPI)
#define SAIKAI_MPI_OF_HEADER "Open MPI"
#elif defined(MPICH_VERSION)
#define SAIKAI_MPI_OF_HEADER "MPICH"
#else
#define SAIKAI_MPI_OF_HEADER "other"
#endif

/* ---- begin and end ---- */

/* A program that goes on after saikai_init, saikai_protect… or saikai_restart failed would compute everything again, or save less
 * than it needs. So by default such an error is written to stderr and MPI_Abort ends the program with this exit code. A program
 * that looks at what they return asks for it: saikai_init(comm, "lib.on_error=return"), or SAIKAI_LIB_ON_ERROR=return in the
 * environment. After a failed saikai_restart that was returned, no generation of an earlier start is removed. */
#define SAIKAI_EXIT_CODE 70
/* The same for a saikai_init that was refused since a running job has the store (SAIKAI_EBUSY): worth another try when that has
 * ended. `saikai run` then ends at once, with this code, too. */
#define SAIKAI_EXIT_REFUSED 75

/* Begin. Collective over comm (duplicated; after MPI_Init; MPI_THREAD_SINGLE is enough). config: "section.key=value"
 * settings separated by ';' or newlines that go before environment and files, or NULL. Blocks for a few reductions and
 * one small file. On failure nothing was begun, and every other function but the error texts returns SAIKAI_ESTATE.
 * SAIKAI_EMPI: the program was compiled with the headers of one MPI and runs with the library of another, or was started
 * by another MPI's mpirun. SAIKAI_ECONFIG, SAIKAI_EIO, SAIKAI_ENOSPC, SAIKAI_EAUTH: the sentence names file and remedy. */
int saikai_init(MPI_Comm comm, const char *config);
/* The same for a program compiled with the headers of this MPI, which is compared with the library's. In C and C++ a call of
 * saikai_init is one of this; the function itself, as &saikai_init or for other languages, believes that they are the same. */
#define saikai_init(comm, config) saikai_init_checked((comm), (config), SAIKAI_MPI_OF_HEADER)
int saikai_init_checked(MPI_Comm comm, const char *config, const char *mpi_of_header);

/* End. Collective, before MPI_Finalize. Waits until what was captured is written, and marks the run as finished, so that
 * the next start begins afresh (unless restart.mode=always). After saikai_should_stop() returned 1 the run is not
 * marked: the next start resumes. */
int saikai_finalize(void);

/* ---- what survives ---- */

/* Protect a variable: at a checkpoint its bytes are saved, at a restart they are put back. Local, but all ranks must
 * protect the same names. data[dims[0]]…[dims[ndims-1]], C order, ndims 0 is a scalar; sizes may differ between ranks. The
 * memory stays the program's and must stay where it is until saikai_unprotect or saikai_finalize; a second call with the same
 * name tells the new address or size. Buffers that are swapped (u and unew): call it again after each swap, or use
 * saikai_protect_array, which looks at the pointer each time; the library cannot see a swap. */
int saikai_protect(const char *name, void *data, enum saikai_type type, int ndims, const size_t dims[]);

/* Protect an array that the program allocates with malloc or realloc and that may move and change its length: *data and
 * *count are looked at in each checkpoint; a restart reallocates *data and sets *count. An element is `width` values of
 * type (1: plain array; 3: for example positions). data and count must stay valid until saikai_unprotect. */
int saikai_protect_array(const char *name, void **data, size_t *count, size_t width, enum saikai_type type);

/* The same for an array that a container of the program's owns, such as a std::vector (saikai.hpp has it ready-made). In each
 * checkpoint look(arg, &data, &count) tells where it is and how many elements it has; at a restart resize(arg, count, &data) gives
 * it another length when that is needed, and tells where it is then. Both return 0 for success. */
int saikai_protect_resizable(const char *name, int (*look)(void *arg, void **data, size_t *count),
                             int (*resize)(void *arg, size_t count, void **data), void *arg, size_t width,
                             enum saikai_type type);

/* Protect whatever the program serialises itself: write(f, arg) is called in each checkpoint, read(f, arg) at a restart;
 * both return 0 for success. f is in memory: it is fast, seekable, and closed by the library. */
int saikai_protect_stream(const char *name, int (*write)(FILE *f, void *arg), int (*read)(FILE *f, void *arg),
                          void *arg);

/* Protect a block of a global array: a restart may then have another number of ranks, or cut the array in another way. As
 * saikai_protect; in addition, this rank's element [0]…[0] is element [offset[0]]…[offset[ndims-1]] of an array
 * global_dims[0]×…×global_dims[ndims-1], ndims 1 to 8. Name, type and global dimensions are the same on all ranks. The
 * ranks' blocks together cover the array; a rank may have none (a dimension of 0). Where blocks overlap, the copies are
 * taken for equal: the lowest rank's is restored. SAIKAI_EINVAL: the block is not inside of the array. */
int saikai_protect_global(const char *name, void *data, enum saikai_type type, int ndims, const size_t dims[],
                          const size_t global_dims[], const size_t offset[]);

/* The same for a block with ghost cells, or anything else, around it in memory: data is an array of
 * low[d] + dims[d] + high[d] elements in each dimension d, of which dims[d] from low[d] on are the block. Ghost cells are
 * neither saved nor restored: fill them after a restart as in each iteration. */
int saikai_protect_global_halo(const char *name, void *data, enum saikai_type type, int ndims, const size_t dims[],
                               const size_t global_dims[], const size_t offset[], const size_t low[],
                               const size_t high[]);

/* As saikai_protect, for elements that do not lie side by side: neighbours in dimension d are strides_bytes[d] apart, which may
 * be negative. global_dims and offset: as for saikai_protect_global, or both NULL for a rank's own variable. */
int saikai_protect_strided(const char *name, void *data, enum saikai_type type, int ndims, const size_t dims[],
                           const ptrdiff_t strides_bytes[], const size_t global_dims[], const size_t offset[]);

/* A protected variable, array or stream has the same value on all ranks (a parameter, a counter, a table): another number
 * of ranks takes it from any of them. Local, all ranks declare the same. With the same number of ranks, each gets its own.
 * SAIKAI_EINVAL: not protected, or a block of a global array. */
int saikai_replicated(const char *name);

/* Let a protected floating-point variable come back within an error bound instead of exactly: its checkpoints become many
 * times smaller. Local; holds from the next checkpoint on. The bound holds for every value (SAIKAI_PSNR: for the array).
 * SAIKAI_EXACT takes it back. SAIKAI_EINVAL: not protected, not floating point, or value is not above 0. */
int saikai_bound(const char *name, enum saikai_bound_kind kind, double value);

/* Set an attribute of a protected variable. Local; holds from the next checkpoint on, also when the variable is protected again
 * under its name. Nothing is kept of the texts. Attributes and their values:
 *     bound       exact, abs:X, rel:X or psnr:X        how far a floating-point variable may be from what was saved (saikai_bound)
 *     codec       default, plain, auto, or a chain such as fpc+zstd    how it is coded in checkpoints, in place of codec.chains
 *     constant    yes, no     the program does not change it: checkpoints of what changed do not look at it again. Set it to no before
 *                             it changes: changes under yes are not saved
 *     halo        1,1:1,1     the block of an array in memory has so many elements before it in each dimension, and so many behind
 *                             it, as in saikai_protect_global_halo: data is where these begin. For arrays in C order
 *     replicated  yes, no     it has the same value on all ranks (saikai_replicated)
 * An error is one of saikai_protect: it ends the program unless that asked for codes. SAIKAI_EINVAL: there is no such attribute, no
 * such variable, or the value is none for it; nothing was changed. */
int saikai_set(const char *name, const char *attribute, const char *value);
/* The same for an attribute that is a list of sizes: halo, with 2 * ndims of them. */
int saikai_set_sizes(const char *name, const char *attribute, size_t count, const size_t sizes[]);

/* Forget a variable; its memory may be freed afterwards. May block until a checkpoint that is being copied while the program
 * goes on has been copied: free memory after this call, never before it. SAIKAI_ENOENT: none of this name. */
int saikai_unprotect(const char *name);

/* For bindings of other languages: what they were given cannot be protected, and this sentence says why. It becomes
 * saikai_error_text(), and ends the program unless that asked for codes, like any error of saikai_protect. Returns SAIKAI_EINVAL. */
int saikai_refuse(const char *sentence);

/* ---- back ---- */

/* Recovery in place: body(arg) is the part of the program from saikai_init to saikai_finalize, and where one process died there, the
 * others need not be started again: `saikai run --recovery process=in-place` makes the dead process again, the others leave body
 * wherever they call MPI (as by longjmp), and body(arg) runs again from its beginning in all of them, in a repaired MPI_COMM_WORLD;
 * saikai_restart in it then gives what the newest generation holds. Without that, and where it cannot be, body runs once, and a fault
 * ends and restarts the job as ever. Collective, once, after MPI_Init; returns when body has returned.
 *
 * What the program has to keep to: before saikai_in_place nothing is communicated and no communicator or group is made (else it is
 * said, and faults are answered by a restart). What body made in MPI is gone when it runs again: communicators, groups and requests
 * of before must not be used. What it allocated is not freed: free it, or use it again, at the beginning of body. No C++ objects with
 * destructors live in body. Values that body is given by arg are as the last run of it left them. With run.protocol=logging nothing is
 * communicated between saikai_restart and the first candidate but what each turn of the loop does: a process that is made again does
 * it alone (docs/recovery.md). */
void saikai_in_place(void (*body)(void *arg), void *arg);

/* Restore the newest generation that all ranks can read. Collective, once, after saikai_protect and before the first
 * candidate. Returns 1 with *iteration, the number given to saikai_checkpoint when it was made; 0 (iteration untouched)
 * when the program starts afresh. Damaged or incomplete generations are skipped for older ones, and it is said.
 * Another number of ranks than wrote the generation can restore it when every protected variable is a block of a global
 * array or replicated, and all files are in the prefix or in the node-local directory of one node.
 * SAIKAI_ECHANGED: a variable has another type or size; SAIKAI_ERANKS: another number of ranks wrote it, and the sentence
 * names the variable that is a rank's own, or the part of a global array that nobody saved; SAIKAI_EINVAL: the ranks
 * declare different global arrays; SAIKAI_EDAMAGED: there are generations but none can be used. After an error the
 * protected variables are undefined. */
int saikai_restart(long *iteration);

/* In place of saikai_restart: restore this generation and no other, whatever restart.mode says and also when the last run finished.
 * generation is its name, as saikai ls shows it ("gen-0003-000000001200-0"), or an iteration in digits, of which the newest is taken
 * that is whole; "newest" or NULL is what saikai_restart does without the key restart.from. Collective, the same text on all ranks;
 * returns 1 with *iteration. Generations that are newer than the one restored are passed over by later starts, as if saikai mark had
 * marked them bad (saikai mark --good takes that back, and so does choosing one of them); they stay where they are until a generation
 * of this start is complete and archived. Under saikai run, ask for it in the first start only: what a later start should go on from
 * is what the one before has saved. Errors, besides those of saikai_restart: SAIKAI_ENOENT: there is no such generation;
 * SAIKAI_EDAMAGED: it is damaged, or parts of it are missing and cannot be computed; SAIKAI_EINVAL: generation means nothing, or is not
 * the same on all ranks; SAIKAI_ENOMEM: more than 32 generations are newer or marked. Nothing is removed or marked after an error. */
int saikai_restart_from(const char *generation, long *iteration);

/* Which candidate place the restored generation was made at; 0 also without one. */
int saikai_restored_place(void);

/* ---- candidates ---- */

/* A place where a checkpoint may be made: all messages of the iterations so far are received, so that all ranks are
 * consistent. Called by all ranks at the same places in the same order, with the number of the iteration (0 or more,
 * never less than at a candidate before, or than the restored one). Returns 1 when a checkpoint was captured, 0 when nothing was due (a few nanoseconds), negative when this rank
 * could not save: the generation before stays, the program may go on. Waits for no other rank; writing goes on behind. */
int saikai_checkpoint(long iteration);

/* The same for a loop with several places, 0 to 63; saikai_checkpoint is place 0. A checkpoint is made at whichever place
 * is reached when it is due, and saikai_restored_place tells which. */
int saikai_checkpoint_at(int place, long iteration);

/* A checkpoint now, due or not. Collective in that all ranks call it. 1, or negative as above. */
int saikai_checkpoint_now(long iteration);

/* 1 when a scheduler's signal (schedule.stop_signals) or the launcher asked the program to end: the checkpoint has been
 * made, leave the loop and call saikai_finalize. The same on all ranks after each candidate. A program that never calls this is
 * saved and ended by SIGTERM, SIGINT and SIGHUP all the same: its next candidate does not return then. */
int saikai_should_stop(void);

/* ---- programs that write their own checkpoint files ---- */

/* As saikai_checkpoint, but the program does the writing: 1: write now and call saikai_checkpoint_end; 0: nothing is due. */
int saikai_checkpoint_begin(long iteration);
/* Where to write the file of this plain name (each rank its own), into path[size_bytes]. Between begin and end. */
int saikai_file_path(const char *name, char *path, size_t size_bytes);
/* The files are closed. ok 0: this rank's are not valid, the generation will not count. Files and protected variables
 * become one generation. 0 or negative. */
int saikai_checkpoint_end(int ok);
/* After a restart: where the restored file of this name is. It is removed at saikai_finalize. SAIKAI_ENOENT: none. */
int saikai_restored_file(const char *name, char *path, size_t size_bytes);

/* ---- questions ---- */

/* What this rank knows. Local. size_bytes: sizeof(struct saikai_status), so that later versions may add fields: as many bytes are
 * filled, fields of a later version than the library's with 0. SAIKAI_EINVAL: status is NULL. */
int saikai_get_status(struct saikai_status *status, size_t size_bytes);

/* Wait until every checkpoint captured so far is complete or has failed. Collective. 0, or SAIKAI_EIO … when the newest
 * one could not be saved by all ranks. */
int saikai_wait(void);

/* Levels of the log, from what is always wrong to what nobody needs. */
enum saikai_log_level {
    SAIKAI_LOG_ERROR = 0,
    SAIKAI_LOG_WARN = 1,
    SAIKAI_LOG_NOTICE = 2, /* the default shows it: what everybody must know although nothing is wrong */
    SAIKAI_LOG_INFO = 3,
    SAIKAI_LOG_DEBUG = 4,
};
/* Lines of the log go to write(user, level, line) in place of stderr, up to log.level and whatever log.to says; NULL: to stderr again.
 * line has no newline and is the library's. Local, for the whole process, from any thread; may be called before saikai_init, so that
 * nothing is missed. write is called by any thread of the library or the program, one at a time; it must not call Saikai, nor MPI, and
 * should be quick. When saikai_set_log returns, the function before is not called any more. What ends the program (lib.on_error)
 * is written to stderr all the same. Returns 0. */
int saikai_set_log(void (*write)(void *user, int level, const char *line), void *user);

/* The sentence of this thread's last error, "" after none; the name and text of a code. Static or thread's storage. */
const char *saikai_error_text(void);
const char *saikai_error_name(int code);
/* The version of the library that the program runs with, as text and as a number; SAIKAI_VERSION and
 * SAIKAI_VERSION_NUMBER are those of the headers that it was compiled with. Need no saikai_init. */
const char *saikai_version(void);
int saikai_version_number(void);

#ifdef __cplusplus
}
#endif
#endif
