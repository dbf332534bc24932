/* Reading a rank's own part of a generation. */
#include "lib/restart/own_part.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/log.h"
#include "base/file/patient_io.h"
#include "lib/levels/aggregator.h"
#include "lib/restart/far.h"
#include "lib/restart/reshape.h"
#include "store/form/lineage.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So often it is waited for store.final_wait. */
enum { WAITS = 3 };

int sk_own_part_check(struct sk_session *s, const struct sk_container *c, struct sk_gen g, struct saikai_error *err)
{
    const struct sk_skc_header *h = &c->header;
    int foreign = sk_session_check_store(s, h, c->path, err);
    if (foreign)
        return foreign;
    const char *own = sk_reshape_obstacle(&s->vars);
    if ((int)h->nranks != s->g->size && s->resume.reshapable)
        return SK_OTHER_TILES;
    if ((int)h->nranks != s->g->size)
        return sk_fail(err, SAIKAI_ERANKS,
                       "%s was written by %u ranks, this job has %d: start it with %u, or afresh with "
                       "restart.mode=never%s%.60s%s",
                       c->path, h->nranks, s->g->size, h->nranks, own ? " ('" : "", own ? own : "",
                       own ? "' is neither declared global nor replicated)" : "");
    if ((int)h->rank != s->g->rank || h->iteration != g.iteration || h->place != g.place ||
        h->incarnation != g.incarnation)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s holds another generation or another rank's part", c->path);
    return 0;
}

/* Files of the program that were saved with the generation go to a directory of their own. */
static int unpack_files(struct sk_session *s, struct sk_container *c, struct saikai_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < c->index->var_count; i++) {
        const struct sk_skc_var *v = &c->index->vars[i];
        char path[PATH_MAX];
        if (v->kind != SK_SKC_FILE)
            continue;
        if (!*s->resume.restored_files)
            rc = sk_io_path(s->resume.restored_files, sizeof s->resume.restored_files, err, "%s/restored-%04u-%06d", s->place.local_root,
                            s->who.incarnation, s->g->rank);
        if (!rc)
            rc = sk_io_mkdirs(s->resume.restored_files, err);
        void *data = rc ? NULL : malloc(v->raw_bytes ? v->raw_bytes : 1);
        if (!rc && !data)
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for file '%.60s' of %s", v->name, c->path);
        if (!rc)
            rc = sk_container_read(c, v, data, err);
        if (!rc && strchr(v->name, '/'))
            rc = sk_fail(err, SAIKAI_EDAMAGED, "%s: '%.60s' is no file name", c->path, v->name);
        if (!rc)
            rc = sk_io_path(path, sizeof path, err, "%s/%s", s->resume.restored_files, v->name);
        if (!rc)
            rc = sk_io_replace(path, data, v->raw_bytes, err);
        free(data);
    }
    return rc;
}

/* 1: the rest of the generation is wanted, too; 0: it is another loop's, of which no more is read. */
static int passes_gate(struct sk_session *s, struct sk_container *c, struct saikai_error *err)
{
    struct sk_var *v = s->resume.gate.name ? sk_vars_find(&s->vars, s->resume.gate.name) : NULL;
    int rc = v ? sk_var_restore(v, c, err) : 0;
    return rc ? rc : !v || s->resume.gate.opens(v->data);
}

static int read_container(struct sk_session *s, struct sk_container *c, struct sk_gen g,
                          struct saikai_error *err)
{
    int rc = sk_own_part_check(s, c, g, err), wanted = rc ? rc : passes_gate(s, c, err);
    if (wanted <= 0)
        return wanted;
    for (size_t i = 0; !rc && s->resume.reshapable && i < s->vars.count; i++) {
        const struct sk_skc_var *v = sk_skc_find(c->index, s->vars.v[i].name);
        rc = v && !sk_var_same_tile(&s->vars.v[i], v) ? SK_OTHER_TILES : 0;
    }
    if (!rc && s->resume.keeps)
        return 0;
    for (size_t i = 0; !rc && i < s->vars.count; i++)
        rc = sk_var_restore(&s->vars.v[i], c, err);
    if (!rc)
        rc = unpack_files(s, c, err);
    s->resume.inexact = sk_vars_inexact(&s->vars, c->index, s->resume.inexact_first);
    s->resume.restored_bytes = 0;
    for (uint32_t i = 0; !rc && i < c->index->var_count; i++)
        s->resume.restored_bytes += c->index->vars[i].raw_bytes;
    for (uint32_t i = 0; !rc && i < c->index->var_count; i++)
        if (c->index->vars[i].kind != SK_SKC_FILE && !sk_vars_find(&s->vars, c->index->vars[i].name))
            sk_log(SK_LOG_WARN, "rank %d: %s has a variable '%s' that this program does not protect",
                   s->g->rank, c->path, c->index->vars[i].name);
    return rc;
}

