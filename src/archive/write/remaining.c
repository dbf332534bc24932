/* Looks for the inputs at which an archive failed, and lets the caller decide whether it is made without them. What changed while it was
 * read is read once more: a program may have been at its end. */
#include "archive/write/remaining.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>

enum { ATTEMPTS = 10 };

int sk_remaining_init(struct sk_remaining *r, const struct sk_archive_input *inputs, size_t count, const struct sk_archive_options *opt,
                      struct saikai_error *err)
{
    *r = (struct sk_remaining){.inputs = inputs, .count = count, .opt = opt ? *opt : (struct sk_archive_options){0}};
    if (!r->opt.leave_out)
        return 0;
    r->list = calloc(count, sizeof *r->list);
    r->entries = calloc(r->opt.entry_count, sizeof *r->entries);
    if (!r->list || !r->entries)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    if (count)
        memcpy(r->list, inputs, count * sizeof *r->list);
    if (r->opt.entry_count)
        memcpy(r->entries, r->opt.entries, r->opt.entry_count * sizeof *r->entries);
    r->inputs = r->list;
    r->opt.entries = r->entries;
    return 0;
}

void sk_remaining_free(struct sk_remaining *r)
{
    free(r->list);
    free(r->entries);
    *r = (struct sk_remaining){0};
}

/* Other names of a file that is left out would lead nowhere: no archive has such. */
static int leave_links(struct sk_remaining *r, const char *name, struct saikai_error *err)
{
    size_t n = 0;
    int rc = 0;
    for (size_t i = 0; i < r->opt.entry_count; i++) {
        const struct sk_ska_entry *e = &r->entries[i];
        struct saikai_error why = {0};
        int leads = e->kind == SK_ENTRY_HARD_LINK && !strcmp(e->target, name);
        if (leads && !rc) {
            sk_fail(&why, SAIKAI_ENOENT, "%s is another name of %s, which is left out", e->name, name);
            if (!r->opt.leave_out(r->opt.leave_arg, e->name, &why)) {
                rc = why.code;
                if (err)
                    *err = why;
            }
        }
        if (!leads)
            r->entries[n++] = *e;
    }
    r->opt.entry_count = n;
    return rc;
}

/* What is wrong with input i, 0: nothing. rc, cause: how the attempt failed. */
static int wrong_with(const struct sk_feed_local *feed, size_t i, int rc, const struct saikai_error *cause, struct saikai_error *why)
{
    const char *path = feed->inputs[i].path;
    int is = i < feed->count ? sk_feed_local_same(feed, i, why) : 0; /* from the count on none has been looked at */
    if (is || feed->failed != i + 1)
        return is;
    return strstr(cause->text, path) ? sk_fail(why, rc, "%s", cause->text) : sk_fail(why, rc, "cannot read %s", path);
}

int sk_remaining_again(struct sk_remaining *r, const struct sk_feed_local *feed, int rc, struct saikai_error *err)
{
    struct saikai_error cause = err ? *err : (struct saikai_error){0};
    size_t n = 0, count = r->count, changed = 0;
    int bad = 0, second = r->attempts > 0;
    if (!r->list || rc == SAIKAI_ENOSPC || rc == SAIKAI_ENOMEM || rc == SAIKAI_EEXIST || ++r->attempts >= ATTEMPTS)
        return rc;
    for (size_t i = 0; i < count; i++) {
        const struct sk_archive_input in = r->list[i];
        struct saikai_error why = {0};
        int is = bad ? 0 : wrong_with(feed, i, rc, &cause, &why);
        if (is == SAIKAI_ECHANGED && !second) {
            changed++;
        } else if (is && r->opt.leave_out(r->opt.leave_arg, in.path, &why)) {
            bad = leave_links(r, in.name, err);
            r->count--;
            continue;
        } else if (is) {
            bad = is;
            if (err)
                *err = why;
        }
        r->list[n++] = in;
    }
    if (bad)
        return bad;
    if (!r->count && count)
        return sk_fail(err, rc, "none of the files could be read: there is nothing to archive");
    if (!changed && r->count == count)
        return rc;
    if (changed)
        sk_log(SK_LOG_WARN, "%zu file%s changed while the archive was made: all of it is read once more", changed, changed == 1 ? "" : "s");
    return 0;
}
