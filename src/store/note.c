/* Writes notes line by line, checks and parses them, and creates one so that of several writers one
 * succeeds. */
#include "store/note.h"

#include "base/hash.h"
#include "base/id.h"
#include "base/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void sk_note_begin(struct sk_buf *b, const char *title)
{
    sk_buf_printf(b, "%s\n", title);
}

void sk_note_put(struct sk_buf *b, const char *key, const char *value)
{
    char clean[SK_NOTE_VALUE];
    size_t n = 0;
    for (; value[n] && n < sizeof clean - 1; n++)
        clean[n] = (unsigned char)value[n] < ' ' || value[n] == 127 ? '?' : value[n];
    clean[n] = 0;
    sk_buf_printf(b, "%s %s\n", key, clean);
}

void sk_note_end(struct sk_buf *b)
{
    if (sk_buf_ok(b))
        sk_buf_printf(b, "check %016llx\n", (unsigned long long)sk_hash64(b->data, b->len));
}

int sk_note_decode(const char *text, size_t n, const char *title, sk_note_line *take, void *arg, struct saikai_error *err)
{
    unsigned long long hash;
    int number = 0, checked = 0, end = 0;
    for (size_t at = 0; at < n; number++) {
        const char *stop = memchr(text + at, '\n', n - at);
        char line[SK_NOTE_VALUE + 64];
        size_t len = stop ? (size_t)(stop - text) - at : n - at;
        if (!stop || len >= sizeof line || memchr(text + at, 0, len) || checked)
            return sk_fail(err, number ? SAIKAI_EDAMAGED : SAIKAI_EFORMAT, "line %d is not one of a '%s'", number + 1, title);
        memcpy(line, text + at, len);
        line[len] = 0;
        char *space = strchr(line, ' ');
        if (!number) {
            if (strcmp(line, title))
                return sk_fail(err, SAIKAI_EFORMAT, "not a '%s' that this Saikai reads", title);
        } else if (sscanf(line, "check %16llx%n", &hash, &end) == 1 && !line[end]) {
            checked = hash == sk_hash64(text, at);
            if (!checked)
                return sk_fail(err, SAIKAI_EDAMAGED, "its checksum is wrong");
        } else if (!space || (*space = 0, take(arg, line, space + 1))) {
            return sk_fail(err, SAIKAI_EDAMAGED, "line %d is not one of a '%s'", number + 1, title);
        }
        at += len + 1;
    }
    return checked ? 0 : sk_fail(err, SAIKAI_EDAMAGED, "it is truncated");
}

static int write_whole(const char *path, const struct sk_buf *b, struct saikai_error *err)
{
    int fd = sk_io_open(path, O_WRONLY | O_CREAT | O_EXCL, 0666, err);
    if (fd < 0)
        return fd;
    int rc = sk_io_write(fd, path, b->data, b->len, err);
    if (!rc)
        rc = sk_io_fsync(fd, path, err);
    if (close(fd) && !rc)
        rc = sk_fail_errno(err, errno, "cannot close %s", path);
    return rc;
}

/* A second name for the file, unless the name is taken. An answer that got lost on the way from a server, and was asked for
 * again, says "taken" although it was made: the number of names tells. */
static int give_name(const char *tmp, const char *path, struct saikai_error *err)
{
    struct stat sb;
    struct saikai_error why = {0};
    int rc = sk_io_link(tmp, path, &why), e = why.sys_errno;
    if (!rc || (!stat(tmp, &sb) && sb.st_nlink == 2))
        return 0;
    if ((e == EPERM || e == EOPNOTSUPP || e == ENOSYS || e == EMLINK) && access(path, F_OK))
        return sk_io_rename(tmp, path, err); /* no second names there */
    if (err)
        *err = why;
    return access(path, F_OK) ? rc : SAIKAI_EEXIST;
}

int sk_note_create(const char *dir, const char *file, const struct sk_buf *b, struct saikai_error *err)
{
    char path[PATH_MAX], tmp[PATH_MAX], id[SK_ID_TEXT];
    int rc = sk_io_path(path, sizeof path, err, "%s/%s", dir, file);
    if (!rc) /* a random name, since process ids are those of one host */
        rc = sk_io_path(tmp, sizeof tmp, err, "%s/%s-%.12s.tmp", dir, file, sk_id_print(sk_id_random(), id));
    if (rc)
        return rc;
    rc = write_whole(tmp, b, err);
    if (!rc)
        rc = give_name(tmp, path, err);
    sk_io_unlink(tmp, NULL);
    return rc ? rc : sk_io_fsync_parent(path, err);
}