/* 1: root is a prefix, which may hang: from here on this is waited for with patience; to be ended with NULL. */
static int begin_patience(struct sk_session *s, const char *root)
{
    int far = *s->place.prefix_root && !strcmp(root, s->place.prefix_root);
    if (far)
        sk_patient_io(s->place.patience, s->place.prefix_root);
    return far;
}

static int is_in(struct sk_session *s, const char *root, const char *path)
{
    if (!begin_patience(s, root))
        return !access(path, F_OK);
    int fd = sk_io_open(path, O_RDONLY, 0, NULL);
    sk_patient_io(NULL, NULL);
    if (fd >= 0)
        close(fd);
    return fd != SAIKAI_ENOENT; /* what else is wrong with it, reading tells */
}

static int read_once(struct sk_session *s, const char *path, const char *root, struct sk_gen g, uint64_t *run_id,
                     struct saikai_error *err)
{
    struct sk_container *c = NULL;
    begin_patience(s, root);
    int rc = sk_lineage_open_file(path, root, &c, err);
    if (!rc) {
        rc = read_container(s, c, g, err);
        *run_id = c->header.run_id;
        s->resume.from_created_ms = c->header.created_ms;
    }
    sk_container_close(c);
    sk_patient_io(NULL, NULL);
    return rc;
}

/* The file's content into the variables. An error of the device may pass: it is tried again before it counts. So may the
 * silence of a prefix: it is waited for, but not for ever, since an older generation may be whole on the nodes. */
static int read_file(struct sk_session *s, const char *path, const char *root, struct sk_gen g, uint64_t *run_id,
                     struct saikai_error *err)
{
    static const double pause[] = {0.02, 0.1, 0.5};
    for (size_t tries = 0, waits = 0;;) {
        struct saikai_error why = {0};
        int rc = read_once(s, path, root, g, run_id, &why);
        if (rc == SAIKAI_ETIMEDOUT && waits++ < WAITS) {
            sk_log(SK_LOG_WARN, "rank %d: %s; its part of the generation is there alone: waiting", s->g->rank, why.text);
            sk_patience_wait(s->place.patience, sk_config_time(s->config, "store.final_wait"));
        } else if (rc == SAIKAI_EIO && tries < sizeof pause / sizeof *pause) {
            sk_log(SK_LOG_WARN, "rank %d: %s; trying again in %g s", s->g->rank, why.text, pause[tries]);
            sk_sleep(pause[tries++]);
        } else {
            if (rc < 0)
                *err = why;
            return rc;
        }
    }
}

int sk_own_part_read(struct sk_session *s, struct sk_gen g, uint64_t *run_id, struct saikai_error *err)
{
    const char *roots[2] = {s->place.local_root, s->place.prefix_root};
    int rc = SAIKAI_ENOENT, apart = strcmp(s->place.local_root, s->place.prefix_root) != 0;
    for (int i = 0; i < 1 + apart && i < 2; i++) {
        char path[PATH_MAX];
        struct saikai_error why = {0};
        if (!*roots[i] || sk_gen_file(roots[i], g, s->g->rank, path, sizeof path, &why) || !is_in(s, roots[i], path))
            continue;
        int r = read_file(s, path, roots[i], g, run_id, &why);
        if (r >= 0)
            return r;
        if (err)
            *err = why;
        rc = r;
        if (r == SAIKAI_ECHANGED || r == SAIKAI_ERANKS)
            break; /* another copy says the same */
        sk_log(SK_LOG_WARN, "rank %d: %s%s", s->g->rank, why.text,
               i == 0 && apart ? "; trying the copy in the prefix" : "");
    }
    return rc;
}

