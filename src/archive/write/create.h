/* Archives of checkpoint files: many files into one `.ska`, and back byte for byte.
 *
 * Data-aware aggregation after Islam et al., "mcrEngine: A Scalable Checkpointing System Using
 * Data-Aware Aggregation and Compression" (SC'12): variables of the same meaning in many files are
 * brought together before they are compressed (sections III-A and III-B). The scheme `auto` goes on
 * from there: shapes, neighbours and relations between variables predict values, and samples decide
 * per class what is used. */
#ifndef SK_ARCHIVE_WRITE_CREATE_H
#define SK_ARCHIVE_WRITE_CREATE_H

#include "archive/plan/options.h"
#include "base/error.h"

/* Write the inputs into a new archive at `out` (replaced when it exists): temporary name, sync,
 * rename. Local; blocks; starts threads. A file that cannot be read, or changes while it is read, is an error
 * unless opt->leave_out takes it on. After a
 * failure nothing of it is left and an older archive is untouched. One that another archive beside
 * it builds on is not replaced (SAIKAI_EEXIST). Fails with SAIKAI_EIO, SAIKAI_ENOSPC,
 * SAIKAI_ENOENT, SAIKAI_ECHANGED, SAIKAI_EINVAL, SAIKAI_ENOMEM, and as sk_unpack_block when the
 * previous archive cannot be read. stats may be NULL.
 */
int sk_archive_create(const char *out, const struct sk_archive_input *inputs, size_t count,
                      const struct sk_archive_options *opt, struct sk_archive_stats *stats,
                      struct saikai_error *err);

#endif
