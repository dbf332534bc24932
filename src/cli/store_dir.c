#include "cli/store_dir.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/units.h"
#include "format/skc.h"
#include "store/holdings.h"

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

/* The local directories of jobs are named after the program and the place of the prefix; only the
 * latter is known here. */
static int find_job(const struct cli *cli, const char *user, char *out, size_t cap,
                    struct saikai_error *err)
{
    const char *prefix = sk_config_text(cli->config, "store.prefix");
    const char *name = sk_config_text(cli->config, "job.name");
    char from[PATH_MAX], suffix[16], found[NAME_MAX + 1] = "", list[300] = "";
    if (*name)
        return sk_io_path(out, cap, err, "%s/%s", user, name);
    if (!strcmp(prefix, "none") ? !getcwd(from, sizeof from) : !realpath(prefix, from))
        return sk_fail_errno(err, errno, "cannot resolve %s (store.prefix)", prefix);
    snprintf(suffix, sizeof suffix, "-%012llx",
             (unsigned long long)(sk_hash64(from, strlen(from)) & 0xffffffffffff));
    DIR *d = opendir(user);
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
    int rc = sk_io_path(user, sizeof user, err, "%s/saikai-%ld", local, (long)getuid());
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
    if (!is_dir(prefix))
        return sk_fail(err, SAIKAI_ENOENT,
                       "there is no store %s (store.prefix): name its directory, or go to where "
                       "the program ran",
                       prefix);
    return sk_io_path(t->root, sizeof t->root, err, "%s", prefix);
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
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    t->has_gen = !sk_gen_parse(last, &t->gen);
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

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The header of one file, without the rest of it. */
static int read_header(const char *root, struct sk_gen g, int rank, struct sk_skc_header *h)
{
    char path[PATH_MAX];
    uint8_t head[SK_SKC_HEADER_BYTES];
    int rc = sk_gen_file(root, g, rank, path, sizeof path, NULL);
    int fd = rc ? rc : sk_io_open(path, O_RDONLY, 0, NULL);
    if (fd < 0)
        return fd;
    rc = sk_io_pread(fd, path, head, sizeof head, 0, NULL);
    close(fd);
    return rc ? rc : sk_skc_decode_header(head, sizeof head, h, NULL);
}

static int list_ranks(const char *dir, struct cli_gen *g, struct saikai_error *err)
{
    DIR *d = opendir(dir);
    int cap = 0, rc = 0;
    for (struct dirent *e; !rc && d && (e = readdir(d));) {
        int rank, end = 0;
        struct stat sb;
        if (sscanf(e->d_name, "rank-%d.skc%n", &rank, &end) != 1 || !end || e->d_name[end] ||
            rank < 0 || fstatat(dirfd(d), e->d_name, &sb, 0))
            continue;
        if (g->have == cap) {
            cap = cap ? 2 * cap : 64;
            int *p = realloc(g->ranks, (size_t)cap * sizeof *p);
            if (!p) {
                rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to list %s", dir);
                break;
            }
            g->ranks = p;
        }
        g->ranks[g->have++] = rank;
        g->bytes += (uint64_t)sb.st_size;
    }
    if (d)
        closedir(d);
    if (g->have)
        qsort(g->ranks, (size_t)g->have, sizeof *g->ranks, by_number);
    return rc;
}

static int load_gen(const struct cli_store *s, struct cli_gen *g, struct saikai_error *err)
{
    char dir[PATH_MAX];
    struct sk_skc_header h;
    sk_gen_name(g->gen, g->name);
    int rc = sk_gen_dir(s->root, g->gen, dir, sizeof dir, err);
    if (!rc)
        rc = list_ranks(dir, g, err);
    for (int i = 0; !rc && i < g->have && !g->nranks; i++)
        if (!read_header(s->root, g->gen, g->ranks[i], &h) && h.nranks <= INT_MAX) {
            g->nranks = (int)h.nranks;
            g->created_ms = h.created_ms;
            g->run_id = h.run_id;
        }
    int counted = 0;
    for (int i = 0; i < g->have; i++)
        counted += g->ranks[i] < g->nranks;
    g->complete = g->nranks > 0 && counted == g->nranks;
    return rc;
}

/* The state file stands in the prefix, and only without one in the local directory. */
static void load_state(const struct cli *cli, struct cli_store *s)
{
    const char *prefix = sk_config_text(cli->config, "store.prefix");
    const char *roots[2] = {s->root, s->local && strcmp(prefix, "none") ? prefix : NULL};
    for (int i = 0; i < 2 && roots[i] && !s->has_state; i++) {
        struct saikai_error err = {0};
        if (sk_state_load(roots[i], &s->state, &err))
            snprintf(s->state_problem, sizeof s->state_problem, "%s", err.text);
        else
            s->has_state = s->state.incarnation > 0;
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

int cli_store_load(const struct cli *cli, const struct cli_target *t, struct cli_store *out,
                   struct saikai_error *err)
{
    struct cli_store s = {.local = t->local, .newest_complete = -1};
    struct sk_gen_list l = {0};
    int rc = sk_io_path(s.root, sizeof s.root, err, "%s", t->root);
    if (!rc)
        rc = sk_gen_scan(s.root, -1, &l, err);
    if (rc)
        return rc;
    load_state(cli, &s);
    s.gen = calloc(l.count ? l.count : 1, sizeof *s.gen);
    if (!s.gen)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to list %s", s.root);
    for (size_t i = 0; !rc && i < l.count; i++) {
        struct cli_gen *g = &s.gen[s.count];
        g->gen = l.gen[i];
        rc = load_gen(&s, g, err);
        if (!rc && !g->have) { /* its last file went while the directory was read */
            free(g->ranks);
            memset(g, 0, sizeof *g);
            continue;
        }
        g->tries = sk_state_tries(&s.state, g->gen);
        g->refused = g->tries > 0 && g->tries >= sk_config_int(cli->config, "restart.tries");
        g->earlier = g->gen.incarnation < s.state.first_incarnation;
        if (g->complete && s.newest_complete < 0)
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
        free(s->gen[i].ranks);
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
    size_t n = 0;
    int missing = 0, shown = 0, k = 0;
    *out = 0;
    for (int r = 0; r < g->nranks; r++) {
        while (k < g->have && g->ranks[k] < r)
            k++;
        if (k < g->have && g->ranks[k] == r)
            continue;
        int last = r; /* of this run of missing ranks */
        while (last + 1 < g->nranks && (k >= g->have || g->ranks[k] > last + 1))
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

char *cli_gen_state(const struct cli_gen *g, char *out, size_t cap)
{
    int n = snprintf(out, cap, "%s",
                     !g->nranks    ? "damaged"
                     : g->complete ? "complete"
                                   : "incomplete");
    if (g->protected)
        n += snprintf(out + n, cap - (size_t)n, ", protected (parity of %d rank%s)", g->protected,
                      g->protected > 1 ? "s" : "");
    if (g->refused)
        n += snprintf(out + n, cap - (size_t)n, ", bad (%d restarts failed)", g->tries);
    else if (g->tries)
        n += snprintf(out + n, cap - (size_t)n, ", tried %d time%s", g->tries,
                      g->tries > 1 ? "s" : "");
    if (g->earlier)
        snprintf(out + n, cap - (size_t)n, ", of an earlier run");
    return out;
}

void cli_gen_json(struct sk_json *j, const struct cli_gen *g)
{
    char run[24];
    snprintf(run, sizeof run, "%016llx", (unsigned long long)g->run_id);
    sk_json_text(j, "name", g->name);
    sk_json_int(j, "iteration", g->gen.iteration);
    sk_json_uint(j, "place", g->gen.place);
    sk_json_uint(j, "incarnation", g->gen.incarnation);
    sk_json_int(j, "ranks_present", g->have);
    sk_json_int(j, "ranks", g->nranks);
    sk_json_uint(j, "size_bytes", g->bytes);
    sk_json_bool(j, "complete", g->complete);
    sk_json_int(j, "ranks_with_parity", g->protected);
    sk_json_int(j, "tries", g->tries);
    sk_json_bool(j, "refused", g->refused);
    sk_json_bool(j, "earlier_run", g->earlier);
    if (g->created_ms)
        sk_json_real(j, "created", (double)g->created_ms / 1e3);
    else
        sk_json_null(j, "created");
    sk_json_text(j, "run", run);
}
