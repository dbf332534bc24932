/* Archiving each set of files as soon as it is finished. */
#ifndef SK_CLI_ARCHIVE_WATCH_H
#define SK_CLI_ARCHIVE_WATCH_H

#include "archive/plan/options.h"

struct cli_list;

/* Archive each finished set, a directory directly below dir, to out/NAME.ska, until `count` sets
 * are done (0: until a signal ends it). A set is finished when nothing in it has changed for
 * settle_s seconds. A set whose archive is newer than the set is skipped. With previous each builds
 * on the newest archive there, if that can be read; a set that is archived again gets a new name,
 * NAME~2.ska and so on, then, and whenever others build on its archive. Blocks. */
struct cli_archive_watch {
    const char *dir, *out;
    double settle_s;
    long count;
    int quiet, previous, follow;
    const struct cli_list *exclude;
};
int cli_archive_watch(const struct cli_archive_watch *w, const struct sk_archive_options *o,
                  struct saikai_error *err);

#endif
