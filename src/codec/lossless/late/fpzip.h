/* fpzip, loaded with the first piece that it codes: each program that links libsaikai, and each command, would else begin with the library and
 * that of C++ (base/host/load.h). Include this in place of fpzip.h; a function that is missing here does not link. */
#ifndef SK_CODEC_LATE_FPZIP_H
#define SK_CODEC_LATE_FPZIP_H

#include <fpzip.h>

struct saikai_error;

#ifdef SK_FPZIP_SONAME
#define SK_FPZIP_FUNCTIONS(X) \
    X(fpzip_read) X(fpzip_read_close) X(fpzip_read_from_buffer) X(fpzip_write) X(fpzip_write_close) X(fpzip_write_to_buffer)

#define SK_FPZIP_FUNCTION(name) __typeof__(&name) name;
/* NULL until sk_fpzip_load has returned 0. */
extern struct sk_fpzip_late {
    SK_FPZIP_FUNCTIONS(SK_FPZIP_FUNCTION)
    __typeof__(&fpzip_errno) fpzip_errno;
    __typeof__(&fpzip_errstr[0]) fpzip_errstr;
} sk_fpzip_late;

/* Once per process, from any thread, before any other call of fpzip. SAIKAI_ENOTSUP: it is not there, or another one than Saikai was built with. */
int sk_fpzip_load(struct saikai_error *err);

#ifndef SK_CODEC_LATE_OWN /* not where it is loaded */
#define fpzip_read sk_fpzip_late.fpzip_read
#define fpzip_read_close sk_fpzip_late.fpzip_read_close
#define fpzip_read_from_buffer sk_fpzip_late.fpzip_read_from_buffer
#define fpzip_write sk_fpzip_late.fpzip_write
#define fpzip_write_close sk_fpzip_late.fpzip_write_close
#define fpzip_write_to_buffer sk_fpzip_late.fpzip_write_to_buffer
#define fpzip_errno (*sk_fpzip_late.fpzip_errno)
#define fpzip_errstr sk_fpzip_late.fpzip_errstr
#endif
#else
static inline int sk_fpzip_load(struct saikai_error *err)
{
    (void)err;
    return 0;
}
#endif
#endif
