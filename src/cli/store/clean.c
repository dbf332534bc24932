/* saikai clean: remove what dead jobs left in this node's memory. */
#include "cli/cli.h"

#include "base/config/units.h"
#include "base/file/denied.h"
#include "base/text/shown.h"
#include "store/leftovers.h"
#include "store/owner/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cleaning {
    int dry, json, all;
    const char *age;
};

/* What is nobody's goes; what a job may go on from only when it is told to, or very old. */
static int is_doomed(const struct cleaning *c, const struct sk_leftover *d, double age_s)
{
    switch (d->state) {
    case SK_LEFTOVER_LIVES:
        return 0;
    case SK_LEFTOVER_FINISHED:
    case SK_LEFTOVER_GONE:
        return 1;
    default:
        return c->all || (age_s >= 0 && d->age_s > age_s);
    }
}

static void print_one(struct sk_json *j, const struct sk_leftover *d, int removed, int dry, const char *problem)
{
    char size[32], age[32];
    if (j) {
        sk_json_object(j, NULL);
        sk_json_text(j, "directory", d->path);
        sk_json_text(j, "job", d->job.name);
        sk_json_text(j, "store", d->job.place);
        sk_json_text(j, "state", sk_leftover_state_name(d->state));
        sk_json_uint(j, "size_bytes", d->bytes);
        sk_json_real(j, "age", d->age_s);
        sk_json_bool(j, "removed", removed && !dry);
        sk_json_end(j);
        return;
    }
    printf("%-13s %-10s %9s %8s  %s%s%s\n", removed ? dry ? "would remove" : "removed" : "kept",
           sk_leftover_state_name(d->state), sk_format_size(size, sizeof size, d->bytes),
           sk_format_time(age, sizeof age, d->age_s < 1 ? 1 : (double)(int64_t)d->age_s), sk_shown(d->path), *problem ? ": " : "", sk_shown(problem));
}

static int clean_all(struct cli *cli, const struct cleaning *c, const char *user, double age_s)
{
    struct sk_leftovers l;
    struct saikai_error err = {0};
    struct sk_json j = {0};
    uint64_t bytes = 0;
    int failed = 0, count = 0;
    if (sk_leftovers_scan(user, NULL, &l, &err))
        return cli_fail(cli, &err);
    if (c->json) {
        sk_json_object(&j, NULL);
        sk_json_array(&j, "directories");
    }
    for (size_t i = 0; i < l.count; i++) {
        struct saikai_error why = {0};
        int doomed = is_doomed(c, &l.dir[i], age_s);
        int rc = doomed && !c->dry ? sk_leftover_remove(&l.dir[i], &why) : 0;
        failed |= rc && rc != SAIKAI_EBUSY;
        count += doomed && !rc;
        bytes += doomed && !rc ? l.dir[i].bytes : 0;
        if (!*why.text && l.dir[i].unread)
            sk_fail(&why, SAIKAI_EIO, "not all of it can be read, so that it is larger than that");
        print_one(c->json ? &j : NULL, &l.dir[i], doomed && !rc, c->dry, why.text);
    }
    if (c->json) {
        sk_json_end(&j);
        sk_json_uint(&j, "freed_bytes", c->dry ? 0 : bytes);
        sk_json_end(&j);
        cli_print_json(cli, &j, CLI_OK);
    } else {
        char size[32];
        printf("%s %d of %zu directories below %s, %s\n", c->dry ? "would remove" : "removed", count, l.count, sk_shown(user),
               sk_format_size(size, sizeof size, bytes));
    }
    sk_leftovers_free(&l);
    return failed ? CLI_FAILED : CLI_OK;
}

int cli_clean(struct cli *cli, int argc, char **argv)
{
    struct cleaning c = {0};
    const struct cli_option options[] = {
        {'n', "dry-run", CLI_FLAG, &c.dry, NULL, NULL, "say what would be removed, and remove nothing"},
        {'a', "all", CLI_FLAG, &c.all, NULL, NULL,
         "also what jobs that have not finished may go on from; what living jobs use stays always"},
        {0, "older-than", CLI_TEXT, &c.age, "TIME", NULL,
         "also what such jobs have not written to for this long (default: never)"},
        {0, "json", CLI_FLAG, &c.json, NULL, NULL, "print JSON"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "",
        .about = "Removes what this user's dead jobs left in the memory of this node (store.local): copies of stores that "
                 "were removed, and of jobs that finished. It is safe beside jobs that run: what a living process holds is "
                 "locked. What an unfinished job may go on from stays, unless --all or --older-than is given.",
        .options = options,
    };
    char user[4096];
    double age_s = -1;
    int rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc >= 0)
        return rc;
    const char *local = sk_config_text(cli->config, "store.local");
    if (c.age && sk_parse_time(c.age, &age_s))
        return cli_usage(cli, "--older-than: '%s' is no time such as 2d or 30min", c.age);
    if (!strcmp(local, "none"))
        return cli_usage(cli, "there is no node-local store: store.local is 'none'");
    struct saikai_error err = {0};
    if (sk_private_dir(local, 0, user, sizeof user, &err) && sk_denied(&err))
        return cli_fail(cli, &err);
    if (err.code)
        snprintf(user, sizeof user, "%s/saikai-%ld", local, (long)getuid()); /* nothing was ever saved here */
    return clean_all(cli, &c, user, age_s);
}
