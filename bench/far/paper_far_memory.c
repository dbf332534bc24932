/* Takes the variables out of a checkpoint file, each into memory of its own, as the program had
 * them that wrote it. */
#include "paper_far_memory.h"

#include "reader/reader.h"
#include "reader/scan.h"
#include "base/types.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is smaller stays with what is no variable: a program does not protect thousands of records of a few bytes. */
enum { LEAST = 4096, MOST = 1000 };

/* A copy of n elements of some size, the other way round if so wanted. */
static void *copy(const uint8_t *from, size_t bytes, size_t size, int turn)
{
    uint8_t *to = malloc(bytes ? bytes : 1);
    for (size_t i = 0; to && turn && i < bytes; i++)
        to[i] = from[i / size * size + (size - 1 - i % size)];
    if (to && !turn)
        memcpy(to, from, bytes);
    return to;
}

/* How many variables of that name are there: the number of its part. */
static int part_of(const struct far_vars *vars, const char *name)
{
    int n = 0;
    for (size_t i = 0; i < vars->n; i++)
        n += !strcmp(strchr(vars->v[i].name, '/') + 1, name);
    return n;
}

static const char *add(struct far_vars *vars, const struct sk_extent *e, const uint8_t *data)
{
    const char *slash = strrchr(e->name, '/'), *name = slash ? slash + 1 : e->name;
    struct far_var v = {.type = e->type, .ndims = e->ndims, .bytes = e->length};
    if (vars->n == MOST)
        return "has too many variables";
    if (vars->n == vars->cap) {
        size_t cap = vars->cap ? 2 * vars->cap : 64;
        struct far_var *p = realloc(vars->v, cap * sizeof *p);
        if (!p)
            return "no memory";
        vars->v = p;
        vars->cap = cap;
    }
    snprintf(v.name, sizeof v.name, "part%04d/%.200s", part_of(vars, name), name);
    memcpy(v.dims, e->dims, sizeof v.dims);
    v.data = copy(data, v.bytes, sk_type_size(e->type), e->big_endian);
    v.was = copy(v.data, v.data ? v.bytes : 0, 1, 0);
    vars->v[vars->n++] = v;
    return v.data && v.was ? NULL : "no memory";
}

const char *far_vars_add(struct far_vars *vars, const char *path, const void *data, size_t bytes)
{
    struct sk_scan scan = {0};
    struct saikai_error why = {0}, err = {0};
    uint64_t size = 0;
    uint8_t *rest = malloc(bytes ? bytes : 1);
    sk_raw_describe_shipped();
    const char *wrong = rest ? NULL : "no memory";
    if (!wrong && (sk_scan_file(path, &scan, &size, &why, &err) || size != bytes))
        wrong = "cannot be read again";
    size_t from = 0, left = 0; /* of the file, and bytes of `rest` */
    for (size_t i = 0; !wrong && i < scan.count; i++) {
        const struct sk_extent *e = &scan.extents[i];
        if (e->length < LEAST)
            continue;
        wrong = add(vars, e, (const uint8_t *)data + e->offset);
        memcpy(rest + left, (const uint8_t *)data + from, e->offset - from);
        left += e->offset - from;
        from = e->offset + e->length;
    }
    if (!wrong && from < bytes) {
        memcpy(rest + left, (const uint8_t *)data + from, bytes - from);
        left += bytes - from;
    }
    struct sk_extent e = {.length = left, .type = SAIKAI_U8, .ndims = 1, .dims = {left}, .name = "rest"};
    if (!wrong && left)
        wrong = add(vars, &e, rest);
    sk_scan_free(&scan);
    free(rest);
    return wrong;
}

void far_vars_free(struct far_vars *vars)
{
    for (size_t i = 0; i < vars->n; i++) {
        free(vars->v[i].data);
        free(vars->v[i].was);
    }
    free(vars->v);
    *vars = (struct far_vars){0};
}
