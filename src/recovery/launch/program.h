/* What a program is linked with. */
#ifndef SK_RECOVERY_PROGRAM_H
#define SK_RECOVERY_PROGRAM_H

enum sk_mpi { SK_MPI_UNKNOWN, SK_MPI_OPENMPI, SK_MPI_MPICH };

/* The MPI that an ELF file is linked with; SK_MPI_UNKNOWN also for scripts and what cannot be read.
 */
enum sk_mpi sk_mpi_of_program(const char *path);

#endif
