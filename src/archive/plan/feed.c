/* The feed of files and memory of this process, and hashes of what feeds give. */
#include "archive/plan/feed.h"

#include "base/file/io.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fetch_local(struct sk_ska_feed *feed, const struct sk_ska_range *r, size_t n,
                       struct saikai_error *err)
{
    struct sk_feed_local *f = (struct sk_feed_local *)feed;
    int fd = -1, rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        const struct sk_archive_input *in = &f->inputs[r[i].file];
        if (in->data) {
            memcpy(r[i].to, (const uint8_t *)in->data + r[i].offset, r[i].bytes);
            continue;
        }
        /* neighbours in a block are often neighbours in a file */
        if (fd < 0 || r[i].file != r[i - 1].file) {
            if (fd >= 0)
                close(fd);
            fd = sk_io_open(in->path, O_RDONLY, 0, err);
        }
        rc = fd < 0 ? fd : sk_io_pread(fd, in->path, r[i].to, r[i].bytes, (off_t)r[i].offset, err);
        if (rc)
            sk_feed_local_failed(f, r[i].file);
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

int sk_feed_hash(struct sk_ska_feed *f, const struct sk_ska_range *r, uint64_t *hash, struct saikai_error *err)
{
    enum { WINDOW = 1 << 20 };
    if (f->ops->hash)
        return f->ops->hash(f, r, hash, err);
    struct sk_hasher *h = sk_hasher_new();
    uint8_t *window = malloc(r->bytes < WINDOW ? r->bytes + 1 : WINDOW);
    int rc = h && window ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to compare files with an archive");
    for (uint64_t done = 0; done < r->bytes && !rc;) {
        size_t n = r->bytes - done < WINDOW ? (size_t)(r->bytes - done) : WINDOW;
        struct sk_ska_range some = {r->file, r->offset + done, n, window};
        rc = sk_feed_fetch(f, &some, 1, err);
        if (!rc)
            sk_hasher_add(h, window, n);
        done += n;
    }
    if (!rc)
        *hash = sk_hasher_value(h);
    free(window);
    sk_hasher_free(h);
    return rc;
}

static const struct sk_feed_ops local_ops = {fetch_local, NULL};

int sk_feed_local_init(struct sk_feed_local *f, const struct sk_archive_input *inputs, size_t count,
                       struct saikai_error *err)
{
    *f = (struct sk_feed_local){.feed = {&local_ops, 1}, .inputs = inputs};
    f->seen = calloc(count + 1, sizeof *f->seen);
    if (!f->seen)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    for (size_t i = 0; i < count; i++) {
        const struct sk_archive_input *in = &inputs[i];
        if (in->data) {
            f->seen[i].st_size = (off_t)in->bytes;
            f->seen[i].st_mode = S_IFREG | 0600;
        } else if (stat(in->path, &f->seen[i])) {
            sk_feed_local_failed(f, i);
            return sk_fail_errno(err, errno, "cannot read %s", in->path);
        } else if (!S_ISREG(f->seen[i].st_mode)) {
            sk_feed_local_failed(f, i);
            return sk_fail(err, SAIKAI_EINVAL, "%s is not a regular file", in->path);
        }
        f->count++;
    }
    return 0;
}

void sk_feed_local_failed(struct sk_feed_local *f, size_t i)
{
    uint32_t none = 0;
    atomic_compare_exchange_strong(&f->failed, &none, (uint32_t)i + 1);
}

int sk_feed_local_same(const struct sk_feed_local *f, size_t i, struct saikai_error *err)
{
    struct stat st;
    const struct stat *was = &f->seen[i];
    const char *path = f->inputs[i].path;
    if (f->inputs[i].data)
        return 0;
    if (stat(path, &st))
        return sk_fail_errno(err, errno, "%s went away while it was read", path);
    if (st.st_size != was->st_size || st.st_mtim.tv_sec != was->st_mtim.tv_sec || st.st_mtim.tv_nsec != was->st_mtim.tv_nsec)
        return sk_fail(err, SAIKAI_ECHANGED, "%s changed while it was read: archive it when it is finished", path);
    return 0;
}

int sk_feed_local_check(const struct sk_feed_local *f, struct saikai_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < f->count && !rc; i++)
        rc = sk_feed_local_same(f, i, err);
    return rc;
}

void sk_feed_local_free(struct sk_feed_local *f)
{
    free(f->seen);
    *f = (struct sk_feed_local){0};
}
