/* Finds the store that an operand or the configuration means, loads its generations and its state,
 * and describes them for people and as JSON. */
#include "cli/store/store_dir.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/file/denied.h"
#include "base/file/io.h"
#include "base/config/units.h"
#include "base/text/counted.h"
#include "base/text/shown.h"
#include "store/holdings.h"
#include "store/owner/job.h"
#include "store/owner/lease.h"
#include "store/owner/private.h"
#include "store/event/kept.h"
#include "store/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_dir(const char *path)
{
    struct stat sb;
    return !stat(path, &sb) && S_ISDIR(sb.st_mode);
}

/* The place of the job that job.name names, or without it of the first one, in the prefix. */
static int find_place(const struct cli *cli, const char *prefix, char *out, size_t cap,
                      struct saikai_error *err)
{
    const char *name = sk_config_text(cli->config, "job.name");
    struct sk_job j;
    if (*name && (sk_job_load(prefix, &j, NULL) || strcmp(j.name, name))) {
        int rc = sk_io_path(out, cap, err, "%s/jobs/%s", prefix, name);
        if (rc || is_dir(out))
            return rc;
    }
    return sk_io_path(out, cap, err, "%s", prefix);
}

/* Without a prefix, a node's directory itself says of which job it is. */
static int find_alone(const char *user, char *out, size_t cap, struct saikai_error *err)
{
    char cwd[PATH_MAX], path[PATH_MAX];
    struct sk_job j;
    int found = 0;
    DIR *d = getcwd(cwd, sizeof cwd) ? opendir(user) : NULL;
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        found = n > 6 && !strcmp(e->d_name + n - 6, "-alone") &&
                !sk_io_path(path, sizeof path, NULL, "%s/%s", user, e->d_name) &&
                !sk_job_load(path, &j, NULL) && !strcmp(j.place, cwd);
    }
    if (d)
        closedir(d);
    return found ? sk_io_path(out, cap, err, "%s", path) : SAIKAI_ENOENT;
}

/* The local directory of the job, whose name ends in digits of the store's id. SAIKAI_ENOENT: the
 * job is of an older version, or has nothing on this node. */
static int find_named(const struct cli *cli, const char *user, char *out, size_t cap,
                      struct saikai_error *err)
{
    const char *prefix = sk_config_text(cli->config, "store.prefix");
    const char *name = sk_config_text(cli->config, "job.name");
    char place[PATH_MAX], local[160];
    struct sk_job j;
    int rc;
    if (!strcmp(prefix, "none")) {
        if (!*name)
            return find_alone(user, out, cap, err);
        rc = sk_io_path(out, cap, err, "%s/%s-alone", user, name);
    } else {
        rc = find_place(cli, prefix, place, sizeof place, err);
        if (rc || (rc = sk_job_load(place, &j, err)) || (rc = sk_job_local_name(&j, local, sizeof local, err)))
            return rc;
        if (*name && strcmp(j.name, name))
            return SAIKAI_ENOENT;
        rc = sk_io_path(out, cap, err, "%s/%s", user, local);
    }
    return rc || is_dir(out) ? rc : SAIKAI_ENOENT;
}

/* The local directories of jobs of older versions are named after the program and the place of the
 * prefix; only the latter is known here. */
static int find_job(const struct cli *cli, const char *user, char *out, size_t cap,
                    struct saikai_error *err)
{
    const char *prefix = sk_config_text(cli->config, "store.prefix");
    const char *name = sk_config_text(cli->config, "job.name");
    char from[PATH_MAX], suffix[16], found[NAME_MAX + 1] = "", list[300] = "";
    struct saikai_error why = {0};
    int rc = find_named(cli, user, out, cap, &why);
    if (rc && sk_denied(&why)) {
        if (err)
            *err = why;
        return rc;
    }
    if (!rc)
        return 0;
    if (*name)
        return sk_io_path(out, cap, err, "%s/%s", user, name);
    if (!strcmp(prefix, "none") ? !getcwd(from, sizeof from) : !realpath(prefix, from))
        return sk_fail_errno(err, errno, "cannot resolve %s (store.prefix)", prefix);
    snprintf(suffix, sizeof suffix, "-%012llx",
             (unsigned long long)(sk_hash64(from, strlen(from)) & 0xffffffffffff));
    DIR *d = opendir(user);
    if (!d && errno != ENOENT)
        return sk_fail_at(err, errno, user, "cannot read directory %s", user);
    int count = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name), m = strlen(suffix), used = strlen(list);
        if (n <= m || strcmp(e->d_name + n - m, suffix))
            continue;
        strcpy(found, e->d_name);
        count++;
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", e->d_name);
    }
    if (d)
        closedir(d);
    if (!count)
        return sk_fail(err, SAIKAI_ENOENT,
                       "no job with the prefix %s has saved anything below %s on this node", from,
                       user);
    if (count > 1)
        return sk_fail(err, SAIKAI_EINVAL,
                       "several programs use this prefix: name one of the directories below %s: %s",
                       user, list);
    return sk_io_path(out, cap, err, "%s/%s", user, found);
}

