/* Errors: one code, the errno behind it, and one sentence for a person.
 *
 * Internal functions take a `struct saikai_error *err` (may be NULL) as the last argument and return 0 or a
 * negative code. Out-parameters are untouched on failure. */
#ifndef SK_BASE_ERROR_H
#define SK_BASE_ERROR_H

#include <saikai/codes.h>
#include <stdarg.h>

struct saikai_error {
    int code;      /* a SAIKAI_E… number, 0: none */
    int sys_errno; /* errno at the time, 0: none */
    char text[480];
};

/* Fill *err (if any) with code and a formatted sentence; returns code. */
int sk_fail(struct saikai_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As sk_fail, for a failed system call: keeps errno, appends its text; the code is made from errno
 * (ENOSPC and EDQUOT give SAIKAI_ENOSPC, ENOENT SAIKAI_ENOENT, EEXIST SAIKAI_EEXIST, ENOMEM SAIKAI_ENOMEM,
 * any other SAIKAI_EIO). */
int sk_fail_errno(struct saikai_error *err, int sys_errno, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "prefix: " (formatted) before the sentence that is already in *err. */
void sk_error_prefix(struct saikai_error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Put more (formatted) behind the sentence that is already in *err, whose code and errno stay. */
void sk_error_append(struct saikai_error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

void sk_error_clear(struct saikai_error *err);

/* "EIO" and "input/output error" of a code; "E?" and "unknown error" for a stranger. Static strings. */
const char *sk_error_name(int code);
const char *sk_error_text(int code);

#endif
