/* Makes the golden files of a format version: containers and state files, good ones and corrupt
 * ones, and EXPECTED, which says for each what a reader must find. usage: make_golden VERSION DIR
 *
 * Run once for a version of the format; the files are kept for ever, so that every later Saikai
 * proves that it still reads them (golden_test.c). Nothing here depends on time or machine: all but
 * the coded containers, whose bytes are those of the compression library, come out the same again,
 * and the test compares them. */
#include "golden.h"

#include "base/hash.h"
#include "base/file/io.h"
#include "store/state.h"
#include "store/form/coded.h"

#include <stdlib.h>

enum { MOST = 65536, PIECES = 14 };

static const char *root;
static FILE *expected;

static uint8_t data[PIECES][4096];

static struct sk_skc_header header(void)
{
    return (struct sk_skc_header){.run_id = 0x0123456789abcdef,
                                  .iteration = 1200,
                                  .place = 3,
                                  .incarnation = 2,
                                  .rank = 1,
                                  .nranks = 4,
                                  .created_ms = 1700000000000};
}

static void fail(const char *what)
{
    fprintf(stderr, "make_golden: %s\n", what);
    exit(1);
}

/* Keep the file, in a folder of its kind, with the verdict on it: "good", or the name of the error and a part of its
 * sentence. */
static void keep(const char *name, const void *bytes, size_t n, const char *verdict)
{
    const char *kind = strstr(name, ".state") ? "state" : strncmp(name, "bad-", 4) ? "good" : "bad";
    char path[4096];
    struct saikai_error err = {0};
    snprintf(path, sizeof path, "%s/%s", root, kind);
    if (sk_io_mkdirs(path, &err))
        fail(err.text);
    snprintf(path, sizeof path, "%s/%s/%s", root, kind, name);
    if (sk_io_replace(path, bytes, n, &err))
        fail(err.text);
    fprintf(expected, "%s/%s %s\n", kind, name, verdict);
}

static struct sk_piece piece(int k, const char *name, int type, int ndims, const size_t *dims,
                             int kind)
{
    struct sk_piece p = {.type = type, .ndims = ndims, .kind = kind, .data = data[k]};
    size_t count = 1;
    for (int d = 0; d < ndims; d++) {
        p.dims[d] = dims[d];
        count *= dims[d];
    }
    snprintf(p.name, sizeof p.name, "%s", name);
    p.size_bytes = count * sk_type_size(type);
    golden_fill(type, p.size_bytes, data[k]);
    return p;
}

/* Write through the library and read the bytes back. */
static size_t write_pieces(const struct sk_skc_header *h, const struct sk_piece *p,
                           const struct sk_coding *coding, size_t count, uint8_t *out)
{
    char path[4096];
    struct saikai_error err = {0};
    void *bytes;
    size_t n;
    snprintf(path, sizeof path, "%s/making.tmp", root);
    if (sk_container_write(path, h, p, coding, count, 0, NULL, NULL, &err) ||
        sk_io_slurp(path, MOST, &bytes, &n, &err))
        fail(err.text);
    memcpy(out, bytes, n);
    free(bytes);
    sk_io_unlink(path, NULL);
    return n;
}

/* One variable of each type, a scalar, an empty one, one of eight dimensions, a stream and a file.
 */
static size_t make_types(uint8_t *out)
{
    struct sk_piece p[PIECES];
    struct sk_skc_header h = header();
    int k = 0;
    for (int t = SAIKAI_U8; t <= SAIKAI_F64; t++, k++)
        p[k] = piece(k, sk_type_name(t), t, 2, (size_t[]){3, (size_t)t}, SK_SKC_MEMORY);
    p[k] = piece(k, "scalar", SAIKAI_C128, 0, NULL, SK_SKC_MEMORY), k++;
    p[k] = piece(k, "empty", SAIKAI_F32, 2, (size_t[]){0, 5}, SK_SKC_MEMORY), k++;
    p[k] = piece(k, "eight", SAIKAI_C64, 8, (size_t[]){2, 1, 2, 1, 2, 1, 2, 3}, SK_SKC_MEMORY), k++;
    p[k] = piece(k, "log", SAIKAI_U8, 1, (size_t[]){77}, SK_SKC_STREAM), k++;
    return write_pieces(&h, p, NULL, (size_t)k, out);
}

