/* What is known of a file before it is archived: from stat, and from its reader. */
#include "archive/plan/listing.h"

#include "base/log.h"
#include "reader/scan.h"

#include <stdlib.h>
#include <string.h>

int sk_list_input(const struct sk_archive_input *in, const struct stat *seen, int look,
                  struct sk_listed *out, struct saikai_error *err)
{
    struct saikai_error why = {0};
    struct sk_listed l = {.size_bytes = (uint64_t)seen->st_size, .mode = seen->st_mode & 07777};
    uint64_t size = l.size_bytes;
    int rc = 0;
    l.mtime_ns = (int64_t)seen->st_mtim.tv_sec * 1000000000 + seen->st_mtim.tv_nsec;
    if (look && in->data) {
        struct sk_view src = {.path = in->name, .data = in->data, .size = in->bytes};
        rc = sk_scan_source(&src, &l.scan, &why);
        if (rc)
            return sk_fail(err, rc, "%s: no memory to list its variables", in->name);
    } else if (look) {
        rc = sk_scan_file(in->path, &l.scan, &size, &why, err);
        if (rc)
            return rc;
    }
    if (size != l.size_bytes) {
        sk_scan_free(&l.scan);
        return sk_fail(err, SAIKAI_ECHANGED,
                       "%s changes while it is read: archive it when it is finished", in->path);
    }
    if (why.code)
        sk_log(SK_LOG_INFO, "%s; archived without its structure", why.text);
    l.name = strdup(in->name);
    if (!l.name) {
        sk_scan_free(&l.scan);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    }
    *out = l;
    return 0;
}

void sk_listed_free(struct sk_listed *l)
{
    free(l->name);
    sk_scan_free(&l->scan);
    sk_chunks_free(&l->chunks);
    *l = (struct sk_listed){0};
}
