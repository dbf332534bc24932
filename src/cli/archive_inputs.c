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

/* The name in the archive: the path as given, without a leading "/", "./" or "../". */
static const char *archive_name(const char *path)
{
    for (;;) {
        if (path[0] == '/')
            path++;
        else if (!strncmp(path, "./", 2))
            path += 2;
        else if (!strncmp(path, "../", 3))
            path += 3;
        else
            return path;
    }
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
    char *p = strdup(path), *name = strdup(archive_name(path));
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
    for (size_t i = 1; i < in->n && !rc; i++)
        if (!strcmp(in->list[i - 1].name, in->list[i].name))
            rc = sk_fail(err, SAIKAI_EINVAL, "%s and %s would have the same name in the archive",
                         in->list[i - 1].path, in->list[i].path);
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
