/* A directory beside the one that is wanted gets all of it, and then its name. */
#include "output/bring.h"

#include "base/file/io.h"
#include "base/log.h"
#include "output/kept_there.h"
#include "output/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATE_MOST = 1 << 20 };

/* ---- where ---- */

int sk_bring_may_go(const char *dir)
{
    DIR *d = sk_io_opendir(dir);
    if (!d)
        return errno == ENOENT;
    int n = 0;
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(d);
    return !n;
}

/* The directory itself, where its name is a link, and one beside it. */
static int choose_places(const char *dir, char *to, char *aside, struct saikai_error *err)
{
    char real[PATH_MAX];
    int rc = sk_io_path(to, PATH_MAX, err, "%s", realpath(dir, real) ? real : dir);
    for (size_t n = rc ? 0 : strlen(to); n > 1 && to[n - 1] == '/';)
        to[--n] = 0;
    if (!rc && !sk_bring_may_go(to))
        rc = sk_fail(err, SAIKAI_EEXIST, "%s is not empty: name a directory that is, or is not there", dir);
    return rc ? rc : sk_io_path(aside, PATH_MAX, err, "%s.%ld.tmp", to, (long)getpid());
}

/* ---- what ---- */

/* The files of the store: whose it is goes into out->job, what it remembers into *state. */
static int get_of_store(const struct sk_bring *b, const char *aside, struct sk_id store, struct sk_brought *out, struct sk_state *state,
                        struct saikai_error *err)
{
    char name[SK_OUTLET_NAME];
    void *text = NULL;
    size_t n = 0;
    int rc = sk_kept_there_name(b->base, store, name, err, SK_JOB_FILE);
    if (!rc)
        rc = sk_outlet_get_bytes(b->output, name, STATE_MOST, aside, &text, &n, err);
    if (!rc)
        rc = sk_job_decode(text, n, &out->job, err);
    free(text);
    text = NULL;
    if (!rc)
        rc = sk_kept_there_name(b->base, store, name, err, "state");
    if (!rc)
        rc = sk_outlet_get_bytes(b->output, name, STATE_MOST, aside, &text, &n, err);
    if (!rc)
        rc = sk_state_decode(text, n, state, err);
    free(text);
    return rc;
}

static int check(const char *path, const struct sk_manifest_file *f, struct saikai_error *err)
{
    uint64_t size = 0, hash = 0;
    int rc = sk_manifest_sum(path, &size, &hash, err);
    if (!rc && size != f->size_bytes)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "%s has %llu bytes and not %llu", f->name, (unsigned long long)size, (unsigned long long)f->size_bytes);
    if (!rc && hash != f->hash)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "%s is damaged there", f->name);
    int fd = rc ? rc : sk_io_open(path, O_RDONLY, 0, err);
    if (fd < 0)
        return fd;
    rc = sk_io_fsync(fd, path, err);
    close(fd);
    return rc;
}

static int get_file(const struct sk_bring *b, const char *aside, const struct sk_kept_gen *g, const struct sk_manifest_file *f,
                    struct sk_brought *out, struct saikai_error *err)
{
    char path[PATH_MAX], gen[48], name[SK_OUTLET_NAME];
    int rc = sk_io_path(path, sizeof path, err, "%s/%s/%s", aside, sk_gen_name(g->gen, gen), f->name);
    if (!rc)
        rc = sk_kept_there_name(b->base, g->store, name, err, "%s/%s", gen, f->name);
    if (b->progress)
        b->progress(b->arg, name, out->size_bytes);
    for (int tries = 0; !rc && tries < 2; tries++) { /* what was damaged on the way may come whole the second time */
        sk_error_clear(err);
        rc = sk_io_unlink(path, err);
        if (!rc)
            rc = sk_outlet_get(b->output, name, path, err);
        if (!rc && !(rc = check(path, f, err)))
            break;
        if (rc == SAIKAI_EDAMAGED && !tries)
            rc = 0;
    }
    if (!rc) {
        out->files++;
        out->size_bytes += f->size_bytes;
    }
    return rc;
}

static int get_generation(const struct sk_bring *b, const char *aside, const struct sk_kept_gen *g, struct sk_brought *out,
                          struct saikai_error *err)
{
    char name[SK_OUTLET_NAME], gen[48], dir[PATH_MAX];
    struct sk_manifest m = {0};
    void *text = NULL;
    size_t n = 0;
    out->files = 0;
    out->size_bytes = 0;
    int rc = sk_kept_there_name(b->base, g->store, name, err, "%s" SK_KEPT_WHOLE, sk_gen_name(g->gen, gen));
    if (!rc)
        rc = sk_outlet_get_bytes(b->output, name, SK_MANIFEST_MOST, aside, &text, &n, err);
    if (!rc)
        rc = sk_manifest_decode(text, n, &m, err);
    free(text);
    if (!rc)
        rc = sk_gen_dir(aside, g->gen, dir, sizeof dir, err);
    if (!rc)
        rc = sk_io_mkdirs_lasting(dir, err);
    for (size_t i = 0; !rc && i < m.n; i++)
        rc = get_file(b, aside, g, &m.file[i], out, err);
    sk_manifest_free(&m);
    if (!rc)
        out->gen = g->gen;
    return rc;
}

