/* Turns the common options of protect and rebuild into parameters, and lets rank 0 alone tell an
 * error. */
#include "cli/protect_options.h"

#include "base/file/io.h"

#include <string.h>

int cli_protect_params(struct cli_protect *o, struct sk_protect_params *p, struct saikai_error *err)
{
    if (!o->dir)
        o->dir = ".";
    int rc = 0;
    if (!o->parity_dir) {
        rc = sk_io_path(o->parity_default, sizeof o->parity_default, err, "%s/.saikai", o->dir);
        o->parity_dir = o->parity_default;
    }
    if (o->name && (!*o->name || strchr(o->name, '/')))
        rc = sk_fail(err, SAIKAI_EINVAL,
                     "'%.60s' is no name of a set of files: it must be a plain file name", o->name);
    p->dir = o->dir;
    p->parity_dir = o->parity_dir;
    p->parity_name = o->name;
    p->coding.form = o->form;
    return rc;
}

int cli_protect_fail(const struct cli *cli, const struct cli_mpi *m, const struct saikai_error *err)
{
    return m->group && m->group->rank ? CLI_FAILED : cli_fail(cli, err);
}
