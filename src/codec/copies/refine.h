/* Finds cheaper steps than those that were found first. All local; nothing blocks. */
#ifndef SK_CODEC_COPIES_REFINE_H
#define SK_CODEC_COPIES_REFINE_H

#include "codec/copies/finder.h"

struct sk_copies_refiner;

/* Of bytes from a place on. thorough: 1: however long it takes. NULL: no memory. */
struct sk_copies_refiner *sk_copies_refiner_new(size_t from, int thorough);
void sk_copies_refiner_free(struct sk_copies_refiner *r);

/* After steps that were found up to `at`, which is behind the last one's copy: once they make enough bytes, or the copy is a long one, or all are to be told, replace
 * those since the last time by others that make the same bytes and take less, by about what steps take (a shortest path: E. J. Schuegraf and H. S. Heaps,
 * "A comparison of algorithms for data base compression by use of fragments as language elements", Information Storage and Retrieval 10, 1974; J. A. Storer
 * and T. G. Szymanski, "Data compression via textual substitution", JACM 29, 1982). The last distances follow. Where that hardly helps it is done more and
 * more rarely. -1: no memory. */
int sk_copies_refine(struct sk_copies_finder *f, size_t at, int all);

#endif
