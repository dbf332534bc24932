/* Fuzz target: a delta file of any bytes on a good base, opened with it, verified, read and made full. The checksums of
 * header, index and trailer are made right first, and the base's name is written into the header, so that what lies behind
 * them is reached. The corpus is a good delta and some that are not. */
#define TESTING_CELLS 3000
#include "store/form/lineage_testing.h"
#include "store/mending.h"

#include <fcntl.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char dir[64];
static const struct sk_gen base = {1, 10, 0};

static void clean(void)
{
    sk_io_rmtree(dir, NULL);
}

/* The base is the same in every process: deltas of the corpus fit it. */
static int begin(void)
{
    struct testing_state *s = testing_state_new();
    struct testing_generation g = {.root = dir, .gen = base, .nranks = 2, .rank = 1};
    strcpy(dir, "/dev/shm/saikai-lineage-fuzz-XXXXXX");
    if (!mkdtemp(dir)) {
        strcpy(dir, "/tmp/saikai-lineage-fuzz-XXXXXX");
        if (!mkdtemp(dir))
            return -1;
    }
    atexit(clean);
    testing_state_step(s, 1);
    int rc = testing_write(&g, s, s, 1);
    testing_state_free(s);
    return rc;
}

static void read_all(struct sk_container *c)
{
    struct saikai_error err;
    char copy[96];
    sk_container_verify(c, &err);
    for (uint32_t i = 0; i < c->index->var_count; i++) {
        const struct sk_skc_var *v = &c->index->vars[i];
        uint8_t *out = v->raw_bytes <= 1 << 24 ? malloc(v->raw_bytes + 1) : NULL;
        if (out)
            sk_container_read(c, v, out, &err);
        free(out);
    }
    snprintf(copy, sizeof copy, "%s/copy", dir);
    sk_container_copy(c, copy, 0, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char path[128];
    struct sk_container *c = NULL;
    if (!*dir && begin())
        return 0;
    uint8_t *p = n >= SK_SKC_HEADER_BYTES + SK_SKC_TRAILER_BYTES ? malloc(n) : NULL;
    if (!p)
        return 0;
    memcpy(p, data, n);
    mend_container(p, n);
    snprintf(path, sizeof path, "%s/delta", dir);
    int fd = sk_io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600, NULL);
    int rc = fd < 0 ? fd : sk_io_write(fd, path, p, n, NULL);
    if (fd >= 0)
        close(fd);
    if (!rc && !sk_lineage_open_file(path, dir, &c, NULL)) {
        read_all(c);
        sk_container_close(c);
    }
    free(p);
    return 0;
}