static size_t make_delta(uint8_t *out)
{
    struct sk_skc_header h = header();
    h.flags = 5;
    h.base_iteration = 1100;
    h.base_place = 1;
    h.base_incarnation = 2;
    struct sk_piece p = piece(0, "out.dat", SAIKAI_U8, 1, (size_t[]){100}, SK_SKC_FILE);
    return write_pieces(&h, &p, NULL, 1, out);
}

/* Parts of a container put together by hand, with right checksums unless told otherwise. */
static size_t assemble(const struct sk_skc_header *h, const struct sk_skc_index *x,
                       const uint8_t *chunks, uint64_t index_offset, uint8_t *out)
{
    struct sk_buf b = {0};
    sk_skc_encode_index(x, &b);
    memset(out, 0, MOST);
    memcpy(out + SK_SKC_HEADER_BYTES, chunks, index_offset - SK_SKC_HEADER_BYTES);
    sk_skc_encode_header(h, out);
    memcpy(out + index_offset, b.data, b.len);
    struct sk_skc_trailer t = {index_offset + b.len + SK_SKC_TRAILER_BYTES, index_offset, b.len,
                               sk_hash64(b.data, b.len)};
    sk_skc_encode_trailer(&t, out + index_offset + b.len);
    sk_buf_free(&b);
    return t.file_bytes;
}

/* Variables "a" of three chunks and "b" of one: what a writer with smaller chunks makes. Each fault
 * is that of an index whose checksum is right. */
static void make_chunked(uint8_t *out)
{
    uint8_t raw[320] = {0};
    struct sk_skc_var v[2] = {
        {.name = "a",
         .type = SAIKAI_F64,
         .ndims = 1,
         .raw_bytes = 240,
         .dims = {30},
         .chunk_count = 3},
        {.name = "b",
         .type = SAIKAI_I32,
         .ndims = 1,
         .raw_bytes = 40,
         .dims = {10},
         .first_chunk = 3,
         .chunk_count = 1},
    };
    golden_fill(SAIKAI_F64, 240, raw);
    golden_fill(SAIKAI_I32, 40, raw + 256);
    struct sk_skc_chunk c[4] = {
        {128, 80, 80, sk_hash64(raw, 80)},
        {208, 80, 80, sk_hash64(raw + 80, 80)},
        {288, 80, 80, sk_hash64(raw + 160, 80)},
        {384, 40, 40, sk_hash64(raw + 256, 40)},
    };
    struct sk_skc_index x = {.var_count = 2, .chunk_count = 4, .vars = v, .chunks = c};
    struct sk_skc_header h = header();
    keep("good-small-chunks.skc", out, assemble(&h, &x, raw, 448, out), "good");

    struct sk_skc_var v0 = v[0], v1 = v[1];
    struct sk_skc_chunk c1 = c[1], c3 = c[3];
    strcpy(v[1].name, "a");
    keep("bad-name-twice.skc", out, assemble(&h, &x, raw, 448, out), "EDAMAGED names 'a' twice");
    v[1] = v1;
    v[0].dims[0] = 31;
    keep("bad-dimensions.skc", out, assemble(&h, &x, raw, 448, out),
         "EDAMAGED describes variable 'a' wrongly");
    v[0] = v0;
    v[0].type = 99;
    keep("bad-type.skc", out, assemble(&h, &x, raw, 448, out),
         "EDAMAGED describes variable 'a' wrongly");
    v[0] = v0;
    v[0].chunk_count = 2;
    keep("bad-chunk-count.skc", out, assemble(&h, &x, raw, 448, out), "EDAMAGED do not add up");
    v[0] = v0;
    c[1].offset = 200;
    keep("bad-chunks-overlap.skc", out, assemble(&h, &x, raw, 448, out),
         "EDAMAGED chunk 1 lies outside");
    c[1] = c1;
    c[3].stored_bytes = 4000;
    keep("bad-chunk-outside.skc", out, assemble(&h, &x, raw, 448, out),
         "EDAMAGED chunk 3 lies outside");
    c[3] = c3;
    c[3].hash++;
    keep("bad-chunk-checksum.skc", out, assemble(&h, &x, raw, 448, out), "EDAMAGED variable 'b'");
    c[3] = c3;
    c[1].stored_bytes = 79;
    c[1].hash = sk_hash64(raw + 80, 79);
    keep("bad-plain-chunk-size.skc", out, assemble(&h, &x, raw, 448, out), "EDAMAGED variable 'a'");
    c[1] = c1;
    strcpy(v[0].codec, "zstd");
    keep("bad-coded-in-three.skc", out, assemble(&h, &x, raw, 448, out),
         "EDAMAGED has 3 chunks instead of one");
    v[0] = v0;
    strcpy(v[1].codec, "zstd");
    keep("bad-frame.skc", out, assemble(&h, &x, raw, 448, out), "EDAMAGED b");
    v[1] = v1;
    h.rank = 4;
    keep("bad-rank.skc", out, assemble(&h, &x, raw, 448, out), "EDAMAGED rank 4 of 4");
}

