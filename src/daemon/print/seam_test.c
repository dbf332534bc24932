/* Where the output of a twin goes on after its dead lead's: at the same place of the same line, or of the line with the same number. */
#include "daemon/print/seam.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct sk_printed counted(const char *text)
{
    struct sk_printed p = {0};
    sk_seam_count(&p, text, strlen(text));
    return p;
}

static void lines_and_bytes_are_counted_however_they_come(void **state)
{
    const char *text = "one\n\ntwo\nth";
    (void)state;
    struct sk_printed whole = counted(text), bytewise = {0};
    for (const char *c = text; *c; c++)
        sk_seam_count(&bytewise, c, 1);
    assert_int_equal(whole.lines, 3);
    assert_int_equal(whole.bytes, 2);
    assert_memory_equal(&whole, &bytewise, sizeof whole);
    whole = counted("\n");
    assert_int_equal(whole.lines, 1);
    assert_int_equal(whole.bytes, 0);
}

/* Of what the twin prints, what comes after the lead's; in pieces of n bytes. */
static void goes_on(const char *lead, const char *twin, const char *rest)
{
    struct sk_printed to = counted(lead);
    for (size_t n = 1; n <= strlen(twin); n++) {
        struct sk_printed at = {0};
        size_t i = 0, before = 0;
        for (; i < strlen(twin); i += n) {
            size_t piece = strlen(twin) - i < n ? strlen(twin) - i : n;
            before = sk_seam_before(&at, &to, twin + i, piece);
            if (before < piece)
                break;
        }
        assert_string_equal(i < strlen(twin) ? twin + i + before : "", rest);
    }
}

static void a_twin_goes_on_where_its_lead_ended(void **state)
{
    (void)state;
    goes_on("", "one\ntwo\n", "one\ntwo\n");
    goes_on("one\n", "one\ntwo\nthree\n", "two\nthree\n");
    goes_on("one\ntw", "one\ntwo\nthree\n", "o\nthree\n");
    goes_on("one\ntwo", "one\ntwo\nthree\n", "\nthree\n");
    goes_on("one\ntwo\nthree\n", "one\ntw", "");
    goes_on("binary", "binary data", " data");
    goes_on("took 10 s\nta", "took 9.875 s\ntask\n", "sk\n"); /* a line is another one, those after it are the same */
    goes_on("a\ntook 10", "a\ntook\nb\n", "\nb\n");           /* and where it is shorter it ends */
}

/* Where the first byte that is held is, must be so as if all had been counted. */
static void is_the_end_of(const struct sk_unseen *h, const char *all, size_t n)
{
    struct sk_printed from = {0};
    assert_true(h->n <= n);
    sk_seam_count(&from, all, n - h->n);
    assert_memory_equal(&from, &h->from, sizeof from);
    assert_memory_equal(h->data, all + n - h->n, h->n);
}

static void the_newest_is_held_and_its_place_known(void **state)
{
    enum { ALL = 5000, MOST = 300 };
    char *all = malloc(ALL);
    (void)state;
    assert_non_null(all);
    for (int i = 0; i < ALL; i++)
        all[i] = i * i % 17 == 4 ? '\n' : (char)('a' + i % 26);
    for (size_t piece = 1; piece < 900; piece += 37) {
        struct sk_unseen h = {.most = MOST};
        for (size_t i = 0; i < ALL; i += piece) {
            size_t n = ALL - i < piece ? ALL - i : piece;
            assert_int_equal(sk_unseen_add(&h, all + i, n), 0);
            is_the_end_of(&h, all, i + n);
            assert_true(h.n >= MOST || h.n == i + n);
            assert_true(h.n <= 2 * MOST || h.n <= MOST + piece);
        }
        sk_unseen_free(&h);
    }
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_and_bytes_are_counted_however_they_come), cmocka_unit_test(a_twin_goes_on_where_its_lead_ended),
                                       cmocka_unit_test(the_newest_is_held_and_its_place_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
