/* Directives in files that a source includes: these are not translated, so somebody must hear of them. */
#ifndef SK_DIRECTIVE_INCLUDED_H
#define SK_DIRECTIVE_INCLUDED_H

#include "directive/clauses.h"

enum { INCLUDED_MAX_DIRS = 256 };

/* Where the compiler looks for what is included in quotes, behind the including file's own directory. */
struct included_dirs {
    const char *dir[INCLUDED_MAX_DIRS];
    size_t n;
};

/* Write one warning, "file:line: warning: …", to standard error for each file with a directive that the source at path includes in quotes,
 * itself or by others. Files that are not found are the compiler's affair. How many warnings. */
int sk_included_warn(const char *path, const char *text, size_t n, enum language language, int fixed, int cpp, const struct included_dirs *dirs);

#endif