static int find_local(const struct cli *cli, char *out, size_t cap, struct saikai_error *err)
{
    const char *local = sk_config_text(cli->config, "store.local");
    char user[PATH_MAX];
    if (!strcmp(local, "none"))
        return sk_fail(err, SAIKAI_EINVAL, "there is no node-local store: store.local is 'none'");
    int rc = sk_private_dir(local, 0, user, sizeof user, err);
    if (!rc)
        rc = find_job(cli, user, out, cap, err);
    if (!rc && !is_dir(out))
        rc = sk_fail(err, SAIKAI_ENOENT, "there is no node-local store %s", out);
    return rc;
}

static int find_default(const struct cli *cli, int local, struct cli_target *t,
                        struct saikai_error *err)
{
    const char *prefix = sk_config_text(cli->config, "store.prefix");
    t->local = local;
    if (local)
        return find_local(cli, t->root, sizeof t->root, err);
    if (!strcmp(prefix, "none"))
        return sk_fail(err, SAIKAI_EINVAL,
                       "there is no prefix: store.prefix is 'none'; --local shows what this node "
                       "holds");
    struct stat sb;
    if (stat(prefix, &sb) && (errno == EACCES || errno == EPERM))
        return sk_fail_at(err, errno, prefix, "cannot look at %s (store.prefix)", prefix);
    if (!is_dir(prefix))
        return sk_fail(err, SAIKAI_ENOENT,
                       "there is no store %s (store.prefix): name its directory, or go to where "
                       "the program ran",
                       prefix);
    return find_place(cli, prefix, t->root, sizeof t->root, err);
}

int cli_target_find(const struct cli *cli, const char *operand, int local, struct cli_target *t,
                    struct saikai_error *err)
{
    struct stat sb;
    char path[PATH_MAX];
    memset(t, 0, sizeof *t);
    if (!operand)
        return find_default(cli, local, t, err);
    int rc = sk_io_path(path, sizeof path, err, "%s", operand);
    if (rc)
        return rc;
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/';)
        path[--n] = 0;
    int there = !stat(path, &sb);
    if (!there && (errno == EACCES || errno == EPERM))
        return sk_fail_at(err, errno, path, "cannot look at %s", operand);
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    t->has_gen = !sk_gen_parse(last, &t->gen);
    size_t n = strlen(path);
    if (there && S_ISREG(sb.st_mode) && n > 4 && !strcmp(path + n - 4, ".ska"))
        return sk_fail(err, SAIKAI_EINVAL,
                       "%s is an archive of several ranks' containers: name the directory of its "
                       "generation, or use 'saikai archive'",
                       operand);
    if (there && S_ISREG(sb.st_mode))
        return t->has_gen = 0, sk_io_path(t->file, sizeof t->file, err, "%s", path);
    if (t->has_gen && !slash && !there)
        return find_default(cli, local, t, err);
    if (local)
        return sk_fail(err, SAIKAI_EINVAL, "give either --local or the directory %s", operand);
    if (!there || !S_ISDIR(sb.st_mode))
        return sk_fail(err, SAIKAI_ENOENT, "%s: %s", operand,
                       there ? "neither a directory nor a file"
                             : "there is no such directory or file");
    if (!t->has_gen)
        return sk_io_path(t->root, sizeof t->root, err, "%s", path);
    return sk_io_path(t->root, sizeof t->root, err, "%.*s", slash ? (int)(slash - path) : 1,
                      slash ? path : ".");
}

int cli_target_parse(struct cli *cli, const struct cli_spec *spec, int *argc, char ***argv,
                     const int *local, struct cli_target *t)
{
    struct saikai_error err = {0};
    int rc = cli_parse(cli, spec, argc, argv);
    if (rc < 0 && cli_target_find(cli, *argc ? (*argv)[0] : NULL, *local, t, &err))
        rc = cli_store_fail(cli, &err);
    return rc;
}

