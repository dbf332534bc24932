/* For tests: an archive's index, of which nothing but the index is looked at. */
#ifndef SK_ARCHIVE_FILE_INDEX_TESTING_H
#define SK_ARCHIVE_FILE_INDEX_TESTING_H

#include "archive/file/ska.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { DATA_END = 400 };

/* Three blocks of two files and an empty one. */
static inline void make_index(struct sk_ska *a)
{
    static const struct sk_ska_segment segments[] = {{0, 0, {1, 2, 4}, 0x1122334455667788u}, {2, 8, {1, 1, 200}, 2}, {0, 64, {1, 1, 36}, 3},
                                                     {2, 0, {1, 1, 8}, 4}, {0, 100, {2, 1, 50}, 5}};
    *a = (struct sk_ska){0};
    sk_ska_add_file(a, &(struct sk_ska_file){.name = "a", .size_bytes = 200, .mode = 0644, .mtime_ns = -5, .origin = 3});
    sk_ska_add_file(a, &(struct sk_ska_file){.name = "d/empty", .mode = 0600});
    sk_ska_add_file(a, &(struct sk_ska_file){.name = "b", .size_bytes = 208, .mode = 04755, .mtime_ns = 1000000000, .origin = INT32_MAX});
    assert_int_equal(sk_ska_add_class(a, &(struct sk_ska_class){"x", SAIKAI_F64, 1, 0}), 0);
    assert_int_equal(sk_ska_add_class(a, &(struct sk_ska_class){"bytes", SAIKAI_U8, 0, 1}), 1);
    assert_int_equal(sk_ska_add_class(a, &(struct sk_ska_class){"x", SAIKAI_F64, 0, 0}), 2);
    assert_int_equal(sk_ska_add_class(a, &(struct sk_ska_class){"x", SAIKAI_F32, 1, 0}), 3);
    assert_int_equal(sk_ska_add_class(a, &(struct sk_ska_class){"x", SAIKAI_F64, 1, 1}), 4);
    assert_int_equal(sk_ska_add_class(a, &(struct sk_ska_class){"x", SAIKAI_F64, 1, 0}), 0);
    for (int b = 0; b < 3; b++) {
        assert_int_equal(sk_ska_add_block(a), b);
        assert_int_equal(sk_ska_add_part(a, b == 0 ? 0 : 1), b == 2 ? 3 : b);
        sk_ska_add_segment(a, &segments[b == 0 ? 0 : b == 1 ? 1 : 4]);
        sk_ska_close_part(a);
        if (b == 1) {
            assert_int_equal(sk_ska_add_part(a, 1), 2);
            sk_ska_add_segment(a, &segments[2]);
            sk_ska_add_segment(a, &segments[3]);
            sk_ska_close_part(a);
        }
        sk_ska_close_block(a);
        a->blocks[b].offset = b == 0 ? 16 : b == 1 ? 300 : DATA_END;
        a->blocks[b].stored_bytes = b == 0 ? 284 : b == 1 ? 100 : 0;
        a->blocks[b].hash = 0xabcdef + (uint64_t)b;
    }
    a->blocks[2].own = 2;
    a->blocks[1].previous = 200;
    a->previous = strdup("old.ska");
    a->previous_hash = 0x0102030405060708u;
    a->depth = 2;
    sk_ska_add_entry(a, &(struct sk_ska_entry){.name = "d", .kind = SK_ENTRY_DIRECTORY, .mode = 01755, .mtime_ns = 9});
    sk_ska_add_entry(a, &(struct sk_ska_entry){.name = "l", .target = "/somewhere", .kind = SK_ENTRY_SYMLINK});
    sk_ska_add_entry(a, &(struct sk_ska_entry){.name = "h", .target = "b", .kind = SK_ENTRY_HARD_LINK});
    for (size_t i = 0; i < sizeof a->store.b; i++)
        a->store.b[i] = (uint8_t)(16 + i);
}

#endif
