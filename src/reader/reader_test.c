/* Readers find the variables of described formats, Fortran records, HDF5 files and containers, and
 * damaged files do no harm. */
#include "reader/hdf5.h"
#include "reader/reader.h"
#include "reader/scan.h"
#include "base/file/io.h"
#include "store/form/container.h"
#include "store/form/coded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef HAVE_HDF5
#include <hdf5.h>
#endif

#include <cmocka.h>

static struct sk_view source_of(const char *path, void **data)
{
    size_t n = 0;
    struct saikai_error err = {0};
    *data = NULL;
    if (sk_io_slurp(path, (size_t)1 << 30, data, &n, &err))
        fail_msg("%s", err.text);
    return (struct sk_view){.path = path, .data = *data, .size = n};
}

static const struct sk_extent *find(const struct sk_scan *s, const char *name, int nth)
{
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->extents[i].name, name) && nth-- == 0)
            return &s->extents[i];
    return NULL;
}

/* ---- described formats ---- */

static void a_description_is_followed(void **state)
{
    static const char text[] = "format test\n"
                               "magic 0 TEST\n"
                               "endian big # as the machine wrote it\n"
                               "skip 4\n"
                               "read n u16\n"
                               "text name 4\n"
                               "set side n root\n"
                               "repeat 2\n"
                               "  array $name f32 side side\n"
                               "end\n"
                               "array table f64 n/2 2 fields\n";
    uint8_t file[4 + 2 + 4 + 2 * 16 + 32] = "TEST\0\4abc";
    struct sk_view src = {.path = "x", .data = file, .size = sizeof file};
    struct sk_scan s;
    struct saikai_error err = {0};
    assert_int_equal(sk_raw_describe(text, "here", &err), 0);
    assert_int_equal(sk_scan_source(&src, &s, &err), 0);
    assert_string_equal(s.form, "described");
    assert_int_equal(s.count, 3);
    const struct sk_extent *e = find(&s, "abc", 1);
    assert_non_null(e);
    assert_int_equal(e->offset, 10 + 16);
    assert_int_equal(e->type, SAIKAI_F32);
    assert_int_equal(e->big_endian, 1);
    assert_int_equal(e->ndims, 2);
    e = find(&s, "table", 0);
    assert_int_equal(e->offset, 10 + 32);
    assert_int_equal(e->dims[0], 2);
    assert_int_equal(e->fields, 1);
    sk_scan_free(&s);
    src.size -= 40; /* the second array is no longer whole */
    assert_int_equal(sk_scan_source(&src, &s, &err), 0);
    assert_int_equal(s.count, 1);
    sk_scan_free(&s);
}

static void a_bad_description_is_refused(void **state)
{
    static const char *const bad[] = {"format a\nmagic 0 X\nrepeat\nskip 1\n",
                                      "format a\nmagic 0 X\nend\n",
                                      "format a\nmagic 0 X\nskip what\n",
                                      "format a\nskip 1\n",
                                      "magic 0 X\n",
                                      "format a\nmagic 0 X\narray v f99 3\n",
                                      "format a\nmagic 0 X\nnonsense\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct saikai_error err = {0};
        assert_int_equal(sk_raw_describe(bad[i], "file.txt", &err), SAIKAI_EINVAL);
        assert_non_null(strstr(err.text, "file.txt"));
    }
}

/* ---- Fortran ---- */

