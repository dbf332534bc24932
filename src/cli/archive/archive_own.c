/* Tells the archive, and the temporary files of those who write it, from what is to be archived: by device and inode, and by the name
 * where these do not know yet, or know several; and archives from other files, by their first bytes. */
#include "cli/archive/archive_own.h"

#include "archive/file/previous.h"
#include "base/file/io.h"
#include "base/text/output.h"
#include "base/text/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { NOTHING, ONE_FILE, SETS, DIRECTORY };

static int same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

void cli_archive_own_file(struct cli_archive_own *own, const char *path)
{
    struct sk_output out;
    char dir[4096];
    *own = (struct cli_archive_own){.kind = ONE_FILE};
    if (sk_output_look(path, &out, NULL)) /* who writes it says so */
        return;
    if (out.is_stream) {
        own->has_file = sk_output_is_dash(path) ? !fstat(STDOUT_FILENO, &own->file) : !stat(out.path, &own->file);
        return;
    }
    const char *slash = strrchr(out.path, '/');
    own->has_file = !stat(out.path, &own->file);
    own->has_dir = !sk_io_path(dir, sizeof dir, NULL, "%.*s", slash ? (int)(slash - out.path) + 1 : 1, slash ? out.path : ".") &&
                   !sk_io_path(own->name, sizeof own->name, NULL, "%s", slash ? slash + 1 : out.path) && !stat(dir, &own->dir);
}

void cli_archive_own_below(struct cli_archive_own *own, const char *previous)
{
    struct sk_opened *newest = NULL, *o = NULL;
    int rc = sk_opened_new(previous, &newest, NULL);
    for (o = newest; !rc && own->below_count <= SK_SKA_MAX_DEPTH;) {
        own->below_count += !fstat(o->fd, &own->below[own->below_count]);
        if (!o->a->previous)
            break;
        rc = sk_opened_previous(o, &o, NULL);
    }
    sk_opened_free(newest);
}

void cli_archive_own_sets(struct cli_archive_own *own, const char *dir)
{
    *own = (struct cli_archive_own){.kind = SETS};
    own->has_dir = !stat(dir, &own->dir);
}

void cli_archive_own_directory(struct cli_archive_own *own, const char *dir)
{
    *own = (struct cli_archive_own){.kind = DIRECTORY};
    own->has_dir = !stat(dir, &own->dir);
}

/* 1: the end of a name is that of a temporary file: .DIGITS.tmp */
static int is_temporary(const char *end)
{
    size_t digits = *end == '.' ? strspn(end + 1, "0123456789") : 0;
    return digits && !strcmp(end + 1 + digits, ".tmp");
}

/* 1: it lies right in the directory. */
static int is_in(const struct cli_archive_own *own, const char *path)
{
    char dir[4096];
    struct stat st;
    const char *slash = strrchr(path, '/');
    return own->has_dir && !sk_io_path(dir, sizeof dir, NULL, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".") &&
           !stat(dir, &st) && same_inode(&st, &own->dir);
}

static int is_own_file(const struct cli_archive_own *own, const char *path, const struct stat *st)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(own->name);
    if (!S_ISREG(st->st_mode))
        return 0;
    /* another name of what is replaced keeps what was in it, and is a file like others */
    if (own->has_file && same_inode(st, &own->file))
        return st->st_nlink < 2 || !own->has_dir || (!strcmp(name, own->name) && is_in(own, path));
    return n && !strncmp(name, own->name, n) && is_temporary(name + n) && is_in(own, path);
}

static int is_of_set(const struct cli_archive_own *own, const char *path, const struct stat *st)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end = strstr(name, ".ska");
    return S_ISREG(st->st_mode) && !strncmp(name, "set-", 4) && end && (!end[4] || is_temporary(end + 4)) && is_in(own, path);
}

/* 1: the one file is an archive that is built on; another name of that is a file like others. */
static int is_below(const struct cli_archive_own *own, const char *path, const struct stat *st)
{
    for (int i = 0; i < own->below_count; i++)
        if (same_inode(st, &own->below[i]))
            return st->st_nlink < 2 || is_in(own, path);
    return 0;
}

/* 1: another process is making an archive in it: who makes one holds it locked (archive/file/target.h). */
static int is_unfinished(const char *path, const struct stat *st)
{
    const char *end = strrchr(path, '.');
    while (end && end > path && *--end != '.' && *end != '/')
        ;
    if (!S_ISREG(st->st_mode) || !end || !is_temporary(end))
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int is = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return is;
}

int cli_archive_own_is(struct cli_archive_own *own, const char *path, const struct stat *st)
{
    int is = own->kind == ONE_FILE    ? is_own_file(own, path, st)
             : own->kind == SETS      ? is_of_set(own, path, st)
             : own->kind == DIRECTORY ? own->has_dir && S_ISDIR(st->st_mode) && same_inode(st, &own->dir)
                                      : 0;
    if (!is && is_below(own, path, st)) {
        is = 1;
        own->below_left++;
    }
    if (is && !own->count++)
        snprintf(own->left, sizeof own->left, "%s", path);
    if (is || !is_unfinished(path, st))
        return is;
    if (!own->others++)
        snprintf(own->other, sizeof own->other, "%s", path);
    return 1;
}

static void say_others(const struct cli_archive_own *own, const char *command)
{
    char more[64] = "";
    if (own->others > 1)
        snprintf(more, sizeof more, ", and %zu more", own->others - 1);
    if (own->others)
        fprintf(stderr, "saikai %s: %s is left out%s: another process is making an archive in it\n", command, sk_shown(own->other), more);
}

void cli_archive_own_say(const struct cli_archive_own *own, const char *command)
{
    char more[64] = "";
    say_others(own, command);
    if (!own->count)
        return;
    if (own->count > 1)
        snprintf(more, sizeof more, ", and %zu more", own->count - 1);
    fprintf(stderr, "saikai %s: %s is left out%s: the archive that is made does not hold itself%s\n", command, sk_shown(own->left), more,
            own->below_left ? ", nor what it builds on" : "");
}

/* ---- what would be replaced ---- */

enum place { NO_FILE, EMPTY, ARCHIVE, ANOTHER };

static enum place look(const char *path)
{
    uint8_t head[8];
    struct stat st;
    int fd = sk_output_is_dash(path) || stat(path, &st) || !S_ISREG(st.st_mode) ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NO_FILE; /* what may not be read is told by who writes */
    ssize_t n = read(fd, head, sizeof head);
    close(fd);
    return !n ? EMPTY : sk_ska_begins(head, (size_t)(n > 0 ? n : 0)) ? ARCHIVE : ANOTHER;
}

static int is_called_so(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && !strcmp(path + n - 4, ".ska");
}

int cli_archive_may_replace(const char *out, struct saikai_error *err)
{
    if (look(out) != ANOTHER || is_called_so(out))
        return 0;
    return sk_fail(err, SAIKAI_EEXIST, "%s is not replaced: it is a file, and no archive; remove it, or give another name with -o", out);
}

int cli_archive_spares(const char *out, struct saikai_error *err)
{
    return look(out) != ARCHIVE ? 0 : sk_fail(err, SAIKAI_EEXIST, "%s is not replaced: it is an archive; remove it, or give another name with -o", out);
}
