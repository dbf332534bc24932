/* The compiler drivers: what of a command line is theirs, and which MPI's compiler does the rest. */
#ifndef SK_DIRECTIVE_DRIVER_H
#define SK_DIRECTIVE_DRIVER_H

#include "directive/included.h"

#include <limits.h>
#include <stddef.h>

enum tool { TOOL_CC, TOOL_CXX, TOOL_FORT };

struct driver {
    const char *own; /* the name it was called by */
    enum tool tool;
    char mpi[32], compiler[PATH_MAX];
    char **argv; /* of the compiler */
    size_t argc;
    char temporary[PATH_MAX]; /* "": nothing was translated */
    int translated, sources, show, links;
    int language, fixed, cpp; /* by -x; -1: by the files' names */
    int form, with_cpp;       /* -ffree-form 1, -ffixed-form 2; -cpp 1, -nocpp -1 */
    struct included_dirs dirs; /* of -iquote, then of -I */
    int quiet;                 /* -w */
};

/* Arguments, each with a zero byte behind it, and one more at the end. */
struct driver_flags {
    char include[4 * PATH_MAX], libs[4 * PATH_MAX];
};

/* Tool and MPI from the name that it was called by, such as saikaicc or saikaifort.mpich. */
void sk_driver_name(struct driver *d, const char *path);
/* The compiler, and what it needs to find Saikai. 0, or -1 and it is said. */
int sk_driver_find(struct driver *d, struct driver_flags *flags);
void sk_driver_help(const struct driver *d);
int sk_driver_main(int argc, char **argv);

#endif
