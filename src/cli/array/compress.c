/* saikai compress: one array into a compressed file. */
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
#include "codec/chooser.h"
#include "codec/cut.h"
#include "codec/haar/haar.h"
#include "codec/quick/quick.h"
#include "codec/stream.h"
#include "codec/wavelet/wavelet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct output {
    struct cli_atomic_file file;
    struct cli_progress progress;
    uint64_t calls; /* of the sink: two for each piece; how many bytes are to come nobody knows */
};

static int sink(void *arg, const void *data, size_t n, struct saikai_error *err)
{
    struct output *o = arg;
    int rc = sk_io_write(o->file.fd, o->file.temporary, data, n, err);
    cli_progress_update(&o->progress, ++o->calls);
    return rc;
}

/* 1: a chain that begins with this codec. */
static int begins_with(const char *chain, const struct sk_codec_ops *codec)
{
    struct sk_chain c;
    return chain && !sk_chain_parse(chain, &c, NULL) && c.step[0] == codec;
}

/* The bound as text; a lossy codec that was given none keeps none. */
static const char *promise(const struct sk_stream_info *info, char *out, size_t cap)
{
    if (info->bound.kind == SK_BOUND_NONE && begins_with(info->chain, &sk_codec_haar))
        return "lossy without a bound";
    return sk_bound_format(out, cap, &info->bound);
}

static void report(const char *in, const char *out, const struct sk_stream_info *info,
                   double seconds, double error)
{
    char was[32], is[32], bound[48];
    double ratio = info->encoded_bytes ? (double)info->raw_bytes / (double)info->encoded_bytes : 0;
    FILE *to = sk_output_is_dash(out) ? stderr : stdout;
    fprintf(to, "%s -> %s: %s, %s\n", sk_shown(in), sk_shown(out), info->chain, promise(info, bound, sizeof bound));
    fprintf(to, "  %s -> %s, %.2f times smaller, %.0f MB/s\n",
           sk_format_size(was, sizeof was, info->raw_bytes),
           sk_format_size(is, sizeof is, info->encoded_bytes), ratio,
           seconds > 0 ? (double)info->raw_bytes / seconds / 1e6 : 0);
    if (info->raw_pieces)
        fprintf(to, "  %llu of %llu pieces could not be made smaller and are kept as they are\n",
               (unsigned long long)info->raw_pieces, (unsigned long long)info->pieces);
    if (!isnan(error))
        fprintf(to, "  largest error: %.6g\n", error);
}

static int report_json(struct cli *cli, const struct sk_stream_info *info, double seconds)
{
    struct sk_json j = {0};
    char bound[48];
    sk_json_object(&j, NULL);
    sk_json_text(&j, "codec", info->chain);
    sk_json_text(&j, "type", sk_type_name(info->array.type));
    sk_json_array(&j, "dims");
    for (int i = 0; i < info->array.ndims; i++)
        sk_json_uint(&j, NULL, info->array.dims[i]);
    sk_json_end(&j);
    sk_json_text(&j, "bound", promise(info, bound, sizeof bound));
    sk_json_uint(&j, "original_bytes", info->raw_bytes);
    sk_json_uint(&j, "compressed_bytes", info->encoded_bytes);
    sk_json_uint(&j, "pieces", info->pieces);
    sk_json_uint(&j, "pieces_kept_raw", info->raw_pieces);
    sk_json_real(&j, "largest_error", info->max_error);
    sk_json_real(&j, "seconds", seconds);
    sk_json_end(&j);
    return cli_print_json(cli, &j, CLI_OK);
}

/* The chain to use, and what pieces it wants: what was named, what a sample of the array says ("auto"), or the default of
 * bound and type. */
static int pick(const char *codec, const struct cli_array *in, struct sk_stream_options *opt,
                uint64_t bandwidth, char chain[SK_CHAIN_NAME], struct saikai_error *err)
{
    int real = sk_type_is_float(in->array.type), bounded = opt->codec.bound.kind != SK_BOUND_NONE;
    if (codec && *codec && sk_is_auto(codec)) {
        struct sk_chooser_options how = {.bandwidth = (double)bandwidth,
                                         .threads = opt->threads,
                                         .bound = real ? opt->codec.bound : (struct sk_bound){0}};
        struct sk_choice choice;
        int rc = sk_choose(&in->array, in->data, &how, &choice, err);
        if (!rc)
            snprintf(chain, SK_CHAIN_NAME, "%s", choice.chain);
        if (!rc && !opt->piece_bytes)
            opt->piece_bytes = choice.piece_bytes;
        return rc;
    }
    if (!codec)
        codec = bounded && real ? sk_codec_wavelet.name : sk_default_chain(in->array.type);
    struct sk_chain known;
    if (strlen(codec) >= SK_CHAIN_NAME)
        return sk_fail(err, SAIKAI_ECONFIG, "--codec '%s' is too long", codec);
    if (sk_chain_parse(codec, &known, err))
        return err->code = SAIKAI_ECONFIG;
    snprintf(chain, SK_CHAIN_NAME, "%s", codec);
    return 0;
}

