/* HDF5 files (and netCDF-4, which is HDF5), read by the HDF5 library.
 *
 * The library is not safe on hostile files: a damaged one can crash it or keep it busy for ever. It
 * therefore works in a child process with limits on time and memory, and what it finds comes back
 * through a pipe, checked like any stranger's words. A child that dies costs the file its
 * structure, never the archive. */
#include "reader/read_hdf5.h"

#include "base/buf.h"
#include "base/types.h"

#include <string.h>

#ifdef HAVE_HDF5
#include <errno.h>
#include <fcntl.h>
#include "reader/walk_hdf5.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_SECONDS = 20, TOO_DEEP = 5 };
#define CHILD_BYTES ((size_t)64 << 20) /* of extents: a million or so */

/* The element type of an HDF5 type; 0: one that we leave opaque (strings, compounds, references).
 */
static int element_type(hid_t t, int *big_endian)
{
    size_t n = H5Tget_size(t);
    H5T_class_t c = H5Tget_class(t);
    if (c != H5T_INTEGER && c != H5T_FLOAT)
        return 0;
    *big_endian = H5Tget_order(t) == H5T_ORDER_BE;
    if (c == H5T_FLOAT)
        return n == 8 ? SAIKAI_F64 : n == 4 ? SAIKAI_F32 : 0;
    int s = H5Tget_sign(t) == H5T_SGN_2;
    switch (n) {
    case 1:
        return s ? SAIKAI_I8 : SAIKAI_U8;
    case 2:
        return s ? SAIKAI_I16 : SAIKAI_U16;
    case 4:
        return s ? SAIKAI_I32 : SAIKAI_U32;
    case 8:
        return s ? SAIKAI_I64 : SAIKAI_U64;
    }
    return 0;
}

static void put_extent(struct sk_buf *out, const struct sk_extent *e, const char *name)
{
    size_t n = strlen(name);
    if (n > SAIKAI_MAX_NAME) /* the end tells variables apart */
        name += n - SAIKAI_MAX_NAME;
    sk_buf_put_u64(out, e->offset);
    sk_buf_put_u64(out, e->length);
    sk_buf_put_u8(out, (uint8_t)e->type);
    sk_buf_put_u8(out, (uint8_t)e->big_endian);
    sk_buf_put_u8(out, (uint8_t)e->ndims);
    for (int i = 0; i < e->ndims; i++)
        sk_buf_put_u64(out, e->dims[i]);
    sk_buf_put_str(out, name);
}

static void put_chunks(hid_t d, hid_t plist, hid_t space, struct sk_extent *e, const char *name,
                       uint64_t base, struct sk_buf *out)
{
    hsize_t dims[H5S_MAX_RANK], at[H5S_MAX_RANK], n = 0;
    int nd = H5Pget_chunk(plist, H5S_MAX_RANK, dims);
    if (nd < 1 || nd > SAIKAI_MAX_DIMS || H5Pget_nfilters(plist) != 0)
        return; /* filtered chunks are opaque */
    e->ndims = nd;
    for (int i = 0; i < nd; i++)
        e->dims[i] = (size_t)dims[i];
    if (H5Dget_num_chunks(d, space, &n) < 0)
        return;
    for (hsize_t i = 0; i < n && out->len < CHILD_BYTES; i++) {
        unsigned mask;
        haddr_t addr;
        hsize_t bytes;
        if (H5Dget_chunk_info(d, space, i, at, &mask, &addr, &bytes) < 0 || addr == HADDR_UNDEF)
            continue;
        e->offset = addr + base;
        e->length = bytes;
        put_extent(out, e, name);
    }
}

struct visit {
    struct sk_buf *out;
    uint64_t base; /* bytes before the superblock; addresses count from there */
};

