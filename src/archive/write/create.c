/* Creating an archive of files of this process: list them, plan, and write through the pipeline; once more without what could not be
 * read, where that may be left out. */
#include "archive/write/create.h"

#include "archive/file/set.h"
#include "archive/file/target.h"
#include "archive/write/delta.h"
#include "archive/write/remaining.h"
#include "archive/write/schemes.h"
#include "base/clock.h"

#include <errno.h>
#include <unistd.h>

/* An archive that others build on is not replaced: they could not be read without it. */
static int may_replace(const char *out, struct saikai_error *err)
{
    char other[256];
    int rc = access(out, F_OK) ? 0 : sk_ska_builds_on(out, other, sizeof other, err);
    return rc <= 0 ? rc
                   : sk_fail(err, SAIKAI_EEXIST,
                             "%s is not replaced: %s beside it builds on it; take another name, or "
                             "remove that one first",
                             out, other);
}

/* Once, of inputs that are expected to stay as they are. */
static int create(const char *out, const struct sk_remaining *r, struct sk_feed_local *feed, struct sk_archive_stats *st,
                  struct saikai_error *err)
{
    struct sk_ska_plan p = {0};
    struct sk_target t = {.fd = -1};
    double t0 = sk_now();
    sk_ska_plan_options(&p, &r->opt);
    int rc = sk_feed_local_init(feed, r->inputs, r->count, err);
    p.feed = &feed->feed;
    if (!rc)
        rc = sk_ska_plan_list(&p, feed, err);
    for (size_t i = 0; i < p.opt.entry_count && !rc; i++)
        if (sk_ska_add_entry(&p.a, &p.opt.entries[i]) < 0)
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    st->scan_seconds = sk_now() - t0;
    if (!rc && p.opt.previous)
        rc = sk_ska_plan_previous(&p, out, p.opt.previous, err);
    if (!rc)
        rc = sk_target_open(&t, out, err);
    if (!rc)
        rc = sk_ska_plan_write(&p, t.fd, t.tmp, st, err);
    if (!rc)
        rc = sk_feed_local_check(feed, err);
    if (!rc)
        rc = sk_target_commit(&t, out, !p.opt.no_sync, err);
    sk_target_drop(&t);
    sk_ska_plan_free(&p);
    return rc;
}

int sk_archive_create(const char *out, const struct sk_archive_input *inputs, size_t count,
                      const struct sk_archive_options *opt, struct sk_archive_stats *stats,
                      struct saikai_error *err)
{
    struct sk_remaining r;
    struct sk_archive_stats st = {0};
    struct saikai_error why = {0};
    double t0 = sk_now();
    int rc = sk_remaining_init(&r, inputs, count, opt, &why), again = 1;
    if (!rc)
        rc = may_replace(out, &why);
    while (!rc && again) {
        struct sk_feed_local feed = {0};
        st = (struct sk_archive_stats){0};
        again = create(out, &r, &feed, &st, &why);
        if (again)
            rc = sk_remaining_again(&r, &feed, again, &why);
        sk_feed_local_free(&feed);
    }
    st.seconds = sk_now() - t0;
    if (!rc && stats)
        *stats = st;
    if (rc && err)
        *err = why;
    sk_remaining_free(&r);
    return rc;
}
