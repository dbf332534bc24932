/* The index of an archive byte by byte, and every bound of what is read from one. */
#include "archive/file/index_testing.h"

#include "archive/file/names.h"
#include "archive/file/previous.h"
#include "archive/file/set.h"
#include "base/file/io.h"
#include "base/hash.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/host/open_files_testing.h"

static int parse(const struct sk_ska *a, int version, struct sk_ska *back)
{
    struct sk_buf raw = {0};
    struct saikai_error err = {0};
    sk_ska_put_raw_index(&raw, a);
    int rc = sk_ska_parse(raw.data, raw.len, version, DATA_END, back, &err);
    if (rc)
        assert_string_equal(err.text, "its index is damaged");
    sk_buf_free(&raw);
    return rc;
}

static void an_index_has_these_bytes(void **state)
{
    (void)state;
    struct sk_ska a;
    struct sk_buf raw = {0};
    make_index(&a);
    sk_ska_put_raw_index(&raw, &a);
    static const uint8_t begin[] = {3, 1, 0, 'a', 200, 1, 0xa4, 1, 0, 0, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 3,
                                    7, 0, 'd', '/', 'e', 'm', 'p', 't', 'y', 0, 0x80, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                    1, 0, 'b', 208, 1, 0xed, 9, 0, 0, 0, 0xca, 0x9a, 0x3b, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 7,
                                    5, 1, 0, 'x', 10, 1, 5, 0, 'b', 'y', 't', 'e', 's', 1, 2};
    assert_true(raw.len > sizeof begin);
    assert_memory_equal(raw.data, begin, sizeof begin);
    /* the first block, and where the second one's last segment goes back to another file */
    static const uint8_t block[] = {3, 16, 0x9c, 2, 0xef, 0xcd, 0xab, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 2, 4, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
                                    0xac, 2, 100, 0xf0, 0xcd, 0xab, 0, 0, 0, 0, 0, 2, 1, 1, 4, 8, 1, 1, 200, 1, 2, 0, 0, 0, 0, 0, 0, 0,
                                    1, 2, 3, 64, 1, 1, 36, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 1, 8, 4, 0, 0, 0, 0, 0, 0, 0};
    const uint8_t *at = memmem(raw.data, raw.len, block, sizeof block);
    assert_non_null(at);
    static const uint8_t end[] = {1, 7, 0, 'o', 'l', 'd', '.', 's', 'k', 'a', 8, 7, 6, 5, 4, 3, 2, 1, 2, 0, 200, 1, 0,
                                  3, 1, 1, 0, 'd', 0, 0, 0xed, 3, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0};
    assert_non_null(memmem(raw.data, raw.len, end, sizeof end));
    static const uint8_t last[] = {16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 1, 0, 0, 2};
    assert_memory_equal(raw.data + raw.len - sizeof last, last, sizeof last);
    sk_buf_free(&raw);
    sk_ska_free(&a);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct sk_ska a, b = {0};
    struct sk_buf x = {0}, y = {0};
    make_index(&a);
    assert_int_equal(parse(&a, SK_SKA_VERSION, &b), 0);
    sk_ska_put_raw_index(&x, &a);
    sk_ska_put_raw_index(&y, &b);
    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.data, y.data, x.len);
    assert_int_equal(b.blocks[1].size_bytes, 244);
    assert_int_equal(b.blocks[1].first, 1);
    assert_int_equal(b.blocks[1].count, 2);
    assert_int_equal(b.parts[2].size_bytes, 44);
    assert_int_equal(b.parts[0].size_bytes, 64);
    assert_int_equal(b.segments[3].file, 2);
    assert_int_equal(b.files[2].mode, 04755);
    assert_int_equal(b.files[0].mtime_ns, -5);
    assert_int_equal(b.classes[1].fields, 1);
    assert_string_equal(b.entries[2].target, "b");
    for (size_t n = 0; n < x.len; n++) /* cut short anywhere */
        assert_int_equal(sk_ska_parse(x.data, n, SK_SKA_VERSION, DATA_END, &b, NULL), SAIKAI_EDAMAGED);
    sk_buf_put_u8(&x, 0);
    assert_int_equal(sk_ska_parse(x.data, x.len, SK_SKA_VERSION, DATA_END, &b, NULL), SAIKAI_EDAMAGED);
    sk_ska_clear_blocks(&b);
    assert_int_equal(b.file_count, 3);
    assert_true(!b.class_count && !b.segment_count && !b.part_count && !b.block_count && !b.previous && !b.depth);
    sk_buf_free(&x);
    sk_buf_free(&y);
    sk_ska_free(&a);
    sk_ska_free(&b);
}

