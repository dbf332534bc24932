/* saikai rm: remove generations. */
#include "cli/store/store_dir.h"

#include "base/file/io.h"
#include "base/config/units.h"
#include "base/text/shown.h"
#include "store/owner/job.h"
#include "store/owner/lease.h"
#include "store/event/kept.h"
#include "store/report.h"
#include "store/form/lineage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct removal {
    int all, force, yes, json, local;
    int64_t keep; /* -1: not given */
    struct cli_list gens;
};

static void mark_older_than_kept(const struct cli_store *s, int64_t keep, char *doomed)
{
    int64_t complete = 0;
    for (size_t i = 0; i < s->count; i++) {
        doomed[i] = complete >= keep; /* incomplete ones that are newer may still be written */
        complete += s->gen[i].c->complete || s->local;
    }
}

static int mark_named(const struct cli_store *s, const struct cli_target *t,
                      const struct cli_list *gens, char *doomed, struct saikai_error *err)
{
    int rc = 0;
    size_t k;
    if (t->has_gen && !(rc = cli_store_choose(s, t, NULL, &k, err)))
        doomed[k] = 1;
    for (int i = 0; !rc && i < gens->n; i++)
        if (!(rc = cli_store_pick(s, gens->items[i], &k, err)))
            doomed[k] = 1;
    return rc;
}

/* What a generation that stays builds on must stay, too: quietly, or with an error when it was
 * named. */
static int spare_bases(const struct cli_store *s, char *doomed, int quietly,
                       struct saikai_error *err)
{
    for (size_t i = 0; i < s->count; i++) /* newest first: a base comes after what builds on it */
        for (size_t k = 0; !doomed[i] && k < s->gen[i].c->count; k++) {
            struct sk_gen base = {0};
            if (sk_lineage_base(s->root, s->gen[i].gen, s->gen[i].c->ranks[k], &base, NULL) ||
                !base.incarnation)
                continue;
            for (size_t b = i + 1; b < s->count; b++) {
                if (!doomed[b] || sk_gen_key(s->gen[b].gen) != sk_gen_key(base))
                    continue;
                if (!quietly)
                    return sk_fail(
                        err, SAIKAI_ESTATE,
                        "%s holds only what changed since %s: remove it as well, or neither",
                        s->gen[i].name, s->gen[b].name);
                doomed[b] = 0;
            }
        }
    return 0;
}

/* Which generations are to go; the newest complete one only with --force. */
static int mark(const struct removal *r, const struct cli_store *s, const struct cli_target *t,
                char *doomed, struct saikai_error *err)
{
    long newest = s->newest_complete;
    /* a node's part does not show which generation is complete on all nodes: the newest stays */
    if (newest < 0 && s->local && s->count)
        newest = 0;
    if (r->all)
        memset(doomed, 1, s->count);
    else if (r->keep >= 0)
        mark_older_than_kept(s, r->keep, doomed);
    else {
        int rc = mark_named(s, t, &r->gens, doomed, err);
        if (rc)
            return rc;
        if (newest >= 0 && doomed[newest] && !r->force)
            return sk_fail(err, SAIKAI_ESTATE,
                           "%s is the newest %sgeneration: without it the program begins anew or "
                           "further back; --force removes it all the same",
                           s->gen[newest].name, s->local ? "" : "complete ");
    }
    if (newest >= 0 && !r->force)
        doomed[newest] = 0;
    return spare_bases(s, doomed, r->keep >= 0 || r->all, err);
}

/* 1 when the user agrees, 0 when not; negative: cannot be asked. */
static int ask(const struct cli_store *s, const char *doomed, size_t count, uint64_t bytes)
{
    char size[32], answer[16] = "";
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return -1;
    for (size_t i = 0; i < s->count; i++)
        if (doomed[i]) {
            char state[128];
            fprintf(stderr, "  %s  %s\n", s->gen[i].name,
                    cli_gen_state(&s->gen[i], state, sizeof state));
        }
    fprintf(stderr, "Remove %s %zu generation%s (%s) from %s? [y/N] ", count > 1 ? "these" : "this",
            count, count > 1 ? "s" : "", sk_format_size(size, sizeof size, bytes), sk_shown(s->root));
    if (!fgets(answer, sizeof answer, stdin))
        return 0;
    return answer[0] == 'y' || answer[0] == 'Y';
}

/* The oldest first: when it is interrupted, what is left is the newest. */
static int remove_marked(const struct cli_store *s, const char *doomed, struct saikai_error *err)
{
    int rc = 0;
    for (size_t i = s->count; !rc && i-- > 0;)
        if (doomed[i])
            rc = sk_gen_remove_all(s->root, s->gen[i].gen, err);
    return rc;
}

/* A store of which all is removed is no more: the next start makes a new one, to which what is left in the memory of nodes
 * does not belong. */
static int remove_store(const struct cli_store *s, struct saikai_error *err)
{
    static const char *const names[] = {"state", SK_REPORT_FILE, SK_EVENTS_FILE, SK_EVENTS_BEFORE, SK_JOB_FILE, SK_LEASE_FILE};
    char path[PATH_MAX];
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof names / sizeof *names; i++) {
        rc = sk_io_path(path, sizeof path, err, "%s/%s", s->root, names[i]);
        if (!rc)
            rc = sk_io_unlink(path, err);
    }
    return rc;
}

