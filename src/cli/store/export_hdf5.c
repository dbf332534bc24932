/* A generation as an HDF5 file: all datasets are made first, then their bytes are put in place
 * through a mapping. Without HDF5 it only says so. */
#include "cli/store/export.h"

#ifdef HAVE_HDF5
#include "base/file/io.h"
#include "base/types.h"
#include "cli/atomic_file.h"
#include "cli/store/global_arrays.h"
#include "cli/progress.h"
#include "codec/quality/bound.h"
#include "reader/late/hdf5.h"
#include "store/form/container.h"

#include <saikai/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Where the bytes of a variable go. All datasets are made first, contiguous and with their room in
 * the file; then the file is closed and filled through a mapping, as the bytes of a container are
 * those of little-endian HDF5 types. */
struct place {
    uint64_t at, raw_bytes;
};

struct exporter {
    const char *out;
    const struct cli_export *x;
    hid_t file, created; /* creation properties of datasets */
    hid_t c64, c128, stream, program_file;
    struct place *place;
    size_t count, cap;
    uint64_t raw_bytes;
    struct cli_globals *globals; /* NULL: by ranks */
};

static hid_t complex_type(hid_t part, size_t size)
{
    hid_t t = H5Tcreate(H5T_COMPOUND, 2 * size);
    H5Tinsert(t, "r", 0, part);
    H5Tinsert(t, "i", size, part);
    return t;
}

static hid_t opaque_type(const char *tag)
{
    hid_t t = H5Tcreate(H5T_OPAQUE, 1);
    H5Tset_tag(t, tag);
    return t;
}

static hid_t type_of(const struct exporter *e, const struct sk_skc_var *v)
{
    if (v->kind == SK_SKC_STREAM)
        return e->stream;
    if (v->kind == SK_SKC_FILE)
        return e->program_file;
    switch (v->type) {
    case SAIKAI_U8:
        return H5T_STD_U8LE;
    case SAIKAI_I8:
        return H5T_STD_I8LE;
    case SAIKAI_I16:
        return H5T_STD_I16LE;
    case SAIKAI_U16:
        return H5T_STD_U16LE;
    case SAIKAI_I32:
        return H5T_STD_I32LE;
    case SAIKAI_U32:
        return H5T_STD_U32LE;
    case SAIKAI_I64:
        return H5T_STD_I64LE;
    case SAIKAI_U64:
        return H5T_STD_U64LE;
    case SAIKAI_F32:
        return H5T_IEEE_F32LE;
    case SAIKAI_F64:
        return H5T_IEEE_F64LE;
    case SAIKAI_C64:
        return e->c64;
    default:
        return e->c128;
    }
}

static int put_attribute(hid_t at, const char *name, hid_t type, hid_t memory, const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t a = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    int bad = a < 0 || H5Awrite(a, memory, value) < 0;
    if (a >= 0)
        H5Aclose(a);
    H5Sclose(space);
    return bad;
}

