/* Reads a lease's file, and finds the age of what is there by making a file beside it. */
#include "store/owner/lease_file.h"

#include "base/file/io.h"
#include "base/own/own.h"
#include "store/owner/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* Plain calls: the thread's are not the program's, and opening is what makes a remote file system look again. */
int sk_lease_file_read(const char *path, struct sk_owner *o, struct timespec *renewed)
{
    char text[4096];
    struct stat sb;
    int fd = sk_own_apart(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd < 0)
        return errno == ENOENT ? SAIKAI_ENOENT : SAIKAI_EIO;
    ssize_t n = fstat(fd, &sb) ? -1 : read(fd, text, sizeof text);
    close(fd);
    if (n < 0)
        return SAIKAI_EIO;
    if (renewed)
        *renewed = sb.st_mtim;
    return sk_owner_decode(text, (size_t)n, o, NULL) ? SAIKAI_EDAMAGED : 0;
}

double sk_lease_file_age(const char *dir, struct timespec t)
{
    char path[PATH_MAX], id[SK_ID_TEXT];
    struct stat sb;
    int rc = sk_io_path(path, sizeof path, NULL, "%s/" SK_LEASE_FILE "-now-%.12s.tmp", dir, sk_id_print(sk_id_random(), id));
    int fd = rc ? -1 : sk_own_apart(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    rc = fd < 0 || write(fd, "", 1) != 1 || sk_io_fsync(fd, path, NULL) || fstat(fd, &sb);
    if (fd >= 0) {
        close(fd);
        sk_io_unlink(path, NULL);
    }
    return rc ? -1 : (double)(sb.st_mtim.tv_sec - t.tv_sec) + 1e-9 * (double)(sb.st_mtim.tv_nsec - t.tv_nsec);
}
