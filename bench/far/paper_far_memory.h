/* The variables of a checkpoint file as a program has them in memory: each in memory of its own, in the machine's byte
 * order, under the name that it has on every rank. */
#ifndef SK_BENCH_PAPER_FAR_MEMORY_H
#define SK_BENCH_PAPER_FAR_MEMORY_H

#include <saikai/codes.h>
#include <stddef.h>

struct far_var {
    char name[SAIKAI_MAX_NAME + 1];
    int type, ndims;
    size_t dims[SAIKAI_MAX_DIMS], bytes;
    void *data, *was; /* `was`: a copy that nobody changes */
};

struct far_vars {
    struct far_var *v;
    size_t n, cap;
};

/* Append those of a file, whose bytes are in data[bytes], and one more for what is no variable. Returns NULL, or what is
 * wrong. */
const char *far_vars_add(struct far_vars *vars, const char *path, const void *data, size_t bytes);
void far_vars_free(struct far_vars *vars);

#endif
