/* Walks files, directories and lists, gives each entry its name in the archive, and refuses names
 * that cannot stand beside each other. */
#include "cli/archive/archive_inputs.h"

#include "base/file/io.h"
#include "cli/archive/archive_own.h"
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void cli_archive_inputs_free(struct archive_inputs *in)
{
    for (size_t i = 0; i < in->n; i++) {
        free((char *)(uintptr_t)in->list[i].path);
        free((char *)(uintptr_t)in->list[i].name);
    }
    free(in->list);
    for (size_t i = 0; i < in->entry_count; i++) {
        free(in->entries[i].name);
        free(in->entries[i].target);
    }
    free(in->entries);
    free(in->inodes);
}

/* A file that has several names, and the first of them that was seen: its number in the list, and 1; 0: a free place in the table. */
struct archive_inode {
    dev_t dev;
    ino_t ino;
    size_t input;
};

/* The name in the archive: the path as given without what leads nowhere: empty parts, "." and ".."
 * with the part before it. To be freed. */
static char *archive_name(const char *path)
{
    char *name = malloc(strlen(path) + 1);
    size_t n = 0;
    for (size_t k; name && *path; path += k) {
        k = strcspn(path, "/");
        if (!k) {
            k = 1;
        } else if (k == 2 && !strncmp(path, "..", 2)) {
            while (n && name[--n] != '/')
                ;
        } else if (k > 1 || *path != '.') {
            if (n)
                name[n++] = '/';
            memcpy(name + n, path, k);
            n += k;
        }
    }
    if (name)
        name[n] = 0;
    return name;
}

static int add_input(struct archive_inputs *in, const char *path, struct saikai_error *err)
{
    if (in->n == in->cap) {
        size_t cap = in->cap ? 2 * in->cap : 64;
        struct sk_archive_input *more = realloc(in->list, cap * sizeof *more);
        if (!more)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
        in->list = more;
        in->cap = cap;
    }
    char *p = strdup(path), *name = archive_name(path);
    if (!p || !name) {
        free(p);
        free(name);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    }
    in->list[in->n++] = (struct sk_archive_input){.path = p, .name = name};
    return 0;
}

static int no_memory(struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
}

/* Room for one more of `size` bytes; NULL: no memory. */
static void *grown(void *list, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return list;
    size_t more = *cap ? 2 * *cap : 64;
    void *p = realloc(list, more * size);
    if (p)
        *cap = more;
    return p;
}

static int add_entry(struct archive_inputs *in, const char *path, const struct stat *st, int kind,
                     const char *target, struct saikai_error *err)
{
    void *more = grown(in->entries, in->entry_count, &in->entry_cap, sizeof *in->entries);
    if (!more)
        return no_memory(err);
    in->entries = more;
    char *name = archive_name(path), *to = strdup(target);
    if (!name || !to || !*name) { /* "." itself has no name */
        int rc = name && to ? 0 : no_memory(err);
        free(name);
        free(to);
        return rc;
    }
    in->entries[in->entry_count++] = (struct sk_ska_entry){
        .name = name,
        .target = to,
        .kind = kind,
        .mode = st->st_mode & 07777,
        .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec};
    return 0;
}

static int add_symlink(struct archive_inputs *in, const char *path, const struct stat *st,
                       struct saikai_error *err)
{
    char target[SK_SKA_MAX_NAME];
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0)
        return sk_fail_errno(err, errno, "cannot read the link %s", path);
    target[n] = 0;
    return add_entry(in, path, st, SK_ENTRY_SYMLINK, target, err);
}

static struct archive_inode *inode_place(struct archive_inode *table, size_t cap, dev_t dev, ino_t ino)
{
    size_t k = (size_t)(((uint64_t)ino ^ (uint64_t)dev << 32) * 0x9e3779b97f4a7c15u >> 20) & (cap - 1);
    while (table[k].input && (table[k].ino != ino || table[k].dev != dev))
        k = (k + 1) & (cap - 1);
    return &table[k];
}

/* Where a file of several names is in the table, or is to be: trees of backups have nothing else. NULL: no memory. */
static struct archive_inode *inode_of(struct archive_inputs *in, const struct stat *st)
{
    if (in->inode_count >= in->inode_cap / 2) {
        size_t cap = in->inode_cap ? 2 * in->inode_cap : 256;
        struct archive_inode *more = calloc(cap, sizeof *more);
        if (!more)
            return NULL;
        for (size_t i = 0; i < in->inode_cap; i++)
            if (in->inodes[i].input)
                *inode_place(more, cap, in->inodes[i].dev, in->inodes[i].ino) = in->inodes[i];
        free(in->inodes);
        in->inodes = more;
        in->inode_cap = cap;
    }
    return inode_place(in->inodes, in->inode_cap, st->st_dev, st->st_ino);
}

