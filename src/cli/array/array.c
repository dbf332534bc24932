/* Arrays in memory that the tools have read. */
#include "cli/array/array_input.h"

#include "base/file/io.h"
#include "base/text/output.h"
#include "base/types.h"
#include "cli/cli.h"
#include "codec/stream.h"
#include "codec/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int cli_array_alloc(const char *path, struct cli_array *out, struct saikai_error *err)
{
    size_t n = sk_array_size_bytes(&out->array);
    void *p = n == (size_t)-1 ? NULL : malloc(n ? n : 1);
    if (!p)
        return sk_fail(err, SAIKAI_ENOMEM, "%s: no memory for an array of %zu bytes", path, n);
    out->data = p;
    out->size_bytes = out->file_bytes = n;
    out->mapped = 0;
    return 0;
}

void cli_array_free(struct cli_array *a)
{
    if (!a)
        return;
    if (a->mapped)
        munmap(a->data, a->mapped);
    else
        free(a->data);
    *a = (struct cli_array){0};
}