static void flip(const char *name, const uint8_t *good, size_t n, size_t at, const char *verdict)
{
    uint8_t *copy = malloc(n);
    if (!copy)
        fail("no memory");
    memcpy(copy, good, n);
    copy[at] ^= 0x10;
    keep(name, copy, n, verdict);
    free(copy);
}

static void make_damaged(uint8_t *good, size_t n)
{
    uint64_t index;
    memcpy(&index, good + n - SK_SKC_TRAILER_BYTES + 16, 8);
    flip("bad-magic.skc", good, n, 0, "EFORMAT of a Saikai container is not there");
    flip("bad-header-bit.skc", good, n, 33, "EDAMAGED header is damaged");
    flip("bad-chunk-bit.skc", good, n, 128, "EDAMAGED variable 'u8'");
    flip("bad-index-bit.skc", good, n, (size_t)index + 20, "EDAMAGED index is damaged");
    flip("bad-trailer-bit.skc", good, n, n - 20, "EDAMAGED trailer is damaged");
    flip("bad-trailer-magic.skc", good, n, n - SK_SKC_TRAILER_BYTES,
         "EDAMAGED truncated, or never finished");
    keep("bad-empty.skc", good, 0, "EDAMAGED truncated, or no container");
    keep("bad-half.skc", good, n / 2, "EDAMAGED truncated, or never finished");
    keep("bad-one-byte-less.skc", good, n - 1, "EDAMAGED truncated, or never finished");
    good[n] = 0;
    keep("bad-one-byte-more.skc", good, n + 1, "EDAMAGED truncated, or never finished");
    uint32_t version = 2;
    memcpy(good + 8, &version, 4);
    uint64_t hash = sk_hash64(good, SK_SKC_HEADER_BYTES - 8);
    memcpy(good + SK_SKC_HEADER_BYTES - 8, &hash, 8);
    keep("bad-later-version.skc", good, n, "EFORMAT container version 2");
}

static void make_coded(uint8_t *out)
{
    struct sk_piece p[3] = {
        piece(0, "u", SAIKAI_F64, 3, (size_t[]){8, 8, 8}, SK_SKC_MEMORY),
        piece(1, "step", SAIKAI_I64, 0, NULL, SK_SKC_MEMORY),
        piece(2, "log", SAIKAI_U8, 1, (size_t[]){900}, SK_SKC_STREAM),
    };
    static const char *const chains[] = {"gzip", "shuffle+zstd", "shuffle+lz4"};
    for (int i = 0; i < 3; i++) {
        char name[64];
        struct sk_skc_header h = header();
        const char *last = strrchr(chains[i], '+') ? strrchr(chains[i], '+') + 1 : chains[i];
        if (!sk_codec_find(last))
            continue; /* built without it: the files that were kept are not read either */
        /* small pieces, so that the frame has several */
        struct sk_coding how = {chains[i], {.threads = 1, .piece_bytes = 1024}};
        struct sk_coding coding[3] = {how, {0}, how};
        size_t n = write_pieces(&h, p, coding, 3, out);
        snprintf(name, sizeof name, "good-coded-%s.skc", last);
        keep(name, out, n, "good");
        if (i == 0)
            flip("bad-coded-piece-bit.skc", out, n, SK_SKC_HEADER_BYTES + 200, "EDAMAGED u");
    }
}

static void make_states(void)
{
    static const char good[] =
        "saikai-state 1\nincarnation 7\nfirst_incarnation 3\nfinished 1\n"
        "tried gen-0005-000000000900-0 2\ntried gen-0006-000000001000-63 1\n";
    static const char later[] = "saikai-state 2\nincarnation 7\n";
    char text[512];
    int n = snprintf(text, sizeof text, "%scheck %016llx\n", good,
                     (unsigned long long)sk_hash64(good, strlen(good)));
    keep("good.state", text, (size_t)n, "good");
    keep("bad-truncated.state", text, strlen(good), "EDAMAGED truncated");
    text[27] = '8'; /* another incarnation */
    keep("bad-checksum.state", text, (size_t)n, "EDAMAGED checksum is wrong");
    n = snprintf(text, sizeof text, "%scheck %016llx\n", later,
                 (unsigned long long)sk_hash64(later, strlen(later)));
    keep("bad-later-version.state", text, (size_t)n,
         "EFORMAT not a state file that this Saikai reads");
}