/* What each version has behind its blocks. */
static void older_versions_end_earlier(void **state)
{
    (void)state;
    for (int previous = 0; previous < 2; previous++) {
        struct sk_ska a, b = {0};
        struct sk_buf raw = {0};
        make_index(&a);
        a.blocks[2].own = 0;
        if (!previous) {
            free(a.previous);
            a.previous = NULL;
        }
        sk_ska_put_raw_index(&raw, &a);
        size_t all = raw.len, v3 = all - 1, v2 = v3 - 16; /* own; store */
        assert_int_equal(sk_ska_parse(raw.data, all, 4, DATA_END, &b, NULL), 0);
        assert_int_equal(b.store.b[15], 31);
        sk_ska_free(&b);
        assert_int_equal(sk_ska_parse(raw.data, v3, 3, DATA_END, &b, NULL), 0);
        assert_int_equal(b.store.b[15], 31);
        sk_ska_free(&b);
        assert_int_equal(sk_ska_parse(raw.data, v2, 2, DATA_END, &b, NULL), 0);
        assert_int_equal(b.store.b[15], 0);
        assert_int_equal(b.entry_count, 3);
        assert_int_equal(b.depth, previous ? 2 : 0);
        sk_ska_free(&b);
        for (int v = 1; v <= 4; v++) { /* and no other length is right */
            size_t n = v == 4 ? v3 : v == 3 ? v2 : all;
            assert_int_equal(sk_ska_parse(raw.data, n, v, DATA_END, &b, NULL), SAIKAI_EDAMAGED);
        }
        /* more than one of what it builds on */
        const uint8_t *name = memmem(raw.data, raw.len, "old.ska", 7);
        if (name) {
            raw.data[name - raw.data - 3] = 2;
            assert_int_equal(sk_ska_parse(raw.data, all, 4, DATA_END, &b, NULL), SAIKAI_EDAMAGED);
            raw.data[name - raw.data - 3] = 1;
            /* the first version: the previous archive, or nothing */
            size_t at = (size_t)(name - raw.data) - 2, n = 2 + 7 + 8 + 1 + 4, before = at - 1;
            struct sk_buf first = {0};
            sk_buf_put(&first, raw.data, before);
            assert_int_equal(sk_ska_parse(first.data, first.len, 1, DATA_END, &b, NULL), 0);
            assert_int_equal(b.depth, 0);
            sk_ska_free(&b);
            sk_buf_put(&first, raw.data + at, n);
            assert_int_equal(sk_ska_parse(first.data, first.len, 1, DATA_END, &b, NULL), 0);
            assert_string_equal(b.previous, "old.ska");
            assert_int_equal(b.blocks[1].previous, 200);
            sk_ska_free(&b);
            sk_buf_free(&first);
        }
        raw.data[all - 1] = 2; /* neither some nor none */
        assert_int_equal(sk_ska_parse(raw.data, all, 4, DATA_END, &b, NULL), SAIKAI_EDAMAGED);
        sk_buf_free(&raw);
        sk_ska_free(&a);
    }
}

static void name(struct sk_ska *a, const char *to)
{
    free(a->files[1].name);
    a->files[1].name = strdup(to);
}

static void previous(struct sk_ska *a, const char *to)
{
    free(a->previous);
    a->previous = strdup(to);
}

static void target(struct sk_ska *a, int i, const char *to)
{
    free(a->entries[i].target);
    a->entries[i].target = strdup(to);
}

