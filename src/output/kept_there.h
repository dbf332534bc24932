/* What an output holds of a store. Names are
 *     BASE/store                            the id of the store that was carried last
 *     BASE/ID/job, BASE/ID/state            files of the store of this id
 *     BASE/ID/GENERATION/FILE               files of a generation
 *     BASE/ID/GENERATION.complete           its manifest (manifest.h), put last: all of it is there
 * so that another store in the same directory, such as that of a job that was begun anew, does not touch them. */
#ifndef SK_OUTPUT_KEPT_THERE_H
#define SK_OUTPUT_KEPT_THERE_H

#include "base/id.h"
#include "output/outlet.h"
#include "store/gen.h"

#define SK_KEPT_POINTER "store"
#define SK_KEPT_WHOLE   ".complete"

struct sk_kept_gen {
    struct sk_id store;
    struct sk_gen gen;
    int whole;
    size_t files;
    uint64_t size_bytes; /* of its files */
};

struct sk_kept_there {
    struct sk_kept_gen *at; /* by store, then the newest first */
    size_t n, cap;
    struct sk_outlet_names names; /* all of them */
};

/* Of all stores below this base, but not of those in directories below it. Free with sk_kept_there_free. */
int sk_kept_there_list(const struct sk_outlet *o, const char *base, struct sk_kept_there *out, struct saikai_error *err);
void sk_kept_there_free(struct sk_kept_there *k);
/* NULL: nothing of it is there. */
const struct sk_kept_gen *sk_kept_there_find(const struct sk_kept_there *k, struct sk_id store, struct sk_gen gen);

/* Remove a generation, its manifest first. */
int sk_kept_there_remove(const struct sk_outlet *o, const char *base, const struct sk_kept_there *k, const struct sk_kept_gen *g,
                         struct saikai_error *err);
/* The id of the store that was carried last. SAIKAI_ENOENT: none was. dir: for a file meanwhile. */
int sk_kept_there_newest_store(const struct sk_outlet *o, const char *base, const char *dir, struct sk_id *out, struct saikai_error *err);
/* BASE/ID/FORMAT… */
int sk_kept_there_name(const char *base, struct sk_id store, char name[SK_OUTLET_NAME], struct saikai_error *err, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

#endif