static void make_version_1(uint8_t *out)
{
    size_t n = make_types(out);
    keep("good-types.skc", out, n, "good");
    make_damaged(out, n);
    keep("good-delta-file.skc", out, make_delta(out), "good");
    make_chunked(out);
    make_coded(out);
    make_states();
}

/* ---- version 3: tiles of global arrays, replicated variables ---- */

static size_t make_tiles(uint8_t *out)
{
    static const struct sk_skc_tile u = {{12, 10, 8}, {3, 0, 5}}, none = {{12}, {12}};
    struct sk_skc_header h = header();
    struct sk_piece p[5] = {
        piece(0, "u", SAIKAI_F64, 3, (size_t[]){4, 10, 3}, SK_SKC_MEMORY),
        piece(1, "none", SAIKAI_I16, 1, (size_t[]){0}, SK_SKC_MEMORY),
        piece(2, "step", SAIKAI_I64, 0, NULL, SK_SKC_MEMORY),
        piece(3, "log", SAIKAI_U8, 1, (size_t[]){77}, SK_SKC_STREAM),
        piece(4, "own", SAIKAI_F32, 1, (size_t[]){5}, SK_SKC_MEMORY),
    };
    p[0].scope = p[1].scope = SK_SKC_GLOBAL;
    p[0].tile = u;
    p[1].tile = none;
    p[2].scope = p[3].scope = SK_SKC_REPLICATED;
    return write_pieces(&h, p, NULL, 5, out);
}

/* What is known against generations, and the restart that has not reached a candidate. */
static void make_marks(void)
{
    static const char good[] = "saikai-state 3\nincarnation 7\nfirst_incarnation 3\nfinished 1\n"
                               "tried gen-0005-000000000900-0 2 3 0 0000000000000000\n"
                               "tried gen-0006-000000001000-63 0 0 1 000000001234abcd\n"
                               "trying gen-0006-000000001100-0 7 0000000000000005\n";
    static const char old[] = "saikai-state 3\nincarnation 7\ntried gen-0005-000000000900-0 2\n";
    char text[512];
    int n = snprintf(text, sizeof text, "%scheck %016llx\n", good,
                     (unsigned long long)sk_hash64(good, strlen(good)));
    keep("good-marks.state", text, (size_t)n, "good");
    n = snprintf(text, sizeof text, "%scheck %016llx\n", old,
                 (unsigned long long)sk_hash64(old, strlen(old)));
    keep("bad-marks-of-version-1.state", text, (size_t)n, "EDAMAGED line 3");
}

static void set_version(uint8_t *header_bytes, uint32_t version)
{
    memcpy(header_bytes + 8, &version, 4);
    uint64_t hash = sk_hash64(header_bytes, SK_SKC_HEADER_BYTES - 8);
    memcpy(header_bytes + SK_SKC_HEADER_BYTES - 8, &hash, 8);
}

/* One variable, put together by hand: each way in which a tile can be wrong. */
static void make_bad_tiles(uint8_t *out)
{
    static uint8_t raw[256];
    struct sk_skc_var v = {.name = "a",
                           .type = SAIKAI_F64,
                           .ndims = 2,
                           .dims = {5, 6},
                           .raw_bytes = 240,
                           .chunk_count = 1,
                           .scope = SK_SKC_GLOBAL,
                           .tile = {{10, 6}, {5, 0}}};
    golden_fill(SAIKAI_F64, 240, raw);
    struct sk_skc_chunk c = {128, 240, 240, sk_hash64(raw, 240)};
    struct sk_skc_index x = {.var_count = 1, .chunk_count = 1, .vars = &v, .chunks = &c};
    struct sk_skc_header h = header();
    static const char outside[] = "EDAMAGED places variable 'a' outside";
    h.version = 3;
    keep("good-tile-by-hand.skc", out, assemble(&h, &x, raw, 384, out), "good");
    v.tile.offset[0] = 6;
    keep("bad-tile-outside.skc", out, assemble(&h, &x, raw, 384, out), outside);
    v.tile.offset[0] = UINT64_MAX;
    keep("bad-tile-offset.skc", out, assemble(&h, &x, raw, 384, out), outside);
    v.tile = (struct sk_skc_tile){{1ull << 40, 1ull << 40}, {0}};
    keep("bad-tile-too-large.skc", out, assemble(&h, &x, raw, 384, out), outside);
    v.tile = (struct sk_skc_tile){{10, 6}, {5, 0}};
    v.kind = SK_SKC_STREAM;
    keep("bad-tile-of-stream.skc", out, assemble(&h, &x, raw, 384, out), outside);
    v.kind = SK_SKC_MEMORY;
    v.scope = 3;
    keep("bad-scope.skc", out, assemble(&h, &x, raw, 384, out), "EDAMAGED index has the wrong length");
    v.scope = SK_SKC_GLOBAL;
    h.version = 1;
    keep("bad-tile-in-version-1.skc", out, assemble(&h, &x, raw, 384, out), "EDAMAGED of a later version than");
    size_t n = assemble(&h, &x, raw, 384, out);
    set_version(out, 4);
    keep("bad-later-version.skc", out, n, "EFORMAT container version 4");
}

