/* HDF5 files, read by the HDF5 library.
 *
 * The library is not safe on hostile files: a damaged one can crash it or keep it busy for ever. It therefore works in a child process
 * with limits. What it finds comes back through a pipe, checked like any stranger's words; elements come back in shared memory. A child
 * that dies costs an archived file its structure, never the archive, and a tool an answer. */
#include "reader/hdf5.h"

#include "base/buf.h"
#include "base/types.h"

#include <string.h>

#ifdef HAVE_HDF5
#include <errno.h>
#include <fcntl.h>
#include "reader/hdf5_walk.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_SECONDS = 20, MOST_PIECES = 1 << 20 };
#define CHILD_BYTES ((size_t)256 << 20) /* of its answer */

/* What a child ends with. */
enum { GOOD, NOT_OPENED = 2, NOT_READ, NOT_SENT, TOO_DEEP, NOT_THERE };

/* What a child is to do with a file. */
struct task {
    int (*work)(const struct task *t, hid_t file, struct sk_hdf5 *found); /* in the child; what it ends with */
    const char *path, *name;
    int pieces; /* of all datasets */
    int type; /* of elements to read */
    size_t bytes;
    void *data;
};

/* ---- what a dataset is ---- */

static int integer_type(size_t bytes, int is_signed)
{
    switch (bytes) {
    case 1:
        return is_signed ? SAIKAI_I8 : SAIKAI_U8;
    case 2:
        return is_signed ? SAIKAI_I16 : SAIKAI_U16;
    case 4:
        return is_signed ? SAIKAI_I32 : SAIKAI_U32;
    case 8:
        return is_signed ? SAIKAI_I64 : SAIKAI_U64;
    }
    return 0;
}

/* 0: one that we leave opaque (texts, compounds, references). */
static int element_type(hid_t t)
{
    size_t n = H5Tget_size(t);
    H5T_class_t c = H5Tget_class(t);
    if (c == H5T_INTEGER)
        return integer_type(n, H5Tget_sign(t) != H5T_SGN_NONE);
    return c != H5T_FLOAT ? 0 : n == 8 ? SAIKAI_F64 : n == 4 ? SAIKAI_F32 : 0;
}

static hid_t native_type(int type)
{
    switch (type) {
    case SAIKAI_I8:
        return H5T_NATIVE_INT8;
    case SAIKAI_U8:
        return H5T_NATIVE_UINT8;
    case SAIKAI_I16:
        return H5T_NATIVE_INT16;
    case SAIKAI_U16:
        return H5T_NATIVE_UINT16;
    case SAIKAI_I32:
        return H5T_NATIVE_INT32;
    case SAIKAI_U32:
        return H5T_NATIVE_UINT32;
    case SAIKAI_I64:
        return H5T_NATIVE_INT64;
    case SAIKAI_U64:
        return H5T_NATIVE_UINT64;
    case SAIKAI_F32:
        return H5T_NATIVE_FLOAT;
    case SAIKAI_F64:
        return H5T_NATIVE_DOUBLE;
    }
    return -1;
}

