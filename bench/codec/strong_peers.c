/* Libraries are called on the whole array at once; programs get it as a file. */
#include "strong_peers.h"

#include "base/types.h"
#include "codec/array.h"
#include "peer_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of the code, 0: none. */
typedef size_t encoder(const void *in, size_t n, void *out, size_t cap);

#ifdef HAVE_ZSTD
#include <zstd.h>

/* As `zstd -19 --long=27`. */
static size_t zstd_19(const void *in, size_t n, void *out, size_t cap)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 19);
    ZSTD_CCtx_setParameter(c, ZSTD_c_enableLongDistanceMatching, 1);
    ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, 27);
    size_t made = ZSTD_compress2(c, out, cap, in, n);
    ZSTD_freeCCtx(c);
    return ZSTD_isError(made) ? 0 : made;
}
#else
#define zstd_19 NULL
#endif

#ifdef HAVE_LZMA
#include <lzma.h>

static size_t xz_9(const void *in, size_t n, void *out, size_t cap)
{
    size_t made = 0;
    return lzma_easy_buffer_encode(9, LZMA_CHECK_CRC64, NULL, in, n, out, &made, cap) == LZMA_OK ? made : 0;
}
#else
#define xz_9 NULL
#endif

static const struct {
    const char *name;
    encoder *encode; /* NULL with a program */
    int is_program;
} all[] = {{"zstd-19", zstd_19, 0}, {"xz-9", xz_9, 0}, {"pcodec", NULL, 1}, {"openzl", NULL, 1}};

const char *strong_peer_name(int i)
{
    return i < (int)(sizeof all / sizeof *all) ? all[i].name : NULL;
}

static size_t by_library(encoder *encode, const void *in, size_t n)
{
    size_t cap = 2 * n + 65536, made;
    void *out = malloc(cap);
    made = out ? encode(in, n, out, cap) : 0;
    free(out);
    return made;
}

static int write_file(const char *path, const void *in, size_t n)
{
    FILE *f = fopen(path, "wb");
    size_t put = f ? fwrite(in, 1, n, f) : 0;
    return !f || fclose(f) || put != n ? -1 : 0;
}

static size_t size_of_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    long n = f && !fseek(f, 0, SEEK_END) ? ftell(f) : 0;
    if (f)
        fclose(f);
    return n > 0 ? (size_t)n : 0;
}

/* FOLDER/NAME TYPE IN OUT; it looks itself whether the array comes back. */
static size_t by_program(const char *name, const struct sk_array *a, const void *in, size_t n, const char *peers)
{
    char dir[] = "strong-XXXXXX", from[64], to[64], command[4096];
    size_t made = 0;
    snprintf(command, sizeof command, "%s/%s", peers, name);
    if (access(command, X_OK) || !mkdtemp(dir))
        return 0;
    snprintf(from, sizeof from, "%s/in", dir);
    snprintf(to, sizeof to, "%s/out", dir);
    snprintf(command, sizeof command, "'%s/%s' %s %s %s >/dev/null 2>&1", peers, name, sk_type_name(a->type), from, to);
    if (!write_file(from, in, n) && !system(command))
        made = size_of_file(to);
    remove(from);
    remove(to);
    rmdir(dir);
    return made;
}

double strong_peer_ratio(int i, const char *name, const struct sk_array *a, const void *in, const char *peers,
                         const char *cache)
{
    size_t n = sk_array_size_bytes(a), made;
    double ratio = peer_cache_get(cache, name, all[i].name, 0);
    if (ratio >= 0 || (all[i].is_program ? !peers : !all[i].encode))
        return ratio > 0 ? ratio : 0;
    made = all[i].is_program ? by_program(all[i].name, a, in, n, peers) : by_library(all[i].encode, in, n);
    ratio = made ? (double)n / (double)made : 0;
    peer_cache_put(cache, name, all[i].name, 0, ratio);
    return ratio;
}