/* The state file stands in the prefix, and only without one in the local directory. */
static void load_state(const struct cli *cli, struct cli_store *s)
{
    const char *prefix = sk_config_text(cli->config, "store.prefix");
    char place[PATH_MAX];
    int both = s->local && strcmp(prefix, "none") && !find_place(cli, prefix, place, sizeof place, NULL);
    const char *roots[2] = {s->root, both ? place : NULL};
    for (int i = 0; i < 2 && roots[i] && !s->has_state; i++) {
        struct saikai_error err = {0};
        if (sk_state_load(roots[i], &s->state, &err))
            snprintf(s->state_problem, sizeof s->state_problem, "%s", err.text);
        else if ((s->has_state = s->state.incarnation > 0))
            sk_io_path(s->state_root, sizeof s->state_root, NULL, "%s", roots[i]);
    }
}

/* Parity files that stand beside the ranks' files, in a node's own store. */
static int count_parity(const struct cli_store *s, struct saikai_error *err)
{
    struct sk_holdings h = {0};
    int rc = sk_holdings_scan(s->root, &h, err);
    for (size_t i = 0; !rc && i < s->count; i++)
        for (size_t k = 0, last = h.count; k < h.count; k++) {
            const struct sk_holding_entry *e = &h.entry[k];
            /* of one rank there may be several while it is coded anew; ranks of a coding come in
             * order */
            if (!e->coder || sk_gen_key(e->gen) != sk_gen_key(s->gen[i].gen) ||
                (last < h.count && h.entry[last].coder != e->coder))
                continue;
            last = k;
            s->gen[i].protected ++;
        }
    sk_holdings_free(&h);
    return rc;
}

/* Anything of a store's: a file that jobs keep there, the places of other jobs, or a generation, be it one that cannot be looked into. */
static int is_of_store(const char *name)
{
    static const char *const names[] = {SK_JOB_FILE, SK_LEASE_FILE, SK_REPORT_FILE, SK_EVENTS_FILE, "state", "history", "jobs"};
    struct sk_gen g;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return 1;
    return !sk_gen_parse(name, &g);
}

