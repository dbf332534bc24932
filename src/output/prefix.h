/* A whole prefix, with the stores of all its jobs: one in the directory itself, others in jobs/NAME below it. */
#ifndef SK_OUTPUT_PREFIX_H
#define SK_OUTPUT_PREFIX_H

#include "output/bring.h"
#include "output/carry.h"

struct sk_prefix {
    const struct sk_config *config; /* output.name, output.keep, store.mode */
    const struct sk_outlet *output;
    const char *dir;
    void (*progress)(void *arg, const char *file, uint64_t done_bytes); /* NULL: nobody wants to know */
    void *arg;
};

/* Carry each store of the prefix, with run (0: any) only the one that this `saikai run` started last. *out: the sums, and of one store
 * what is newest. *stores: how many there were. The first error, after all were tried. */
int sk_prefix_carry(const struct sk_prefix *p, uint64_t run, struct sk_carried *out, int *stores, struct saikai_error *err);

/* Bring back every store of the prefix that the output has, where nothing is in the prefix; finished: also those of runs that have finished.
 * gen: as in struct sk_bring, of the store of the prefix itself. told(arg, dir, b) for each. SAIKAI_EEXIST: something is in the prefix.
 * SAIKAI_ENOENT: there was nothing to bring. */
int sk_prefix_bring(const struct sk_prefix *p, int finished, struct sk_gen gen, void (*told)(void *arg, const char *dir, const struct sk_brought *b),
                    struct saikai_error *err);

/* Tell the base of each store that the output has of this prefix, and the directory that it is of. */
int sk_prefix_stores_there(const struct sk_prefix *p, int (*each)(void *arg, const char *base, const char *dir, struct saikai_error *err), void *arg,
                           struct saikai_error *err);

#endif
