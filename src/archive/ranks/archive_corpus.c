/* Makes the corpora of reader_fuzz, index_fuzz, block_fuzz and wire_fuzz: archive_corpus
 * tests/corpus */
#include "archive/coding/block.h"
#include "archive/plan/listing.h"
#include "archive/coding/block_case.h"
#include "archive/ranks/wire/wire.h"
#include "base/file/io.h"
#include "reader/hdf5.h"
#include "reader/scan.h"

#include <hdf5.h>
#include <stdio.h>

static const char *dir;

static void save(const char *name, const void *head, size_t n_head, const void *data, size_t n)
{
    char path[512];
    struct sk_buf b = {0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    *strrchr(path, '/') = 0;
    sk_io_mkdirs(path, NULL);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    sk_buf_put(&b, head, n_head);
    sk_buf_put(&b, data, n);
    sk_io_replace(path, b.data, b.len, NULL);
    sk_buf_free(&b);
}

static void hdf5(int chunked, int latest)
{
    char path[512];
    hsize_t dims[2] = {4, 5}, chunk[2] = {2, 3};
    double v[20] = {1, 2, 3};
    void *data = NULL;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/tmp.h5", dir);
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), plist = H5Pcreate(H5P_DATASET_CREATE);
    if (latest)
        H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    if (chunked)
        H5Pset_chunk(plist, 2, chunk);
    hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl),
          s = H5Screate_simple(2, dims, NULL);
    hid_t g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t d = H5Dcreate2(g, "v", H5T_IEEE_F64LE, s, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    H5Dclose(d);
    H5Gclose(g);
    H5Sclose(s);
    H5Fclose(f);
    sk_io_slurp(path, 1 << 20, &data, &n, NULL);
    snprintf(path, sizeof path, "reader_fuzz/hdf5-%d%d", chunked, latest);
    save(path, "\1", 1, data, n);
    free(data);
    snprintf(path, sizeof path, "%s/tmp.h5", dir);
    remove(path);
}

/* What the process of the HDF5 library says. */
static void contents(void)
{
    struct sk_hdf5 h = {0};
    struct sk_buf b = {0};
    struct sk_hdf5_dataset d = {.type = SAIKAI_F64, .ndims = 2, .dims = {4, 5}, .chunk = {2, 3}, .layout = SK_HDF5_CHUNKS};
    struct sk_hdf5_dataset *to = sk_hdf5_add(&h, &d, "g/v");
    for (uint64_t i = 0; to && i < 4; i++)
        sk_hdf5_add_piece(to, 2048 + 48 * i, 48);
    d = (struct sk_hdf5_dataset){.ndims = 20};
    sk_hdf5_add(&h, &d, "text");
    sk_hdf5_encode(&h, &b);
    save("reader_fuzz/hdf5-contents", "\5", 1, b.data, b.len);
    sk_buf_free(&b);
    sk_hdf5_free(&h);
}

static void readers(void)
{
    static const uint8_t cdf1[] = {
        0, 'C', 'D', 'F', 1, 0, 0, 0, 2,   0, 0, 0,   10, 0, 0, 0, 2, 0,  0, 0, 1, 't', 0, 0, 0,
        0, 0,   0,   0,   0, 0, 0, 1, 'x', 0, 0, 0,   0,  0, 0, 3, 0, 0,  0, 0, 0, 0,   0, 0, 0,
        0, 0,   11,  0,   0, 0, 1, 0, 0,   0, 1, 'v', 0,  0, 0, 0, 0, 0,  2, 0, 0, 0,   0, 0, 0,
        0, 1,   0,   0,   0, 0, 0, 0, 0,   0, 0, 0,   0,  6, 0, 0, 0, 24, 0, 0, 0, 112};
    uint8_t fortran[8300] = {3}, nicam[1200] = {2}, lammps[200] = {2};
    uint32_t n = 8240;
    save("reader_fuzz/netcdf", NULL, 0, cdf1, sizeof cdf1);
    memcpy(fortran + 1, &n, 4);
    memcpy(fortran + 5 + n, &n, 4);
    save("reader_fuzz/fortran", NULL, 0, fortran, 9 + n);
    nicam[0] = 3;
    memcpy(nicam + 1, "INITIAL/RESTART", 15);
    memcpy(nicam + 353, "tem", 3);
    memcpy(nicam + 353 + 368, "\0\0\0\0\0\0\0\x20\0\0\0\1\0\0\0\1", 16);
    save("reader_fuzz/nicam", NULL, 0, nicam, 1 + 352 + 404 + 32);
    memcpy(lammps + 1, "\x2e\0\0\0\1\0\0\0\x2f\0\0\0\x0b\0\0\0", 16);
    save("reader_fuzz/lammps", NULL, 0, lammps, 1 + 16 + 88);
    hdf5(0, 0);
    hdf5(1, 0);
    hdf5(0, 1);
    contents();
}

