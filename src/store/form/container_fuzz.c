/* Fuzz target: a whole container file of any bytes, opened, verified and read. The checksums of
 * header, index and trailer are made right first, so that what lies behind them is reached. The
 * corpus is the small ones of tests/golden/v1. */
#include "store/form/container.h"
#include "store/mending.h"

#include "base/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { most = 1 << 24 }; /* raw bytes of a variable that is decoded */

/* A box out of the middle: exactly the room for it, in turn with gaps in memory. */
static void read_part(struct sk_container *c, const struct sk_skc_var *v)
{
    uint64_t low[SAIKAI_MAX_DIMS], size[SAIKAI_MAX_DIMS], n = 1;
    ptrdiff_t stride[SAIKAI_MAX_DIMS], width = (ptrdiff_t)sk_type_size(v->type);
    struct saikai_error err;
    if (v->raw_bytes > most)
        return;
    for (int d = 0; d < v->ndims; d++) {
        low[d] = v->dims[d] / 3;
        size[d] = (v->dims[d] + 1) / 2;
        n *= size[d];
    }
    for (int d = v->ndims - 1; n && d >= 0; d--) {
        stride[d] = width;
        width *= (ptrdiff_t)size[d] + 1;
    }
    uint8_t *out = malloc(n * sk_type_size(v->type) + 1), *gaps = n ? malloc((size_t)width) : NULL;
    if (out)
        sk_container_read_box(c, v, low, size, out, NULL, &err);
    if (gaps)
        sk_container_read_box(c, v, low, size, gaps, stride, &err);
    free(gaps);
    free(out);
}

static void read_all(const char *path)
{
    struct sk_container *c = NULL;
    struct saikai_error err;
    if (sk_container_open(path, &c, &err))
        return;
    sk_container_verify(c, &err);
    for (uint32_t i = 0; i < c->index->var_count; i++) {
        const struct sk_skc_var *v = &c->index->vars[i];
        uint8_t *out = v->raw_bytes <= most ? malloc(v->raw_bytes + 1) : NULL;
        if (out) /* exactly the room there is: the sanitizer sees a byte too many */
            sk_container_read(c, v, out, &err);
        free(out);
        read_part(c, v);
    }
    sk_container_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char path[64];
    uint8_t *copy = malloc(n + 1);
    int fd = memfd_create("container", 0);
    if (!copy || fd < 0)
        abort();
    memcpy(copy, data, n);
    if (n >= SK_SKC_HEADER_BYTES + SK_SKC_TRAILER_BYTES)
        mend_container(copy, n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (pwrite(fd, copy, n, 0) == (ssize_t)n)
        read_all(path);
    close(fd);
    free(copy);
    return 0;
}
