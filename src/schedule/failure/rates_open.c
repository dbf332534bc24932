/* Where failure rates come from: the table of sources, and the choice by what a file begins with. */
#include "schedule/failure/rates.h"

#include "base/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static const struct sk_rates_ops *const forms[] = {&sk_rates_sqlite, &sk_rates_text};

static const struct sk_rates_ops *form_at(int i)
{
    return i >= 0 && i < (int)(sizeof forms / sizeof *forms) ? forms[i] : NULL;
}

SK_KIND(sk_rates_kind, "rates", "source of failure rates", struct sk_rates_ops, form_at, description);

static int read_head(const char *path, uint8_t head[16], size_t *n, struct saikai_error *err)
{
    int fd = sk_io_open(path, O_RDONLY, 0, err);
    if (fd < 0) {
        sk_error_prefix(err, "cannot read the failure rates");
        return fd;
    }
    ssize_t got = read(fd, head, 16);
    int sys = errno;
    close(fd);
    if (got < 0)
        return sk_fail_errno(err, sys, "cannot read the failure rates %s", path);
    *n = (size_t)got;
    return 0;
}

int sk_rates_open(const char *path, double default_rate, struct sk_rates **out,
                  struct saikai_error *err)
{
    struct sk_rates *r = sk_rates_new(default_rate);
    if (!r)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for failure rates");
    int rc = 0;
    if (path && *path) {
        uint8_t head[16];
        size_t n = 0, i = 0;
        rc = read_head(path, head, &n, err);
        while (!rc && i + 1 < sizeof forms / sizeof *forms && !forms[i]->recognises(head, n))
            i++;
        if (!rc)
            rc = forms[i]->load(path, r, err);
        if (!rc)
            rc = sk_rates_finish(r, path, err);
    }
    if (rc) {
        sk_rates_free(r);
        return rc;
    }
    *out = r;
    return 0;
}
