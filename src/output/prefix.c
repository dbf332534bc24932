/* Which stores a prefix has, here and at the output. */
#include "output/prefix.h"

#include "base/file/io.h"
#include "base/file/modes.h"
#include "output/kept_there.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As the sessions lay them (docs/format.md). */
static const char jobs[] = "jobs";

static int base_of(const struct sk_prefix *p, char *out, struct saikai_error *err)
{
    return sk_outlet_base(sk_config_text(p->config, "output.name"), p->dir, out, SK_OUTLET_NAME, err);
}

/* ---- carrying ---- */

static void add_up(struct sk_carried *sum, const struct sk_carried *one)
{
    sum->generations += one->generations;
    sum->files += one->files;
    sum->removed += one->removed;
    sum->size_bytes += one->size_bytes;
    if (one->newest.incarnation)
        sum->newest = one->newest;
}

/* Of the store in dir; nothing when there is none, or when it is another run's. */
static int carry_one(const struct sk_prefix *p, const char *dir, const char *base, uint64_t run, struct sk_carried *sum, int *stores,
                     struct saikai_error *err)
{
    struct sk_carry c = {.output = p->output, .dir = dir, .base = base, .keep = (int)sk_config_int(p->config, "output.keep"),
                         .progress = p->progress, .arg = p->arg};
    struct sk_carried one;
    struct sk_state state;
    struct sk_job j;
    int rc = sk_job_load(dir, &j, err);
    if (rc)
        return rc == SAIKAI_ENOENT ? 0 : rc;
    if (run && (sk_state_load(dir, &state, NULL) || state.run != run))
        return 0;
    ++*stores;
    rc = sk_carry_now(&c, &one, err);
    add_up(sum, &one);
    return rc;
}

int sk_prefix_carry(const struct sk_prefix *p, uint64_t run, struct sk_carried *out, int *stores, struct saikai_error *err)
{
    char base[SK_OUTLET_NAME], below[PATH_MAX], dir[PATH_MAX], name[SK_OUTLET_NAME];
    int before = sk_modes_of_directories(), mode = 0;
    *out = (struct sk_carried){0};
    *stores = 0;
    int rc = base_of(p, base, err);
    if (!rc)
        rc = sk_modes_parse(sk_config_text(p->config, "store.mode"), &mode, err);
    if (!rc)
        rc = sk_io_path(below, sizeof below, err, "%s/%s", p->dir, jobs);
    if (rc)
        return rc;
    sk_modes_set(mode); /* who may read it there is the same question */
    rc = carry_one(p, p->dir, base, run, out, stores, err);
    DIR *d = sk_io_opendir(below);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct saikai_error why = {0};
        if (*e->d_name == '.' || !sk_job_name_ok(e->d_name))
            continue;
        int one = sk_io_path(dir, sizeof dir, &why, "%s/%s", below, e->d_name);
        if (!one)
            one = sk_io_path(name, sizeof name, &why, "%s/%s/%s", base, jobs, e->d_name);
        if (!one)
            one = carry_one(p, dir, name, run, out, stores, &why);
        if (one && !rc && err)
            *err = why;
        rc = rc ? rc : one;
    }
    if (d)
        closedir(d);
    sk_modes_set(before);
    return rc;
}

/* ---- bringing back ---- */

int sk_prefix_stores_there(const struct sk_prefix *p, int (*each)(void *arg, const char *base, const char *dir, struct saikai_error *err), void *arg,
                           struct saikai_error *err)
{
    static const char end[] = "/" SK_KEPT_POINTER;
    char base[SK_OUTLET_NAME], begins[SK_OUTLET_NAME], dir[PATH_MAX];
    struct sk_outlet_names l = {0};
    int rc = base_of(p, base, err);
    if (!rc)
        rc = sk_io_path(begins, sizeof begins, err, "%s/", base);
    if (!rc)
        rc = sk_outlet_list(p->output, begins, &l, err);
    size_t skip = rc ? 0 : strlen(begins), jobs_n = sizeof jobs;
    for (int below = 0; !rc && below < 2; below++) /* the prefix itself goes first */
        for (size_t i = 0; !rc && i < l.n; i++) {
            char *name = l.at[i].name, *rest = name + skip;
            size_t n = strlen(name), most = sizeof end - 1;
            if (n <= most || strcmp(name + n - most, end))
                continue;
            name[n - most] = 0;
            int is_root = n - most == skip - 1, is_job = !is_root && !strncmp(rest, "jobs/", jobs_n) && sk_job_name_ok(rest + jobs_n);
            if (below ? is_job : is_root)
                rc = sk_io_path(dir, sizeof dir, err, "%s%s%s", p->dir, is_job ? "/" : "", is_job ? rest : "");
            if (!rc && (below ? is_job : is_root))
                rc = each(arg, name, dir, err);
            name[n - most] = '/';
        }
    sk_outlet_names_free(&l);
    return rc;
}

struct bringing {
    const struct sk_prefix *p;
    int finished, brought;
    int left;   /* because it has finished */
    int others; /* stores beside that of the prefix itself, which are found only where that is somebody's */
    struct sk_gen gen;
    void (*told)(void *arg, const char *dir, const struct sk_brought *b);
};

static int count_others(void *arg, const char *base, const char *dir, struct saikai_error *err)
{
    struct bringing *x = arg;
    (void)base, (void)err;
    x->others += strcmp(dir, x->p->dir) != 0;
    return 0;
}

static int bring_one(void *arg, const char *base, const char *dir, struct saikai_error *err)
{
    struct bringing *x = arg;
    struct sk_bring b = {.output = x->p->output, .dir = dir, .base = base, .finished = x->finished, .progress = x->p->progress, .arg = x->p->arg};
    struct sk_brought got;
    char above[PATH_MAX];
    if (!strcmp(dir, x->p->dir)) {
        b.gen = x->gen;
        b.finished |= x->others > 0;
    }
    int rc = sk_io_path(above, sizeof above, err, "%.*s", (int)(strrchr(dir, '/') ? strrchr(dir, '/') - dir : 0), dir);
    if (!rc && *above)
        rc = sk_io_mkdirs_lasting(above, err);
    if (!rc)
        rc = sk_bring_back(&b, &got, err);
    if (rc == SAIKAI_ENOENT && got.has_finished && !b.finished) {
        x->left++;
        return 0;
    }
    if (rc)
        return rc;
    x->brought++;
    if (x->told)
        x->told(x->p->arg, dir, &got);
    return 0;
}

int sk_prefix_bring(const struct sk_prefix *p, int finished, struct sk_gen gen, void (*told)(void *arg, const char *dir, const struct sk_brought *b),
                    struct saikai_error *err)
{
    struct bringing x = {.p = p, .finished = finished, .gen = gen, .told = told};
    int before = sk_modes_of_directories(), mode = 0;
    if (!sk_bring_may_go(p->dir))
        return sk_fail(err, SAIKAI_EEXIST, "%s is not empty: what is at the output can be brought back only where nothing is", p->dir);
    int rc = sk_modes_parse(sk_config_text(p->config, "store.mode"), &mode, err);
    if (rc)
        return rc;
    sk_modes_set(mode);
    rc = sk_prefix_stores_there(p, count_others, &x, err);
    if (!rc)
        rc = sk_prefix_stores_there(p, bring_one, &x, err);
    sk_modes_set(before);
    if (!rc && !x.brought)
        rc = sk_fail(err, SAIKAI_ENOENT, x.left ? "output %.200s: what it has of %.200s is of a run that has finished" : "output %.200s has nothing of %.200s",
                     p->output->label, p->dir);
    return rc;
}
