/* The temporary file of an output, and what becomes of it. */
#include "cli/atomic_file.h"

#include "base/file/io.h"

#include <fcntl.h>
#include <unistd.h>

int cli_atomic_begin(struct cli_atomic_file *f, const char *path, struct saikai_error *err)
{
    struct cli_atomic_file r = {.begun = 1};
    int rc = sk_output_look(path, &r.out, err);
    if (!rc && !r.out.is_stream)
        rc = sk_io_path(r.temporary, sizeof r.temporary, err, "%s.tmp.%ld", r.out.path, (long)getpid());
    if (rc)
        return rc;
    r.fd = r.out.is_stream ? sk_output_temporary(r.temporary, err)
                           : sk_io_open(r.temporary, O_RDWR | O_CREAT | O_TRUNC, 0666, err);
    if (r.fd < 0)
        return r.fd;
    *f = r;
    return 0;
}

int cli_atomic_commit(struct cli_atomic_file *f, struct saikai_error *err)
{
    if (f->out.is_stream) {
        int rc = sk_output_send(f->fd, f->temporary, &f->out, err);
        cli_atomic_abort(f);
        return rc;
    }
    int rc = sk_io_fsync(f->fd, f->temporary, err);
    if (!rc)
        rc = sk_io_rename(f->temporary, f->out.path, err);
    if (rc) {
        cli_atomic_abort(f);
        return rc;
    }
    close(f->fd);
    f->begun = 0;
    return sk_io_fsync_parent(f->out.path, err);
}

void cli_atomic_abort(struct cli_atomic_file *f)
{
    if (!f->begun)
        return;
    close(f->fd);
    sk_io_unlink(f->temporary, NULL);
    f->begun = 0;
}