/* One change; 0: it can still be read. */
static int change(struct sk_ska *a, int i)
{
    static char deep[SK_SKA_MAX_NAME + 1];
    memset(deep, 'n', sizeof deep);
    switch (i) {
    case 0: return name(a, "x/../y"), 1;
    case 1: return name(a, ".x/..y/a.b/..."), 0;
    case 2: deep[SK_SKA_MAX_NAME - 1] = 0; return name(a, deep), 0;
    case 3: deep[SK_SKA_MAX_NAME] = 0; return name(a, deep), 1;
    case 4: return a->files[0].origin = (uint32_t)INT32_MAX + 1, 1;
    case 5: return a->files[1].size_bytes = (uint64_t)INT64_MAX + 1, 1;
    case 6: return a->files[0].size_bytes++, 1;      /* not tiled to its end */
    case 7: return a->files[0].size_bytes--, 1;
    case 8: return a->files[1].size_bytes = 1, 1;
    case 9: return a->classes[2].type = 0, 1;
    case 10: return a->classes[2].type = SAIKAI_C128 + 1, 1;
    case 11: return a->classes[2].big_endian = 1, 1; /* there is one already */
    case 12: return a->blocks[0].offset = 15, 1;
    case 13: return a->blocks[0].stored_bytes = DATA_END - 16, 0;
    case 14: return a->blocks[0].stored_bytes = DATA_END - 15, 1;
    case 15: return a->blocks[2].offset = DATA_END + 1, 1;
    case 16: return a->parts[1].class = 5, 1;
    case 17: return a->parts[1].count = 0, 1;
    case 18: return a->segments[0].file = 3, 1;
    case 19: return a->segments[0].offset = 1, 1;
    case 20: return a->segments[1].box.nx = 0, 1;
    case 21: return a->segments[1].box.nx = 201, 1;
    case 22: return a->segments[2].offset--, 1;
    case 23: return a->segments[2].box = (struct sk_stencil_box){(size_t)1 << 40, (size_t)1 << 40, 1}, 1;
    case 24: return a->segments[0].box = (struct sk_stencil_box){(size_t)1 << 30, (size_t)1 << 31, 1}, 1;
    case 25: return a->depth = 0, 1;
    case 26: return a->depth = SK_SKA_MAX_DEPTH, 0;
    case 27: return a->depth = SK_SKA_MAX_DEPTH + 1, 1;
    case 28: return previous(a, "d/old.ska"), 1;
    case 29: return previous(a, ".."), 1;
    case 30: return previous(a, ""), 1;
    case 31: return a->blocks[1].previous = UINT32_MAX, 0;
    case 32: return a->entries[0].kind = 0, 1;
    case 33: return a->entries[0].kind = 4, 1;
    case 34: return target(a, 1, ""), 1;
    case 35: return target(a, 2, "c"), 1;
    case 36: return target(a, 2, "d/empty"), 0;
    case 37: return a->blocks[2].own = 3, 1;         /* from itself */
    case 38: return a->blocks[2].own = 4, 1;
    case 39: return a->blocks[2].own = 1, 0;
    case 40: return a->blocks[0].own = 3, 1;         /* from one that takes */
    case 41: return a->blocks[1].own = 1, 1;         /* and builds on the archive before */
    case 42: return a->entries[0].mode = 010000 | 0755, 0;
    default: return -1;
    }
}

static void every_bound_is_looked_at(void **state)
{
    (void)state;
    for (int i = 0;; i++) {
        struct sk_ska a, b = {0};
        make_index(&a);
        int bad = change(&a, i);
        if (bad >= 0 && parse(&a, SK_SKA_VERSION, &b) != (bad ? SAIKAI_EDAMAGED : 0))
            fail_msg("change %d", i);
        if (i == 42)
            assert_int_equal(b.entries[0].mode, 0755); /* nothing but permissions */
        sk_ska_free(&a);
        sk_ska_free(&b);
        if (bad < 0)
            break;
    }
}

