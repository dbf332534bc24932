/* Says what is left out, one by one as it is met, and at the end that it was not all. */
#include "cli/archive/archive_left.h"

#include "cli/cli.h"

#include "base/text/shown.h"

#include <stdio.h>

int cli_archive_leave_out(void *arg, const char *path, const struct saikai_error *why)
{
    struct cli_archive_left *left = arg;
    (void)path; /* the sentence has it */
    if (left->waits && (why->code == SAIKAI_ECHANGED || why->code == SAIKAI_ENOENT))
        return 0;
    fprintf(stderr, "saikai %s: left out: %s\n", left->command, sk_shown(why->text));
    left->count++;
    return 1;
}

int cli_archive_left_say(const struct cli_archive_left *left, const char *out)
{
    if (!left->count)
        return CLI_OK;
    fprintf(stderr, "saikai %s: %zu %s left out of %s, which holds all others\n", left->command, left->count, left->count == 1 ? "file was" : "files were", sk_shown(out));
    return CLI_PARTIAL;
}
