/* Operations of io.h in a directory that may hang. A thread says for which directory it has so much patience and no more; what
 * it does there by io.h is then done by threads of their own (patience.h), with copies of all that they touch. */
#ifndef SK_BASE_PATIENT_IO_H
#define SK_BASE_PATIENT_IO_H

#include "base/patience.h"

#include <sys/types.h>

/* From here on, in this thread: what is below root fails with SAIKAI_ETIMEDOUT when it takes longer than p has patience. Both
 * must stay until p is NULL again. */
void sk_patient_io(struct sk_patience *p, const char *root);

/* For io.c: 1 when the calling thread has said so for this path; then its operations. */
int sk_patient_io_applies(const char *path);
int sk_patient_io_open(const char *path, int flags, int mode, struct saikai_error *err);
int sk_patient_io_write(int fd, const char *path, const void *data, size_t n, off_t at, struct saikai_error *err); /* at -1: on */
int sk_patient_io_read(int fd, const char *path, void *data, size_t n, off_t at, struct saikai_error *err);
int sk_patient_io_fsync(int fd, const char *path, struct saikai_error *err);
int sk_patient_io_size(int fd, const char *path, off_t *size, struct saikai_error *err);
int sk_patient_io_rename(const char *from, const char *to, struct saikai_error *err);
int sk_patient_io_unlink(const char *path, struct saikai_error *err);
int sk_patient_io_mkdirs(const char *path, struct saikai_error *err);
int sk_patient_io_rmdir(const char *path, struct saikai_error *err);

#endif
