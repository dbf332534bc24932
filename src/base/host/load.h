/* Libraries that are loaded when something first needs them. */
#ifndef SK_HOST_LOAD_H
#define SK_HOST_LOAD_H

#include <stddef.h>

struct saikai_error;

struct sk_late_symbol {
    const char *name;
    size_t at; /* where its address goes, from the begin of the table */
};

struct sk_late_library {
    const char *what, *soname, *package; /* for people; for the loader; what to install */
    const struct sk_late_symbol *symbols;
    size_t n;
    void *table;
    void *handle; /* NULL: not loaded; it stays */
};

/* Load it, once, and find all of its symbols; from any thread. 0, or SAIKAI_ENOTSUP: it is not there or lacks a symbol, and the table is as it
 * was; the next call tries again. */
int sk_late_load(struct sk_late_library *l, struct saikai_error *err);

#endif
