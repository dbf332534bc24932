/* An output: a method and a place (the key output.to), in which a name stands for bytes. What is put there is there in whole or not at
 * all. All functions are local and block as long as the method does; errors name the output and the name. */
#ifndef SK_OUTPUT_OUTLET_H
#define SK_OUTPUT_OUTLET_H

#include "base/config/config.h"
#include "output/method.h"

#include <limits.h>

/* Longest name, with the zero. */
enum { SK_OUTLET_NAME = 512 };

struct sk_outlet {
    const struct sk_method_ops *method; /* NULL: there is none */
    char place[PATH_MAX];
    char label[PATH_MAX + 40]; /* METHOD:PLACE, for sentences */
};

/* What output.to says; *out without a method when that is nothing. SAIKAI_ECONFIG: it names no method, or no place. */
int sk_outlet_open(const struct sk_config *c, struct sk_outlet *out, struct saikai_error *err);

/* The file at path becomes what has this name, in place of what had it. */
int sk_outlet_put(const struct sk_outlet *o, const char *name, const char *path, struct saikai_error *err);
/* The same with n bytes of memory; they go by way of a file in dir. */
int sk_outlet_put_bytes(const struct sk_outlet *o, const char *name, const void *data, size_t n, const char *dir, struct saikai_error *err);
/* What has this name becomes the file at path, which must not be there. SAIKAI_ENOENT: nothing has it. What was made of a file after an
 * error is removed. */
int sk_outlet_get(const struct sk_outlet *o, const char *name, const char *path, struct saikai_error *err);
/* The same into memory, at most `most` bytes, to be freed; a zero byte follows. */
int sk_outlet_get_bytes(const struct sk_outlet *o, const char *name, size_t most, const char *dir, void **data, size_t *n, struct saikai_error *err);
/* Nothing of that name is success. */
int sk_outlet_remove(const struct sk_outlet *o, const char *name, struct saikai_error *err);

/* The names that begin with `begins`, in ascending order; what is no possible name is left out. */
struct sk_outlet_names {
    struct sk_outlet_entry {
        char *name;
        uint64_t size_bytes;
    } *at;
    size_t n, cap;
};
int sk_outlet_list(const struct sk_outlet *o, const char *begins, struct sk_outlet_names *out, struct saikai_error *err);
void sk_outlet_names_free(struct sk_outlet_names *l);

/* 1: parts of letters, digits and "._+@%-" with '/' between them, none of which begins with a dot; shorter than SK_OUTLET_NAME. */
int sk_outlet_is_name(const char *name);
/* What stands before the names of all that is of the store in dir: `told` (output.name) when it is not empty, else dir's absolute path, with
 * what is not possible in a name as %XX. */
int sk_outlet_base(const char *told, const char *dir, char *out, size_t cap, struct saikai_error *err);

#endif
