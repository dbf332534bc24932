/* Classes of many small files become one for each ending of a name: from how many on, how small they must be, and which stay. */
#include "archive/plan/small.h"
#include "archive/plan/made_testing.h"

enum { LITTLE = 64 << 10, LITTLE_MEAN = 16 << 10 };

/* Classes of files of these names, with so many bytes each in one piece; the first class is another one. */
static struct sk_small_piece *make(struct sk_ska_plan *p, int n, const char *(*name)(int i), uint64_t (*bytes)(int i))
{
    struct sk_small_piece *list = calloc((size_t)n + 1, sizeof *list);
    *p = (struct sk_ska_plan){0};
    assert_int_equal(sk_ska_add_class(&p->a, &(struct sk_ska_class){"x_f64_array", SAIKAI_F64, 0, 0}), 0);
    for (int i = 0; i < n; i++) {
        int c = sk_ska_add_class(&p->a, &(struct sk_ska_class){(char *)(uintptr_t)name(i), SAIKAI_U8, 0, 0});
        assert_int_equal(c, i + 1);
        list[i] = (struct sk_small_piece){(uint32_t)c, (uint32_t)i, 0, bytes(i)};
    }
    return list;
}

static const char *numbered(int i)
{
    static char name[64];
    snprintf(name, sizeof name, "skeleton:bytes:f%d.c", i);
    return name;
}

static uint64_t of_mean(int i)
{
    (void)i;
    return LITTLE_MEAN;
}
static uint64_t a_little_more(int i)
{
    return LITTLE_MEAN + (i == 0 ? 65 : 0);
}
static uint64_t a_bit_more(int i)
{
    return LITTLE_MEAN + (i == 0 ? 64 : 0);
}

static void only_many_with_little_are_merged(void **state)
{
    (void)state;
    static const struct {
        int n;
        uint64_t (*bytes)(int i);
        size_t classes;
    } cases[] = {{64, of_mean, 65}, {65, of_mean, 2}, {65, a_bit_more, 2}, {65, a_little_more, 66}, {1, of_mean, 2}, {0, of_mean, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_ska_plan p;
        struct sk_small_piece *list = make(&p, cases[i].n, numbered, cases[i].bytes);
        assert_int_equal(sk_small_merge(&p, 1, list, (size_t)cases[i].n), 0);
        if (p.a.class_count != cases[i].classes)
            fail_msg("case %zu: %zu classes", i, p.a.class_count);
        assert_string_equal(p.a.classes[0].key, "x_f64_array");
        for (int k = 0; k < cases[i].n; k++) {
            assert_int_equal(list[k].class_index, cases[i].classes == 2 ? 1 : (uint32_t)k + 1);
            assert_int_equal(list[k].file, k);
            assert_int_equal(list[k].bytes, cases[i].bytes(k));
        }
        if (cases[i].n > 64 && cases[i].classes == 2)
            assert_string_equal(p.a.classes[1].key, "skeleton:bytes:*.c");
        free(list);
        sk_ska_free(&p.a);
    }
}

/* Names with endings of all kinds; the seventh class is large, the eighth just not. */
static const char *mixed(int i)
{
    static char name[64];
    static const char *const names[] = {"skeleton:bytes:a.txt", "skeleton:hdf#:b.txt", "skeleton:bytes:README", "skeleton:bytes:c.elevenchar#", "skeleton:bytes:d.twelvechars#",
                                        "skeleton:bytes:a.b.c", "skeleton:bytes:large.txt", "skeleton:bytes:near.txt", "no colon.h", "skeleton:bytes:.rc"};
    snprintf(name, sizeof name, "skeleton:bytes:%d.txt", i);
    return i < 10 ? names[i] : name;
}
static uint64_t mixed_bytes(int i)
{
    return i == 6 ? LITTLE : i == 7 ? LITTLE - 1 : 10;
}

static void each_ending_is_a_class(void **state)
{
    (void)state;
    static const char *const keys[] = {"skeleton:bytes:*.txt", "skeleton:hdf#:*.txt", "skeleton:bytes:*", "skeleton:bytes:*.elevenchar#", "skeleton:bytes:*",
                                       "skeleton:bytes:*.c", "skeleton:bytes:large.txt", "skeleton:bytes:*.txt", "*.h", "skeleton:bytes:*.rc"};
    struct sk_ska_plan p;
    struct sk_small_piece *list = make(&p, 100, mixed, mixed_bytes);
    assert_int_equal(sk_small_merge(&p, 1, list, 100), 0);
    for (int i = 0; i < 100; i++) {
        const struct sk_ska_class *c = &p.a.classes[list[i].class_index];
        if (strcmp(c->key, i < 10 ? keys[i] : keys[0]))
            fail_msg("file %d is of the class %s", i, c->key);
        assert_int_equal(c->type, SAIKAI_U8);
    }
    assert_int_equal(p.a.class_count, 9);
    free(list);
    sk_ska_free(&p.a);
}

/* As in the archive before, however few they are and how much they have now: what was one class stays one, and what was with its like stays there. */
static void as_in_the_archive_before(void **state)
{
    (void)state;
    static const struct {
        const char *name, *becomes;
    } files[] = {{"skeleton:bytes:grown.c", "skeleton:bytes:*.c"}, {"skeleton:bytes:large.c", "skeleton:bytes:large.c"}, {"skeleton:bytes:new.h", "skeleton:bytes:new.h"}};
    static const char *const before[] = {"skeleton:bytes:*.c", "skeleton:bytes:large.c"};
    struct sk_ska old = {0};
    struct sk_opened opened = {.a = &old};
    struct sk_ska_plan p = {.previous = &opened};
    struct sk_small_piece list[3];
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        sk_ska_add_class(&old, &(struct sk_ska_class){(char *)(uintptr_t)before[i], SAIKAI_U8, 0, 0});
        sk_ska_add_block(&old);
        sk_ska_add_part(&old, (uint32_t)i);
        sk_ska_add_segment(&old, &(struct sk_ska_segment){0, 0, {1, 1, 100}, 0});
        sk_ska_close_part(&old);
        sk_ska_close_block(&old);
    }
    for (uint32_t i = 0; i < 3; i++) {
        sk_ska_add_class(&p.a, &(struct sk_ska_class){(char *)(uintptr_t)files[i].name, SAIKAI_U8, 0, 0});
        list[i] = (struct sk_small_piece){i, i, 0, i ? 10 : 2 * LITTLE};
    }
    assert_int_equal(sk_small_merge(&p, 0, list, 3), 0);
    for (int i = 0; i < 3; i++)
        assert_string_equal(p.a.classes[list[i].class_index].key, files[i].becomes);
    p.previous = NULL;
    sk_ska_free(&p.a);
    sk_ska_free(&old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_many_with_little_are_merged),
        cmocka_unit_test(each_ending_is_a_class),
        cmocka_unit_test(as_in_the_archive_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
