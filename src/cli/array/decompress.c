/* saikai decompress: the array back out of what `saikai compress` wrote. */
#include "cli/array/array_input.h"
#include "cli/atomic_file.h"
#include "cli/cli.h"
#include "cli/progress.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/types.h"
#include "base/config/units.h"
#include "base/text/shown.h"
#include "codec/quality/bound.h"
#include "codec/stream.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct input {
    int fd;
    const char *path;
    uint64_t read;
    struct cli_progress progress;
    pthread_mutex_t lock;
};

static int source(void *arg, uint64_t at, void *data, size_t n, struct saikai_error *err)
{
    struct input *in = arg;
    int rc = sk_io_pread(in->fd, in->path, data, n, (off_t)at, err);
    pthread_mutex_lock(&in->lock);
    in->read += n;
    cli_progress_update(&in->progress, in->read);
    pthread_mutex_unlock(&in->lock);
    return rc;
}

/* Decode straight into the output file's pages: no second copy of a large array in memory. */
static int decode(struct input *in, uint64_t size, const struct sk_stream_info *info, int threads,
                  struct cli_atomic_file *out, struct saikai_error *err)
{
    void *data = NULL;
    size_t n = (size_t)info->raw_bytes;
    int rc = n ? sk_io_reserve(out->fd, out->temporary, (off_t)n, err) : 0;
    if (!rc && n)
        rc = sk_io_map(out->fd, out->temporary, n, 1, &data, err);
    if (rc)
        return rc;
    in->read = 0;
    cli_progress_begin(&in->progress, "decompress", size);
    rc = sk_stream_decode(source, in, size, &info->array, data, threads, in->path, err);
    cli_progress_end(&in->progress);
    if (data)
        munmap(data, n);
    return rc;
}

static void report(char **argv, const struct sk_stream_info *info, double seconds)
{
    char is[32], bound[48];
    FILE *to = sk_output_is_dash(argv[1]) ? stderr : stdout;
    fprintf(to, "%s -> %s: %s ", sk_shown(argv[0]), sk_shown(argv[1]), sk_type_name(info->array.type));
    for (int i = 0; i < info->array.ndims; i++)
        fprintf(to, "%s%zu", i ? "x" : "", info->array.dims[i]);
    fprintf(to, ", %s%s%s, %s, %.0f MB/s\n", sk_shown(info->chain), info->bound.kind == SK_BOUND_NONE ? "" : ", ",
           info->bound.kind == SK_BOUND_NONE ? ""
                                             : sk_bound_format(bound, sizeof bound, &info->bound),
           sk_format_size(is, sizeof is, info->raw_bytes),
           seconds > 0 ? (double)info->raw_bytes / seconds / 1e6 : 0);
}

int cli_decompress(struct cli *cli, int argc, char **argv)
{
    int64_t threads = 0;
    int quiet = 0;
    const struct cli_option options[] = {
        {'j', "threads", CLI_INT, &threads, "N", NULL, "threads, 0: all processors"},
        {'q', "quiet", CLI_FLAG, &quiet, NULL, NULL, "print nothing"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "IN OUT",
        .about = "Decompresses what 'saikai compress' wrote into the raw values in OUT, which is "
                 "replaced at once when it is complete; devices and FIFOs are written to. '-' is standard "
                 "input or output.",
        .min_operands = 2,
        .max_operands = 2,
        .options = options,
    };
    int rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc >= 0)
        return rc;
    if (threads > 4096)
        return cli_usage(cli, "--threads is too large");
    struct saikai_error err = {0};
    struct sk_stream_info info = {0};
    struct cli_atomic_file out = {0};
    struct input in = {.path = argv[0]};
    off_t size = 0;
    pthread_mutex_init(&in.lock, NULL);
    char spooled[64];
    rc = sk_output_is_dash(argv[0]) ? sk_output_spool_stdin(spooled, &err) : 0;
    in.fd = rc ? rc : sk_io_open(sk_output_is_dash(argv[0]) ? spooled : argv[0], O_RDONLY, 0, &err);
    rc = in.fd < 0 ? in.fd : sk_io_size(in.fd, argv[0], &size, &err);
    if (!rc && (rc = sk_stream_info(source, &in, (uint64_t)size, &info, &err)))
        sk_error_prefix(&err, "%s", argv[0]);
    if (!rc)
        rc = cli_atomic_begin(&out, argv[1], &err);
    double begun = sk_now();
    if (!rc)
        rc = decode(&in, (uint64_t)size, &info, (int)threads, &out, &err);
    double seconds = sk_now() - begun;
    if (!rc)
        rc = cli_atomic_commit(&out, &err);
    cli_atomic_abort(&out);
    if (in.fd >= 0)
        close(in.fd);
    pthread_mutex_destroy(&in.lock);
    if (rc)
        return cli_fail(cli, &err);
    if (!quiet)
        report(argv, &info, seconds);
    return CLI_OK;
}
