/* The files of an archive by their names. */
#ifndef SK_ARCHIVE_FILE_NAMES_H
#define SK_ARCHIVE_FILE_NAMES_H

#include "archive/file/ska.h"

struct sk_named {
    const char *name;
    uint32_t file;
};
struct sk_names {
    struct sk_named *list; /* in order; its names are those of the archive */
    size_t count;
};

/* The archive must stay, and get no more files. SAIKAI_ENOMEM. */
int sk_names_init(struct sk_names *n, const struct sk_ska *a);
void sk_names_free(struct sk_names *n);
/* Its number, the lowest one of several; -1: there is none of that name. */
int64_t sk_names_find(const struct sk_names *n, const char *name);

#endif