static void large_fortran_records_are_found(void **state)
{
    static uint8_t file[8 + 4 + 8 + 80000];
    uint32_t n = 4, big = 80000;
    double v = 1.5;
    memcpy(file, &n, 4);
    memcpy(file + 8, &n, 4);
    memcpy(file + 12, &big, 4);
    for (size_t i = 0; i < 10000; i++, v += 0.25)
        memcpy(file + 16 + 8 * i, &v, 8);
    memcpy(file + 16 + 80000, &big, 4);
    struct sk_view src = {.path = "x", .data = file, .size = sizeof file};
    struct sk_scan s;
    assert_int_equal(sk_scan_source(&src, &s, NULL), 0);
    assert_string_equal(s.form, "fortran");
    assert_int_equal(s.count, 1);
    assert_int_equal(s.extents[0].type, SAIKAI_F64);
    assert_int_equal(s.extents[0].offset, 16);
    sk_scan_free(&s);
    file[15 + 80001] ^= 1;
    assert_int_equal(sk_scan_source(&src, &s, NULL), 0);
    assert_null(s.form);
    sk_scan_free(&s);
    memset(file, 0, sizeof file); /* empty records without end are nothing but zeros */
    assert_int_equal(sk_scan_source(&src, &s, NULL), 0);
    assert_null(s.form);
    sk_scan_free(&s);
}

enum { KIND_SINGLE, KIND_DOUBLE, KIND_WHOLE_DOUBLE, KIND_ZERO, KIND_INT, KIND_HALF_ZERO };

/* A file of one record of n bytes, of numbers of a kind, in either order; the type that it is found to have. */
static int type_of_record(int kind, uint32_t n, int other_order)
{
    static uint8_t file[8 + 40000];
    uint32_t words[] = {n, n};
    for (uint32_t i = 0; i < n / 4; i++) {
        double d = kind == KIND_DOUBLE ? 280.15 + 1e-9 * (i / 2) * (i / 2) : (double)(i / 2);
        float f = (float)(280.15 + 1e-7 * i * i);
        uint64_t u;
        uint32_t w = i % 100;
        memcpy(&u, &d, 8);
        if (kind == KIND_DOUBLE || kind == KIND_WHOLE_DOUBLE)
            w = (uint32_t)(u >> (i % 2 == !other_order ? 32 : 0));
        else if (kind == KIND_SINGLE || (kind == KIND_HALF_ZERO && i < n / 8))
            memcpy(&w, &f, 4);
        else if (kind != KIND_INT)
            w = 0;
        w = other_order ? __builtin_bswap32(w) : w;
        memcpy(file + 4 + 4 * i, &w, 4);
    }
    words[0] = words[1] = other_order ? __builtin_bswap32(n) : n;
    memcpy(file, words, 4);
    memcpy(file + 4 + n, words, 4);
    struct sk_view src = {.path = "x", .data = file, .size = 8 + n};
    struct sk_scan s;
    assert_int_equal(sk_scan_source(&src, &s, NULL), 0);
    assert_int_equal(s.count, 1);
    int type = s.extents[0].type;
    assert_int_equal(s.extents[0].dims[0], n / (type == SAIKAI_F64 ? 8 : 4));
    assert_int_equal(s.extents[0].big_endian, other_order);
    sk_scan_free(&s);
    return type;
}

/* Numbers of single precision look like doubles in pairs, and are none. */
static void records_are_of_the_type_of_their_numbers(void **state)
{
    (void)state;
    for (int other = 0; other < 2; other++) {
        assert_int_equal(type_of_record(KIND_SINGLE, 40000, other), SAIKAI_F32);
        assert_int_equal(type_of_record(KIND_SINGLE, 39996, other), SAIKAI_F32);
        assert_int_equal(type_of_record(KIND_HALF_ZERO, 40000, other), SAIKAI_F32);
        assert_int_equal(type_of_record(KIND_DOUBLE, 40000, other), SAIKAI_F64);
        assert_int_equal(type_of_record(KIND_WHOLE_DOUBLE, 40000, other), SAIKAI_F64);
        assert_int_equal(type_of_record(KIND_ZERO, 40000, other), SAIKAI_F64);
        assert_int_equal(type_of_record(KIND_ZERO, 39996, other), SAIKAI_I32);
        assert_int_equal(type_of_record(KIND_INT, 40000, other), SAIKAI_I32);
    }
}

/* ---- HDF5 ---- */