/* A block has no more than so many raw bytes, however many segments that is. */
static void a_block_has_a_most(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        struct sk_ska a = {0}, b = {0};
        sk_ska_add_file(&a, &(struct sk_ska_file){.name = "large", .size_bytes = SK_SKA_MAX_BLOCK + (uint64_t)more});
        sk_ska_add_class(&a, &(struct sk_ska_class){"bytes", SAIKAI_U8, 0, 0});
        sk_ska_add_block(&a);
        for (uint64_t at = 0; at < a.files[0].size_bytes; at += SK_SKA_MAX_BLOCK / 2) {
            uint64_t n = a.files[0].size_bytes - at < SK_SKA_MAX_BLOCK / 2 ? a.files[0].size_bytes - at : SK_SKA_MAX_BLOCK / 2;
            sk_ska_add_part(&a, 0);
            sk_ska_add_segment(&a, &(struct sk_ska_segment){0, at, {1, 1, n}, 0});
            sk_ska_close_part(&a);
        }
        sk_ska_close_block(&a);
        a.blocks[0].offset = 16;
        assert_int_equal(parse(&a, SK_SKA_VERSION, &b), more ? SAIKAI_EDAMAGED : 0);
        sk_ska_free(&a);
        sk_ska_free(&b);
    }
    static const uint8_t number[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}; /* more than 64 bits */
    struct sk_ska b = {0};
    assert_int_equal(sk_ska_parse(number, sizeof number, 4, DATA_END, &b, NULL), SAIKAI_EDAMAGED);
}

/* As many classes as there are files: each is found again, also when those before it have been dropped, or all. */
static void many_classes_are_told_apart(void **state)
{
    (void)state;
    enum { MANY = 3000, KEPT = 1000 };
    struct sk_ska a = {0};
    char key[32];
    for (int turn = 0; turn < 4; turn++) {
        int first = turn == 2 ? KEPT : 0;
        if (turn == 2)
            assert_int_equal(sk_ska_drop_classes(&a, KEPT), 0);
        if (turn == 3)
            sk_ska_clear_blocks(&a);
        for (int i = first; i < MANY; i++) {
            snprintf(key, sizeof key, "class %d", turn == 2 && i >= KEPT ? i + MANY : i);
            assert_int_equal(sk_ska_add_class(&a, &(struct sk_ska_class){key, SAIKAI_U8, 0, 0}), i);
        }
        assert_int_equal(a.class_count, MANY);
        assert_int_equal(sk_ska_add_class(&a, &(struct sk_ska_class){"class 7", SAIKAI_U8, 0, 0}), 7);
    }
    sk_ska_free(&a);
    assert_int_equal(sk_ska_drop_classes(&a, 0), 0); /* of none */
    assert_int_equal(sk_ska_add_class(&a, &(struct sk_ska_class){"x", SAIKAI_U8, 0, 0}), 0);
    sk_ska_free(&a);
}