/* own: with a block that takes the last bytes of each file from the one before. */
static void index_of(int files, int own)
{
    enum { SKELETON = 10 };
    struct sk_ska a = {0};
    struct sk_ska_class c = {"g/v_f64_array", SAIKAI_F64, 1, 0}, b = {"skeleton", SAIKAI_U8, 0, 0};
    struct sk_buf out = {0}, head = {0};
    for (int i = 0; i < files; i++) {
        char name[32];
        snprintf(name, sizeof name, "d/f%d", i);
        sk_ska_add_file(&a, &(struct sk_ska_file){
                                .name = name, .size_bytes = SKELETON + 48 + (own ? SKELETON : 0), .mode = 0644, .mtime_ns = 1});
    }
    sk_ska_add_class(&a, &c);
    sk_ska_add_class(&a, &b);
    sk_ska_add_block(&a);
    for (int k = 0; k < 2; k++) {
        sk_ska_add_part(&a, (uint32_t)k);
        for (int i = 0; i < files; i++)
            sk_ska_add_segment(&a, &(struct sk_ska_segment){(uint32_t)i, k ? 0 : 10,
                                                            k ? (struct sk_stencil_box){1, 1, 10}
                                                              : (struct sk_stencil_box){1, 2, 3},
                                                            7});
        sk_ska_close_part(&a);
    }
    sk_ska_close_block(&a);
    if (own) {
        sk_ska_add_block(&a);
        sk_ska_add_part(&a, 1);
        for (int i = 0; i < files; i++)
            sk_ska_add_segment(&a, &(struct sk_ska_segment){(uint32_t)i, SKELETON + 48, {1, 1, SKELETON}, 7});
        sk_ska_close_part(&a);
        sk_ska_close_block(&a);
        a.blocks[1].offset = 116;
        a.blocks[1].stored_bytes = 50;
        a.blocks[1].own = 1;
    }
    a.blocks[0].offset = 16;
    a.blocks[0].stored_bytes = 100;
    sk_ska_put_raw_index(&out, &a);
    char name[64];
    snprintf(name, sizeof name, "index_fuzz/%s-%d", own ? "own" : "files", files);
    save(name, NULL, 0, out.data, out.len);
    sk_buf_free(&out);
    sk_buf_free(&head);
    sk_ska_free(&a);
}

static void messages(void)
{
    struct sk_listed l = {.name = strdup("d/a.nc"), .size_bytes = 100, .mode = 0644, .origin = 3};
    struct sk_extent e = {
        .offset = 8, .length = 48, .type = SAIKAI_F64, .ndims = 2, .dims = {2, 3}};
    struct sk_ska_range r[] = {{0, 2, 8, NULL}, {2, 100, 5000, NULL}};
    struct sk_buf out = {0};
    sk_scan_add(&l.scan, &e, "g/v");
    sk_chunks_add(&l.chunks, &(struct sk_file_chunk){77, 60, 1});
    sk_chunks_add(&l.chunks, &(struct sk_file_chunk){78, 40, 0});
    sk_wire_put_list(&out, &l, 1);
    save("wire_fuzz/list", "l", 1, out.data, out.len);
    out.len = 0;
    sk_wire_put_ranges(&out, r, 2, 0);
    save("wire_fuzz/ranges", "r", 1, out.data, out.len);
    sk_buf_free(&out);
    sk_listed_free(&l);
}