static int put_int(hid_t at, const char *name, int64_t value)
{
    return put_attribute(at, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

static int put_real(hid_t at, const char *name, double value)
{
    return put_attribute(at, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

static int put_text(hid_t at, const char *name, const char *value)
{
    hid_t t = H5Tcopy(H5T_C_S1);
    H5Tset_size(t, strlen(value) + 1);
    H5Tset_cset(t, H5T_CSET_UTF8);
    int bad = put_attribute(at, name, t, t, value);
    H5Tclose(t);
    return bad;
}

static int put_time(hid_t at, int64_t created_ms)
{
    char text[40];
    time_t t = (time_t)(created_ms / 1000);
    struct tm tm;
    if (!created_ms || !gmtime_r(&t, &tm))
        return 0;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return put_text(at, "created", text);
}

static int put_numbers(hid_t at, const char *name, const uint64_t *value, int count)
{
    hsize_t n = (hsize_t)count;
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t a = H5Acreate2(at, name, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    int bad = a < 0 || H5Awrite(a, H5T_NATIVE_UINT64, value) < 0;
    if (a >= 0)
        H5Aclose(a);
    H5Sclose(space);
    return bad;
}

/* A link's name: '/' would make groups, and "." is the group itself. */
static void link_name(const char *name, char out[3 * SAIKAI_MAX_NAME + 1])
{
    int dots = name[strspn(name, ".")] == 0;
    for (; *name; name++) {
        if (*name == '/' || *name == '%' || (dots && *name == '.'))
            out += sprintf(out, "%%%02X", (unsigned char)*name);
        else
            *out++ = *name;
    }
    *out = 0;
}

static int add_place(struct exporter *e, hid_t dataset, uint64_t raw_bytes)
{
    if (e->count == e->cap) {
        size_t cap = e->cap ? 2 * e->cap : 256;
        struct place *p = realloc(e->place, cap * sizeof *p);
        if (!p)
            return -1;
        e->place = p;
        e->cap = cap;
    }
    haddr_t at = raw_bytes ? H5Dget_offset(dataset) : 0;
    e->place[e->count++] = (struct place){at, raw_bytes};
    e->raw_bytes += raw_bytes;
    return at == HADDR_UNDEF ? -1 : 0;
}

static int describe(hid_t d, const struct sk_skc_var *v, const char *link)
{
    static const char *const kinds[] = {"variable", "stream", "file"};
    int bad = put_text(d, "kind", v->kind < 3 ? kinds[v->kind] : "?");
    if (v->scope)
        bad |= put_text(d, "scope", v->scope == SK_SKC_GLOBAL ? "global" : "replicated");
    if (v->scope == SK_SKC_GLOBAL && memcmp(v->dims, v->tile.global, sizeof v->dims[0] * v->ndims))
        bad |= put_numbers(d, "global_dims", v->tile.global, v->ndims) ||
               put_numbers(d, "offset", v->tile.offset, v->ndims);
    if (strcmp(link, v->name))
        bad |= put_text(d, "name", v->name);
    if (*v->codec)
        bad |= put_text(d, "codec", v->codec);
    if (v->bound_kind && sk_bound_name(v->bound_kind))
        bad |= put_text(d, "bound_kind", sk_bound_name(v->bound_kind)) || put_real(d, "bound", v->bound) ||
               put_real(d, "max_error", v->max_error);
    return bad;
}

static int add_dataset(struct exporter *e, hid_t group, const struct sk_skc_var *v,
                       struct saikai_error *err)
{
    char link[3 * SAIKAI_MAX_NAME + 1];
    hsize_t dims[SAIKAI_MAX_DIMS];
    for (int d = 0; d < v->ndims; d++)
        dims[d] = v->dims[d];
    link_name(v->name, link);
    hid_t space = v->ndims ? H5Screate_simple(v->ndims, dims, NULL) : H5Screate(H5S_SCALAR);
    hid_t d = H5Dcreate2(group, link, type_of(e, v), space, H5P_DEFAULT, e->created, H5P_DEFAULT);
    int bad = d < 0 || describe(d, v, link) || add_place(e, d, v->raw_bytes);
    if (d >= 0)
        H5Dclose(d);
    if (space >= 0)
        H5Sclose(space);
    return bad ? sk_fail(err, SAIKAI_EIO, "%s: HDF5 cannot make a dataset for variable '%.60s'",
                         e->out, v->name)
               : 0;
}

static int add_rank(struct exporter *e, const struct sk_container *c, struct saikai_error *err)
{
    const struct sk_skc_header *h = &c->header;
    char name[32];
    int rc = 0;
    snprintf(name, sizeof name, "rank%06u", h->rank);
    hid_t g = H5Gcreate2(e->file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (g < 0 || put_int(g, "rank", h->rank) || put_time(g, h->created_ms))
        rc = sk_fail(err, SAIKAI_EIO, "%s: HDF5 cannot make group %s", e->out, name);
    for (uint32_t i = 0; !rc && i < c->index->var_count; i++)
        if (cli_export_wants(e->x, c->index->vars[i].name))
            rc = add_dataset(e, g, &c->index->vars[i], err);
    if (g >= 0)
        H5Gclose(g);
    return rc;
}

static int add_globals(struct exporter *e, struct saikai_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < e->globals->count; i++)
        rc = add_dataset(e, e->file, &e->globals->array[i].var, err);
    return rc;
}

static int describe_file(struct exporter *e, const struct sk_skc_header *h, const char *source,
                         struct saikai_error *err)
{
    char run[24];
    snprintf(run, sizeof run, "%016llx", (unsigned long long)h->run_id);
    int bad =
        put_int(e->file, "iteration", h->iteration) || put_int(e->file, "place", h->place) ||
        put_int(e->file, "incarnation", h->incarnation) || put_int(e->file, "ranks", h->nranks) ||
        put_text(e->file, "run", run) || put_text(e->file, "source", source) ||
        put_text(e->file, "writer", "Saikai " SAIKAI_VERSION) || put_time(e->file, h->created_ms);
    return bad ? sk_fail(err, SAIKAI_EIO, "%s: HDF5 cannot write its attributes", e->out) : 0;
}

static int same_generation(const struct sk_container *c, const struct sk_skc_header *first,
                           struct saikai_error *err)
{
    const struct sk_skc_header *h = &c->header;
    if (h->iteration == first->iteration && h->place == first->place &&
        h->incarnation == first->incarnation && h->nranks == first->nranks)
        return 0;
    return sk_fail(err, SAIKAI_EDAMAGED, "%s holds another generation than the files beside it",
                   c->path);
}

/* Everything but the data. */
static int make_datasets(struct exporter *e, struct saikai_error *err)
{
    struct sk_skc_header first = {0};
    int rc = 0;
    for (size_t i = 0; !rc && i < e->x->count; i++) {
        struct sk_container *c = NULL;
        rc = cli_export_open(e->x, i, &c, err);
        if (!rc && !i) {
            first = c->header;
            rc = describe_file(e, &first, e->x->source, err);
            if (!rc && e->globals)
                rc = add_globals(e, err);
        }
        if (!rc)
            rc = same_generation(c, &first, err);
        if (!rc && !e->globals)
            rc = add_rank(e, c, err);
        sk_container_close(c);
    }
    if (!rc && !e->count && e->x->variables.n)
        rc = sk_fail(err, SAIKAI_ENOENT, "%s has no %svariable '%.60s'; 'saikai info' lists them",
                     e->x->source, e->globals ? "global or replicated " : "",
                     e->x->variables.items[0]);
    return rc;
}

static int make_file(struct exporter *e, const char *path, struct saikai_error *err)
{
    int rc = sk_hdf5_load(err);
    if (rc)
        return rc;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* errors are told once, by us */
    e->file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (e->file < 0)
        return sk_fail(err, SAIKAI_EIO, "%s: HDF5 cannot create it", path);
    e->created = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_layout(e->created, H5D_CONTIGUOUS);
    H5Pset_alloc_time(e->created, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(e->created, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(e->created, 0); /* the same generation gives the same file */
    e->c64 = complex_type(H5T_IEEE_F32LE, 4);
    e->c128 = complex_type(H5T_IEEE_F64LE, 8);
    e->stream = opaque_type("saikai stream");
    e->program_file = opaque_type("saikai file");
    rc = make_datasets(e, err);
    H5Tclose(e->program_file);
    H5Tclose(e->stream);
    H5Tclose(e->c128);
    H5Tclose(e->c64);
    H5Pclose(e->created);
    if (H5Fclose(e->file) < 0 && !rc)
        rc = sk_fail(err, SAIKAI_EIO, "%s: HDF5 cannot write it (disk full?)", path);
    return rc;
}

/* Let go of the mapped pages of what is filled: it is in the file's cache, and the system writes it
 * when it likes. */
static void release(uint8_t *map, uint64_t at, uint64_t n)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = (at + n) / page * page;
    at = (at + page - 1) / page * page;
    if (end > at)
        madvise(map + at, end - at, MADV_DONTNEED);
}

/* Variables of all ranks, in the order their places were found. */
static int fill(const struct exporter *e, uint8_t *map, uint64_t size,
                struct cli_progress *progress, struct saikai_error *err)
{
    size_t k = 0;
    uint64_t done = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < e->x->count; i++) {
        struct sk_container *c = NULL;
        rc = cli_export_open(e->x, i, &c, err);
        for (uint32_t j = 0; !rc && j < c->index->var_count; j++) {
            const struct sk_skc_var *v = &c->index->vars[j];
            if (!cli_export_wants(e->x, v->name))
                continue;
            if (k >= e->count || v->raw_bytes != e->place[k].raw_bytes)
                rc = sk_fail(err, SAIKAI_EDAMAGED, "%s changed while it was exported", c->path);
            else if (v->raw_bytes > size || e->place[k].at > size - v->raw_bytes)
                rc = sk_fail(err, SAIKAI_EINTERNAL, "%s: no room for '%.60s'", e->out, v->name);
            else if (v->raw_bytes)
                rc = sk_container_read(c, v, map + e->place[k].at, err);
            if (!rc)
                release(map, e->place[k].at, v->raw_bytes);
            k++;
            done += v->raw_bytes;
            cli_progress_update(progress, done);
        }
        sk_container_close(c);
    }
    return rc;
}

/* The tiles of all ranks, each into its array; where they overlap the lowest rank's comes last and
 * stays. */
static int fill_globals(const struct exporter *e, uint8_t *map, uint64_t size,
                        struct cli_progress *progress, struct saikai_error *err)
{
    uint64_t done = 0;
    int rc = 0;
    for (size_t i = e->x->count; !rc && i-- > 0;) {
        struct sk_container *c = NULL;
        rc = cli_export_open(e->x, i, &c, err);
        for (size_t k = 0; !rc && k < e->globals->count; k++) {
            const struct cli_global_array *a = &e->globals->array[k];
            const struct place *p = &e->place[k];
            if (p->raw_bytes > size || p->at > size - p->raw_bytes)
                rc = sk_fail(err, SAIKAI_EINTERNAL, "%s: no room for '%.60s'", e->out, a->var.name);
            if (!rc && p->raw_bytes)
                rc = cli_global_copy(a, i, c, map + p->at, err);
            if (!rc)
                release(map, p->at, p->raw_bytes);
            const struct sk_skc_var *v = rc ? NULL : sk_skc_find(c->index, a->var.name);
            done += v && (a->tile || !i) ? v->raw_bytes : 0;
            cli_progress_update(progress, done);
        }
        sk_container_close(c);
    }
    return rc;
}

int cli_export_hdf5(const char *out, const struct cli_export *x, struct cli_progress *progress,
                    uint64_t *raw_bytes, struct saikai_error *err)
{
    struct cli_globals globals = {0};
    struct exporter e = {
        .out = out, .x = x, .globals = x->scope == CLI_EXPORT_RANKS ? NULL : &globals};
    struct cli_atomic_file f;
    void *map = NULL;
    off_t size = 0;
    int rc = e.globals ? cli_globals_load(x, &globals, err) : 0;
    if (!rc)
        rc = cli_atomic_begin(&f, out, err);
    if (rc) {
        cli_globals_free(&globals);
        return rc;
    }
    rc = make_file(&e, f.temporary, err);
    if (!rc)
        rc = sk_io_size(f.fd, f.temporary, &size, err);
    if (!rc)
        rc = sk_io_reserve(f.fd, f.temporary, size, err); /* a full disk is found here */
    if (!rc)
        rc = sk_io_map(f.fd, f.temporary, (size_t)size, 1, &map, err);
    if (!rc) {
        progress->total = e.raw_bytes;
        rc = e.globals ? fill_globals(&e, map, (uint64_t)size, progress, err)
                       : fill(&e, map, (uint64_t)size, progress, err);
        munmap(map, (size_t)size);
    }
    if (!rc)
        rc = cli_atomic_commit(&f, err);
    else
        cli_atomic_abort(&f);
    free(e.place);
    cli_globals_free(&globals);
    if (!rc)
        *raw_bytes = e.raw_bytes;
    return rc;
}

#else

int cli_export_hdf5(const char *out, const struct cli_export *x, struct cli_progress *progress,
                    uint64_t *raw_bytes, struct saikai_error *err)
{
    (void)x;
    (void)progress;
    (void)raw_bytes;
    return sk_fail(err, SAIKAI_ENOTSUP,
                   "%s: this saikai was built without HDF5: install libhdf5-dev and build again",
                   out);
}

#endif