/* Of several files of one name the first. */
static void files_are_found_by_their_names(void **state)
{
    (void)state;
    static const char *const all[] = {"m", "b", "x", "b", "a", "b/c", "x"};
    static const struct {
        const char *name;
        int file;
    } cases[] = {{"a", 4}, {"b", 1}, {"b/c", 5}, {"m", 0}, {"x", 2}, {"", -1}, {"aa", -1}, {"y", -1}, {"b/", -1}};
    struct sk_ska a = {0};
    struct sk_names n;
    assert_int_equal(sk_names_init(&n, &a), 0);
    assert_int_equal(sk_names_find(&n, "a"), -1);
    sk_names_free(&n);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sk_ska_add_file(&a, &(struct sk_ska_file){.name = (char *)(uintptr_t)all[i]});
    assert_int_equal(sk_names_init(&n, &a), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (sk_names_find(&n, cases[i].name) != cases[i].file)
            fail_msg("%s: %d", cases[i].name, (int)sk_names_find(&n, cases[i].name));
    sk_names_free(&n);
    assert_null(n.list);
    sk_ska_free(&a);
}

/* ---- which blocks build on which ---- */

/* A block of this class, of so many bytes. */
static void add_block(struct sk_ska *a, const char *key, int type, size_t bytes)
{
    int c = sk_ska_add_class(a, &(struct sk_ska_class){(char *)key, type, 0, 0});
    sk_ska_add_block(a);
    sk_ska_add_part(a, (uint32_t)c);
    sk_ska_add_segment(a, &(struct sk_ska_segment){0, 0, {1, 1, bytes}, 0});
    sk_ska_close_part(a);
    sk_ska_close_block(a);
}

/* One more part of the last block, of bytes. */
static void add_part(struct sk_ska *a, const char *key, size_t bytes)
{
    int c = sk_ska_add_class(a, &(struct sk_ska_class){(char *)(uintptr_t)key, SAIKAI_U8, 0, 0});
    sk_ska_add_part(a, (uint32_t)c);
    sk_ska_add_segment(a, &(struct sk_ska_segment){0, 0, {1, 1, bytes}, 0});
    sk_ska_close_part(a);
    sk_ska_close_block(a);
}

/* Each on the one that has the middle of its stretch; not of a class of bytes with less than a twentieth of all. */
static void blocks_build_on_those_of_their_class(void **state)
{
    (void)state;
    struct sk_ska old = {0}, a = {0};
    add_block(&old, "other", SAIKAI_U8, 50);
    add_block(&old, "x", SAIKAI_U8, 100);
    add_block(&old, "values", SAIKAI_F64, 10);
    add_block(&old, "x", SAIKAI_U8, 200);
    add_block(&old, "x", SAIKAI_U8, 50);
    add_block(&old, "few", SAIKAI_U8, 20);
    static const struct {
        const char *key;
        int type;
        size_t bytes;
        uint32_t on;
    } blocks[] = {{"x", SAIKAI_U8, 198, 2}, {"x", SAIKAI_U8, 4, 4}, {"values", SAIKAI_F64, 2, 3}, {"x", SAIKAI_U8, 98, 4}, {"x", SAIKAI_U8, 1, 5},
                  {"x", SAIKAI_U8, 40, 5}, {"other", SAIKAI_U8, 19, 0}, {"few", SAIKAI_U8, 20, 6}, {"none", SAIKAI_U8, 20, 0}};
    size_t n = sizeof blocks / sizeof *blocks;
    for (size_t i = 0; i < n; i++)
        add_block(&a, blocks[i].key, blocks[i].type, blocks[i].bytes);
    /* 416 bytes are all: 20 are a twentieth of them */
    assert_int_equal(sk_previous_match(&a, &old), 0);
    for (size_t i = 0; i < n; i++) {
        if (a.blocks[i].previous != blocks[i].on)
            fail_msg("block %zu on %u", i, a.blocks[i].previous);
        assert_int_equal(sk_previous_usable(&a, i), blocks[i].type == SAIKAI_U8);
    }
    a.blocks[0].previous = 77; /* what takes from others stays as it is, and does not count as a stretch */
    a.blocks[1].own = 3;
    a.blocks[1].previous = a.blocks[3].previous = 0;
    assert_int_equal(sk_previous_match(&a, &old), 0);
    assert_int_equal(a.blocks[0].previous, 77);
    assert_int_equal(a.blocks[1].previous, 0);
    assert_int_equal(a.blocks[3].previous, 2);
    sk_ska_free(&a);
    sk_ska_free(&old);
}

/* What has no block of its own there goes on the one that has most of its classes; and few of all bytes do so where the archive is needed anyway. */
static void blocks_of_several_classes_build_on_most_of_them(void **state)
{
    (void)state;
    struct sk_ska old = {0}, a = {0};
    add_block(&old, "large", SAIKAI_U8, 500);
    add_part(&old, "second", 300);
    add_block(&old, "x", SAIKAI_U8, 5000);
    add_part(&old, "third", 100);
    add_part(&old, "second", 20);
    add_block(&a, "third", SAIKAI_U8, 150);
    add_part(&a, "second", 140);
    add_block(&a, "as it was", SAIKAI_U8, 90000);
    a.blocks[1].previous = 2;
    add_block(&a, "second", SAIKAI_U8, 30);
    assert_int_equal(sk_previous_match(&a, &old), 0);
    assert_int_equal(a.blocks[0].previous, 1); /* 140 of the first one, 120 of the second */
    assert_int_equal(a.blocks[1].previous, 2);
    assert_int_equal(a.blocks[2].previous, 1); /* 30 of 320 that are not there as they are */
    a.blocks[0].previous = a.blocks[1].previous = a.blocks[2].previous = 0;
    assert_int_equal(sk_previous_match(&a, &old), 0);
    assert_int_equal(a.blocks[0].previous | a.blocks[1].previous | a.blocks[2].previous, 0); /* not of all */
    assert_int_equal(sk_previous_home(&old, "second"), 1);
    assert_int_equal(sk_previous_home(&old, "third"), 2);
    assert_int_equal(sk_previous_home(&old, "fourth"), 0);
    sk_ska_free(&a);
    sk_ska_free(&old);
}

static void a_store_knows_its_archives(void **state)
{
    (void)state;
    struct sk_ska a = {0};
    struct saikai_error err = {0};
    struct sk_id ids[2] = {{{1}}, {{2}}};
    assert_int_equal(sk_ska_check_store(&a, "x", ids, 2, &err), 0); /* of no store */
    a.store.b[0] = 2;
    assert_int_equal(sk_ska_check_store(&a, "x", ids, 2, &err), 0);
    assert_int_equal(sk_ska_check_store(&a, "x", NULL, 0, &err), 0);
    assert_int_equal(sk_ska_check_store(&a, "x", ids, 1, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "0200"));
    assert_non_null(strstr(err.text, "0100"));
}

/* Any other byte anywhere is damage, or another index that is whole: which of both never changes. */
static void every_other_byte_is_judged_as_it_was(void **state)
{
    (void)state;
    static const uint8_t flips[] = {1, 2, 4, 0x10, 0x40, 0x80, 0xff, 0x7f};
    struct sk_ska a;
    struct sk_buf raw = {0};
    uint64_t hash = 0;
    int whole = 0, damaged = 0;
    make_index(&a);
    sk_ska_put_raw_index(&raw, &a);
    for (int version = 1; version < SK_SKA_AFTER; version += 3) /* 1, 4, 7 */
        for (size_t f = 0; f < sizeof flips; f++)
            for (size_t i = 0; i < raw.len; i++) {
                struct sk_ska b = {0};
                struct sk_buf again = {0};
                struct saikai_error err = {0};
                raw.data[i] ^= flips[f];
                int rc = sk_ska_parse(raw.data, raw.len, version, DATA_END, &b, &err);
                raw.data[i] ^= flips[f];
                assert_true(!rc || (rc == SAIKAI_EDAMAGED && !strcmp(err.text, "its index is damaged")));
                damaged += rc != 0;
                whole += !rc;
                if (!rc) {
                    sk_ska_put_raw_index(&again, &b);
                    uint64_t x[] = {hash, i, flips[f], sk_hash64(again.data, again.len)};
                    hash = sk_hash64(x, sizeof x);
                }
                sk_buf_free(&again);
                sk_ska_free(&b);
            }
    if (whole != 3400 || damaged != 4136 || hash != 0x113c3548777b4c05)
        fail_msg("%d whole, %d damaged, %016llx", whole, damaged, (unsigned long long)hash);
    sk_buf_free(&raw);
    sk_ska_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_has_these_bytes),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(older_versions_end_earlier),
        cmocka_unit_test(every_bound_is_looked_at),
        cmocka_unit_test(a_block_has_a_most),
        cmocka_unit_test(blocks_build_on_those_of_their_class),
        cmocka_unit_test(a_store_knows_its_archives),
        cmocka_unit_test(many_classes_are_told_apart),
        cmocka_unit_test(files_are_found_by_their_names),
        cmocka_unit_test(blocks_of_several_classes_build_on_most_of_them),
        cmocka_unit_test(every_other_byte_is_judged_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