int cli_store_refuse_others(const char *root, struct saikai_error *err)
{
    DIR *d = sk_io_opendir(root);
    int others = 0, own = 0;
    for (struct dirent *e; d && !own && (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
            own = is_of_store(e->d_name);
            others++;
        }
    if (d)
        closedir(d);
    return others && !own ? sk_fail(err, SAIKAI_ENOENT, "%s is no store: nothing in it is Saikai's; name the directory that the job said it saves in (store.prefix, by default saikai-store)", root) : 0;
}

/* What this user may not look into is said by all commands, since the list without it looks whole. */
static void tell_hidden(const struct cli *cli, struct cli_store *s, const struct sk_gen_list *l)
{
    char dir[PATH_MAX];
    struct saikai_error why = {0};
    if (!l->hidden_errno || sk_gen_dir(s->root, l->hidden, dir, sizeof dir, NULL))
        return;
    sk_fail_at(&why, l->hidden_errno, dir, "cannot look into %s", dir);
    snprintf(s->hidden, sizeof s->hidden, "%s", why.text);
    fprintf(stderr, "saikai %s: %s: left out\n", cli->command, sk_shown(s->hidden));
}

int cli_store_load(const struct cli *cli, const struct cli_target *t, struct cli_store *out,
                   struct saikai_error *err)
{
    struct cli_store s = {.local = t->local, .newest_complete = -1};
    struct sk_gen_list l = {0};
    int rc = sk_io_path(s.root, sizeof s.root, err, "%s", t->root);
    if (!rc)
        rc = sk_content_scan(s.root, &l, err);
    if (!rc && !l.count && !s.local)
        rc = cli_store_refuse_others(s.root, err);
    if (rc) {
        sk_gen_list_free(&l);
        return rc;
    }
    tell_hidden(cli, &s, &l);
    load_state(cli, &s);
    s.gen = calloc(l.count ? l.count : 1, sizeof *s.gen);
    if (!s.gen)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to list %s", s.root);
    for (size_t i = 0; !rc && i < l.count; i++) {
        struct cli_gen *g = &s.gen[s.count];
        g->gen = l.gen[i];
        sk_gen_name(g->gen, g->name);
        rc = sk_content_load(s.root, g->gen, sk_config_size(cli->config, "far.memory"), &g->c, err);
        if (rc)
            break;
        const struct sk_tried *known = sk_state_tried(&s.state, g->gen);
        g->tried = known ? *known : (struct sk_tried){0};
        g->refused = sk_state_refuses(&s.state, g->gen, 0, (int)sk_config_int(cli->config, "restart.tries"));
        g->earlier = g->gen.incarnation < s.state.first_incarnation;
        if (g->c->complete && s.newest_complete < 0)
            s.newest_complete = (long)s.count;
        s.count++;
    }
    sk_gen_list_free(&l);
    if (!rc)
        rc = count_parity(&s, err);
    if (rc)
        cli_store_free(&s);
    else
        *out = s;
    return rc;
}

void cli_store_free(struct cli_store *s)
{
    for (size_t i = 0; s->gen && i < s->count; i++)
        sk_content_free(s->gen[i].c);
    free(s->gen);
    s->gen = NULL;
    s->count = 0;
}

int cli_store_pick(const struct cli_store *s, const char *text, size_t *index,
                   struct saikai_error *err)
{
    struct sk_gen g;
    char *end;
    int named = !sk_gen_parse(text, &g);
    long long iteration = strtoll(text, &end, 10);
    if (!named && strcmp(text, "newest") && (end == text || *end))
        return sk_fail(err, SAIKAI_EINVAL,
                       "'%.60s' is no generation: write its name, its iteration, or 'newest'",
                       text);
    if (!s->count)
        return sk_fail(err, SAIKAI_ENOENT, "%s holds no generations", s->root);
    if (!named && !strcmp(text, "newest")) {
        *index = s->newest_complete < 0 ? 0 : (size_t)s->newest_complete;
        return 0;
    }
    for (size_t i = 0; i < s->count; i++)
        if (named ? sk_gen_key(s->gen[i].gen) == sk_gen_key(g)
                  : s->gen[i].gen.iteration == iteration) {
            *index = i;
            return 0;
        }
    return sk_fail(err, SAIKAI_ENOENT,
                   "%s holds no generation %s; the newest of its %zu is %s, 'saikai ls' lists all",
                   s->root, text, s->count, s->gen[0].name);
}

int cli_store_choose(const struct cli_store *s, const struct cli_target *t, const char *gen,
                     size_t *index, struct saikai_error *err)
{
    char name[48];
    if (gen && t->has_gen && strcmp(gen, sk_gen_name(t->gen, name)))
        return sk_fail(err, SAIKAI_EINVAL, "give one generation: %s or --gen %s", name, gen);
    if (!gen && t->has_gen)
        gen = sk_gen_name(t->gen, name);
    return cli_store_pick(s, gen ? gen : "newest", index, err);
}

int cli_store_fail(const struct cli *cli, const struct saikai_error *err)
{
    return err->code == SAIKAI_EINVAL ? cli_usage(cli, "%s", err->text) : cli_fail(cli, err);
}

char *cli_missing_ranks(const struct cli_gen *g, char *out, size_t cap)
{
    const struct sk_content *c = g->c;
    size_t n = 0, k = 0;
    int missing = 0, shown = 0;
    *out = 0;
    for (int r = 0; r < c->nranks; r++) {
        while (k < c->count && c->ranks[k] < r)
            k++;
        if (k < c->count && c->ranks[k] == r)
            continue;
        int last = r; /* of this run of missing ranks */
        while (last + 1 < c->nranks && (k >= c->count || c->ranks[k] > last + 1))
            last++;
        missing += last - r + 1;
        if (n + 48 < cap) {
            n += (size_t)snprintf(out + n, cap - n, last > r ? "%s%d-%d" : "%s%d", n ? ", " : "", r,
                                  last);
            shown = missing;
        }
        r = last;
    }
    if (shown < missing)
        snprintf(out + n, cap - n, " and %d more", missing - shown);
    return out;
}

char *cli_age(int64_t created_ms, char *out, size_t cap)
{
    int64_t age = sk_wall_ms() - created_ms;
    if (!created_ms || age < 0)
        snprintf(out, cap, "?");
    else
        sk_format_time(out, cap, age < 1000 ? 1 : (double)(age / 1000)); /* whole seconds */
    return out;
}

/* What can be said without reading all of it. */
static const char *completeness(const struct sk_content *c)
{
    if (c->complete)
        return "complete";
    for (size_t i = 0; i < c->troubles; i++)
        if (!c->trouble[i].missing)
            return "damaged";
    if (!c->forms)
        return c->troubles ? "incomplete" : "unfinished";
    return c->nranks ? "incomplete" : "damaged";
}

/* newest_complete is -1 where none is: then all count. */
struct cli_harm cli_store_harm(const struct cli *cli, const struct cli_store *s)
{
    struct cli_harm h = {.first = -1};
    struct sk_owner o;
    h.held = s->local || sk_lease_look(s->root, sk_config_time(cli->config, "store.lease_timeout"), &o) == 1;
    for (size_t i = 0; i < s->count; i++) {
        const struct sk_content *c = s->gen[i].c;
        int damaged = !strcmp(completeness(c), "damaged"), incomplete = !damaged && !c->complete && !h.held && (long)i > s->newest_complete;
        h.damaged += damaged;
        h.incomplete += incomplete;
        if (h.first < 0 && (damaged || incomplete))
            h.first = (long)i;
    }
    return h;
}

char *cli_gen_state(const struct cli_gen *g, char *out, size_t cap)
{
    int n = snprintf(out, cap, "%s", completeness(g->c));
    if (g->protected)
        n += snprintf(out + n, cap - (size_t)n, ", protected (parity of %d rank%s)", g->protected,
                      g->protected > 1 ? "s" : "");
    int died = g->tried.deaths + g->tried.unexplained;
    if (g->tried.bad)
        n += snprintf(out + n, cap - (size_t)n, ", marked bad");
    else if (g->refused)
        n += snprintf(out + n, cap - (size_t)n, ", passed over (%s died)", sk_counted((unsigned)died, "start(s)"));
    else if (died)
        n += snprintf(out + n, cap - (size_t)n, ", %s died", sk_counted((unsigned)died, "start(s)"));
    if (g->earlier)
        snprintf(out + n, cap - (size_t)n, ", of an earlier run");
    return out;
}

const char *cli_gen_level(const struct cli_store *s, const struct cli_gen *g)
{
    if (s->local)
        return g->protected ? "protected" : "local";
    return g->c->complete ? "archived" : "-";
}

char *cli_gen_form(const struct cli_gen *g, char *out, size_t cap)
{
    int forms = g->c->forms, n = g->c->set.parts;
    if (forms & SK_CONTENT_FILES)
        snprintf(out, cap, "%s", forms & SK_CONTENT_ARCHIVES ? "both" : "files");
    else if (n)
        snprintf(out, cap, "%d archive%s", n, n > 1 ? "s" : "");
    else
        snprintf(out, cap, "-");
    return out;
}

void cli_gen_json(struct sk_json *j, const struct cli_store *s, const struct cli_gen *g)
{
    static const char *const forms[] = {"none", "files", "archives", "both"};
    const struct sk_content *c = g->c;
    char run[24];
    snprintf(run, sizeof run, "%016llx", (unsigned long long)c->header.run_id);
    sk_json_text(j, "name", g->name);
    sk_json_int(j, "iteration", g->gen.iteration);
    sk_json_uint(j, "place", g->gen.place);
    sk_json_uint(j, "incarnation", g->gen.incarnation);
    sk_json_text(j, "level", cli_gen_level(s, g));
    sk_json_text(j, "form", forms[c->forms & 3]);
    sk_json_int(j, "archives", c->set.parts);
    sk_json_uint(j, "ranks_present", c->count);
    sk_json_int(j, "ranks", c->nranks);
    sk_json_uint(j, "size_bytes", c->bytes);
    sk_json_uint(j, "file_bytes", c->stored_bytes);
    sk_json_bool(j, "complete", c->complete);
    sk_json_text(j, "state", completeness(c));
    sk_json_int(j, "ranks_with_parity", g->protected);
    sk_json_int(j, "tries", g->tried.deaths + g->tried.unexplained);
    sk_json_int(j, "tries_unexplained", g->tried.unexplained);
    sk_json_bool(j, "marked_bad", g->tried.bad);
    sk_json_bool(j, "refused", g->refused);
    sk_json_bool(j, "earlier_run", g->earlier);
    if (c->header.created_ms)
        sk_json_real(j, "created", (double)c->header.created_ms / 1e3);
    else
        sk_json_null(j, "created");
    sk_json_text(j, "run", run);
}
