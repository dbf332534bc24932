/* Fills errors, maps errno to codes, and holds the one table of codes with their names and
 * sentences. */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int code;
    const char *name, *text;
} table[] = {
#define SAIKAI_ERROR(number, name, text) {-(number), #name, text},
#include <saikai/errors.def>
#undef SAIKAI_ERROR
};

static void fill(struct saikai_error *err, int code, int sys_errno, const char *fmt, va_list ap)
{
    char text[sizeof err->text]; /* the sentence may have the old one in it */
    int n = vsnprintf(text, sizeof text, fmt, ap);
    if (sys_errno && n >= 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, ": %s", strerror(sys_errno));
    err->code = code;
    err->sys_errno = sys_errno;
    memcpy(err->text, text, strlen(text) + 1);
}

int sk_fail(struct saikai_error *err, int code, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        fill(err, code, 0, fmt, ap);
        va_end(ap);
    }
    return code;
}

static int code_of_errno(int sys_errno)
{
    switch (sys_errno) {
    case ENOSPC:
    case EDQUOT:
        return SAIKAI_ENOSPC;
    case ENOENT:
        return SAIKAI_ENOENT;
    case EEXIST:
        return SAIKAI_EEXIST;
    case ENOMEM:
        return SAIKAI_ENOMEM;
    default:
        return SAIKAI_EIO;
    }
}

int sk_fail_errno(struct saikai_error *err, int sys_errno, const char *fmt, ...)
{
    int code = code_of_errno(sys_errno);
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        fill(err, code, sys_errno, fmt, ap);
        va_end(ap);
    }
    return code;
}

void sk_error_prefix(struct saikai_error *err, const char *fmt, ...)
{
    if (!err)
        return;
    char old[sizeof err->text];
    memcpy(old, err->text, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof err->text)
        snprintf(err->text + n, sizeof err->text - n, ": %s", old);
}

void sk_error_append(struct saikai_error *err, const char *fmt, ...)
{
    if (!err)
        return;
    size_t used = strlen(err->text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->text + used, sizeof err->text - used, fmt, ap);
    va_end(ap);
}

void sk_error_clear(struct saikai_error *err)
{
    if (err)
        memset(err, 0, sizeof *err);
}

const char *sk_error_name(int code)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == code)
            return table[i].name;
    return code ? "E?" : "OK";
}

const char *sk_error_text(int code)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == code)
            return table[i].text;
    return code ? "unknown error" : "no error";
}