static int may_be(const struct sk_bring *b, const struct sk_state *state, const struct sk_kept_gen *g, struct sk_id store)
{
    const struct sk_tried *t = sk_state_tried(state, g->gen);
    if (!sk_id_same(g->store, store) || !g->whole)
        return 0;
    if (b->gen.incarnation)
        return sk_gen_key(g->gen) == sk_gen_key(b->gen);
    return !(t && t->bad) && g->gen.incarnation >= state->first_incarnation;
}

/* The newest that is as it was put there. */
static int get_newest(const struct sk_bring *b, const char *aside, struct sk_id store, const struct sk_state *state, struct sk_brought *out,
                      struct saikai_error *err)
{
    struct sk_kept_there there = {0};
    char gen[48], dir[PATH_MAX], name[SK_OUTLET_NAME];
    int rc = sk_kept_there_list(b->output, b->base, &there, err), found = 0;
    if (rc)
        return rc;
    rc = sk_fail(err, SAIKAI_ENOENT, "output %.200s: no generation %s%sof %.200s is whole there", b->output->label,
                 b->gen.incarnation ? sk_gen_name(b->gen, gen) : "", b->gen.incarnation ? " " : "", b->base);
    for (size_t i = 0; rc && !found && i < there.n; i++) {
        const struct sk_kept_gen *g = &there.at[i];
        if (!may_be(b, state, g, store))
            continue;
        sk_error_clear(err);
        rc = get_generation(b, aside, g, out, err);
        found = !rc || (rc != SAIKAI_EDAMAGED && rc != SAIKAI_ENOENT) || b->gen.incarnation; /* what is wrong with the output is no reason to go further back */
        if (!found) {
            sk_log(SK_LOG_WARN, "generation %s at %s is passed over, and does not count any more: %s", sk_gen_name(g->gen, gen), b->output->label,
                   err ? err->text : "it is damaged");
            out->passed_over++;
            if (!sk_kept_there_name(b->base, g->store, name, NULL, "%s" SK_KEPT_WHOLE, gen)) /* else it would be kept in place of a good one */
                sk_outlet_remove(b->output, name, NULL);
            if (!sk_gen_dir(aside, g->gen, dir, sizeof dir, NULL))
                sk_io_rmtree(dir, NULL);
        }
    }
    sk_kept_there_free(&there);
    return rc;
}

/* It is the store that it was, at this place. */
static int write_of_store(const char *aside, const char *dir, struct sk_brought *out, const struct sk_state *state, struct saikai_error *err)
{
    struct stat st;
    char here[PATH_MAX] = "";
    if (stat(aside, &st))
        return sk_fail_errno(err, errno, "%s", aside);
    int rc = sk_state_save(aside, state, err);
    if (*dir != '/' && !getcwd(here, sizeof here))
        rc = sk_fail_errno(err, errno, "the working directory");
    out->job.inode = (uint64_t)st.st_ino; /* a rename keeps it */
    if (!rc)
        rc = sk_io_path(out->job.place, sizeof out->job.place, err, "%s%s%s", here, *here ? "/" : "", dir);
    return rc ? rc : sk_job_replace(aside, &out->job, err);
}

int sk_bring_back(const struct sk_bring *b, struct sk_brought *out, struct saikai_error *err)
{
    char to[PATH_MAX], aside[PATH_MAX];
    struct sk_state state = {0};
    struct sk_id store = {{0}};
    *out = (struct sk_brought){0};
    int rc = choose_places(b->dir, to, aside, err);
    if (rc || (rc = sk_io_rmtree(aside, err)) || (rc = sk_io_mkdirs_lasting(aside, err)))
        return rc;
    rc = sk_kept_there_newest_store(b->output, b->base, aside, &store, err);
    if (!rc)
        rc = get_of_store(b, aside, store, out, &state, err);
    out->has_finished = !rc && state.finished;
    if (!rc && out->has_finished && !b->finished)
        rc = sk_fail(err, SAIKAI_ENOENT, "output %.200s: the run of %.200s has finished", b->output->label, b->base);
    if (!rc)
        rc = get_newest(b, aside, store, &state, out, err);
    if (!rc)
        rc = write_of_store(aside, to, out, &state, err);
    if (!rc)
        rc = sk_io_rename(aside, to, err); /* over an empty directory, too */
    if (!rc)
        rc = sk_io_fsync_parent(to, err);
    if (rc)
        sk_io_rmtree(aside, NULL);
    return rc;
}