static void block(const char *name, int type, int fields, const struct sk_recipe *recipes)
{
    struct block_case b = {.count = 2};
    struct sk_coder c = {0};
    struct sk_buf head = {0}, out = {0};
    for (int i = 0; i < 2; i++) {
        b.segments[i][0].box = (struct sk_stencil_box){3, 4, 7};
        b.segments[i][1].box = (struct sk_stencil_box){1, 2, 7};
        b.parts[i] =
            (struct sk_part){.type = type, .fields = fields, .segments = b.segments[i], .count = 2};
        b.parts[i].size_bytes = 98 * sk_type_size(type);
        b.parts[i].raw = calloc(1, b.parts[i].size_bytes);
        for (size_t v = 0; v < 98; v++) {
            double x = v % 5 ? (double)(i + 2) * (1 + (double)v * 0.01) : 0;
            float y = (float)x;
            memcpy(b.parts[i].raw + v * sk_type_size(type),
                   type == SAIKAI_F64 ? (void *)&x : (void *)&y,
                   sk_type_size(type) < 8 ? sk_type_size(type) : 8);
        }
    }
    case_write(&b, &head);
    sk_block_encode(&c, b.parts, 2, recipes, &out, NULL);
    save(name, head.data, head.len, out.data, out.len);
    sk_buf_free(&head);
    sk_buf_free(&out);
    sk_coder_free(&c);
    case_free(&b);
}

/* The part that the fuzzer lets blocks come after, for forms that do. */
static void begin_after(struct sk_coder *c, int form)
{
    if (sk_form_after(form) || form == SK_FORM_COPIES)
        c->previous = case_previous();
}

/* Numbers as text, with other bytes between them. */
static void text_block(const char *name, int form)
{
    static const char text[] = "id x\n   1 -0.25 1.5e-05\n  12  7.125 +2.5E+10\n\n 113 -0.0 .5\n\1\3 7 x9 00012 5.\r\n";
    struct block_case b = {.count = 1};
    struct sk_recipe r = {.form = form, .backend = SK_BACKEND_ZSTD};
    struct sk_coder c = {0};
    struct sk_buf head = {0}, out = {0};
    b.segments[0][0].box = (struct sk_stencil_box){4, 16, 32};
    b.parts[0] = (struct sk_part){.type = SAIKAI_U8, .segments = b.segments[0], .count = 1, .size_bytes = 4 * 16 * 32};
    b.parts[0].raw = malloc(b.parts[0].size_bytes);
    for (size_t i = 0; i < b.parts[0].size_bytes; i++)
        b.parts[0].raw[i] = (uint8_t)text[i % (sizeof text - 1)];
    begin_after(&c, form);
    case_write(&b, &head);
    sk_block_encode(&c, b.parts, 1, &r, &out, NULL);
    save(name, head.data, head.len, out.data, out.len);
    sk_buf_free(&head);
    sk_buf_free(&out);
    sk_coder_free(&c);
    case_free(&b);
}

/* Rows of a whole number and two others, in one piece, or steps of 150 numbers. */
static void rows_block(const char *name, int form)
{
    struct block_case b = {.count = 1};
    struct sk_recipe r = {.form = form, .backend = SK_BACKEND_ZSTD};
    struct sk_coder c = {0};
    struct sk_buf head = {0}, out = {0};
    b.segments[0][0].box = (struct sk_stencil_box){4, 48, 32};
    b.parts[0] = (struct sk_part){.type = SAIKAI_U8, .segments = b.segments[0], .count = 1, .size_bytes = 4 * 48 * 32};
    b.parts[0].raw = malloc(b.parts[0].size_bytes);
    for (size_t i = 0; form == SK_FORM_FRAMES && i < b.parts[0].size_bytes / 4; i++) {
        float x = 3 + 0.01f * (float)(i % 150 * 37 % 101) + 1e-4f * (float)(i / 150);
        memcpy(b.parts[0].raw + 4 * i, &x, 4);
    }
    for (size_t i = 0; form != SK_FORM_FRAMES && i < b.parts[0].size_bytes / 16; i++) {
        uint32_t word[2] = {(uint32_t)i, (uint32_t)(i * i % 977)};
        double x = 3 + 0.001 * (double)i;
        memcpy(b.parts[0].raw + 16 * i, word, 8);
        memcpy(b.parts[0].raw + 16 * i + 8, &x, 8);
    }
    begin_after(&c, form);
    case_write(&b, &head);
    sk_block_encode(&c, b.parts, 1, &r, &out, NULL);
    save(name, head.data, head.len, out.data, out.len);
    sk_buf_free(&head);
    sk_buf_free(&out);
    sk_coder_free(&c);
    case_free(&b);
}