/* What a job is writing to is not to be removed under its hands. */
static int check_unused(const struct cli_store *s, struct saikai_error *err)
{
    struct sk_owner o;
    char who[320];
    if (s->local || !sk_lease_look(s->root, 3600, &o))
        return 0;
    return sk_fail(err, SAIKAI_EBUSY, "%s is in use by %s: end the job first", s->root, sk_owner_describe(&o, who, sizeof who));
}

static int report(struct cli *cli, const struct removal *r, const struct cli_store *s,
                  const char *doomed, size_t count, uint64_t bytes)
{
    char size[32];
    if (!r->json) {
        printf("removed %zu generation%s, %s; %zu left in %s\n", count, count == 1 ? "" : "s",
               sk_format_size(size, sizeof size, bytes), s->count - count, sk_shown(s->root));
        return CLI_OK;
    }
    struct sk_json j = {0};
    sk_json_object(&j, NULL);
    sk_json_text(&j, "store", s->root);
    sk_json_array(&j, "removed");
    for (size_t i = 0; i < s->count; i++)
        if (doomed[i])
            sk_json_text(&j, NULL, s->gen[i].name);
    sk_json_end(&j);
    sk_json_uint(&j, "size_bytes", bytes);
    sk_json_uint(&j, "left", s->count - count);
    sk_json_end(&j);
    return cli_print_json(cli, &j, CLI_OK);
}

static int remove_from(struct cli *cli, const struct removal *r, const struct cli_store *s,
                       const struct cli_target *t)
{
    struct saikai_error err = {0};
    char *doomed = calloc(1, s->count + 1);
    size_t count = 0;
    uint64_t bytes = 0;
    int rc = doomed ? mark(r, s, t, doomed, &err) : sk_fail(&err, SAIKAI_ENOMEM, "out of memory");
    if (rc) {
        free(doomed);
        return cli_store_fail(cli, &err);
    }
    for (size_t i = 0; i < s->count; i++)
        if (doomed[i]) {
            count++;
            bytes += s->gen[i].c->stored_bytes;
        }
    int agreed = r->yes || !count ? 1 : ask(s, doomed, count, bytes);
    if (agreed < 0) {
        rc = cli_usage(cli,
                       "%zu generation%s would be removed: give --yes, as there is no "
                       "terminal to ask on",
                       count, count == 1 ? "" : "s");
    } else if (!agreed) {
        fputs("nothing was removed\n", stderr);
        rc = CLI_FAILED;
    } else {
        int whole = r->all && r->force && !s->local;
        rc = whole ? check_unused(s, &err) : 0;
        if (!rc)
            rc = remove_marked(s, doomed, &err);
        if (!rc && whole)
            rc = remove_store(s, &err);
        rc = rc ? cli_fail(cli, &err) : report(cli, r, s, doomed, count, bytes);
    }
    free(doomed);
    return rc;
}

static int choose_and_remove(struct cli *cli, struct removal *r, int argc, char **argv)
{
    struct cli_target t;
    struct cli_store s;
    struct saikai_error err = {0};
    if (cli_target_find(cli, argc ? argv[0] : NULL, r->local, &t, &err))
        return cli_store_fail(cli, &err);
    if (*t.file)
        return cli_usage(cli, "%s is one rank's file: name a generation", t.file);
    int named = t.has_gen || r->gens.n;
    if (named + r->all + (r->keep >= 0) != 1)
        return cli_usage(cli, "say which generations: by name (or --gen), --keep N, or --all");
    if (r->keep == 0)
        return cli_usage(cli, "--keep 0 keeps none: write --all");
    if (cli_store_load(cli, &t, &s, &err))
        return cli_store_fail(cli, &err);
    int rc = remove_from(cli, r, &s, &t);
    cli_store_free(&s);
    return rc;
}

int cli_rm(struct cli *cli, int argc, char **argv)
{
    struct removal r = {.keep = -1};
    const struct cli_option options[] = {
        {'g', "gen", CLI_LIST, &r.gens, "GEN", NULL,
         "a generation to remove, by name or iteration; may be repeated"},
        {'k', "keep", CLI_INT, &r.keep, "N", NULL,
         "remove all that are older than the N newest complete ones"},
        {'a', "all", CLI_FLAG, &r.all, NULL, NULL,
         "remove all, but not the newest complete one without --force"},
        {'f', "force", CLI_FLAG, &r.force, NULL, NULL,
         "also remove the newest complete generation"},
        {'y', "yes", CLI_FLAG, &r.yes, NULL, NULL, "do not ask"},
        {'l', "local", CLI_FLAG, &r.local, NULL, NULL,
         "remove from the store on this node (store.local) instead of the prefix"},
        {0, "json", CLI_FLAG, &r.json, NULL, NULL, "print JSON"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "[DIR | GENERATION]",
        .about = "Removes generations of a store, after a question on the terminal. The newest "
                 "complete generation stays unless --force is given. DIR is the store's directory, "
                 "by default the key store.prefix.",
        .max_operands = 1,
        .options = options,
    };
    int rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc < 0)
        rc = choose_and_remove(cli, &r, argc, argv);
    cli_list_free(&r.gens);
    return rc;
}