static void put_dataset(hid_t d, const char *name, const struct visit *v)
{
    struct sk_extent e = {0};
    hid_t t = H5Dget_type(d), space = H5Dget_space(d), plist = H5Dget_create_plist(d);
    hsize_t dims[H5S_MAX_RANK];
    int nd = H5Sget_simple_extent_ndims(space);
    if (t < 0 || space < 0 || plist < 0 || nd < 0 || nd > SAIKAI_MAX_DIMS)
        goto out;
    e.type = element_type(t, &e.big_endian);
    if (!e.type || H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        goto out;
    H5D_layout_t layout = H5Pget_layout(plist);
    if (layout == H5D_CHUNKED) {
        put_chunks(d, plist, space, &e, name, v->base, v->out);
    } else if (layout == H5D_CONTIGUOUS && H5Pget_external_count(plist) == 0) {
        haddr_t addr = H5Dget_offset(d); /* counts from the start of the file */
        e.ndims = nd;
        for (int i = 0; i < nd; i++)
            e.dims[i] = (size_t)dims[i];
        e.offset = addr;
        e.length = H5Dget_storage_size(d);
        if (addr != HADDR_UNDEF && e.length)
            put_extent(v->out, &e, name);
    } /* compact data lies in the object header: skeleton */
out:
    if (t >= 0)
        H5Tclose(t);
    if (space >= 0)
        H5Sclose(space);
    if (plist >= 0)
        H5Pclose(plist);
}

static int on_dataset(hid_t d, const char *name, void *arg)
{
    struct visit *v = arg;
    put_dataset(d, name, v);
    return v->out->len >= CHILD_BYTES;
}

/* In the child: list the datasets and write the list; never returns. */
static void child(const char *path, int pipe_fd)
{
    struct rlimit cpu = {CHILD_SECONDS, CHILD_SECONDS}, core = {0, 0};
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
    hid_t f = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (f < 0)
        _exit(2);
    struct sk_buf out = {0};
    struct visit v = {&out, 0};
    hsize_t base = 0;
    hid_t fcpl = H5Fget_create_plist(f);
    if (fcpl >= 0 && H5Pget_userblock(fcpl, &base) >= 0)
        v.base = base;
    enum sk_hdf5_walk_result walked = sk_hdf5_walk(f, H5_ITER_NATIVE, on_dataset, &v);
    if (walked == SK_HDF5_TOO_DEEP)
        _exit(TOO_DEEP);
    if (walked == SK_HDF5_FAILED || !sk_buf_ok(&out))
        _exit(3);
    for (size_t at = 0; at < out.len;) {
        ssize_t n = write(pipe_fd, out.data + at, out.len - at);
        if (n < 0)
            _exit(4);
        at += (size_t)n;
    }
    _exit(0); /* no atexit handlers: they belong to the parent */
}

static int drain(int fd, struct sk_buf *in)
{
    for (;;) {
        uint8_t part[65536];
        ssize_t n = read(fd, part, sizeof part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || in->len > 2 * CHILD_BYTES)
            return n == 0 ? 0 : SAIKAI_EIO;
        sk_buf_put(in, part, (size_t)n);
    }
}

static int parse(struct sk_buf *in, struct sk_scan *scan)
{
    struct sk_rd r = sk_rd_init(in->data, in->len);
    while (sk_rd_left(&r)) {
        struct sk_extent e = {0};
        char name[SAIKAI_MAX_NAME + 1];
        e.offset = sk_rd_u64(&r);
        e.length = sk_rd_u64(&r);
        e.type = sk_rd_u8(&r);
        e.big_endian = sk_rd_u8(&r);
        e.ndims = sk_rd_u8(&r);
        for (int i = 0; i < e.ndims && e.ndims <= SAIKAI_MAX_DIMS; i++)
            e.dims[i] = sk_rd_u64(&r);
        sk_rd_str(&r, name, sizeof name);
        if (r.bad || e.ndims > SAIKAI_MAX_DIMS)
            return SAIKAI_EDAMAGED;
        int rc = sk_scan_add(scan, &e, name);
        if (rc)
            return rc;
    }
    return 0;
}

int sk_hdf5_ask_library(const struct sk_view *src, struct sk_scan *scan, struct saikai_error *err)
{
    struct sk_buf in = {0};
    int fd[2], status = 0, rc;
    if (pipe2(fd, O_CLOEXEC))
        return sk_fail_errno(err, errno, "%s: no pipe for the HDF5 reader", src->path);
    pid_t pid = fork();
    if (pid == 0)
        child(src->path, fd[1]);
    close(fd[1]);
    rc = pid < 0 ? SAIKAI_EIO : drain(fd[0], &in);
    close(fd[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!rc && !sk_buf_ok(&in))
        rc = SAIKAI_ENOMEM;
    else if (!rc && WIFEXITED(status) && WEXITSTATUS(status) == TOO_DEEP)
        rc = sk_fail(err, SAIKAI_ENOTSUP, "%s: its groups are nested deeper than %d", src->path, SK_HDF5_DEEPEST);
    else if (rc || status)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "%s: the HDF5 library cannot read it (%s)", src->path,
                     WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "damaged file");
    else
        rc = parse(&in, scan);
    sk_buf_free(&in);
    return rc;
}
#else
int sk_hdf5_ask_library(const struct sk_view *src, struct sk_scan *scan, struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_ENOTSUP, "%s: this build has no HDF5 library", src->path);
}
#endif
