/* Variables of HDF5 files (netCDF-4 files are such files too), by the house's reader of them. */
#include "cli/array/array_input.h"

#include "base/types.h"
#include "reader/hdf5.h"
#include "reader/view.h"
#include "codec/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By names, a group where its name stands: "a/x" comes before "a.b". */
static int in_order(const void *a, const void *b)
{
    const unsigned char *x = (const unsigned char *)((const struct sk_hdf5_dataset *)a)->name;
    const unsigned char *y = (const unsigned char *)((const struct sk_hdf5_dataset *)b)->name;
    for (; *x && *x == *y; x++, y++)
        ;
    return (*x == '/' ? 1 : *x ? *x + 1 : 0) - (*y == '/' ? 1 : *y ? *y + 1 : 0);
}

static void write_names(struct sk_hdf5 *h, char *out, size_t cap)
{
    size_t len = 0;
    if (h->count)
        qsort(h->sets, h->count, sizeof *h->sets, in_order);
    for (size_t i = 0; i < h->count; i++) {
        int n = snprintf(out + len, cap - len, "%s/%s", i ? ", " : "", h->sets[i].name);
        if ((size_t)n >= cap - len) {
            snprintf(out + (cap > 5 ? cap - 5 : 0), 5, " ...");
            return;
        }
        len += (size_t)n;
    }
}

void cli_hdf5_list(const char *path, char *out, size_t cap)
{
    struct sk_view v;
    struct sk_hdf5 h = {0};
    *out = 0;
    if (sk_view_open(&v, path, NULL))
        return;
    sk_hdf5_asked = sk_hdf5_library;
    if (sk_hdf5_look(&v, 0, &h, NULL) == SAIKAI_ENOTSUP)
        snprintf(out, cap, "variables that only a build with HDF5 can list");
    write_names(&h, out, cap);
    sk_hdf5_free(&h);
    sk_view_close(&v, NULL);
}

static int take_shape(const char *path, const char *name, const struct sk_hdf5_dataset *d, struct sk_array *a,
                      struct saikai_error *err)
{
    if (!d->type)
        return sk_fail(err, SAIKAI_ENOTSUP, "%s:%s is neither integer nor float of 1 to 8 bytes", path, name);
    if (d->ndims > SAIKAI_MAX_DIMS)
        return sk_fail(err, SAIKAI_ENOTSUP, "%s:%s has %d dimensions; at most %d are taken", path, name, d->ndims,
                       SAIKAI_MAX_DIMS);
    a->type = d->type;
    a->ndims = d->ndims ? d->ndims : 1; /* a scalar: one value */
    memcpy(a->dims, d->dims, sizeof a->dims);
    if (!d->ndims)
        a->dims[0] = 1;
    return 0;
}

int cli_hdf5_read(const char *path, const char *name, struct cli_array *out, struct saikai_error *err)
{
    struct sk_hdf5 h = {0};
    struct cli_array a = {0};
    int rc = sk_hdf5_describe(path, name, &h, err);
    if (rc == SAIKAI_ENOENT) {
        char list[256];
        cli_hdf5_list(path, list, sizeof list);
        return sk_fail(err, rc, "%s has no dataset '%s'; it has %s", path, name, *list ? list : "none");
    }
    if (!rc)
        rc = take_shape(path, name, h.sets, &a.array, err);
    sk_hdf5_free(&h);
    if (rc)
        return rc;
    size_t n = sk_array_size_bytes(&a.array);
    if (!n || n == (size_t)-1) /* nothing to read, or more than there can be */
        rc = cli_array_alloc(path, &a, err);
    else if (!(rc = sk_hdf5_read(path, name, a.array.type, n, &a.data, err)))
        a.size_bytes = a.file_bytes = a.mapped = n;
    if (!rc)
        *out = a;
    return rc;
}
