/* saikai archive extract --variable: one variable of all files straight into one HDF5 file.
 *
 * Of each file only the variable's bytes and the skeleton are restored, the rest stays a hole. Of
 * HDF5 files the HDF5 library then reads the variable, so that chunks become one dataset and
 * filters are undone; for others the file's own reader says what and where it is, and its bytes are
 * copied as they are. */
#include "cli/archive/archive_variable.h"

#include "archive/file/parts.h"
#include "base/file/io.h"
#include "base/file/passing.h"
#include "base/text/counted.h"
#include "base/text/shown.h"
#include "base/types.h"
#include "cli/archive/archive_inputs.h"
#include "cli/atomic_file.h"
#include "reader/reader.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HAVE_HDF5
#include "reader/hdf5_walk.h"
#include "reader/scan.h"

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* A class's key is the variable's name, with its group's numbers gone, and _TYPE_KIND. */
static int wants_class(void *arg, const struct sk_ska_class *c)
{
    char name[1024];
    snprintf(name, sizeof name, "%s", last_part(c->key));
    for (int i = 0; i < 2; i++) {
        char *end = strrchr(name, '_');
        if (end)
            *end = 0;
    }
    /* without classes of variables (agnostic schemes) everything is bytes */
    return !strncmp(c->key, "skeleton:", 9) || !strcmp(c->key, "bytes") ||
           !fnmatch(last_part(arg), name, 0);
}

/* Bytes of a restored file that are a dataset's. */
struct copy {
    size_t file; /* of the inputs */
    uint64_t from, to, bytes;
};

struct gathering {
    const char *pattern;
    hid_t out, created, links;
    struct copy *copies;
    size_t count, cap, read; /* copies of bytes, and datasets that HDF5 has read */
    const char *file;        /* the HDF5 file that is looked into */
    int rc;
    struct saikai_error *err;
};

