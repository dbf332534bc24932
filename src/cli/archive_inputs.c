#include "cli/archive_inputs.h"

#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void archive_inputs_free(struct archive_inputs *in)
{
    for (size_t i = 0; i < in->n; i++) {
        free((char *)(uintptr_t)in->list[i].path);
        free((char *)(uintptr_t)in->list[i].name);
    }
    free(in->list);
}

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

static int add_tree(struct archive_inputs *in, const char *path, int depth,
                    struct saikai_error *err)
{
    struct stat st;
    struct dirent **names = NULL;
    if (stat(path, &st))
        return sk_fail_errno(err, errno, "cannot read %s", path);
    if (!S_ISDIR(st.st_mode))
        return add_input(in, path, err);
    if (depth > 64)
        return sk_fail(err, SAIKAI_EINVAL, "%s is nested too deeply", path);
    int n = scandir(path, &names, NULL, alphasort), rc = 0;
    if (n < 0)
        return sk_fail_errno(err, errno, "cannot list %s", path);
    for (int i = 0; i < n; i++) {
        char sub[4096];
        const char *d = names[i]->d_name;
        if (!rc && strcmp(d, ".") && strcmp(d, "..") &&
            !(rc = sk_io_path(sub, sizeof sub, err, "%s/%s", path, d)))
            rc = add_tree(in, sub, depth + 1, err);
        free(names[i]);
    }
    free(names);
    return rc;
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

int archive_inputs_gather(char **operands, int count, struct archive_inputs *in,
                          struct saikai_error *err)
{
    int rc = 0;
    for (int i = 0; i < count && !rc; i++) {
        size_t n = strlen(operands[i]);
        while (n > 1 && operands[i][n - 1] == '/')
            operands[i][--n] = 0;
        rc = add_tree(in, operands[i], 0, err);
    }
    if (!rc && in->n)
        qsort(in->list, in->n, sizeof *in->list, by_name);
    if (!rc)
        rc = check_names(in, err);
    return rc;
}

int archive_same_dir(const char *previous, const char *out, struct saikai_error *err)
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
