/* The index of an archive byte by byte, every bound of what is read from one, and both ends of the file. */
#include "archive/file/ska.h"

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

enum { DATA_END = 400 };

/* Three blocks of two files and an empty one. */
static void make(struct sk_ska *a)
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
    make(&a);
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
    make(&a);
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
        make(&a);
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
        make(&a);
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

/* Those of bytes, each on the one that has the middle of its stretch; not of a class with less than a twentieth of all. */
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
    } blocks[] = {{"x", SAIKAI_U8, 198, 2}, {"x", SAIKAI_U8, 4, 4}, {"values", SAIKAI_F64, 2, 0}, {"x", SAIKAI_U8, 98, 4}, {"x", SAIKAI_U8, 1, 5},
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

/* ---- the ends ---- */

static char dir[64];

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-index-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

/* An archive whose blocks are not what they should be: only its ends are looked at. */
static size_t write_ends(const char *path, struct sk_buf *out)
{
    struct sk_ska a;
    make(&a);
    sk_ska_put_header(out, sk_ska_version(&a));
    for (int i = 0; i < DATA_END - 16; i++)
        sk_buf_put_u8(out, (uint8_t)i);
    struct sk_buf index = {0};
    assert_int_equal(sk_ska_put_index(&index, &a, DATA_END, NULL), 0);
    sk_buf_put(out, index.data, index.len);
    size_t one = index.len / 2;
    assert_memory_equal(index.data, index.data + one, one); /* twice the same */
    sk_buf_free(&index);
    sk_ska_free(&a);
    assert_int_equal(sk_io_replace(path, out->data, out->len, NULL), 0);
    return one;
}

static int read_ends(const char *path, const struct sk_buf *b, size_t n, int *damage, int *ends, char *why)
{
    struct sk_ska a = {0};
    struct saikai_error err = {0};
    assert_int_equal(sk_io_replace(path, b->data, n, NULL), 0);
    int rc = sk_archive_open(path, &a, &err);
    struct sk_ska again = {0};
    assert_int_equal(sk_archive_open(path, &again, NULL) != 0, rc != 0); /* nobody wants to know why */
    sk_ska_free(&again);
    *damage = a.damage;
    int fd = open(path, O_RDONLY);
    *ends = rc ? rc : sk_ska_check_ends(fd, path, &a, &err);
    close(fd);
    snprintf(why, 500, "%.400s", err.text);
    if (!rc)
        assert_int_equal(a.segment_count, 5);
    sk_ska_free(&a);
    return rc;
}

static void each_end_is_made_good_by_the_other(void **state)
{
    (void)state;
    char path[128], why[500];
    struct sk_buf b = {0};
    int damage, ends;
    snprintf(path, sizeof path, "%s/x.ska", dir);
    size_t one = write_ends(path, &b), first = DATA_END, trailer = first + one - SK_SKA_TRAILER_BYTES, second = first + one, last = b.len - 48;
    static const uint8_t head[] = {0x93, 'S', 'K', 'A', '\r', '\n', 0x1a, '\n', 4, 0, 0, 0, 0, 0, 0, 0};
    assert_memory_equal(b.data, head, sizeof head);
    assert_memory_equal(b.data + b.len - 8, "SKAend4\n", 8);
    assert_int_equal(b.len, DATA_END + 2 * one);
    assert_int_equal(read_ends(path, &b, b.len, &damage, &ends, why), 0);
    assert_int_equal(damage, 0);
    assert_int_equal(ends, 0);
    const struct {
        size_t at;
        int damage;
        const char *says;
    } cases[] = {{0, SK_SKA_HEADER_DAMAGED, "header is damaged"}, {8, SK_SKA_HEADER_DAMAGED, "header is damaged"}, {11, SK_SKA_HEADER_DAMAGED, "header"},
                 {12, 0, "header is damaged"}, {first, 0, "copies of its index"}, {trailer, 0, "copies of its index"}, {trailer + 47, 0, "copies"},
                 {second, SK_SKA_INDEX_DAMAGED, "copies of its index"}, {last - 1, SK_SKA_INDEX_DAMAGED, "copies"},
                 {last, SK_SKA_TRAILER_DAMAGED | SK_SKA_INDEX_DAMAGED, "copies"}, {last + 47, SK_SKA_TRAILER_DAMAGED | SK_SKA_INDEX_DAMAGED, "copies"},
                 {20, 0, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        b.data[cases[i].at] ^= 4;
        if (read_ends(path, &b, b.len, &damage, &ends, why) || damage != cases[i].damage || ends != (cases[i].says ? SAIKAI_EDAMAGED : 0) ||
            (cases[i].says && !strstr(why, cases[i].says)))
            fail_msg("case %zu: damage %d, %d: %s", i, damage, ends, why);
        /* both copies */
        if (cases[i].at >= second) {
            b.data[cases[i].at - one] ^= 4;
            assert_int_equal(read_ends(path, &b, b.len, &damage, &ends, why), SAIKAI_EDAMAGED);
            assert_non_null(strstr(why, "x.ska"));
            b.data[cases[i].at - one] ^= 4;
        }
        b.data[cases[i].at] ^= 4;
    }
    /* cut short: anywhere behind the first trailer it can be read */
    for (size_t n = 0; n < b.len; n += n < second - 60 || n > second + 60 ? 7 : 1) {
        int rc = read_ends(path, &b, n, &damage, &ends, why);
        assert_int_equal(rc, n < 16 ? SAIKAI_EFORMAT : n < second + SK_SKA_TRAILER_BYTES && rc ? SAIKAI_EDAMAGED : 0);
        if (n < second)
            assert_true(rc);
        if (n >= second + SK_SKA_TRAILER_BYTES)
            assert_int_equal(damage, SK_SKA_TRAILER_DAMAGED | SK_SKA_INDEX_DAMAGED);
    }
    /* another format, and a later version of ours */
    memset(b.data, 'x', b.len);
    assert_int_equal(read_ends(path, &b, b.len, &damage, &ends, why), SAIKAI_EFORMAT);
    assert_non_null(strstr(why, "not an archive"));
    assert_int_equal(read_ends(path, &b, 63, &damage, &ends, why), SAIKAI_EFORMAT);
    memcpy(b.data, head, sizeof head);
    assert_int_equal(read_ends(path, &b, 63, &damage, &ends, why), SAIKAI_EDAMAGED);
    assert_non_null(strstr(why, "cut short"));
    b.data[8] = SK_SKA_VERSION + 1;
    assert_int_equal(read_ends(path, &b, b.len, &damage, &ends, why), SAIKAI_EFORMAT);
    assert_non_null(strstr(why, "version 8; this program reads versions 1 to 7"));
    b.data[8] = 0;
    assert_int_equal(read_ends(path, &b, b.len, &damage, &ends, why), SAIKAI_EFORMAT);
    sk_buf_free(&b);
}

/* The first version has one index and one trailer: what is wrong with them is told. */
static void the_first_version_has_one_end(void **state)
{
    (void)state;
    const char *source = getenv("SAIKAI_SOURCE_DIR");
    char golden[512], path[128];
    void *data;
    size_t n;
    assert_non_null(source);
    snprintf(golden, sizeof golden, "%s/tests/golden/ska/v1-1.ska", source);
    snprintf(path, sizeof path, "%s/first.ska", dir);
    assert_int_equal(sk_io_slurp(golden, 1 << 24, &data, &n, NULL), 0);
    uint8_t *trailer = (uint8_t *)data + n - SK_SKA_TRAILER_BYTES;
    static const struct {
        int at, add, sealed; /* sealed: with the right checksum of the trailer */
        size_t cut;
        const char *says; /* NULL: it is read, and nothing is wrong */
    } cases[] = {{0, 0, 0, 0, NULL}, {0, 0, 1, 0, NULL}, {47, 1, 0, 0, "its end is missing"}, {32, 1, 0, 0, "its end is missing"}, {0, 1, 0, 0, "its end is missing"},
                 {0, 0, 0, 1, "its end is missing"}, {0, 1, 1, 0, "its trailer is damaged"}, {0, -1, 1, 0, "its trailer is damaged"}, {8, 1, 1, 0, "its trailer is damaged"},
                 {8, -1, 1, 0, "its trailer is damaged"}, {22, 127, 1, 0, "its trailer is damaged"}, {24, 1, 1, 0, "the checksum of its index is wrong"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t before[SK_SKA_TRAILER_BYTES];
        struct sk_ska a = {0};
        struct saikai_error err = {0};
        memcpy(before, trailer, sizeof before);
        trailer[cases[i].at] = (uint8_t)(trailer[cases[i].at] + cases[i].add);
        uint64_t seal = sk_hash64(trailer, 32);
        for (int k = 0; cases[i].sealed && k < 8; k++)
            trailer[32 + k] = (uint8_t)(seal >> 8 * k);
        assert_int_equal(sk_io_replace(path, data, n - cases[i].cut, NULL), 0);
        int rc = sk_archive_open(path, &a, &err);
        if (rc != (cases[i].says ? SAIKAI_EDAMAGED : 0) || (rc && !strstr(err.text, cases[i].says)))
            fail_msg("case %zu: %d, %s", i, rc, err.text);
        if (!rc) {
            int fd = open(path, O_RDONLY);
            assert_int_equal(sk_ska_check_ends(fd, path, &a, &err), 0);
            assert_int_equal(a.damage, 0);
            close(fd);
        }
        sk_ska_free(&a);
        memcpy(trailer, before, sizeof before);
    }
    free(data);
}

/* An index that is compared in several pieces. */
static void a_large_index_is_compared_to_its_end(void **state)
{
    (void)state;
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char path[128], name[61] = "";
    struct sk_ska a = {0};
    struct sk_buf b = {0}, index = {0};
    uint32_t seed = 5;
    snprintf(path, sizeof path, "%s/large.ska", dir);
    for (int i = 0; i < 4000; i++) {
        for (int k = 0; k < 60; k++)
            name[k] = letters[(seed = seed * 1664525u + 1013904223u) >> 26];
        sk_ska_add_file(&a, &(struct sk_ska_file){.name = name, .mode = 0644});
    }
    sk_ska_put_header(&b, sk_ska_version(&a));
    assert_int_equal(sk_ska_put_index(&index, &a, b.len, NULL), 0);
    sk_buf_put(&b, index.data, index.len);
    size_t one = index.len / 2;
    assert_true(one > 150000);
    for (int i = -1; i < 4; i++) { /* nowhere, in each piece, in the last byte of the first copy */
        size_t place = i < 0 ? 0 : i < 3 ? 16 + (size_t)i * 65536 + 65500 : 16 + one - SK_SKA_TRAILER_BYTES - 1;
        struct sk_ska back = {0};
        b.data[place] ^= i >= 0;
        assert_int_equal(sk_io_replace(path, b.data, b.len, NULL), 0);
        assert_int_equal(sk_archive_open(path, &back, NULL), 0);
        assert_int_equal(back.file_count, 4000);
        int fd = open(path, O_RDONLY);
        if (sk_ska_check_ends(fd, path, &back, NULL) != (i < 0 ? 0 : SAIKAI_EDAMAGED))
            fail_msg("at %zu", place);
        close(fd);
        sk_ska_free(&back);
        b.data[place] ^= i >= 0;
    }
    sk_buf_free(&index);
    sk_buf_free(&b);
    sk_ska_free(&a);
}

/* A damaged archive beside it is no reason to stop, whatever is wrong with it. */
static void a_damaged_neighbour_builds_on_nothing(void **state)
{
    (void)state;
    char path[128], other[128], who[32] = "";
    struct sk_buf b = {0};
    struct saikai_error err = {0};
    snprintf(path, sizeof path, "%s/old.ska", dir);
    snprintf(other, sizeof other, "%s/new.ska", dir);
    size_t one = write_ends(path, &b);
    assert_int_equal(sk_ska_builds_on(path, who, sizeof who, &err), 0);
    b.data[DATA_END]++;
    b.data[DATA_END + one]++;
    assert_int_equal(sk_io_replace(other, b.data, b.len, NULL), 0);
    assert_int_equal(sk_ska_builds_on(path, who, sizeof who, &err), 0);
    sk_buf_free(&b);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(an_index_has_these_bytes),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(older_versions_end_earlier),
        cmocka_unit_test(every_bound_is_looked_at),
        cmocka_unit_test(a_block_has_a_most),
        cmocka_unit_test(blocks_build_on_those_of_their_class),
        cmocka_unit_test(each_end_is_made_good_by_the_other),
        cmocka_unit_test(the_first_version_has_one_end),
        cmocka_unit_test(a_large_index_is_compared_to_its_end),
        cmocka_unit_test(a_damaged_neighbour_builds_on_nothing),
        cmocka_unit_test(a_store_knows_its_archives),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
