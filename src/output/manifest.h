/* What says that a generation is whole at an output: a small text, put there last, with name, size and checksum of each of its files. */
#ifndef SK_OUTPUT_MANIFEST_H
#define SK_OUTPUT_MANIFEST_H

#include "base/buf.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct sk_manifest {
    struct sk_manifest_file {
        char name[128]; /* in the generation's directory */
        uint64_t size_bytes, hash; /* XXH3 of 64 bits */
    } *file;
    size_t n, cap;
};

enum { SK_MANIFEST_MOST = 64 << 20 }; /* bytes of one */

int sk_manifest_add(struct sk_manifest *m, const char *name, uint64_t size_bytes, uint64_t hash, struct saikai_error *err);
int sk_manifest_encode(const struct sk_manifest *m, struct sk_buf *b, struct saikai_error *err);
/* Any bytes. SAIKAI_EDAMAGED: they are none, or not as they were. */
int sk_manifest_decode(const void *data, size_t n, struct sk_manifest *m, struct saikai_error *err);
void sk_manifest_free(struct sk_manifest *m);

/* Size and checksum of a file as a manifest has them. Local, reads all of it. */
int sk_manifest_sum(const char *path, uint64_t *size_bytes, uint64_t *hash, struct saikai_error *err);

#endif