#ifdef HAVE_HDF5
static void write_set(hid_t f, const char *name, hid_t type, int chunked, int filtered)
{
    hsize_t dims[2] = {20, 30}, chunk[2] = {7, 8};
    hid_t space = H5Screate_simple(2, dims, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    static double v[600];
    for (int i = 0; i < 600; i++)
        v[i] = i * 0.5;
    if (chunked)
        H5Pset_chunk(plist, 2, chunk);
    if (filtered)
        H5Pset_shuffle(plist);
    hid_t d = H5Dcreate2(f, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    assert_true(d >= 0);
    assert_true(H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0);
    H5Dclose(d);
    H5Sclose(space);
    H5Pclose(plist);
}

static void write_hdf5(const char *path, int latest, hsize_t user_block)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), fcpl = H5Pcreate(H5P_FILE_CREATE);
    if (latest)
        H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    H5Pset_userblock(fcpl, user_block);
    hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, fcpl, fapl);
    assert_true(f >= 0);
    H5Gclose(H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    write_set(f, "g/plain", H5T_IEEE_F64LE, 0, 0);
    write_set(f, "g/big", H5T_IEEE_F32BE, 0, 0);
    write_set(f, "ints", H5T_STD_I16LE, 0, 0);
    write_set(f, "g/chunks", H5T_IEEE_F64LE, 1, 0);
    write_set(f, "g/filtered", H5T_IEEE_F64LE, 1, 1);
    for (int i = 0; i < 40; i++) { /* more than one node of a tree */
        char name[32];
        snprintf(name, sizeof name, "g/many%d", i);
        write_set(f, name, H5T_IEEE_F64LE, 0, 0);
    }
    hid_t one = H5Screate(H5S_SCALAR);
    H5Dclose(H5Dcreate2(f, "text", H5T_C_S1, one, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(one);
    H5Lcreate_soft("/g/plain", f, "link", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(f);
    H5Pclose(fapl);
    H5Pclose(fcpl);
}

static void check_hdf5(const struct sk_view *src, const struct sk_scan *s)
{
    const struct sk_extent *e = find(s, "g/plain", 0);
    double v;
    assert_non_null(e);
    assert_int_equal(e->type, SAIKAI_F64);
    assert_int_equal(e->ndims, 2);
    assert_int_equal(e->dims[1], 30);
    assert_int_equal(e->length, 4800);
    memcpy(&v, src->data + e->offset + 8 * 599, 8);
    assert_true(v == 299.5); /* the extent is where the values are */
    e = find(s, "g/big", 0);
    assert_non_null(e);
    assert_int_equal(e->type, SAIKAI_F32);
    assert_int_equal(e->big_endian, 1);
    e = find(s, "ints", 0);
    assert_non_null(e);
    assert_int_equal(e->type, SAIKAI_I16);
    assert_non_null(find(s, "g/many39", 0));
    assert_null(find(s, "g/filtered", 0));
}

static const struct sk_hdf5_dataset *find_set(const struct sk_hdf5 *h, const char *name)
{
    for (size_t i = 0; i < h->count; i++)
        if (!strcmp(h->sets[i].name, name))
            return &h->sets[i];
    return NULL;
}

static void assert_same_contents(const struct sk_hdf5 *a, const struct sk_hdf5 *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const struct sk_hdf5_dataset *x = &a->sets[i], *y = find_set(b, x->name);
        assert_non_null(y);
        assert_int_equal(x->type, y->type);
        assert_int_equal(x->big_endian, y->big_endian);
        assert_int_equal(x->ndims, y->ndims);
        assert_memory_equal(x->dims, y->dims, sizeof x->dims);
        assert_memory_equal(x->chunk, y->chunk, sizeof x->chunk);
        assert_int_equal(x->layout, y->layout);
        assert_int_equal(x->filtered, y->filtered);
        assert_int_equal(x->piece_count, y->piece_count);
        for (size_t k = 0; k < x->piece_count; k++) {
            assert_int_equal(x->pieces[k].offset, y->pieces[k].offset);
            assert_int_equal(x->pieces[k].length, y->pieces[k].length);
        }
    }
}

static void check_scan(const struct sk_view *src)
{
    struct sk_scan scan = {0};
    assert_int_equal(sk_reader_hdf5.scan(src, &scan, NULL), 0);
    check_hdf5(src, &scan);
    assert_non_null(find(&scan, "g/chunks", 11)); /* 3 x 4 chunks */
    sk_scan_free(&scan);
}

static void hdf5_is_listed_by_both_ways(void **state)
{
    char path[] = "/tmp/sk-reader-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (int k = 0; k < 3; k++) {
        struct sk_hdf5 own = {0}, library = {0}, copy = {0};
        struct saikai_error err = {0};
        struct sk_buf sent = {0};
        void *data;
        write_hdf5(path, k == 1, k == 2 ? 1024 : 0);
        struct sk_view src = source_of(path, &data);
        if (sk_hdf5_library(&src, 1, &library, &err))
            fail_msg("%s", err.text);
        /* links in a heap, chunks in newer indexes: for the library */
        assert_int_equal(sk_hdf5_parse(&src, &own, &err), k == 1 ? SAIKAI_ENOTSUP : 0);
        if (k != 1)
            assert_same_contents(&own, &library);
        const struct sk_hdf5_dataset *filtered = find_set(&library, "g/filtered"), *text = find_set(&library, "text");
        assert_true(filtered && filtered->filtered && !filtered->piece_count && filtered->chunk[1] == 8);
        assert_true(text && !text->type);
        check_scan(&src);
        sk_hdf5_encode(&library, &sent);
        assert_int_equal(sk_hdf5_decode(sent.data, sent.len, &copy), 0);
        assert_same_contents(&library, &copy);
        for (size_t n = 1; n < sent.len && n < 2000; n++) { /* cut anywhere */
            struct sk_hdf5 cut = {0};
            int rc = sk_hdf5_decode(sent.data, n, &cut);
            assert_true(rc == SAIKAI_EDAMAGED || (rc == 0 && cut.count < library.count));
            sk_hdf5_free(&cut);
        }
        sk_buf_free(&sent);
        sk_hdf5_free(&own);
        sk_hdf5_free(&library);
        sk_hdf5_free(&copy);
        free(data);
    }
    unlink(path);
}

/* Elements come back decoded and in native order, by whatever link; what goes wrong in the library stays in its process. */
static void elements_of_hdf5_are_read(void **state)
{
    char path[] = "/tmp/sk-reader-XXXXXX";
    static const char *const names[] = {"/g/plain", "/g/filtered", "/g/chunks", "/link"};
    struct saikai_error err = {0};
    struct sk_hdf5 h = {0};
    void *data = NULL, *file = NULL;
    close(mkstemp(path));
    write_hdf5(path, 0, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (sk_hdf5_describe(path, names[i], &h, &err) || sk_hdf5_read(path, names[i], h.sets->type, 4800, &data, &err))
            fail_msg("%s", err.text);
        assert_int_equal(h.count, 1);
        assert_int_equal(h.sets->ndims, 2);
        assert_int_equal(h.sets->dims[0], 20);
        for (int k = 0; k < 600; k++)
            assert_true(((double *)data)[k] == k * 0.5);
        munmap(data, 4800);
        sk_hdf5_free(&h);
    }
    assert_int_equal(sk_hdf5_read(path, "/g/big", SAIKAI_F32, 2400, &data, &err), 0);
    assert_true(((float *)data)[3] == 1.5f);
    munmap(data, 2400);
    assert_int_equal(sk_hdf5_read(path, "/g/big", SAIKAI_F32, 4800, &data, &err), SAIKAI_EIO); /* not what is there */
    assert_int_equal(sk_hdf5_describe(path, "/g/nothing", &h, &err), SAIKAI_ENOENT);
    assert_int_equal(sk_hdf5_describe(path, "/text", &h, &err), 0);
    assert_int_equal(h.sets->type, 0);
    sk_hdf5_free(&h);
    struct sk_view src = source_of(path, &file);
    memset((char *)file + 600, 0xfe, src.size - 700); /* the superblock is good, what it leads to is not */
    assert_int_equal(sk_io_replace(path, file, src.size, NULL), 0);
    assert_int_not_equal(sk_hdf5_describe(path, "/g/plain", &h, &err), 0);
    assert_int_equal(sk_hdf5_read(path, "/g/plain", SAIKAI_F64, 4800, &data, &err), SAIKAI_EIO);
    assert_non_null(strstr(err.text, path));
    free(file);
    unlink(path);
}

/* A group in a group in a group …, with a dataset in each. */
static void groups_may_be_nested_deeply(void **state)
{
    enum { DEPTH = 3000 };
    static hid_t group[DEPTH + 1];
    char path[] = "/tmp/sk-reader-XXXXXX";
    void *data;
    close(mkstemp(path));
    hid_t f = group[0] = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < DEPTH; i++) {
        write_set(group[i], "d", H5T_IEEE_F64LE, 0, 0);
        assert_true((group[i + 1] = H5Gcreate2(group[i], "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
    }
    /* back to the beginning: nothing is listed twice */
    assert_true(H5Lcreate_hard(f, "/", group[DEPTH], "again", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    for (int i = DEPTH; i > 0; i--)
        H5Gclose(group[i]);
    H5Fclose(f);
    struct sk_view src = source_of(path, &data);
    struct sk_hdf5 library = {0};
    struct saikai_error err = {0};
    if (sk_hdf5_look(&src, 1, &library, &err)) /* its time is limited */
        fail_msg("%s", err.text);
    assert_int_equal(library.count, DEPTH);
    assert_non_null(find_set(&library, "g/g/g/d"));
    sk_hdf5_free(&library);
    free(data);
    unlink(path);
}

static void a_damaged_hdf5_file_is_no_error(void **state)
{
    char path[] = "/tmp/sk-reader-XXXXXX";
    int fd = mkstemp(path);
    void *data;
    close(fd);
    write_hdf5(path, 0, 0);
    struct sk_view src = source_of(path, &data);
    memset(data, 0xff, 4000);
    memcpy(data, "\x89HDF\r\n\x1a\n", 8);
    assert_int_equal(sk_io_replace(path, data, src.size, NULL), 0);
    struct sk_scan s;
    struct saikai_error why = {0};
    assert_int_equal(sk_scan_source(&src, &s, &why), 0);
    assert_int_equal(s.count, 0);
    assert_int_equal(why.code, SAIKAI_EDAMAGED);
    sk_scan_free(&s);
    free(data);
    unlink(path);
}
#endif

/* ---- real files ---- */

static void real_files_are_understood(void **state)
{
    static const struct {
        const char *file, *form, *variable;
        size_t least;
    } known[] = {
        {"enzo_collapse_np16/DD0001/DD0001.cpu0000", "hdf5", "Grid00000001/Density", 39},
        {"mitgcm_cs32_np12/step10/pickup.0000000010.t003.nc", "netcdf3", "gTnm1", 16},
        {"nicam_gl05/step24/restart_all_GL05RL00z40.pe000001", "described", "tem", 9},
        {"lammps_lj_np4_mpich/tmp.restart.0.100", "described", "atoms", 1},
        {"ramses_sedov3d_np16/output_00002/amr_00002.out00001", "fortran", NULL, 0},
    };
    const char *data = getenv("SAIKAI_DATA");
    if (!data || !*data)
        skip();
    sk_raw_describe_shipped();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char path[512];
        struct sk_scan s;
        struct saikai_error why = {0}, err = {0};
        uint64_t size;
        snprintf(path, sizeof path, "%s/checkpoints/%s", data, known[i].file);
        if (sk_scan_file(path, &s, &size, &why, &err))
            fail_msg("%s", err.text);
        assert_non_null(s.form);
        assert_string_equal(s.form, known[i].form);
        assert_true(s.count >= known[i].least);
        if (known[i].variable)
            assert_non_null(find(&s, known[i].variable, 0));
        sk_scan_free(&s);
    }
}

/* ---- Saikai's own containers ---- */

static void a_container_shows_its_variables(void **state)
{
    static double u[3][5], v[7];
    static uint8_t inner[8300];
    char path[] = "/tmp/sk-reader-XXXXXX";
    uint32_t n = 8240;
    memcpy(inner, &n, 4); /* a Fortran record */
    memcpy(inner + 4 + n, &n, 4);
    struct sk_piece p[] = {
        {.name = "g/u", .type = SAIKAI_F64, .ndims = 2, .dims = {3, 5}, .data = u},
        {.name = "coded", .type = SAIKAI_F64, .ndims = 1, .dims = {7}, .data = v},
        {.name = "old.dat", .type = SAIKAI_U8, .ndims = 1, .kind = SK_SKC_FILE, .data = inner},
        {.name = "log", .type = SAIKAI_U8, .ndims = 1, .kind = SK_SKC_STREAM, .data = inner}};
    struct sk_coding c[4] = {{0}, {.chain = "zstd"}, {0}, {0}};
    struct sk_skc_header h = {.incarnation = 1, .nranks = 1};
    struct saikai_error err = {0}, why = {0};
    p[0].size_bytes = sizeof u;
    p[1].size_bytes = sizeof v;
    p[2].dims[0] = p[2].size_bytes = 8 + n;
    p[3].dims[0] = p[3].size_bytes = 100;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    if (sk_container_write(path, &h, p, c, 4, 0, NULL, NULL, &err))
        fail_msg("%s", err.text);
    struct sk_container *container;
    assert_int_equal(sk_container_open(path, &container, &err), 0);
    uint64_t at = container->index->chunks[0].offset;
    sk_container_close(container);
    struct sk_scan s;
    void *data;
    struct sk_view src = source_of(path, &data);
    assert_int_equal(sk_scan_source(&src, &s, &why), 0);
    assert_string_equal(s.form, "skc");
    assert_int_equal(s.count, 2);
    const struct sk_extent *e = find(&s, "g/u", 0);
    assert_non_null(e);
    assert_int_equal(e->offset, at);
    assert_int_equal(e->length, sizeof u);
    assert_int_equal(e->dims[1], 5);
    e = find(&s, "old.dat/record_8240", 0);
    assert_non_null(e);
    assert_memory_equal((uint8_t *)data + e->offset - 4, &n, 4);
    sk_scan_free(&s);
    ((uint8_t *)data)[src.size - 70] ^= 1; /* the index */
    assert_int_equal(sk_scan_source(&src, &s, &why), 0);
    assert_int_equal(s.count, 0);
    assert_int_not_equal(why.code, 0);
    free(data);
    unlink(path);
}

int main(void)
{
    sk_hdf5_asked = sk_hdf5_library;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_description_is_followed),
        cmocka_unit_test(a_bad_description_is_refused),
        cmocka_unit_test(large_fortran_records_are_found), cmocka_unit_test(records_are_of_the_type_of_their_numbers),
#ifdef HAVE_HDF5
        cmocka_unit_test(hdf5_is_listed_by_both_ways),
        cmocka_unit_test(elements_of_hdf5_are_read),
        cmocka_unit_test(groups_may_be_nested_deeply),
        cmocka_unit_test(a_damaged_hdf5_file_is_no_error),
#endif
        cmocka_unit_test(real_files_are_understood),
        cmocka_unit_test(a_container_shows_its_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