static int compress(struct cli *cli, const struct cli_array *in, const char *codec,
                    const struct sk_stream_options *opt, char **argv, int json, int quiet)
{
    struct saikai_error err = {0};
    struct sk_stream_info info = {0};
    struct output o = {0};
    int rc = cli_atomic_begin(&o.file, argv[1], &err);
    if (rc)
        return cli_fail(cli, &err);
    double begun = sk_now();
    size_t piece = sk_stream_piece_bytes(codec, &in->array, opt);
    struct sk_cut cut;
    cli_progress_begin(&o.progress, "compress",
                       sk_cut_init(&cut, &in->array, piece) ? 0 : 2 * cut.pieces + 1);
    rc = sk_stream_encode(codec, &in->array, in->data, opt, sink, &o, &info, &err);
    cli_progress_end(&o.progress);
    double seconds = sk_now() - begun;
    if (!rc)
        rc = cli_atomic_commit(&o.file, &err);
    cli_atomic_abort(&o.file);
    if (rc)
        return cli_fail(cli, &err);
    if (json)
        return report_json(cli, &info, seconds);
    if (!quiet)
        report(argv[0], argv[1], &info, seconds, info.max_error);
    return CLI_OK;
}

int cli_compress(struct cli *cli, int argc, char **argv)
{
    const char *codec = NULL, *parameter = NULL, *type = NULL, *dims = NULL, *bound = NULL;
    int64_t level = 0, threads = 0;
    uint64_t piece = 0, bandwidth = 0;
    int json = 0, quiet = 0, verify = 0;
    const struct cli_option options[] = {
        {'c', "codec", CLI_TEXT, &codec, "NAME", NULL,
         "codec or chain such as zstd:19 or shuffle+zstd, or auto: what a sample of the array "
         "says; "
         "default: the one for the type, with a bound wavelet"},
        {0, "bandwidth", CLI_SIZE, &bandwidth, "SIZE", NULL,
         "for auto: bytes per second the output can be written with; the codec with the shortest "
         "time to compress and write wins. Default: the smallest output wins"},
        {0, "parameter", CLI_TEXT, &parameter, "TEXT", NULL,
         "the codec's own settings, such as n=128,quantiser=spike for haar"},
        {'t', "type", CLI_TEXT, &type, "TYPE", NULL,
         "what a raw file holds: f64, f32, i8 to i64, u8 to u64, c64, c128"},
        {'d', "dims", CLI_TEXT, &dims, "DIMS", NULL,
         "sizes of a raw file's array, slowest first, such as 84x34x34"},
        {'b', "bound", CLI_TEXT, &bound, "BOUND", NULL,
         "largest error allowed: abs:X, rel:X (of max - min), psnr:DECIBELS; without it a "
         "lossless codec loses nothing, and haar keeps no bound"},
        {'l', "level", CLI_INT, &level, "N", NULL, "the codec's level, 0: its default"},
        {'j', "threads", CLI_INT, &threads, "N", NULL, "threads, 0: all processors"},
        {0, "piece", CLI_SIZE, &piece, "SIZE", NULL,
         "bytes of the array that are encoded at once; default: by its size"},
        {0, "verify", CLI_FLAG, &verify, NULL, NULL,
         "decode at once, compare, and record the largest error"},
        {0, "json", CLI_FLAG, &json, NULL, NULL, "print what was done as JSON"},
        {'q', "quiet", CLI_FLAG, &quiet, NULL, NULL, "print nothing"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "IN OUT",
        .about = "Compresses the array in IN into OUT. IN is a raw file (say its --type and "
                 "--dims) or a variable FILE:/name of an HDF5 or netCDF file. OUT is replaced at "
                 "once when it is complete; devices and FIFOs are written to. '-' is standard input or output. "
                 "'saikai decompress' gives the array back.",
        .min_operands = 2,
        .max_operands = 2,
        .options = options,
    };
    int rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc >= 0)
        return rc;
    if (json && sk_output_is_dash(argv[1]))
        return cli_usage(cli, "--json and OUT would both go to standard output");
    struct saikai_error err = {0};
    struct cli_array_hint hint = {.dims = dims};
    struct sk_stream_options opt = {.piece_bytes = piece, .verify = verify, .what = argv[0]};
    if ((rc = cli_array_hint_type(cli, type, &hint)) >= 0)
        return rc;
    if (bound && sk_bound_parse(bound, &opt.codec.bound, &err))
        return cli_usage(cli, "--%s", err.text);
    if (level > 1000 || threads > 4096)
        return cli_usage(cli, "--level or --threads is too large");
    opt.codec.level = (int)level;
    opt.codec.parameter = parameter;
    opt.threads = (int)threads;
    if (begins_with(codec, &sk_codec_haar) && opt.codec.bound.kind != SK_BOUND_NONE)
        return cli_usage(cli, "--codec %s keeps no bound: leave --bound out, or use %s", sk_codec_haar.name, sk_codec_wavelet.name);
    if (begins_with(codec, &sk_codec_quick) && opt.codec.bound.kind == SK_BOUND_NONE)
        return cli_usage(cli, "--codec %s is for error bounds: give --bound, or leave the codec out", sk_codec_quick.name);
    struct cli_array in = {0};
    if (cli_array_read(argv[0], &hint, &in, &err))
        return cli_fail(cli, &err);
    char chain[SK_CHAIN_NAME];
    rc = pick(codec, &in, &opt, bandwidth, chain, &err)
             ? cli_fail(cli, &err)
             : compress(cli, &in, chain, &opt, argv, json, quiet);
    cli_array_free(&in);
    return rc;
}
