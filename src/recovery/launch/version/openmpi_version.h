/* The version of an Open MPI's mpirun. */
#ifndef SK_RECOVERY_OPENMPI_VERSION_H
#define SK_RECOVERY_OPENMPI_VERSION_H

/* The first number of the version, as the launcher tells it when it is asked; 0: it does not, or not in time (some seconds). Remembers the answer of
 * the launcher that it was asked for last. */
int sk_openmpi_version(const char *launcher);
/* 1: survivors of a death go on by its MPI's own means for that (--with-ft), which has to notice the death. */
int sk_openmpi_notices_deaths(const char *launcher);

#endif
