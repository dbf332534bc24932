/* Puts the new file together from the old one and a difference, checking every operation and all
 * three checksums. */
#include "capture/filediff_format.h"

#include <stdlib.h>
#include <string.h>

int sk_fd_hash(const struct sk_source *s, uint64_t n, uint8_t *buffer, uint64_t *hash,
               struct saikai_error *err)
{
    struct sk_hasher *h = sk_hasher_new();
    if (!h)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a checksum");
    int rc = 0;
    for (uint64_t at = 0; !rc && at < n;) {
        size_t part = n - at < SK_FD_BUFFER ? (size_t)(n - at) : SK_FD_BUFFER;
        rc = s->read(s->arg, at, buffer, part, err);
        if (!rc)
            sk_hasher_add(h, buffer, part);
        at += part;
    }
    if (!rc)
        *hash = sk_hasher_value(h);
    sk_hasher_free(h);
    return rc;
}

struct decoder {
    const struct sk_source *old, *diff;
    uint64_t at, end; /* operations that are not yet read */
    uint8_t *in;      /* SK_FD_BUFFER bytes of diff from in_at */
    uint64_t in_at;
    size_t in_n;
    uint8_t *out; /* SK_FD_BUFFER */
    uint64_t made, new_bytes, last_end;
    struct sk_hasher *hash;
    sk_put_fn *put;
    void *arg;
    struct saikai_error *err;
};

static int damaged(struct saikai_error *err, const char *what)
{
    return sk_fail(err, SAIKAI_EDAMAGED, "the difference is damaged: %s", what);
}

static int next_byte(struct decoder *d, uint8_t *b)
{
    if (d->at >= d->end)
        return damaged(d->err, "it ends too early");
    if (d->at < d->in_at || d->at - d->in_at >= d->in_n) {
        d->in_at = d->at;
        d->in_n = d->end - d->at < SK_FD_BUFFER ? (size_t)(d->end - d->at) : SK_FD_BUFFER;
        int rc = d->diff->read(d->diff->arg, d->in_at, d->in, d->in_n, d->err);
        if (rc) {
            d->in_n = 0;
            return rc;
        }
    }
    *b = d->in[d->at++ - d->in_at];
    return 0;
}

static int next_number(struct decoder *d, uint64_t *v)
{
    uint64_t x = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t b = 0;
        int rc = next_byte(d, &b);
        if (rc)
            return rc;
        x |= (uint64_t)(b & 127) << shift;
        if (!(b & 128)) {
            *v = x;
            return 0;
        }
    }
    return damaged(d->err, "a number is too long");
}

/* n bytes of a source to the output, through the buffer. */
static int pass(struct decoder *d, const struct sk_source *s, uint64_t at, uint64_t n)
{
    int rc = 0;
    while (!rc && n) {
        size_t part = n < SK_FD_BUFFER ? (size_t)n : SK_FD_BUFFER;
        rc = s->read(s->arg, at, d->out, part, d->err);
        if (!rc) {
            sk_hasher_add(d->hash, d->out, part);
            rc = d->put(d->arg, d->out, part, d->err);
        }
        d->made += part;
        at += part;
        n -= part;
    }
    return rc;
}

static int one_operation(struct decoder *d)
{
    uint64_t v, n;
    int rc = next_number(d, &v);
    if (rc)
        return rc;
    n = v >> 1;
    if (!n || n > d->new_bytes - d->made)
        return damaged(d->err, "an operation is too long");
    if (!(v & 1)) {
        if (n > d->end - d->at)
            return damaged(d->err, "bytes to insert are missing");
        d->at += n;
        return pass(d, d->diff, d->at - n, n);
    }
    uint64_t z;
    rc = next_number(d, &z);
    if (rc)
        return rc;
    uint64_t from = d->last_end + ((z >> 1) ^ -(z & 1));
    if (from > d->old->size_bytes || n > d->old->size_bytes - from)
        return damaged(d->err, "a range is not in the old file");
    d->last_end = from + n;
    return pass(d, d->old, from, n);
}

static int check_diff(struct decoder *d, uint64_t *new_hash)
{
    uint8_t head[SK_FD_HEAD_BYTES], tail[SK_FD_TAIL_BYTES];
    const struct sk_source *s = d->diff;
    if (s->size_bytes < sizeof head + sizeof tail)
        return sk_fail(d->err, SAIKAI_EFORMAT, "this is not a difference of files");
    int rc = s->read(s->arg, 0, head, sizeof head, d->err);
    if (!rc)
        rc = s->read(s->arg, s->size_bytes - sizeof tail, tail, sizeof tail, d->err);
    if (rc)
        return rc;
    if (memcmp(head, "SKFD", 4) || head[4] != SK_FD_VERSION || head[5] || head[6] || head[7])
        return sk_fail(d->err, SAIKAI_EFORMAT,
                       "this is not a difference of files, or of a later version");
    uint64_t hash;
    rc = sk_fd_hash(s, s->size_bytes - 8, d->in, &hash, d->err);
    if (!rc && hash != sk_fd_get64(tail + 8))
        rc = damaged(d->err, "its checksum is wrong");
    if (rc)
        return rc;
    uint64_t old_hash = 0;
    if (d->old->size_bytes == sk_fd_get64(head + 8))
        rc = sk_fd_hash(d->old, d->old->size_bytes, d->in, &old_hash, d->err);
    if (!rc && (d->old->size_bytes != sk_fd_get64(head + 8) || old_hash != sk_fd_get64(head + 16)))
        rc = sk_fail(d->err, SAIKAI_EINVAL, "the difference was made of another old file");
    d->new_bytes = sk_fd_get64(head + 24);
    *new_hash = sk_fd_get64(tail);
    return rc;
}

int sk_filediff_decode(const struct sk_source *old, const struct sk_source *diff, sk_put_fn *put,
                       void *arg, struct saikai_error *err)
{
    struct decoder d = {.old = old, .diff = diff, .put = put, .arg = arg, .err = err};
    uint64_t new_hash = 0;
    int rc = 0;
    d.in = malloc(SK_FD_BUFFER);
    d.out = malloc(SK_FD_BUFFER);
    d.hash = sk_hasher_new();
    if (!d.in || !d.out || !d.hash)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to apply a difference");
    if (!rc)
        rc = check_diff(&d, &new_hash);
    d.at = SK_FD_HEAD_BYTES;
    d.end = diff->size_bytes - SK_FD_TAIL_BYTES;
    while (!rc && d.made < d.new_bytes)
        rc = one_operation(&d);
    if (!rc && d.at != d.end)
        rc = damaged(err, "it goes on after its end");
    if (!rc && sk_hasher_value(d.hash) != new_hash)
        rc = damaged(err, "what it makes has another checksum");
    free(d.in);
    free(d.out);
    sk_hasher_free(d.hash);
    return rc;
}
