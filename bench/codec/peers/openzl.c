/* openzl TYPE IN OUT: one array as numbers, by each of the graphs that OpenZL's automated explorer
 * begins with and by those that its numeric selector chooses among; the smallest is kept. Exit code
 * 0 when it comes back. Built by hand against OpenZL (README.md). */
#include "openzl/openzl.h"
#include "openzl/compress/private_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPHS = 25, LEVEL = 9 };

struct builder {
    ZL_Compressor *c;
    int is_float, width;
};

static ZL_GraphID then(const struct builder *b, ZL_NodeID node, ZL_GraphID next)
{
    return ZL_Compressor_registerStaticGraph_fromNode1o(b->c, node, next);
}

/* A node of several outputs, all of which go on as `next`. */
static ZL_GraphID then_all(const struct builder *b, ZL_NodeID node, ZL_GraphID next)
{
    return ZL_Compressor_registerStaticGraph_fromNode(b->c, node, &next, 1);
}

static ZL_GraphID transposed(const struct builder *b, ZL_GraphID next)
{
    return then(b, ZL_NODE_CONVERT_NUM_TO_STRUCT_LE, ZL_Compressor_registerTransposeSplitGraph(b->c, next));
}

static ZL_GraphID tokens(const struct builder *b, int sorted, ZL_GraphID alphabet, ZL_GraphID indices)
{
    return ZL_Compressor_registerTokenizeGraph(b->c, ZL_Type_numeric, sorted, alphabet, indices);
}

static ZL_GraphID deconstructed(const struct builder *b)
{
    ZL_GraphID next[2] = {ZL_Compressor_registerTransposeSplitGraph(b->c, ZL_GRAPH_ZSTD), ZL_GRAPH_ENTROPY};
    return ZL_Compressor_registerStaticGraph_fromNode(b->c, ZL_NODE_FLOAT32_DECONSTRUCT, next, 2);
}

static ZL_GraphID of_numbers(const struct builder *b, int k)
{
    const ZL_GraphID lz = ZL_GRAPH_FIELD_LZ, delta = then(b, ZL_NODE_DELTA_INT, lz), bytes = transposed(b, ZL_GRAPH_ZSTD),
                     entropy = transposed(b, ZL_GRAPH_ENTROPY), delta_bytes = then(b, ZL_NODE_DELTA_INT, bytes);
    switch (k) {
    case 0:
        return lz;
    case 1:
        return ZL_GRAPH_ZSTD;
    case 2:
        return delta;
    case 3:
        return bytes;
    case 4:
        return delta_bytes;
    case 5:
        return tokens(b, 1, delta, lz);
    case 6:
        return tokens(b, 0, lz, lz);
    case 7:
        return then(b, ZL_NODE_DELTA_INT, then(b, ZL_NODE_ZIGZAG, lz));
    case 8:
        return then(b, ZL_NODE_ZIGZAG, lz);
    case 9:
        return then(b, ZL_NODE_RANGE_PACK, lz);
    case 10:
        return then(b, ZL_NODE_RANGE_PACK, delta);
    case 11:
        return ZL_GRAPH_RANGE_PACK;
    case 12:
        return ZL_GRAPH_RANGE_PACK_ZSTD;
    case 13:
        return ZL_GRAPH_TOKENIZE_DELTA_FIELD_LZ;
    case 14:
        return entropy;
    case 15:
        return then(b, ZL_NODE_DELTA_INT, entropy);
    case 16:
        return b->is_float && b->width == 4 ? deconstructed(b) : lz;
    case 17:
        return b->is_float ? then_all(b, ZL_NODE_BITSPLIT_FP, ZL_GRAPH_ENTROPY) : lz;
    case 18:
        return b->is_float ? then_all(b, ZL_NODE_BITSPLIT_FP, lz) : lz;
    case 19:
        return tokens(b, 1, delta, ZL_GRAPH_ZSTD);
    case 20:
        return tokens(b, 1, delta, entropy);
    case 21:
        return tokens(b, 1, delta_bytes, bytes);
    case 22:
        return tokens(b, 1, delta_bytes, delta);
    case 23:
        return ZL_GRAPH_BITPACK;
    default:
        return ZL_GRAPH_COMPRESS_GENERIC;
    }
}

static ZL_NodeID numbers_of_bytes(int width)
{
    return width == 1   ? ZL_NODE_CONVERT_SERIAL_TO_NUM8
           : width == 2 ? ZL_NODE_CONVERT_SERIAL_TO_NUM_LE16
           : width == 4 ? ZL_NODE_CONVERT_SERIAL_TO_NUM_LE32
                        : ZL_NODE_CONVERT_SERIAL_TO_NUM_LE64;
}

/* Bytes of the code, 0: this graph does not take it, or it does not come back. */
static size_t run(struct builder *b, int k, const char *x, size_t size, char *out, size_t cap, char *back)
{
    ZL_CCtx *c = ZL_CCtx_create();
    size_t made = 0;
    b->c = ZL_Compressor_create();
    ZL_Compressor_setParameter(b->c, ZL_CParam_formatVersion, ZL_MAX_FORMAT_VERSION);
    ZL_Compressor_setParameter(b->c, ZL_CParam_compressionLevel, LEVEL);
    ZL_Compressor_setParameter(b->c, ZL_CParam_permissiveCompression, ZL_TernaryParam_enable);
    ZL_GraphID g = of_numbers(b, k);
    ZL_Report r = ZL_Compressor_selectStartingGraphID(b->c, k < GRAPHS - 1 ? then(b, numbers_of_bytes(b->width), g) : g);
    r = ZL_isError(r) ? r : ZL_CCtx_refCompressor(c, b->c);
    r = ZL_isError(r) ? r : ZL_CCtx_compress(c, out, cap, x, size);
    if (!ZL_isError(r)) {
        made = ZL_validResult(r);
        r = ZL_decompress(back, size, out, made);
        made = ZL_isError(r) || memcmp(back, x, size) ? 0 : made;
    }
    ZL_CCtx_free(c);
    ZL_Compressor_free(b->c);
    return made;
}

static char *slurp(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *x = NULL;
    if (f && !fseek(f, 0, SEEK_END)) {
        *size = (size_t)ftell(f);
        rewind(f);
        x = malloc(*size + 1);
        if (x && fread(x, 1, *size, f) != *size)
            *size = 0;
    }
    if (f)
        fclose(f);
    return x;
}

int main(int argc, char **argv)
{
    size_t size = 0, best = 0;
    if (argc != 4)
        return 2;
    struct builder b = {.is_float = argv[1][0] == 'f', .width = atoi(argv[1] + 1) / 8};
    char *x = slurp(argv[2], &size);
    size_t cap = ZL_compressBound(size) + 65536;
    char *out = malloc(cap), *keep = malloc(cap), *back = malloc(size + 1);
    if (!x || !size || !out || !keep || !back)
        return 2;
    for (int k = 0; k < GRAPHS; k++) {
        size_t made = run(&b, k, x, size, out, cap, back);
        if (made && (!best || made < best))
            memcpy(keep, out, best = made);
    }
    FILE *f = fopen(argv[3], "wb");
    if (!best || !f || fwrite(keep, 1, best, f) != best || fclose(f))
        return 1;
    return 0;
}
