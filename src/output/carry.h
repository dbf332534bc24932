/* Carrying what is complete in a store's directory to an output, and keeping it small there. */
#ifndef SK_OUTPUT_CARRY_H
#define SK_OUTPUT_CARRY_H

#include "output/outlet.h"
#include "store/gen.h"

struct sk_carry {
    const struct sk_outlet *output;
    const char *dir, *base; /* the store's directory (with a file `job`), and what stands before its names */
    int keep;               /* complete generations that stay there, 1 or more */
    /* Told before each file, NULL: nobody wants to know. */
    void (*progress)(void *arg, const char *file, uint64_t done_bytes);
    void *arg;
};

struct sk_carried {
    int generations, files, removed; /* put there now; generations that were removed there */
    uint64_t size_bytes;
    struct sk_gen newest; /* that is whole there now; incarnation 0: none */
};

/* Put the newest complete generations of dir that are not there yet, the newest first and `keep` at most, then what the store says of itself,
 * and remove those of this store that are older than the `keep` newest. A generation that the job retires meanwhile is no error. Local, blocks
 * as long as the method does. When it ends with an error, each generation is there whole, as before, or does not count. SAIKAI_ENOENT: dir
 * has no store. */
int sk_carry_now(const struct sk_carry *c, struct sk_carried *out, struct saikai_error *err);

#endif
