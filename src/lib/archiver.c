/* The engine's archiver: copies generations to the prefix. */
#include "lib/engine_parts.h"

#include "base/io.h"
#include "store/lineage.h"

#include <limits.h>
#include <unistd.h>

static int archive_one(struct sk_engine *e, struct sk_gen gen, struct saikai_error *err)
{
    char tmp[PATH_MAX];
    struct sk_container *c = NULL;
    int rc = sk_io_path(tmp, sizeof tmp, err, "%s/copy-%04u-%06d.tmp", e->prefix_root, e->incarnation, e->rank);
    if (!rc)
        rc = sk_lineage_open(e->local_root, gen, e->rank, &c, err);
    if (!rc)
        rc = sk_container_copy(c, tmp, e->sync_prefix, err);
    if (!rc && (rc = sk_gen_commit(e->prefix_root, gen, e->rank, tmp, e->sync_prefix, err)))
        sk_io_unlink(tmp, NULL);
    sk_container_close(c);
    return rc;
}

static int is_here(const struct sk_engine *e, struct sk_gen gen)
{
    char path[PATH_MAX];
    return !sk_gen_file(e->local_root, gen, e->rank, path, sizeof path, NULL) && !access(path, F_OK);
}

static void copy_to_prefix(struct sk_engine *e)
{
    struct saikai_error err = {0};
    struct held *h = sk_engine_find(e, e->archive_seq);
    int64_t seq = e->archive_seq;
    e->archive_seq = 0;
    if (!h)
        return;
    h->archiving = e->busy_archive = 1;
    struct sk_gen gen = h->gen;
    pthread_mutex_unlock(&e->lock);
    int rc = archive_one(e, gen, &err);
    pthread_mutex_lock(&e->lock);
    h->archiving = e->busy_archive = 0;
    if (rc) {
        char name[48];
        sk_error_prefix(&err, "generation %s is not archived", sk_gen_name(gen, name));
        sk_engine_fail(e, &err);
        if (err.code == SAIKAI_EDAMAGED || (err.code == SAIKAI_ENOENT && !is_here(e, gen)))
            e->doubt.any = e->doubt.all = 1;
    } else {
        e->archived_seq = seq;
        sk_ledger_mark(e->ledger, seq, SK_LEDGER_COPIED);
    }
    e->retired_seq = -1; /* the copy may have held back a retirement */
    pthread_cond_broadcast(&e->changed);
}

void *sk_engine_archiver(void *arg)
{
    struct sk_engine *e = arg;
    pthread_mutex_lock(&e->lock);
    while (!e->stopping) {
        if (!e->archive_seq && e->pruned_seq >= e->pruned_request) {
            pthread_cond_wait(&e->changed, &e->lock);
            continue;
        }
        if (e->archive_seq)
            copy_to_prefix(e);
        else
            sk_engine_retain_prefix(e);
        pthread_cond_broadcast(&e->changed);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}
