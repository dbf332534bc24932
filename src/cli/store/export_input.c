/* What is exported: the containers, and which of their variables. */
#include "cli/store/export.h"

#include "base/text/output.h"
#include "base/config/units.h"
#include "cli/progress.h"
#include "cli/store/store_dir.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_export_open(const struct cli_export *x, size_t i, struct sk_container **out,
                    struct saikai_error *err)
{
    return sk_content_open(x->from, x->item[i], out, err);
}

int cli_export_wants(const struct cli_export *x, const char *name)
{
    for (int i = 0; i < x->variables.n; i++)
        if (!fnmatch(x->variables.items[i], name, 0))
            return 1;
    return !x->variables.n;
}