/* A file, or one more name of a file that is in the list. */
static int add_file(struct archive_inputs *in, const char *path, const struct stat *st,
                    struct saikai_error *err)
{
    if (in->follow || st->st_nlink < 2 || !S_ISREG(st->st_mode))
        return add_input(in, path, err);
    struct archive_inode *known = inode_of(in, st);
    if (!known)
        return no_memory(err);
    if (known->input)
        return add_entry(in, path, st, SK_ENTRY_HARD_LINK, in->list[known->input - 1].name, err);
    *known = (struct archive_inode){st->st_dev, st->st_ino, in->n + 1};
    in->inode_count++;
    return add_input(in, path, err);
}

/* A pattern names it by its path as given, by its name in the archive, or by the last part of these; slashes at the end of the pattern, as
 * shells complete names of directories, do not count. */
static int names_it(const char *pattern, const char *path, const char *name)
{
    char plain[4096];
    const char *slash = strrchr(name, '/');
    size_t n = strlen(pattern);
    while (n > 1 && pattern[n - 1] == '/')
        n--;
    if (sk_io_path(plain, sizeof plain, NULL, "%.*s", (int)n, pattern))
        return 0;
    return !fnmatch(plain, path, 0) || !fnmatch(plain, name, 0) || !fnmatch(plain, slash ? slash + 1 : name, 0);
}

/* 1: it is to be left out; -1: no memory. */
static int is_excluded(struct archive_inputs *in, const char *path)
{
    int is = 0;
    if (!in->exclude || !in->exclude->n)
        return 0;
    char *name = archive_name(path);
    for (int i = 0; name && i < in->exclude->n && !is; i++)
        is = names_it(in->exclude->items[i], path, name);
    in->excluded += is;
    is = name ? is : -1;
    free(name);
    return is;
}

/* Something could not be read, for rc: 0 where it is left out, which *why tells. */
static int leave(const struct archive_inputs *in, const char *path, int rc, const struct saikai_error *why, struct saikai_error *err)
{
    if (rc != SAIKAI_ENOMEM && in->leave_out && in->leave_out(in->leave_arg, path, why))
        return 0;
    if (err)
        *err = *why;
    return rc;
}

/* A link, or a file that can be read; 0, or why it cannot be archived. */
static int add_other(struct archive_inputs *in, const char *path, const struct stat *st, struct saikai_error *why)
{
    if (S_ISLNK(st->st_mode))
        return add_symlink(in, path, st, why);
    if (!S_ISREG(st->st_mode))
        return sk_fail(why, SAIKAI_EINVAL, "%s is not a regular file", path);
    if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS))
        return sk_fail_errno(why, errno, "cannot read %s", path);
    return add_file(in, path, st, why);
}

/* Whether something was named on the command line, stands in a list, or is in a directory. */
enum { NAMED, LISTED, BELOW, DEEPEST = 256 };

/* The directories that lead to where we are. */
struct above {
    const struct above *up;
    dev_t dev;
    ino_t ino;
    int depth;
};

/* A directory may be entered: links do not lead back to one above, and it is not too deep. */
static int may_enter(const struct above *up, const char *path, const struct stat *st, struct saikai_error *why)
{
    if (up && up->depth >= DEEPEST)
        return sk_fail(why, SAIKAI_EINVAL, "%s is nested too deeply", path);
    for (const struct above *a = up; a; a = a->up)
        if (a->ino == st->st_ino && a->dev == st->st_dev)
            return sk_fail(why, SAIKAI_EINVAL, "%s leads back to a directory that it is in", path);
    return 0;
}

static int add_tree(struct archive_inputs *in, const char *path, int how, const struct above *up, struct saikai_error *err);

/* What is in a directory. */
static int add_all_in(struct archive_inputs *in, const char *path, const struct above *here, struct saikai_error *err)
{
    struct dirent **names = NULL;
    struct saikai_error why = {0};
    int n = scandir(path, &names, NULL, alphasort), rc = 0;
    if (n < 0)
        return leave(in, path, sk_fail_errno(&why, errno, "cannot list %s", path), &why, err);
    for (int i = 0; i < n; i++) {
        char sub[4096];
        const char *d = names[i]->d_name;
        int wanted = !rc && strcmp(d, ".") && strcmp(d, ".."), bad = wanted ? sk_io_path(sub, sizeof sub, &why, "%s/%s", path, d) : 0;
        if (bad)
            rc = leave(in, path, bad, &why, err);
        else if (wanted)
            rc = add_tree(in, sub, BELOW, here, err);
        free(names[i]);
    }
    free(names);
    return rc;
}

/* What is named is followed when it is a link; links below it are links. What is named and is not there is a mistake; elsewhere it may have been
 * there a moment ago. */