/* What the block before has, in another order and with a new byte now and then. */
static void copies_block(const char *name)
{
    struct block_case b = {.count = 1};
    struct sk_recipe r = {.form = SK_FORM_COPIES, .backend = SK_BACKEND_ZSTD};
    struct sk_coder c = {0};
    struct sk_buf head = {0}, out = {0};
    const struct sk_part *known = case_previous()[0];
    b.segments[0][0].box = (struct sk_stencil_box){2, 3, 32};
    b.parts[0] = (struct sk_part){.type = SAIKAI_U8, .segments = b.segments[0], .count = 1, .size_bytes = 2 * 3 * 32};
    b.parts[0].raw = malloc(b.parts[0].size_bytes);
    for (size_t i = 0; i < b.parts[0].size_bytes; i++)
        b.parts[0].raw[i] = i % 31 == 30 ? (uint8_t)(i * 7) : known->raw[(i + i / 32 * 17) % known->size_bytes];
    begin_after(&c, SK_FORM_COPIES);
    case_write(&b, &head);
    sk_block_encode(&c, b.parts, 1, &r, &out, NULL);
    save(name, head.data, head.len, out.data, out.len);
    sk_buf_free(&head);
    sk_buf_free(&out);
    sk_coder_free(&c);
    case_free(&b);
}

static void blocks(void)
{
    struct sk_recipe r[2] = {
        {.form = SK_FORM_PREDICT, .backend = SK_BACKEND_ZSTD, .stencil = SK_STENCIL_FITTED},
        {.form = SK_FORM_PREDICT, .backend = SK_BACKEND_ZSTD, .stencil = SK_STENCIL_XYZ}};
    r[1].relation = (struct sk_relation){.kind = SK_RELATION_QUOTIENT, .num = 1, .den = 1};
    r[1].relation.term[0] = (struct sk_term){1.5, 0, -1};
    r[1].relation.under[0] = (struct sk_term){1, -1, -1};
    block("block_fuzz/quotient", SAIKAI_F64, 0, r);
    block("block_fuzz/floats", SAIKAI_F32, 0, r);
    r[1].relation = (struct sk_relation){.kind = SK_RELATION_COLUMNS, .num = 2};
    r[1].relation.term[1] = (struct sk_term){1, 0, -1};
    block("block_fuzz/columns", SAIKAI_F64, 0, r);
    r[0] = r[1] = (struct sk_recipe){.form = SK_FORM_FIELDS, .backend = SK_BACKEND_ZSTD};
    block("block_fuzz/fields", SAIKAI_F64, 1, r);
    r[0] = (struct sk_recipe){
        .form = SK_FORM_BYTES, .backend = SK_BACKEND_ZSTD, .filter = SK_FILTER_DELTA4_SHUFFLE4};
    r[1] = (struct sk_recipe){.form = SK_FORM_RECORDS, .backend = SK_BACKEND_GZIP};
    block("block_fuzz/bytes", SAIKAI_U8, 0, r);
    r[0] = r[1] =
        (struct sk_recipe){.form = SK_FORM_CODEC, .backend = SK_BACKEND_ZSTD, .codec = "gzip"};
    block("block_fuzz/codec", SAIKAI_F64, 0, r);
    /* of 48 bytes that another block has, or of none */
    static const struct sk_take takes[] = {{0, 0, 48}, {0, 1, 47}, {0, 45, 3}};
    r[0] = (struct sk_recipe){.form = SK_FORM_TAKE, .backend = SK_BACKEND_ZSTD, .takes = takes, .take_count = 3};
    r[1] = (struct sk_recipe){.form = SK_FORM_BYTES, .backend = SK_BACKEND_ZSTD};
    block("block_fuzz/takes", SAIKAI_U8, 0, r);
    r[1] = r[0];
    block("block_fuzz/takes-only", SAIKAI_U8, 0, r);
    static struct sk_take single[98];
    for (uint64_t i = 0; i < 98; i++)
        single[i] = (struct sk_take){0, i % 48, 1};
    r[0].takes = single;
    r[0].take_count = 98;
    block("block_fuzz/takes-of-one", SAIKAI_U8, 0, r);
    text_block("block_fuzz/text", SK_FORM_TEXT);
    text_block("block_fuzz/labelled", SK_FORM_LABELLED);
    rows_block("block_fuzz/rows", SK_FORM_ROWS);
    text_block("block_fuzz/text_after", SK_FORM_TEXT_AFTER);
    text_block("block_fuzz/labelled_after", SK_FORM_LABELLED_AFTER);
    rows_block("block_fuzz/rows_after", SK_FORM_ROWS_AFTER);
    rows_block("block_fuzz/frames", SK_FORM_FRAMES);
    copies_block("block_fuzz/copies");
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    dir = argv[1];
    readers();
    index_of(1, 0);
    index_of(3, 0);
    index_of(3, 1);
    blocks();
    messages();
    return 0;
}
