/* Tells the archive, and the temporary files of those who write it, from what is to be archived: by device and inode, and by the name
 * where these do not know yet, or know several. */
#include "cli/archive/archive_own.h"

#include "archive/file/previous.h"
#include "base/file/io.h"
#include "base/text/output.h"
#include "base/text/shown.h"

#include <stdio.h>
#include <string.h>
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
    return is;
}

void cli_archive_own_say(const struct cli_archive_own *own, const char *command)
{
    char more[64] = "";
    if (!own->count)
        return;
    if (own->count > 1)
        snprintf(more, sizeof more, ", and %zu more", own->count - 1);
    fprintf(stderr, "saikai %s: %s is left out%s: the archive that is made does not hold itself%s\n", command, sk_shown(own->left), more,
            own->below_left ? ", nor what it builds on" : "");
}
