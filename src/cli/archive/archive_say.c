/* What the subcommands of `saikai archive` say alike: progress, what was made, and the names of a set's archives. */
#include "cli/archive/archive_say.h"

#include "base/config/units.h"
#include "base/file/io.h"
#include "base/text/counted.h"
#include "base/text/output.h"
#include "base/text/shown.h"

#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_archive_print_created(const char *out, const struct sk_archive_stats *st)
{
    char raw[32], stored[32];
    fprintf(sk_output_is_dash(out) ? stderr : stdout, "%s: %s, %s, %s in %s, ratio %.3f, %.0f MB/s\n", sk_shown(out),
           sk_counted(st->files, "file(s)"), sk_counted(st->variables, "variable(s)"),
           sk_format_size(raw, sizeof raw, st->raw_bytes),
           sk_format_size(stored, sizeof stored, st->stored_bytes),
           st->stored_bytes ? (double)st->raw_bytes / (double)st->stored_bytes : 0.0,
           st->seconds > 0 ? (double)st->raw_bytes / st->seconds / 1e6 : 0.0);
}

static void show(void *arg, uint64_t done, uint64_t all)
{
    struct cli_progress *bar = arg;
    bar->total = all;
    cli_progress_update(bar, done);
}

void cli_archive_show(void (**progress)(void *arg, uint64_t done, uint64_t all), void **arg,
                  struct cli_progress *bar)
{
    *progress = show;
    *arg = bar;
}

void cli_archive_extracted_json(struct sk_json *j, const struct sk_archive_stats *st,
                            const char *problem)
{
    sk_json_uint(j, "files", st->files);
    sk_json_uint(j, "bytes", st->raw_bytes);
    sk_json_real(j, "seconds", st->seconds);
    sk_json_bool(j, "good", !problem);
    sk_json_text(j, "problem", problem);
}

int cli_archive_part_path(const struct sk_ska_set *set, const char *path, int k, char *out, size_t cap,
                      struct saikai_error *err)
{
    return set->parts ? sk_ska_set_path(set, path, k + 1, out, cap, err)
                      : sk_io_path(out, cap, err, "%s", path);
}