/* Collective: the same question on all ranks. *silent: the prefix did not answer somewhere; then it is waited for, unless that was
 * done often enough. */
static int wait_where_silent(struct sk_session *s, int rc, int waits, const struct saikai_error *why, int *silent)
{
    int64_t any = rc == SAIKAI_ETIMEDOUT;
    int waiting = any && waits < WAITS;
    if (waiting)
        sk_log(SK_LOG_WARN, "rank %d: %s; a part of the generation is in archives there alone: waiting", s->g->rank, why->text);
    int lost = sk_group_allreduce(s->g, &any, 1, SK_OP_MAX);
    *silent = any != 0;
    if (waiting)
        sk_patience_wait(s->place.patience, sk_config_time(s->config, "store.final_wait"));
    return lost;
}

/* Collective: how many ranks g was archived by, as rank 0 sees it; 0: it is not archived. *silent: nobody knows. */
static int count_archived(struct sk_session *s, struct sk_gen g, int64_t *ranks, int *silent)
{
    int n = 0, rc = 0;
    *silent = 1;
    for (int waits = 0; !rc && *silent && waits <= WAITS; waits++) {
        struct saikai_error why = {0};
        int looked = s->g->rank || !*s->place.prefix_root ? 0 : sk_far_archived_ranks(s, g, &n, &why);
        rc = wait_where_silent(s, looked, waits, &why, silent);
    }
    *ranks = n;
    return rc ? rc : sk_group_bcast(s->g, ranks, sizeof *ranks, 0);
}

/* Collective: one verdict in *back. */
static int unpack_archives(struct sk_session *s, struct sk_gen g, int lacks, int *back, struct saikai_error *err)
{
    /* other numbers of ranks and other tiles read all files from the prefix, each rank what it needs */
    const char *to = s->resume.reshapable || !sk_session_has_local(s) ? s->place.prefix_root : s->place.local_root;
    int rc = 0, silent = 1;
    for (int waits = 0; !rc && silent && waits <= WAITS; waits++) {
        struct saikai_error why = {0};
        sk_patient_io(s->place.patience, s->place.prefix_root);
        *back = sk_archived_restore(s->g, s->place.prefix_root, g, to, lacks, s->resume.reshapable, &s->who.job,
                                    sk_config_size(s->config, "far.memory"), &why);
        sk_patient_io(NULL, NULL);
        *err = why;
        rc = wait_where_silent(s, *back, waits, &why, &silent);
    }
    if (!rc && silent && *back) /* whoever it was: it may be read at another time */
        *back = err->code = SAIKAI_ETIMEDOUT;
    return rc;
}

int sk_own_part_read_archived(struct sk_session *s, struct sk_gen g, int *mine, uint64_t *run_id, struct saikai_error *err)
{
    struct saikai_error why = {0};
    int64_t ranks = 0, lacks = *mine == SK_OTHER_TILES || (*mine < 0 && *mine != SAIKAI_ECHANGED && *mine != SAIKAI_ERANKS &&
                                                           *mine != SAIKAI_ENOMEM);
    int own = lacks != 0, back = 0, silent = 0, rc = sk_group_allreduce(s->g, &lacks, 1, SK_OP_MAX);
    if (rc || !lacks || (rc = count_archived(s, g, &ranks, &silent)))
        return rc;
    if (silent)
        back = sk_fail(&why, SAIKAI_ETIMEDOUT, "%s does not answer: what it has of the generation cannot be read", s->place.prefix_root);
    else if (!ranks || (rc = unpack_archives(s, g, own, &back, &why)))
        return rc;
    if (own && back && (*mine == SAIKAI_ENOENT || back == SAIKAI_ERANKS || back == SAIKAI_ETIMEDOUT)) {
        *mine = back;
        if (err)
            *err = why;
    }
    if (back && s->g->rank == 0)
        sk_log(SK_LOG_WARN, "%s", why.text);
    if (own && !back)
        *mine = sk_own_part_read(s, g, run_id, err);
    return 0;
}