static void tell_shape(hid_t space, struct sk_hdf5_dataset *d)
{
    hsize_t dims[H5S_MAX_RANK];
    d->ndims = H5Sget_simple_extent_ndims(space);
    if (d->ndims > SAIKAI_MAX_DIMS || d->ndims < 0 || H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        return;
    for (int i = 0; i < d->ndims; i++)
        d->dims[i] = (size_t)dims[i];
    if (H5Sget_simple_extent_type(space) == H5S_NULL) /* not even a single value */
        d->ndims = 1;
}

static void tell_layout(hid_t plist, struct sk_hdf5_dataset *d)
{
    hsize_t chunk[H5S_MAX_RANK];
    H5D_layout_t layout = H5Pget_layout(plist);
    if (layout == H5D_CONTIGUOUS && H5Pget_external_count(plist) == 0)
        d->layout = SK_HDF5_ONE_PIECE;
    if (layout != H5D_CHUNKED || d->ndims > SAIKAI_MAX_DIMS || H5Pget_chunk(plist, H5S_MAX_RANK, chunk) != d->ndims)
        return;
    d->layout = SK_HDF5_CHUNKS;
    d->filtered = H5Pget_nfilters(plist) != 0;
    for (int i = 0; i < d->ndims; i++)
        d->chunk[i] = (size_t)chunk[i];
}

/* NULL: no memory, or the library cannot tell. */
static struct sk_hdf5_dataset *tell(hid_t set, const char *name, struct sk_hdf5 *found)
{
    struct sk_hdf5_dataset d = {0};
    hid_t t = H5Dget_type(set), space = H5Dget_space(set), plist = H5Dget_create_plist(set);
    int good = t >= 0 && space >= 0 && plist >= 0;
    if (good) {
        d.type = element_type(t);
        d.big_endian = H5Tget_order(t) == H5T_ORDER_BE;
        tell_shape(space, &d);
        tell_layout(plist, &d);
    }
    if (t >= 0)
        H5Tclose(t);
    if (space >= 0)
        H5Sclose(space);
    if (plist >= 0)
        H5Pclose(plist);
    return good && d.ndims >= 0 ? sk_hdf5_add(found, &d, name) : NULL;
}

/* ---- all datasets ---- */

struct listing {
    struct sk_hdf5 *found;
    int wants_pieces;
    uint64_t base; /* where the addresses of chunks count from */
    size_t pieces;
};

/* Data inside a description are no piece: they belong to the skeleton. */
static void tell_pieces(hid_t set, struct sk_hdf5_dataset *d, struct listing *l)
{
    hsize_t n = 0, at[H5S_MAX_RANK];
    hid_t space = H5Dget_space(set);
    if (d->layout == SK_HDF5_ONE_PIECE) {
        haddr_t addr = H5Dget_offset(set); /* counts from the start of the file */
        uint64_t bytes = H5Dget_storage_size(set);
        if (addr != HADDR_UNDEF && bytes)
            sk_hdf5_add_piece(d, addr, bytes);
    } else if (d->layout == SK_HDF5_CHUNKS && H5Dget_num_chunks(set, space, &n) >= 0) {
        for (hsize_t i = 0; i < n && l->pieces + i < MOST_PIECES; i++) {
            unsigned mask;
            haddr_t addr;
            hsize_t bytes;
            if (H5Dget_chunk_info(set, space, i, at, &mask, &addr, &bytes) >= 0 && addr != HADDR_UNDEF)
                sk_hdf5_add_piece(d, addr + l->base, bytes);
        }
    }
    l->pieces += 1 + d->piece_count;
    H5Sclose(space);
}

static int on_dataset(hid_t set, const char *name, void *arg)
{
    struct listing *l = arg;
    struct sk_hdf5_dataset *d = tell(set, name, l->found);
    if (l->wants_pieces && d && d->type && d->ndims <= SAIKAI_MAX_DIMS && !d->filtered)
        tell_pieces(set, d, l);
    l->pieces++;
    return l->pieces >= MOST_PIECES;
}

/* 1: the addresses of chunks count from the superblock, and not from the start of the file. HDF5 1.14.4 mended that (HDFGroup/hdf5, pull
 * request 4236); which release is here is known when it runs, as 1.14.0 to 1.14.5 have the same SONAME. */
static int counts_from_superblock(void)
{
    unsigned major = 0, minor = 0, release = 0;
    return H5get_libversion(&major, &minor, &release) < 0 || major * 10000 + minor * 100 + release < 11404;
}

static int list_all(const struct task *t, hid_t file, struct sk_hdf5 *found)
{
    struct listing l = {.found = found, .wants_pieces = t->pieces};
    hsize_t base = 0;
    hid_t fcpl = H5Fget_create_plist(file);
    if (fcpl >= 0 && H5Pget_userblock(fcpl, &base) >= 0 && counts_from_superblock())
        l.base = base;
    enum sk_hdf5_walk_result walked = sk_hdf5_walk(file, SK_HDF5_ONCE, on_dataset, &l);
    return walked == SK_HDF5_TOO_DEEP ? TOO_DEEP : walked == SK_HDF5_FAILED ? NOT_READ : GOOD;
}

/* ---- one dataset ---- */

static int describe_one(const struct task *t, hid_t file, struct sk_hdf5 *found)
{
    hid_t set = H5Dopen2(file, t->name, H5P_DEFAULT);
    return set < 0 ? NOT_THERE : tell(set, t->name, found) ? GOOD : NOT_READ;
}

static int read_one(const struct task *t, hid_t file, struct sk_hdf5 *found)
{
    hid_t set = H5Dopen2(file, t->name, H5P_DEFAULT), space = set < 0 ? -1 : H5Dget_space(set);
    hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    (void)found;
    if (n < 0 || (uint64_t)n * sk_type_size(t->type) != t->bytes) /* it may be another file by now */
        return NOT_READ;
    return H5Dread(set, native_type(t->type), H5S_ALL, H5S_ALL, H5P_DEFAULT, t->data) < 0 ? NOT_READ : GOOD;
}

/* ---- the child ---- */

static void limit(const struct task *t)
{
    rlim_t seconds = CHILD_SECONDS + (rlim_t)(t->bytes >> 20); /* filters may be slow */
    struct rlimit cpu = {seconds, seconds}, core = {0, 0};
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0)
        dup2(null, 2); /* the library's (and a sanitizer's) complaints are not ours */
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* Never returns, and calls no atexit handlers: they belong to the parent. */
static void child(const struct task *t, int pipe_fd)
{
    struct sk_hdf5 found = {0};
    struct sk_buf out = {0};
    limit(t);
    hid_t f = H5Fopen(t->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (f < 0)
        _exit(NOT_OPENED);
    int rc = t->work(t, f, &found);
    sk_hdf5_encode(&found, &out);
    if (rc || !sk_buf_ok(&out))
        _exit(rc ? rc : NOT_READ);
    for (size_t at = 0; at < out.len;) {
        ssize_t n = write(pipe_fd, out.data + at, out.len - at);
        if (n < 0)
            _exit(NOT_SENT);
        at += (size_t)n;
    }
    _exit(GOOD);
}

/* ---- the parent ---- */

static int drain(int fd, struct sk_buf *in)
{
    for (;;) {
        uint8_t part[65536];
        ssize_t n = read(fd, part, sizeof part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || in->len > CHILD_BYTES)
            return n == 0 ? 0 : SAIKAI_EIO;
        sk_buf_put(in, part, (size_t)n);
    }
}

/* What a child that did not end well says about the file. */
static int say(const struct task *t, int status, struct saikai_error *err)
{
    int end = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (end == TOO_DEEP)
        return sk_fail(err, SAIKAI_ENOTSUP, "%s: its groups are nested deeper than %d", t->path, SK_HDF5_DEEPEST);
    if (end == NOT_THERE)
        return sk_fail(err, SAIKAI_ENOENT, "%s has no dataset '%s'", t->path, t->name);
    if (end == NOT_OPENED && t->name)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s: HDF5 cannot open it (damaged or truncated?)", t->path);
    if (t->data)
        return sk_fail(err, SAIKAI_EIO, "cannot read %s:%s (damaged, or its filter is not in HDF5_PLUGIN_PATH)", t->path, t->name);
    return sk_fail(err, SAIKAI_EDAMAGED, "%s: the HDF5 library cannot read it (%s)", t->path,
                   WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "damaged file");
}

static int ask(const struct task *t, struct sk_hdf5 *out, struct saikai_error *err)
{
    struct sk_hdf5 found = {0};
    struct sk_buf in = {0};
    int fd[2], status = 0, rc;
    if ((rc = sk_hdf5_load(err))) /* here, and not in each child */
        return rc;
    if (pipe2(fd, O_CLOEXEC))
        return sk_fail_errno(err, errno, "%s: no pipe for the HDF5 reader", t->path);
    pid_t pid = fork();
    if (pid == 0)
        child(t, fd[1]);
    close(fd[1]);
    rc = pid < 0 ? SAIKAI_EIO : drain(fd[0], &in);
    close(fd[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!rc && !sk_buf_ok(&in))
        rc = sk_fail(err, SAIKAI_ENOMEM, "%s: no memory to list it", t->path);
    else if (rc || status)
        rc = say(t, status, err);
    else if ((rc = sk_hdf5_decode(in.data, in.len, &found)))
        sk_fail(err, rc, "%s: no memory to list it, or the HDF5 reader spoke nonsense", t->path);
    sk_buf_free(&in);
    if (rc || !out)
        sk_hdf5_free(&found);
    else
        *out = found;
    return rc;
}

int sk_hdf5_library(const struct sk_view *src, int pieces, struct sk_hdf5 *out, struct saikai_error *err)
{
    return ask(&(struct task){.work = list_all, .path = src->path, .pieces = pieces}, out, err);
}

int sk_hdf5_describe(const char *path, const char *name, struct sk_hdf5 *out, struct saikai_error *err)
{
    int rc = ask(&(struct task){.work = describe_one, .path = path, .name = name}, out, err);
    if (rc || out->count == 1)
        return rc;
    sk_hdf5_free(out);
    return sk_fail(err, SAIKAI_EDAMAGED, "%s: the HDF5 library does not tell what '%s' is", path, name);
}

int sk_hdf5_read(const char *path, const char *name, int type, size_t bytes, void **data, struct saikai_error *err)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return sk_fail(err, SAIKAI_ENOMEM, "%s: no memory for an array of %zu bytes", path, bytes);
    int rc = ask(&(struct task){.work = read_one, .path = path, .name = name, .type = type, .bytes = bytes, .data = p}, NULL, err);
    if (rc)
        munmap(p, bytes);
    else
        *data = p;
    return rc;
}
#else
static int without(const char *path, struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_ENOTSUP, "%s: this saikai was built without HDF5: install libhdf5-dev and build again", path);
}

int sk_hdf5_library(const struct sk_view *src, int pieces, struct sk_hdf5 *out, struct saikai_error *err)
{
    (void)pieces, (void)out;
    return without(src->path, err);
}

int sk_hdf5_describe(const char *path, const char *name, struct sk_hdf5 *out, struct saikai_error *err)
{
    (void)name, (void)out;
    return without(path, err);
}

int sk_hdf5_read(const char *path, const char *name, int type, size_t bytes, void **data, struct saikai_error *err)
{
    (void)name, (void)type, (void)bytes, (void)data;
    return without(path, err);
}
#endif