/* ---- version 5 of containers, 3 of the state: the id of the store ---- */

static const struct sk_id store = {{0x10, 0x21, 0x32, 0x43, 0x54, 0x65, 0x76, 0x87, 0x98, 0xa9, 0xba, 0xcb, 0xdc, 0xed, 0xfe, 0x0f}};

static void make_stores(uint8_t *out)
{
    static const char good[] =
        "saikai-state 3\nstore 102132435465768798a9bacbdcedfe0f\nincarnation 7\nfirst_incarnation 3\nfinished 1\n"
        "run 0123456789abcdef\ntried gen-0005-000000000900-0 2 0 0 0000000000000000\n"
        "tried gen-0006-000000001000-63 1 0 0 0000000000000000\n";
    static const char bad[] = "saikai-state 3\nstore 102132435465768798a9bacbdcedfe0\nincarnation 7\n";
    char text[512];
    struct sk_skc_header h = header();
    h.store = store;
    struct sk_piece p = piece(0, "u", SAIKAI_F64, 1, (size_t[]){40}, SK_SKC_MEMORY);
    size_t n = write_pieces(&h, &p, NULL, 1, out);
    keep("good-store.skc", out, n, "good");
    set_version(out, 6);
    keep("bad-later-version.skc", out, n, "EFORMAT container version 6");
    memset(out + 72, 0, SK_ID_BYTES);
    set_version(out, 5);
    keep("bad-no-store.skc", out, n, "EDAMAGED the header names no store");
    int m = snprintf(text, sizeof text, "%scheck %016llx\n", good, (unsigned long long)sk_hash64(good, strlen(good)));
    keep("good.state", text, (size_t)m, "good");
    m = snprintf(text, sizeof text, "%scheck %016llx\n", bad, (unsigned long long)sk_hash64(bad, strlen(bad)));
    keep("bad-store.state", text, (size_t)m, "EDAMAGED line 2");
}

/* ---- version 4 of the state: what a start could not read ---- */

static void make_unread(void)
{
    char text[512];
    for (int version = 3; version < 5; version++) {
        int m = snprintf(text, sizeof text, "saikai-state %d\nincarnation 7\nfirst_incarnation 3\nunread_before 5\n", version);
        m += snprintf(text + m, sizeof text - (size_t)m, "check %016llx\n", (unsigned long long)sk_hash64(text, (size_t)m));
        keep(version == 3 ? "bad-unread-of-version-3.state" : "good-unread.state", text, (size_t)m,
             version == 3 ? "EDAMAGED line 4" : "good");
    }
}

int main(int argc, char **argv)
{
    static uint8_t out[MOST];
    char path[4096];
    if (argc != 3 || (strcmp(argv[1], "1") && strcmp(argv[1], "3") && strcmp(argv[1], "5") && strcmp(argv[1], "6")))
        return 2;
    root = argv[2];
    snprintf(path, sizeof path, "%s/EXPECTED", root);
    expected = fopen(path, "w");
    if (!expected)
        fail("cannot write EXPECTED");
    if (!strcmp(argv[1], "1")) {
        make_version_1(out);
    } else if (!strcmp(argv[1], "5")) {
        make_stores(out);
    } else if (!strcmp(argv[1], "6")) {
        make_unread();
    } else {
        keep("good-tiles.skc", out, make_tiles(out), "good");
        make_bad_tiles(out);
        make_marks();
    }
    return fclose(expected) ? 1 : 0;
}
