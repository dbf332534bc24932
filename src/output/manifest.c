/* The text of a manifest: a first line, a line for each file, and one with the checksum of all before it. */
#include "output/manifest.h"

#include "base/file/io.h"
#include "base/hash.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART = 1 << 20 };

static const char first[] = "saikai-output 1\n";

/* A file's name without anything that could lead elsewhere. */
static int is_file_name(const char *name)
{
    size_t n = strlen(name);
    return n && n < sizeof((struct sk_manifest_file *)0)->name && *name != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+@%-") == n;
}

int sk_manifest_add(struct sk_manifest *m, const char *name, uint64_t size_bytes, uint64_t hash, struct saikai_error *err)
{
    if (!is_file_name(name))
        return sk_fail(err, SAIKAI_EINVAL, "'%.100s' is no name of a file of a generation", name);
    if (m->n == m->cap) {
        size_t cap = m->cap ? 2 * m->cap : 16;
        struct sk_manifest_file *p = realloc(m->file, cap * sizeof *p);
        if (!p)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of %zu files", m->n);
        m->file = p;
        m->cap = cap;
    }
    struct sk_manifest_file *f = &m->file[m->n++];
    *f = (struct sk_manifest_file){.size_bytes = size_bytes, .hash = hash};
    snprintf(f->name, sizeof f->name, "%s", name);
    return 0;
}

int sk_manifest_encode(const struct sk_manifest *m, struct sk_buf *b, struct saikai_error *err)
{
    sk_buf_printf(b, "%s", first);
    for (size_t i = 0; i < m->n; i++)
        sk_buf_printf(b, "file %016" PRIx64 " %" PRIu64 " %s\n", m->file[i].hash, m->file[i].size_bytes, m->file[i].name);
    if (sk_buf_ok(b))
        sk_buf_printf(b, "end %016" PRIx64 "\n", sk_hash64(b->data, b->len));
    return sk_buf_ok(b) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of %zu files", m->n);
}

static int damaged(struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_EDAMAGED, "the list of its files is damaged");
}

/* One line, without its end; 1: it is the last one. */
static int take_line(struct sk_manifest *m, const char *line, const void *text, size_t before, struct saikai_error *err)
{
    struct sk_manifest_file f;
    uint64_t hash;
    char rest;
    if (sscanf(line, "end %16" SCNx64 "%c", &hash, &rest) == 1)
        return hash == sk_hash64(text, before) ? 1 : damaged(err);
    if (sscanf(line, "file %16" SCNx64 " %20" SCNu64 " %127s%c", &f.hash, &f.size_bytes, f.name, &rest) != 3 || !is_file_name(f.name))
        return damaged(err);
    return sk_manifest_add(m, f.name, f.size_bytes, f.hash, err);
}

int sk_manifest_decode(const void *data, size_t n, struct sk_manifest *m, struct saikai_error *err)
{
    const char *at = data, *end = at + n, *stop;
    size_t skip = sizeof first - 1;
    int rc = 0;
    *m = (struct sk_manifest){0};
    if (n < skip || memcmp(at, first, skip))
        return damaged(err);
    for (at += skip; !rc && at < end; at = stop + 1) {
        char line[256];
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop || (size_t)(stop - at) >= sizeof line) {
            rc = damaged(err);
            break;
        }
        memcpy(line, at, (size_t)(stop - at));
        line[stop - at] = 0;
        rc = take_line(m, line, data, (size_t)(at - (const char *)data), err);
    }
    if (rc == 1 && at == end && m->n)
        return 0;
    sk_manifest_free(m);
    return rc < 0 ? rc : damaged(err);
}

void sk_manifest_free(struct sk_manifest *m)
{
    free(m->file);
    *m = (struct sk_manifest){0};
}

int sk_manifest_sum(const char *path, uint64_t *size_bytes, uint64_t *hash, struct saikai_error *err)
{
    struct sk_hasher *h = sk_hasher_new();
    uint8_t *part = malloc(PART);
    off_t size = 0;
    int fd = -1, rc = h && part ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to read %s", path);
    if (!rc && (fd = sk_io_open(path, O_RDONLY, 0, err)) < 0)
        rc = fd;
    if (!rc)
        rc = sk_io_size(fd, path, &size, err);
    for (off_t at = 0; !rc && at < size;) {
        size_t n = size - at < PART ? (size_t)(size - at) : PART;
        if (!(rc = sk_io_pread(fd, path, part, n, at, err)))
            sk_hasher_add(h, part, n);
        at += (off_t)n;
    }
    if (!rc) {
        *size_bytes = (uint64_t)size;
        *hash = sk_hasher_value(h);
    }
    if (fd >= 0)
        close(fd);
    free(part);
    sk_hasher_free(h);
    return rc;
}
