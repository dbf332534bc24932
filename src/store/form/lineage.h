/* Generations that build on others. A rank's file is either *full* or a *delta*: then its header names the generation it
 * builds on (always an older one of the same rank and run, in the same directory), and of the variables whose codec is
 * SK_LINEAGE_CODEC it holds only what changed since. The changes of all of them are one delta (capture/delta.h) in a
 * variable of their own, the last one of the file; the regions of that delta are numbered as the variables of the file are.
 * Its first identity is the checksum of the index of the file it builds on: so a delta cannot be put on another file,
 * whatever that one is called. All other variables are in the file as ever, also coded ones.
 *
 * Who reads generations opens them here and need not know the difference: index, sk_container_read,
 * sk_container_verify and sk_container_copy (which writes a full container) work alike. Only the chunks of a variable whose
 * codec is SK_LINEAGE_CODEC are not to be had from the index: it has none.
 *
 * All functions are local and block for reading files. */
#ifndef SK_STORE_LINEAGE_H
#define SK_STORE_LINEAGE_H

#include "store/form/container.h"
#include "store/gen.h"

/* Codec of a variable of which a file holds only the changes; name of the variable that holds them. */
#define SK_LINEAGE_CODEC "delta"
#define SK_LINEAGE_VAR   "saikai:delta"
/* Longer chains are refused when they are read: nothing writes them. */
#define SK_LINEAGE_MAX 4096

/* Open a rank's generation with all that it builds on, and check headers, trailers, indexes and that each builds on the
 * next; not the chunks. Names in errors: the file that is to blame. SAIKAI_EDAMAGED: also when one that it builds on is
 * missing or another one. Close with sk_container_close. */
int sk_lineage_open(const char *root, struct sk_gen g, int rank, struct sk_container **out, struct saikai_error *err);
/* The same for a file that does not have its name yet (or any more): path, building on generations in root. */
int sk_lineage_open_file(const char *path, const char *root, struct sk_container **out, struct saikai_error *err);

/* Finds and opens a rank's container of g, wherever it lies; SAIKAI_ENOENT: there is none. */
typedef int sk_lineage_find(void *arg, struct sk_gen g, int rank, struct sk_container **out, struct saikai_error *err);
/* The same for a container that is open by itself (taken over, closed on failure); what it builds on is found by find. */
int sk_lineage_complete(struct sk_container *c, sk_lineage_find *find, void *arg, struct sk_container **out,
                        struct saikai_error *err);

/* What the rank's file of g builds on (from its header alone); incarnation 0: nothing, it is full. */
int sk_lineage_base(const char *root, struct sk_gen g, int rank, struct sk_gen *base, struct saikai_error *err);
/* How many deltas an open generation consists of; 0: it is full. */
size_t sk_lineage_length(const struct sk_container *c);
/* sk_container_decodable of all variables of the files that this one builds on. */
int sk_lineage_decodable(const struct sk_container *c, struct saikai_error *err);
/* Verify the chunks of the changes in this file and everything in the files it builds on (not this file's own variables:
 * sk_container_verify_var); no effect on a full one. progress may be NULL. */
int sk_lineage_verify(struct sk_container *c, sk_container_progress *progress, void *arg, struct saikai_error *err);

/* The delta variable of a container laid out or opened by itself, NULL: it is full. */
const struct sk_skc_var *sk_lineage_changes(const struct sk_skc_index *x);

/* For container_region.c: only the parts that are wanted of a variable of which the file holds changes (parts: see sk_stream_decode_parts). */
int sk_lineage_read_parts(struct sk_container *c, const struct sk_skc_var *v, const struct sk_stream_parts *parts,
                          struct saikai_error *err);

#endif
