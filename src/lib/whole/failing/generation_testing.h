/* For tests: a rank's file of a generation, made by hand, whatever its header says. */
#ifndef SK_LIB_GENERATION_TESTING_H
#define SK_LIB_GENERATION_TESTING_H

#include "base/file/io.h"
#include "store/form/container.h"
#include "store/slot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* Pieces that have data get it, the others are zeros. */
static inline void generation_testing_put(const char *root, struct sk_gen gen, int rank, const struct sk_skc_header *h, const struct sk_piece *p,
                                          size_t count)
{
    struct sk_skc_index *index;
    struct sk_slot *slot;
    uint64_t bytes;
    assert_int_equal(sk_io_mkdirs(root, NULL), 0);
    assert_int_equal(sk_container_layout(p, count, &index, &bytes, NULL), 0);
    assert_int_equal(sk_slot_new(root, gen.incarnation, rank, 0, bytes, &slot, NULL), 0);
    for (size_t i = 0; i < count; i++)
        if (p[i].data && p[i].size_bytes)
            memcpy(slot->map + index->chunks[index->vars[i].first_chunk].offset, p[i].data, p[i].size_bytes);
    assert_int_equal(sk_container_seal(slot->map, bytes, h, index, NULL, NULL), 0);
    assert_int_equal(sk_slot_commit(slot, root, gen, rank, 0, NULL), 0);
    sk_slot_free(slot, 0);
    sk_skc_index_free(index);
}

/* The one that the header tells of, with a variable "u" of eight bytes. */
static inline void generation_testing_put_small(const char *root, const struct sk_skc_header *h)
{
    struct sk_piece p = {.name = "u", .type = SAIKAI_U8, .ndims = 1, .dims = {8}, .size_bytes = 8};
    generation_testing_put(root, (struct sk_gen){h->incarnation, h->iteration, h->place}, (int)h->rank, h, &p, 1);
}

#endif