static hid_t type_of(int type, int big)
{
    const struct {
        int type;
        hid_t order[2]; /* little, big */
    } types[] = {{SAIKAI_I8, {H5T_STD_I8LE, H5T_STD_I8LE}},
                 {SAIKAI_I16, {H5T_STD_I16LE, H5T_STD_I16BE}},
                 {SAIKAI_U16, {H5T_STD_U16LE, H5T_STD_U16BE}},
                 {SAIKAI_I32, {H5T_STD_I32LE, H5T_STD_I32BE}},
                 {SAIKAI_U32, {H5T_STD_U32LE, H5T_STD_U32BE}},
                 {SAIKAI_I64, {H5T_STD_I64LE, H5T_STD_I64BE}},
                 {SAIKAI_U64, {H5T_STD_U64LE, H5T_STD_U64BE}},
                 {SAIKAI_F32, {H5T_IEEE_F32LE, H5T_IEEE_F32BE}},
                 {SAIKAI_F64, {H5T_IEEE_F64LE, H5T_IEEE_F64BE}}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            return types[i].order[big != 0];
    return -1;
}

/* Complex numbers are pairs, in one more dimension; whatever else is bytes. */
static hid_t shape_of(const struct sk_extent *e, int *ndims, hsize_t *dims)
{
    *ndims = e->ndims;
    for (int i = 0; i < e->ndims; i++)
        dims[i] = e->dims[i];
    if (e->type == SAIKAI_C64 || e->type == SAIKAI_C128) {
        dims[(*ndims)++] = 2;
        return type_of(e->type == SAIKAI_C64 ? SAIKAI_F32 : SAIKAI_F64, e->big_endian);
    }
    return e->type == SAIKAI_U8 ? H5T_STD_U8LE : type_of(e->type, e->big_endian);
}

static int add_copy(struct gathering *g, struct copy c)
{
    if (g->count == g->cap) {
        struct copy *more = realloc(g->copies, (g->cap = g->cap ? 2 * g->cap : 64) * sizeof *more);
        if (!more)
            return SAIKAI_ENOMEM;
        g->copies = more;
    }
    g->copies[g->count++] = c;
    return 0;
}

/* FILE/VARIABLE; further pieces of the same name get ~2, ~3 … */
static int add_dataset(struct gathering *g, size_t file, const char *file_name,
                       const struct sk_extent *e, struct saikai_error *err)
{
    char name[4096 + SAIKAI_MAX_NAME + 16], first[sizeof name];
    hsize_t dims[SAIKAI_MAX_DIMS + 1];
    int ndims, turn = 1;
    hid_t type = shape_of(e, &ndims, dims);
    snprintf(first, sizeof first, "%s/%s", file_name, e->name);
    snprintf(name, sizeof name, "%s", first);
    while (turn < 1 << 20 && H5Lexists(g->out, file_name, H5P_DEFAULT) > 0 &&
           H5Oexists_by_name(g->out, name, H5P_DEFAULT) > 0)
        snprintf(name, sizeof name, "%.*s~%d", (int)sizeof name - 16, first, ++turn);
    hid_t space = ndims ? H5Screate_simple(ndims, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t d = H5Dcreate2(g->out, name, type, space, g->links, g->created, H5P_DEFAULT);
    haddr_t at = d < 0 ? HADDR_UNDEF : H5Dget_offset(d);
    if (d >= 0)
        H5Dclose(d);
    H5Sclose(space);
    if (at == HADDR_UNDEF)
        return sk_fail(err, SAIKAI_EIO, "HDF5 cannot make the dataset %s", name);
    return add_copy(g, (struct copy){file, e->offset, at, e->length})
               ? sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of datasets")
               : 0;
}

static int add_file(struct gathering *g, size_t i, const struct sk_archive_input *in, size_t skip,
                    struct saikai_error *err)
{
    struct sk_scan scan = {0};
    struct saikai_error why = {0};
    uint64_t size;
    int rc = sk_scan_file(in->path, &scan, &size, &why, err);
    for (size_t k = 0; k < scan.count && !rc; k++) {
        const char *name = scan.extents[k].name;
        if (!fnmatch(g->pattern, name, 0) || !fnmatch(g->pattern, last_part(name), 0))
            rc = add_dataset(g, i, in->path + skip, &scan.extents[k], err);
    }
    sk_scan_free(&scan);
    return rc;
}

/* ---- HDF5 files ---- */

static int matches(const struct gathering *g, const char *name)
{
    return !fnmatch(g->pattern, name, 0) || !fnmatch(g->pattern, last_part(name), 0);
}

/* All of a dataset, some rows of its slowest dimension at a time: whole chunks of them. */
static int copy_rows(hid_t from, hid_t to, hid_t type, hid_t space)
{
    enum { MOST = 16 << 20 };
    hsize_t dims[H5S_MAX_RANK] = {1}, start[H5S_MAX_RANK] = {0}, count[H5S_MAX_RANK], chunk = 1;
    int n = H5Sget_simple_extent_ndims(space);
    if (n < 0 || H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        return -1;
    hid_t plist = H5Dget_create_plist(from);
    hsize_t chunks[H5S_MAX_RANK];
    if (n && H5Pget_layout(plist) == H5D_CHUNKED && H5Pget_chunk(plist, n, chunks) == n)
        chunk = chunks[0];
    H5Pclose(plist);
    size_t row = H5Tget_size(type);
    for (int i = 1; i < n; i++)
        row *= (size_t)dims[i];
    hsize_t rows = row && row < MOST ? MOST / row / chunk * chunk : 0;
    rows = rows < chunk ? chunk : rows;
    rows = rows > dims[0] ? dims[0] : rows;
    if (!row || !rows)
        return 0; /* an empty one */
    void *buf = malloc(row * (size_t)rows);
    int rc = buf ? 0 : -1;
    for (int i = 0; i < n; i++)
        count[i] = dims[i];
    for (start[0] = 0; !rc && start[0] < dims[0]; start[0] += rows) {
        count[0] = dims[0] - start[0] < rows ? dims[0] - start[0] : rows;
        hid_t memory = n ? H5Screate_simple(n, count, NULL) : H5Screate(H5S_SCALAR);
        if (n)
            H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        rc = H5Dread(from, type, memory, space, H5P_DEFAULT, buf) < 0 ||
                     H5Dwrite(to, type, memory, space, H5P_DEFAULT, buf) < 0
                 ? -1
                 : 0;
        H5Sclose(memory);
    }
    free(buf);
    return rc;
}

static int copy_dataset(struct gathering *g, hid_t from, const char *name)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", g->file, name);
    hid_t type = H5Dget_type(from), space = H5Dget_space(from), to = -1;
    int loose = H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tdetect_class(type, H5T_REFERENCE) > 0 ||
                H5Tis_variable_str(type) > 0;
    if (loose)
        g->rc = sk_fail(g->err, SAIKAI_ENOTSUP,
                        "%s holds texts of varying length or references: extract the file instead",
                        path);
    else
        to = H5Dcreate2(g->out, path, type, space, g->links, g->created, H5P_DEFAULT);
    if (!loose && (to < 0 || copy_rows(from, to, type, space)))
        g->rc = sk_fail(g->err, SAIKAI_EIO,
                        "HDF5 cannot copy %s: it may need a filter that is not installed", path);
    if (to >= 0)
        H5Dclose(to);
    H5Sclose(space);
    H5Tclose(type);
    g->read += !g->rc;
    return g->rc;
}

static int on_dataset(hid_t d, const char *name, void *arg)
{
    struct gathering *g = arg;
    return matches(g, name) && copy_dataset(g, d, name) ? 1 : 0;
}

/* 1: an HDF5 file, and its variables are there; 0: it is none; or a code. */
static int read_hdf5(struct gathering *g, const struct sk_archive_input *in, size_t skip,
                     struct saikai_error *err)
{
    if (H5Fis_hdf5(in->path) <= 0)
        return 0;
    hid_t f = H5Fopen(in->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (f < 0)
        return 0;
    g->file = in->path + skip;
    g->err = err;
    sk_hdf5_walk(f, SK_HDF5_EVERY_NAME, on_dataset, g);
    H5Fclose(f);
    return g->rc ? g->rc : 1;
}

static int make_datasets(struct gathering *g, const char *path, const struct archive_inputs *in,
                         size_t skip, struct saikai_error *err)
{
    int rc = sk_hdf5_load(err);
    if (rc)
        return rc;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* errors are told once, by us */
    int e = sk_io_begin("open", path);
    if (e)
        return sk_fail_errno(err, e, "cannot create %s", path);
    sk_passing_make_begin();
    g->out = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    sk_passing_make_end();
    if (g->out < 0)
        return sk_fail(err, SAIKAI_EIO, "HDF5 cannot create %s", path);
    g->created = H5Pcreate(H5P_DATASET_CREATE);
    g->links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(g->links, 1);
    H5Pset_layout(g->created, H5D_CONTIGUOUS);
    H5Pset_alloc_time(g->created, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(g->created, H5D_FILL_TIME_NEVER);
    for (size_t i = 0; i < in->n && !rc; i++) {
        if (!(rc = read_hdf5(g, &in->list[i], skip, err)))
            rc = add_file(g, i, &in->list[i], skip, err);
        else if (rc > 0)
            rc = 0;
    }
    H5Pclose(g->links);
    H5Pclose(g->created);
    if (H5Fclose(g->out) < 0 && !rc)
        rc = sk_fail(err, SAIKAI_EIO, "HDF5 cannot write %s (disk full?)", path);
    if (!rc && !g->count && !g->read)
        rc = sk_fail(err, SAIKAI_ENOENT, "no file in the archive has a variable '%s'", g->pattern);
    return rc;
}

static int copy_all(const struct gathering *g, int fd, const char *path,
                    const struct archive_inputs *in, struct saikai_error *err)
{
    enum { PIECE = 1 << 20 };
    uint8_t *buf = malloc(PIECE);
    int rc = buf ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to copy a variable");
    for (size_t i = 0; i < g->count && !rc; i++) {
        const struct copy *c = &g->copies[i];
        const char *from = in->list[c->file].path;
        int src = sk_io_open(from, O_RDONLY, 0, err);
        rc = src < 0 ? src : 0;
        for (uint64_t done = 0; done < c->bytes && !rc;) {
            size_t n = c->bytes - done < PIECE ? (size_t)(c->bytes - done) : PIECE;
            rc = sk_io_pread(src, from, buf, n, (off_t)(c->from + done), err);
            if (!rc)
                rc = sk_io_pwrite(fd, path, buf, n, (off_t)(c->to + done), err);
            done += n;
        }
        if (src >= 0)
            close(src);
    }
    free(buf);
    return rc;
}

/* What has only a temporary name: what was restored of the files, and the output. */
struct unfinished {
    char dir[4096];
    struct cli_atomic_file file;
};

static void drop(void *arg)
{
    enum { TRIES = 50 }; /* who restores may be giving a file its name there */
    struct unfinished *u = arg;
    struct stat st;
    if (u->file.begun)
        sk_io_unlink(u->file.temporary, NULL);
    for (int i = 0; i < TRIES && !lstat(u->dir, &st); i++)
        sk_io_rmtree(u->dir, NULL);
}

static int write_variable(struct unfinished *u, const char *variable, const char *out, size_t *found,
                          struct saikai_error *err)
{
    struct gathering g = {.pattern = variable};
    struct archive_inputs in = {0};
    struct cli_atomic_file *f = &u->file;
    const char *dir = u->dir;
    char *operand = strdup(dir);
    int rc = operand ? cli_archive_inputs_gather(&operand, 1, &in, err)
                     : sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    sk_passing_hold();
    if (!rc)
        rc = cli_atomic_begin(f, out, err);
    sk_passing_release();
    if (!rc)
        rc = make_datasets(&g, f->temporary, &in, strlen(dir) + 1, err);
    if (!rc) {
        int fd = sk_io_open(f->temporary, O_WRONLY, 0, err);
        rc = fd < 0 ? fd : copy_all(&g, fd, f->temporary, &in, err);
        if (fd >= 0)
            close(fd);
    }
    if (!rc)
        rc = cli_atomic_commit(f, err);
    else
        cli_atomic_abort(f);
    *found = g.count + g.read;
    free(g.copies);
    free(operand);
    cli_archive_inputs_free(&in);
    return rc;
}

/* Where files are restored to, beside the output; what killed ones left there goes first. */
static int name_parts(const char *out, char parts[4096], struct saikai_error *err)
{
    char dir[4096];
    const char *slash = strrchr(out, '/');
    int rc = sk_io_path(dir, sizeof dir, err, "%.*s", slash == out ? 1 : slash ? (int)(slash - out) : 1, slash ? out : ".");
    if (rc)
        return rc;
    sk_parts_sweep(dir);
    if (!sk_parts_name(dir, parts, NULL))
        return 0;
    return sk_io_path(parts, 4096, err, "%s.%ld.parts", out, (long)getpid());
}

int cli_archive_extract_variable(struct cli *cli, const char *path, const char *variable,
                             const char *out, const struct sk_extract_options *opt, int quiet,
                             int (*extract)(const char *path, const char *dir,
                                            const struct sk_extract_options *o,
                                            struct sk_archive_stats *sum, struct saikai_error *err))
{
    struct saikai_error err = {0};
    struct sk_archive_stats st;
    struct sk_extract_options o = *opt;
    variable += strspn(variable, "/"); /* as HDF5 names them */
    struct unfinished u = {.file = {0}};
    struct sk_passing passing = {.drop = drop, .arg = &u};
    size_t found = 0;
    o.wants_class = wants_class;
    o.arg = (void *)(uintptr_t)variable;
    o.no_sync = 1;
    o.sweeps = 0;
    int rc = name_parts(out, u.dir, &err);
    sk_passing_hold();
    sk_passing_begin(&passing);
    sk_passing_release();
    if (!rc)
        rc = extract(path, u.dir, &o, &st, &err);
    if (!rc)
        rc = write_variable(&u, variable, out, &found, &err);
    if (*u.dir)
        sk_io_rmtree(u.dir, NULL);
    sk_passing_end(&passing);
    if (rc)
        return cli_fail(cli, &err);
    if (!quiet)
        printf("%s: %s of %s\n", sk_shown(out), sk_counted(found, "dataset(s)"), sk_counted(st.files, "file(s)"));
    return CLI_OK;
}
#else
int cli_archive_extract_variable(struct cli *cli, const char *path, const char *variable,
                             const char *out, const struct sk_extract_options *opt, int quiet,
                             int (*extract)(const char *path, const char *dir,
                                            const struct sk_extract_options *o,
                                            struct sk_archive_stats *sum, struct saikai_error *err))
{
    struct saikai_error err = {0};
    sk_fail(&err, SAIKAI_ENOTSUP, "--variable: this saikai was built without HDF5");
    return cli_fail(cli, &err);
}
#endif
