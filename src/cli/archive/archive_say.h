/* What the verbs of `saikai archive` print. */
#ifndef SK_CLI_ARCHIVE_SAY_H
#define SK_CLI_ARCHIVE_SAY_H

#include "archive/file/set.h"
#include "archive/plan/options.h"
#include "cli/cli.h"
#include "cli/progress.h"

/* Let a bar show how far the work is. */
void cli_archive_show(void (**progress)(void *arg, uint64_t done, uint64_t all), void **arg,
                  struct cli_progress *bar);
/* Tell on stdout what an archive holds. */
void cli_archive_print_created(const char *out, const struct sk_archive_stats *st);
/* The archives that a path stands for, in turn: one file, or the newest set of a directory. */
int cli_archive_part_path(const struct sk_ska_set *set, const char *path, int k, char *out, size_t cap,
                      struct saikai_error *err);
/* What a document about files that were read has in common: how many, and what is wrong (NULL: nothing). */
void cli_archive_extracted_json(struct sk_json *j, const struct sk_archive_stats *st, const char *problem);

#endif
