/* Which MPI, which compiler, and where Saikai is: installed beside the driver, or in the tree that it was built in. */
#include "directive/driver.h"

#include "base/file/io.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sk_driver_name(struct driver *d, const char *path)
{
    const char *base = strrchr(path, '/');
    d->own = base ? base + 1 : path;
    d->tool = strstr(d->own, "fort") ? TOOL_FORT : strstr(d->own, "cxx") ? TOOL_CXX : TOOL_CC;
    const char *dot = strrchr(d->own, '.');
    if (dot)
        snprintf(d->mpi, sizeof d->mpi, "%s", dot + 1);
}

/* Is there a program of this name? */
static int in_path(const char *name)
{
    char copy[8192];
    const char *path = getenv("PATH");
    snprintf(copy, sizeof copy, "%s", path ? path : "/usr/bin:/bin");
    for (char *rest = copy, *dir; (dir = strsep(&rest, ":"));) {
        char file[PATH_MAX];
        if (snprintf(file, sizeof file, "%s/%s", dir, name) < (int)sizeof file && !access(file, X_OK))
            return 1;
    }
    return 0;
}

static int find_mpi(struct driver *d)
{
    char list[] = SAIKAI_DRIVER_MPIS;
    if (!*d->mpi) {
        const char *wanted = getenv("SAIKAI_MPI");
        snprintf(d->mpi, sizeof d->mpi, "%.*s", wanted && *wanted ? 31 : (int)strcspn(list, " "), wanted && *wanted ? wanted : list);
    }
    for (char *rest = list, *one; (one = strsep(&rest, " "));)
        if (!strcmp(one, d->mpi))
            return 0;
    fprintf(stderr, "%s: '%s' is no MPI that Saikai was built for: %s\n", d->own, d->mpi, SAIKAI_DRIVER_MPIS);
    return -1;
}

static int find_compiler(struct driver *d)
{
    static const char *const names[][3] = {{"mpicc", NULL, NULL}, {"mpicxx", "mpic++", NULL}, {"mpifort", "mpif90", NULL}};
    static const char *const variables[] = {"SAIKAI_CC", "SAIKAI_CXX", "SAIKAI_FC"};
    const char *told = getenv(variables[d->tool]);
    if (told && *told) {
        snprintf(d->compiler, sizeof d->compiler, "%s", told);
        return 0;
    }
    for (int plain = 0; plain < 2; plain++)
        for (int i = 0; names[d->tool][i]; i++) {
            snprintf(d->compiler, sizeof d->compiler, "%s%s%s", names[d->tool][i], plain ? "" : ".", plain ? "" : d->mpi);
            if (in_path(d->compiler))
                return 0;
        }
    fprintf(stderr, "%s: there is no %s.%s: install the compilers of this MPI, or name one in %s\n", d->own, names[d->tool][0], d->mpi,
            variables[d->tool]);
    return -1;
}

/* One argument more. */
static void put(char *list, size_t cap, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void put(char *list, size_t cap, const char *format, ...)
{
    size_t at = 0;
    while (list[at])
        at += strlen(list + at) + 1;
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(list + at, cap - at - 1, format, ap);
    va_end(ap);
    if (n < 0 || (size_t)n + 2 > cap - at)
        n = 0;
    list[at + (size_t)n + (n > 0)] = 0;
}

static void installed(const struct driver *d, const char *bin, struct driver_flags *f)
{
    put(f->include, sizeof f->include, "-I%s/../include", bin);
    if (d->tool == TOOL_FORT) {
        put(f->include, sizeof f->include, "-I%s/%s/saikai/%s/mod", bin, SAIKAI_DRIVER_LIBDIR, d->mpi);
    }
    put(f->libs, sizeof f->libs, "-L%s/%s", bin, SAIKAI_DRIVER_LIBDIR);
    put(f->libs, sizeof f->libs, "-Wl,-rpath,%s/%s", bin, SAIKAI_DRIVER_LIBDIR);
}

/* tree: a file beside the driver in the tree that it was built in, one directory a line: headers, made headers, libraries, the
 * Fortran library, modules. */
static void built(const struct driver *d, char *tree, struct driver_flags *f)
{
    const char *line[5] = {"", "", "", "", ""};
    int n = 0;
    for (char *rest = tree, *one; n < 5 && (one = strsep(&rest, "\n"));)
        line[n++] = one;
    put(f->include, sizeof f->include, "-I%s", line[0]);
    put(f->include, sizeof f->include, "-I%s", line[1]);
    if (d->tool == TOOL_FORT)
        put(f->include, sizeof f->include, "-I%s_%s", line[4], d->mpi);
    for (int i = 2; i < (d->tool == TOOL_FORT ? 4 : 3); i++) {
        put(f->libs, sizeof f->libs, "-L%s", line[i]);
        put(f->libs, sizeof f->libs, "-Wl,-rpath,%s", line[i]);
    }
}

int sk_driver_find(struct driver *d, struct driver_flags *f)
{
    char bin[PATH_MAX], path[PATH_MAX + 32];
    void *tree = NULL;
    size_t n;
    if (find_mpi(d) || find_compiler(d))
        return -1;
    ssize_t len = readlink("/proc/self/exe", bin, sizeof bin - 1);
    bin[len > 0 ? len : 0] = 0;
    char *slash = strrchr(bin, '/');
    if (slash)
        *slash = 0;
    snprintf(path, sizeof path, "%s/saikaicc.tree", bin);
    if (!access(path, R_OK) && !sk_io_slurp(path, 1 << 16, &tree, &n, NULL))
        built(d, tree, f);
    else
        installed(d, bin, f);
    free(tree);
    if (d->tool == TOOL_FORT)
        put(f->libs, sizeof f->libs, "-lsaikai_fortran_%s", d->mpi);
    put(f->libs, sizeof f->libs, "-lsaikai_%s", d->mpi);
    return 0;
}

void sk_driver_help(const struct driver *d)
{
    static const char *const compilers[] = {"mpicc", "mpicxx", "mpifort"};
    printf("Usage: %s [--show] [--mpi=MPI] ARGUMENT OF %s...\n\n"
           "Compiles MPI programs with the directives of Saikai: #pragma MICP and #pragma chk, in Fortran !$MICP and !$chk.\n\n"
           "  --show            write the translated source to standard output, and compile nothing\n"
           "  --mpi=MPI         one of: %s; else as the name says (%s.MPI), SAIKAI_MPI, or the first of these\n"
           "  --saikai-version  the version of Saikai\n\n"
           "All other arguments are the compiler's. SAIKAI_CC, SAIKAI_CXX and SAIKAI_FC name other compilers.\n",
           d->own, compilers[d->tool], SAIKAI_DRIVER_MPIS, d->own);
}
