/* One generation after the other: each file, then the manifest that makes it count. */
#include "output/carry.h"

#include "archive/read/content.h"
#include "base/file/io.h"
#include "output/kept_there.h"
#include "output/manifest.h"
#include "store/owner/job.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATE_MOST = 1 << 20 };

/* One that is being written has no name of its own yet. */
static int is_wanted(const char *name)
{
    size_t n = strlen(name);
    return *name != '.' && !(n > 4 && !strcmp(name + n - 4, ".tmp"));
}

static int put_file(const struct sk_carry *c, struct sk_id store, const char *gen, const char *file, struct sk_manifest *m,
                    struct sk_carried *done, struct saikai_error *err)
{
    char path[PATH_MAX], name[SK_OUTLET_NAME];
    uint64_t size = 0, hash = 0;
    int rc = sk_io_path(path, sizeof path, err, "%s/%s/%s", c->dir, gen, file);
    if (!rc)
        rc = sk_kept_there_name(c->base, store, name, err, "%s/%s", gen, file);
    if (c->progress)
        c->progress(c->arg, path, done->size_bytes);
    if (!rc)
        rc = sk_manifest_sum(path, &size, &hash, err);
    if (!rc)
        rc = sk_manifest_add(m, file, size, hash, err);
    if (!rc && (rc = sk_outlet_put(c->output, name, path, err)) && access(path, F_OK) && errno == ENOENT)
        rc = SAIKAI_ENOENT; /* whatever the method made of that */
    if (!rc) {
        done->files++;
        done->size_bytes += size;
    }
    return rc;
}

static int put_files(const struct sk_carry *c, struct sk_id store, const char *gen, struct sk_manifest *m, struct sk_carried *done,
                     struct saikai_error *err)
{
    char path[PATH_MAX];
    int rc = sk_io_path(path, sizeof path, err, "%s/%s", c->dir, gen);
    DIR *d = rc ? NULL : sk_io_opendir(path);
    if (!rc && !d)
        rc = sk_fail_errno(err, errno, "%s", path);
    for (struct dirent *e; !rc && (e = readdir(d));)
        if (is_wanted(e->d_name))
            rc = put_file(c, store, gen, e->d_name, m, done, err);
    if (d)
        closedir(d);
    return rc;
}

static int is_complete(const struct sk_carry *c, struct sk_gen g)
{
    struct sk_content *content = NULL;
    if (sk_content_load(c->dir, g, 0, &content, NULL))
        return 0;
    int complete = content->complete;
    sk_content_free(content);
    return complete;
}

static int put_generation(const struct sk_carry *c, struct sk_id store, struct sk_gen g, struct sk_carried *done, struct saikai_error *err)
{
    char gen[48], name[SK_OUTLET_NAME];
    struct sk_manifest m = {0};
    struct sk_buf text = {0};
    int rc = put_files(c, store, sk_gen_name(g, gen), &m, done, err);
    if (!rc && !is_complete(c, g)) /* it was retired while it was read */
        rc = sk_fail(err, SAIKAI_ENOENT, "%s/%s has gone meanwhile", c->dir, gen);
    if (!rc)
        rc = sk_manifest_encode(&m, &text, err);
    if (!rc)
        rc = sk_kept_there_name(c->base, store, name, err, "%s" SK_KEPT_WHOLE, gen);
    if (!rc)
        rc = sk_outlet_put_bytes(c->output, name, text.data, text.len, c->dir, err);
    done->generations += !rc;
    sk_buf_free(&text);
    sk_manifest_free(&m);
    return rc;
}

static int put_generations(const struct sk_carry *c, struct sk_id store, struct sk_kept_there *there, struct sk_carried *done,
                           struct saikai_error *err)
{
    struct sk_gen_list l = {0};
    int rc = sk_content_scan(c->dir, &l, err);
    for (size_t i = 0, complete = 0; !rc && i < l.count && complete < (size_t)c->keep; i++) {
        if (!is_complete(c, l.gen[i]))
            continue;
        complete++;
        const struct sk_kept_gen *k = sk_kept_there_find(there, store, l.gen[i]);
        rc = k && k->whole ? 0 : put_generation(c, store, l.gen[i], done, err);
        if (rc == SAIKAI_ENOENT) { /* what is newer, the next look finds */
            rc = 0;
            complete--;
            sk_error_clear(err);
        }
    }
    sk_gen_list_free(&l);
    return rc;
}

/* A small file of the store as it is now. */
static int put_of_store(const struct sk_carry *c, struct sk_id store, const char *file, struct saikai_error *err)
{
    char path[PATH_MAX], name[SK_OUTLET_NAME];
    void *text = NULL;
    size_t n = 0;
    int rc = sk_io_path(path, sizeof path, err, "%s/%s", c->dir, file);
    if (!rc)
        rc = sk_kept_there_name(c->base, store, name, err, "%s", file);
    if (!rc)
        rc = sk_io_slurp(path, STATE_MOST, &text, &n, err);
    if (!rc)
        rc = sk_outlet_put_bytes(c->output, name, text, n, c->dir, err);
    free(text);
    return rc;
}

static int put_pointer(const struct sk_carry *c, struct sk_id store, struct saikai_error *err)
{
    char name[SK_OUTLET_NAME], id[SK_ID_TEXT + 1];
    int rc = sk_io_path(name, sizeof name, err, "%s/" SK_KEPT_POINTER, c->base);
    sk_id_print(store, id);
    strcat(id, "\n");
    return rc ? rc : sk_outlet_put_bytes(c->output, name, id, strlen(id), c->dir, err);
}

/* Those older than the `keep` newest whole ones, whole or not: none of them is being put, as there is one who carries a store. */
static int retire(const struct sk_carry *c, struct sk_id store, struct sk_carried *done, struct saikai_error *err)
{
    struct sk_kept_there there = {0};
    int rc = sk_kept_there_list(c->output, c->base, &there, err), whole = 0;
    for (size_t i = 0; !rc && i < there.n; i++) {
        const struct sk_kept_gen *g = &there.at[i];
        if (!sk_id_same(g->store, store))
            continue;
        if (whole >= c->keep && !(rc = sk_kept_there_remove(c->output, c->base, &there, g, err)))
            done->removed++;
        if (g->whole && !whole++)
            done->newest = g->gen;
    }
    sk_kept_there_free(&there);
    return rc;
}

int sk_carry_now(const struct sk_carry *c, struct sk_carried *out, struct saikai_error *err)
{
    struct sk_kept_there there = {0};
    struct sk_job j;
    int rc = sk_job_load(c->dir, &j, err);
    *out = (struct sk_carried){0};
    if (!rc)
        rc = sk_kept_there_list(c->output, c->base, &there, err);
    if (!rc)
        rc = put_generations(c, j.store, &there, out, err);
    if (!rc)
        rc = put_of_store(c, j.store, SK_JOB_FILE, err);
    if (!rc)
        rc = put_of_store(c, j.store, "state", err);
    if (!rc)
        rc = put_pointer(c, j.store, err);
    if (!rc)
        rc = retire(c, j.store, out, err);
    sk_kept_there_free(&there);
    return rc;
}