static int add_tree(struct archive_inputs *in, const char *path, int how, const struct above *up, struct saikai_error *err)
{
    struct stat st;
    struct saikai_error why = {0};
    int rc = is_excluded(in, path);
    if (rc)
        return rc > 0 ? 0 : no_memory(err);
    if (in->follow || how != BELOW ? stat(path, &st) : lstat(path, &st)) {
        if (how == NAMED)
            return sk_fail_errno(err, errno, "cannot read %s", path);
        return leave(in, path, sk_fail_errno(&why, errno, "cannot read %s", path), &why, err);
    }
    if (in->own && cli_archive_own_is(in->own, path, &st))
        return 0;
    struct above here = {up, st.st_dev, st.st_ino, up ? up->depth + 1 : 0};
    if (!S_ISDIR(st.st_mode))
        rc = add_other(in, path, &st, &why);
    else if (!(rc = may_enter(up, path, &st, &why)) && !in->follow)
        rc = add_entry(in, path, &st, SK_ENTRY_DIRECTORY, "", &why);
    if (rc)
        return leave(in, path, rc, &why, err);
    return S_ISDIR(st.st_mode) ? add_all_in(in, path, &here, err) : 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sk_archive_input *)a)->name,
                  ((const struct sk_archive_input *)b)->name);
}

static int by_key(const void *name, const void *b)
{
    return strcmp(name, ((const struct sk_archive_input *)b)->name);
}

/* Sorted: two files of one name, or one whose name is another's directory, could not be restored
 * beside each other. */
static int check_names(const struct archive_inputs *in, struct saikai_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < in->entry_count; i++) /* a file of several names is one input, and its other names are links: to itself when one is given twice */
        if (in->entries[i].kind != SK_ENTRY_DIRECTORY && bsearch(in->entries[i].name, in->list, in->n, sizeof *in->list, by_key))
            return sk_fail(err, SAIKAI_EINVAL, "%s would be in the archive twice: it is given under two names for the same place", in->entries[i].name);
    for (size_t i = 0; i < in->n && !rc; i++) {
        const char *name = in->list[i].name;
        if (i && !strcmp(in->list[i - 1].name, name))
            return sk_fail(err, SAIKAI_EINVAL, "%s and %s would have the same name in the archive",
                           in->list[i - 1].path, in->list[i].path);
        char *dir = strdup(name), *slash;
        if (!dir)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
        while (!rc && (slash = strrchr(dir, '/'))) {
            *slash = 0;
            const struct sk_archive_input *file =
                bsearch(dir, in->list, in->n, sizeof *in->list, by_key);
            if (file)
                rc = sk_fail(err, SAIKAI_EINVAL,
                             "%s would be both a file (%s) and a directory (of %s) in the archive",
                             dir, file->path, in->list[i].path);
        }
        free(dir);
    }
    return rc;
}

int cli_archive_inputs_gather(char **operands, int count, struct archive_inputs *in,
                          struct saikai_error *err)
{
    int rc = 0;
    for (int i = 0; i < count && !rc; i++) {
        size_t n = strlen(operands[i]);
        while (n > 1 && operands[i][n - 1] == '/')
            operands[i][--n] = 0;
        rc = add_tree(in, operands[i], NAMED, NULL, err);
    }
    return rc ? rc : cli_archive_inputs_check(in, err);
}

int cli_archive_inputs_check(struct archive_inputs *in, struct saikai_error *err)
{
    if (in->n)
        qsort(in->list, in->n, sizeof *in->list, by_name);
    return check_names(in, err);
}

int cli_archive_inputs_listed(const char *list, int end, struct archive_inputs *in, struct saikai_error *err)
{
    struct stat st;
    /* what a shell makes of <(...) has a writer; a FIFO of the file system may never get one */
    int through_shell = !strncmp(list, "/dev/fd/", 8) || !strncmp(list, "/proc/", 6);
    if (strcmp(list, "-") && !through_shell && !stat(list, &st) && S_ISFIFO(st.st_mode))
        return sk_fail(err, SAIKAI_EINVAL, "%s is a FIFO, not a file: '-' is standard input", list);
    FILE *f = strcmp(list, "-") ? fopen(list, "r") : stdin;
    char *line = NULL;
    size_t cap = 0;
    int rc = 0;
    if (!f)
        return sk_fail_errno(err, errno, "cannot read %s", list);
    for (ssize_t n; !rc && (n = getdelim(&line, &cap, end, f)) > 0;) {
        if (line[n - 1] == end)
            line[--n] = 0;
        while (n > 1 && line[n - 1] == '/')
            line[--n] = 0;
        if (n > 0)
            rc = add_tree(in, line, LISTED, NULL, err);
    }
    if (!rc && ferror(f))
        rc = sk_fail_errno(err, errno, "cannot read %s", list);
    free(line);
    if (f != stdin)
        fclose(f);
    return rc;
}

int cli_archive_same_dir(const char *previous, const char *out, struct saikai_error *err)
{
    struct stat a, b;
    int there = !stat(previous, &a), same = !strcmp(previous, out);
    if (there && !stat(out, &b))
        same = S_ISDIR(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    return same ? 0
                : sk_fail(err, SAIKAI_EINVAL,
                          "--previous %s: under mpirun and with --watch archives build on the "
                          "newest ones in the directory given by -o: give that one",
                          previous);
}
