/* saikai ls: the generations of a store. */
#include "cli/store/store_dir.h"

#include "base/file/denied.h"
#include "base/file/io.h"
#include "base/config/units.h"
#include "base/text/shown.h"
#include "store/owner/job.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

/* problem: why nothing more is known of it, "": there is no problem. */
static void list_job(const char *path, const struct sk_job *job, const char *problem, struct sk_json *j)
{
    if (!j) {
        printf("another job: %s  %s\n", sk_shown(path), sk_shown(*problem ? problem : job->command));
        return;
    }
    sk_json_object(j, NULL);
    if (!*problem)
        sk_json_text(j, "name", job->name);
    sk_json_text(j, "store", path);
    if (*problem)
        sk_json_text(j, "problem", problem);
    else
        sk_json_text(j, "command", job->command);
    sk_json_end(j);
}

/* Other jobs of the prefix, which have directories of their own. 1: there may be some, which cannot be listed. */
static int list_jobs(const struct cli_store *s, struct sk_json *j)
{
    char dir[PATH_MAX], path[PATH_MAX];
    struct saikai_error err = {0};
    DIR *d = sk_io_path(dir, sizeof dir, &err, "%s/jobs", s->root) ? NULL : opendir(dir);
    if (!d && !err.code && errno != ENOENT && errno != ENOTDIR)
        sk_fail_at(&err, errno, dir, "cannot read directory %s", dir);
    int unread = err.code != 0;
    if (unread)
        fprintf(stderr, "saikai ls: %s\n", sk_shown(err.text));
    if (j)
        sk_json_array(j, "jobs");
    for (struct dirent *e; d && (e = readdir(d));) {
        struct saikai_error why = {0};
        struct sk_job job;
        if (*e->d_name == '.' || sk_io_path(path, sizeof path, NULL, "%s/%s", dir, e->d_name))
            continue;
        if (!sk_job_load(path, &job, &why) || sk_denied(&why))
            list_job(path, &job, why.text, j);
    }
    if (j)
        sk_json_end(j);
    if (d)
        closedir(d);
    return unread;
}

/* What is listed is not all as it should be. */
static int exit_code(const struct cli *cli, const struct cli_store *s)
{
    struct cli_harm h = cli_store_harm(cli, s);
    return h.damaged || h.incomplete || *s->state_problem || *s->hidden ? CLI_FAILED : CLI_OK;
}

static int print_json(struct cli *cli, const struct cli_store *s)
{
    struct sk_json j = {0};
    sk_json_object(&j, NULL);
    sk_json_text(&j, "store", s->root);
    sk_json_bool(&j, "local", s->local);
    sk_json_uint(&j, "starts", s->state.incarnation);
    sk_json_bool(&j, "finished", s->state.finished);
    struct sk_job job;
    if (!sk_job_load(s->root, &job, NULL)) {
        char id[SK_ID_TEXT];
        sk_json_text(&j, "job", job.name);
        sk_json_text(&j, "command", job.command);
        sk_json_text(&j, "store_id", sk_id_print(job.store, id));
    }
    if (*s->state_problem)
        sk_json_text(&j, "problem", s->state_problem);
    if (*s->hidden)
        sk_json_text(&j, "left_out", s->hidden);
    sk_json_array(&j, "generations");
    for (size_t i = 0; i < s->count; i++) {
        sk_json_object(&j, NULL);
        cli_gen_json(&j, s, &s->gen[i]);
        sk_json_end(&j);
    }
    sk_json_end(&j);
    int unread = list_jobs(s, &j);
    sk_json_end(&j);
    return cli_print_json(cli, &j, unread ? CLI_FAILED : exit_code(cli, s));
}

static void print_head(const struct cli_store *s)
{
    printf("%s", sk_shown(s->root));
    if (s->local)
        printf(" (this node's part)");
    if (s->has_state)
        printf(": started %u time%s, %s", s->state.incarnation,
               s->state.incarnation == 1 ? "" : "s",
               s->state.finished ? "the last run finished" : "not finished");
    puts("");
}

static void print_table(const struct cli_store *s)
{
    print_head(s);
    if (!s->count) {
        puts("no generations");
        return;
    }
    printf("%-24s %13s %5s %5s %11s %-9s %-11s %9s %9s %8s  %s\n", "GENERATION", "ITERATION",
           "PLACE", "START", "RANKS", "LEVEL", "FORM", "SIZE", "STORED", "AGE", "STATE");
    for (size_t i = 0; i < s->count; i++) {
        const struct cli_gen *g = &s->gen[i];
        const struct sk_content *c = g->c;
        char size[32], stored[32], age[32], state[128], ranks[32], form[32];
        if (c->nranks)
            snprintf(ranks, sizeof ranks, "%zu of %d", c->count, c->nranks);
        else
            snprintf(ranks, sizeof ranks, "%zu of ?", c->count);
        printf("%-24s %13lld %5u %5u %11s %-9s %-11s %9s %9s %8s  %s\n", g->name,
               (long long)g->gen.iteration, g->gen.place, g->gen.incarnation, ranks,
               cli_gen_level(s, g), cli_gen_form(g, form, sizeof form),
               sk_format_size(size, sizeof size, c->bytes),
               sk_format_size(stored, sizeof stored, c->stored_bytes),
               cli_age(c->header.created_ms, age, sizeof age),
               cli_gen_state(g, state, sizeof state));
    }
}

int cli_ls(struct cli *cli, int argc, char **argv)
{
    int json = 0, local = 0;
    const struct cli_option options[] = {
        {'l', "local", CLI_FLAG, &local, NULL, NULL,
         "show the store on this node (store.local) instead of the prefix"},
        {0, "json", CLI_FLAG, &json, NULL, NULL, "print JSON"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "[DIR]",
        .about = "Lists the generations of a store, the newest first: how far the program was, how "
                 "many ranks' files are there, as files or in archives, how large they are and "
                 "are stored, and whether a restart would take it. DIR is the "
                 "store's directory, by default the key store.prefix. Only names, sizes and one "
                 "header of each are looked at: 'saikai verify' checks the content. Exit code 1: one of them is damaged, or lacks "
                 "files that no running job would add and that no death explains; or something cannot be read, be it a generation that is left out for that.",
        .max_operands = 1,
        .options = options,
    };
    struct saikai_error err = {0};
    struct cli_target t;
    struct cli_store s;
    int rc = cli_target_parse(cli, &spec, &argc, &argv, &local, &t);
    if (rc >= 0)
        return rc;
    if (*t.file || t.has_gen)
        return cli_usage(cli, "'%s' is no store's directory; 'saikai info' shows what is in it",
                         argv[0]);
    if (cli_store_load(cli, &t, &s, &err))
        return cli_store_fail(cli, &err);
    if (*s.state_problem)
        fprintf(stderr, "saikai ls: %s\n", sk_shown(s.state_problem));
    if (json) {
        rc = print_json(cli, &s);
    } else {
        print_table(&s);
        int unread = !s.local && list_jobs(&s, NULL);
        rc = unread ? CLI_FAILED : exit_code(cli, &s);
    }
    cli_store_free(&s);
    return rc;
}
