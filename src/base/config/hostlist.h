/* Host lists as clusters write them: "login,node[001-128,200],rack[1-4]n[01-16]". */
#ifndef SK_BASE_HOSTLIST_H
#define SK_BASE_HOSTLIST_H

#include "base/error.h"

#include <stddef.h>

enum { SK_HOST_MAX = 255 }; /* longest name, without the terminating zero */

struct sk_hostlist {
    char **name;
    size_t n, cap;
};

/* Append the names of text to *list (begin from a zeroed one), in order, repeated names included.
 * Names are separated by commas or white space; numbers in brackets keep the width they are written
 * with. At most `most` names in the list. On failure the list is as it was. SAIKAI_EINVAL: bad
 * text, SAIKAI_ENOMEM. */
int sk_hostlist_expand(struct sk_hostlist *list, const char *text, size_t most,
                       struct saikai_error *err);
/* The hosts of a file as launchers take it: a name or a pattern per line, what follows it on the
 * line ("slots=4",
 * ":4") is not looked at, '#' begins a comment. Errors name file and line. */
int sk_hostlist_read(struct sk_hostlist *list, const char *path, size_t most,
                     struct saikai_error *err);
void sk_hostlist_free(struct sk_hostlist *list);

#endif
