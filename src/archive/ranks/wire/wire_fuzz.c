/* What ranks tell each other about their files: hostile bytes give a list whose extents lie in
 * their files, or an error; requests give ranges of the files there are; owners have names. The
 * first byte chooses. */
#include "archive/plan/listing.h"
#include "archive/ranks/owners.h"
#include "archive/ranks/wire/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!n)
        return 0;
    if (data[0] == 'r') {
        static const uint64_t sizes[] = {10, 0, 1 << 20};
        struct sk_ska_range *r = NULL;
        size_t count = 0;
        uint64_t total = 0, sum = 0;
        if (!sk_wire_get_ranges(data + 1, n - 1, sizes, 3, &r, &count, &total)) {
            for (size_t i = 0; i < count; i++) {
                if (r[i].file >= 3 || r[i].offset + r[i].bytes > sizes[r[i].file])
                    abort();
                sum += r[i].bytes;
            }
            if (sum != total)
                abort();
            free(r);
        }
        return 0;
    }
    size_t count = 0;
    if (data[0] == 'c') {
        struct sk_file_owner *c = NULL;
        if (!sk_owners_read(data + 1, n - 1, 0, &c, &count))
            for (size_t i = 0; i < count; i++)
                if (c[i].name + strlen(c[i].name) >= (const char *)data + n)
                    abort();
        free(c);
        return 0;
    }
    struct sk_listed *l = NULL;
    if (sk_wire_get_list(data + 1, n - 1, &l, &count))
        return 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < l[i].scan.count; k++) {
            const struct sk_extent *e = &l[i].scan.extents[k];
            if (e->offset + e->length > l[i].size_bytes)
                abort();
        }
        sk_listed_free(&l[i]);
    }
    free(l);
    return 0;
}
