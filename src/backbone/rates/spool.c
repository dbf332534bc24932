/* Frames of length, message and checksum, one behind the other, under a lock. */
#include "backbone/rates/spool.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AROUND = 12 }; /* bytes of length and checksum */

/* Ours alone, and locked; a descriptor or a negative code. */
static int open_locked(const char *path, int make, struct saikai_error *err)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (make ? O_CREAT : 0), 0600);
    if (fd < 0)
        return sk_fail_errno(err, errno, "cannot open %s", path);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022) {
        close(fd);
        return sk_fail(err, SAIKAI_EAUTH, "%s is not a file that this user alone may write to", path);
    }
    if (flock(fd, LOCK_EX)) {
        int e = errno;
        close(fd);
        return sk_fail_errno(err, e, "cannot lock %s", path);
    }
    return fd;
}

int sk_rates_spool_add(const char *path, const struct sk_rates_message *m, struct saikai_error *err)
{
    struct sk_buf text = {0}, frame = {0};
    struct stat st;
    int fd = open_locked(path, 1, err), rc = fd < 0 ? fd : 0;
    if (rc)
        return rc;
    sk_rates_encode(m, &text);
    sk_buf_put_u32(&frame, (uint32_t)text.len);
    sk_buf_put(&frame, text.data, text.len);
    sk_buf_put_u64(&frame, sk_hash64(text.data, text.len));
    if (!sk_buf_ok(&text) || !sk_buf_ok(&frame))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for what the server of failure rates is told later");
    else if (fstat(fd, &st))
        rc = sk_fail_errno(err, errno, "%s", path);
    else if ((uint64_t)st.st_size + frame.len > SK_RATES_SPOOL_MOST)
        rc = sk_fail(err, SAIKAI_ENOSPC, "%s is full: what is learnt from now on is not sent later", path);
    else
        rc = sk_io_pwrite(fd, path, frame.data, frame.len, st.st_size, err);
    sk_buf_free(&text);
    sk_buf_free(&frame);
    close(fd);
    return rc;
}

int sk_rates_spool_next(const void *data, size_t n, size_t *at, struct sk_rates_message *m)
{
    while (*at < n && n - *at > AROUND) {
        struct sk_rd r = sk_rd_init((const uint8_t *)data + *at, n - *at);
        uint32_t length = sk_rd_u32(&r);
        const void *text = sk_rd_bytes(&r, length);
        uint64_t check = sk_rd_u64(&r);
        if (r.bad) /* cut off */
            break;
        *at += (size_t)length + AROUND;
        if (check == sk_hash64(text, length) && !sk_rates_decode(text, length, m, NULL)) {
            if (m->kind == SK_RATES_ADD)
                return 1;
            sk_rates_message_free(m);
        }
    }
    *at = n;
    return 0;
}

int sk_rates_spool_send(const char *path, const struct sk_rates_peer *p, double seconds, struct saikai_error *err)
{
    double until = sk_now() + seconds;
    struct stat st;
    struct sk_rates_message m, answer;
    size_t at = 0, sent = 0;
    if (stat(path, &st) || !st.st_size)
        return 0;
    int fd = open_locked(path, 0, err), rc = fd < 0 ? fd : 0;
    off_t size = 0;
    if (!rc)
        rc = sk_io_size(fd, path, &size, err);
    size_t n = size > SK_RATES_SPOOL_MOST ? SK_RATES_SPOOL_MOST : (size_t)size;
    uint8_t *data = rc ? NULL : malloc(n + 1);
    if (!rc && !data)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for what the server of failure rates is told later");
    if (!rc)
        rc = sk_io_pread(fd, path, data, n, 0, err);
    while (!rc && sk_now() < until && sk_rates_spool_next(data, n, &at, &m)) {
        rc = sk_rates_call(p, &m, until - sk_now(), &answer, err);
        if (!rc) {
            sk_rates_message_free(&answer);
            sent = at;
        }
        sk_rates_message_free(&m);
    }
    if (!rc && at == n)
        sent = n;
    if (sent && sent < n) /* what is left goes to the front */
        memmove(data, data + sent, n - sent);
    if (sent && (pwrite(fd, data, n - sent, 0) != (ssize_t)(n - sent) || ftruncate(fd, (off_t)(n - sent))) && !rc)
        rc = sk_fail_errno(err, errno, "cannot write %s", path);
    free(data);
    if (fd >= 0)
        close(fd);
    return rc;
}
