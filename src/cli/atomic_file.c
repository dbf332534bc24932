#include "cli/atomic_file.h"

#include "base/io.h"

#include <fcntl.h>
#include <unistd.h>

int cli_atomic_begin(struct cli_atomic_file *f, const char *path, struct saikai_error *err)
{
    struct cli_atomic_file r = {.path = path};
    int rc = sk_io_path(r.temporary, sizeof r.temporary, err, "%s.tmp.%ld", path, (long)getpid());
    if (rc)
        return rc;
    r.fd = sk_io_open(r.temporary, O_RDWR | O_CREAT | O_TRUNC, 0666, err);
    if (r.fd < 0)
        return r.fd;
    *f = r;
    return 0;
}

int cli_atomic_commit(struct cli_atomic_file *f, struct saikai_error *err)
{
    int rc = sk_io_fsync(f->fd, f->temporary, err);
    if (!rc)
        rc = sk_io_rename(f->temporary, f->path, err);
    if (rc) {
        cli_atomic_abort(f);
        return rc;
    }
    close(f->fd);
    f->path = NULL;
    return sk_io_fsync_parent(f->temporary, err);
}

void cli_atomic_abort(struct cli_atomic_file *f)
{
    if (!f->path)
        return;
    close(f->fd);
    sk_io_unlink(f->temporary, NULL);
    f->path = NULL;
}
