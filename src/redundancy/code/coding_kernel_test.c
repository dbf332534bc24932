/* The arithmetic against a form of it that is too simple to be wrong, and every loss of every code.
 */
#include "redundancy/code/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_field(void **state)
{
    for (int a = 0; a < 256; a++) {
        assert_int_equal(sk_gf_mul((uint8_t)a, 1), a);
        assert_int_equal(sk_gf_mul((uint8_t)a, sk_gf_inv((uint8_t)a)), a ? 1 : 0);
        for (int b = 0; b < 256; b++)
            assert_int_equal(sk_gf_mul((uint8_t)a, (uint8_t)b), sk_gf_mul((uint8_t)b, (uint8_t)a));
    }
    assert_int_equal(sk_gf_mul(2, 0x80), 0x1d); /* the polynomial of ISA-L */
}

static void test_first_parity_is_xor(void **state)
{
    uint8_t g[SK_MAX_PARITY * SK_MAX_DATA];
    for (int k = 1; k <= SK_MAX_DATA; k++) {
        sk_cauchy(k, SK_MAX_PARITY, g);
        for (int c = 0; c < k; c++)
            assert_int_equal(g[c], 1);
    }
}

static void simple_dot(size_t len, int n, int rows, const uint8_t *coef, uint8_t src[][300],
                       uint8_t dst[][300])
{
    for (int r = 0; r < rows; r++)
        for (size_t i = 0; i < len; i++) {
            dst[r][i] = 0;
            for (int s = 0; s < n; s++)
                dst[r][i] ^= sk_gf_mul(coef[r * n + s], src[s][i]);
        }
}

/* Random lengths and alignments, coefficients of all kinds, both kernels. */
static void test_kernels(void **state)
{
    srand(5);
    for (int round = 0; round < 400; round++) {
        static uint8_t src[SK_MAX_DATA][300], dst[SK_MAX_PARITY][300], got[SK_MAX_PARITY][300];
        static uint8_t out[SK_MAX_PARITY][384], in[SK_MAX_DATA][384];
        int n = rand() % SK_MAX_DATA + 1, rows = rand() % SK_MAX_PARITY + 1, ones = rand() % 4 == 0;
        size_t len = (size_t)(rand() % 300);
        uint8_t coef[SK_MAX_PARITY * SK_MAX_DATA], *rp[SK_MAX_PARITY];
        const uint8_t *sp[SK_MAX_DATA];
        for (int i = 0; i < n * rows; i++)
            coef[i] = ones ? 1 : (uint8_t)rand();
        for (int s = 0; s < n; s++) {
            for (int i = 0; i < 300; i++)
                src[s][i] = (uint8_t)rand();
            sp[s] = in[s] + (round % 3 ? rand() % 64 : 0);
            memcpy((uint8_t *)sp[s], src[s], len);
        }
        for (int r = 0; r < rows; r++) {
            rp[r] = out[r] + (round % 3 ? rand() % 64 : 0);
            rp[r][len] = 0xa5;
        }
        sk_kernel_dot(len, n, rows, coef, sp, rp);
        simple_dot(len, n, rows, coef, src, dst);
        for (int r = 0; r < rows; r++) {
            assert_memory_equal(rp[r], dst[r], len);
            assert_int_equal(rp[r][len], 0xa5); /* and not a byte more */
        }
        /* source by source gives the same */
        for (int r = 0; r < rows; r++) {
            memset(got[r], 0, len);
            rp[r] = got[r];
        }
        for (int s = 0; s < n; s++) {
            uint8_t column[SK_MAX_PARITY];
            for (int r = 0; r < rows; r++)
                column[r] = coef[r * n + s];
            sk_kernel_add(len, rows, column, sp[s], rp);
        }
        for (int r = 0; r < rows; r++)
            assert_memory_equal(got[r], dst[r], len);
    }
    uint8_t zeros[16], *row = memset(zeros, 3, sizeof zeros);
    sk_kernel_dot(16, 0, 1, NULL, NULL, &row);
    for (int i = 0; i < 16; i++)
        assert_int_equal(zeros[i], 0);
}

/* One byte per piece stands for a block: decode for the given survivors and compare. */
static void check_decode(int k, int m, const uint8_t *g, const uint8_t *sources,
                         const uint8_t *piece)
{
    uint8_t wanted[SK_MAX_PARITY], coef[SK_MAX_PARITY * SK_MAX_DATA];
    for (int first = 0; first < k + m; first += m) {
        for (int i = 0; i < m; i++)
            wanted[i] = (uint8_t)((first + i) % (k + m));
        assert_int_equal(sk_decode_matrix(k, m, g, sources, m, wanted, coef), 0);
        for (int i = 0; i < m; i++) {
            uint8_t v = 0;
            for (int j = 0; j < k; j++)
                v ^= sk_gf_mul(coef[i * k + j], piece[sources[j]]);
            assert_int_equal(v, piece[wanted[i]]);
        }
    }
}

static void every_loss(int k, int m)
{
    uint8_t g[SK_MAX_PARITY * SK_MAX_DATA], piece[SK_MAX_MEMBERS], lost[SK_MAX_PARITY];
    sk_cauchy(k, m, g);
    for (int i = 0; i < k; i++)
        piece[i] = (uint8_t)rand();
    for (int r = 0; r < m; r++) {
        piece[k + r] = 0;
        for (int c = 0; c < k; c++)
            piece[k + r] ^= sk_gf_mul(g[r * k + c], piece[c]);
    }
    for (int i = 0; i < m; i++)
        lost[i] = (uint8_t)i;
    for (;;) { /* all m-subsets of the k + m pieces, in order */
        uint8_t sources[SK_MAX_DATA];
        int n = 0, skip = 0;
        for (int i = 0; i < k + m; i++) {
            if (skip < m && lost[skip] == i)
                skip++;
            else
                sources[n++] = (uint8_t)i;
        }
        if (k + m <= 12)
            check_decode(k, m, g, sources, piece);
        else {
            uint8_t coef[SK_MAX_PARITY * SK_MAX_DATA];
            assert_int_equal(sk_decode_matrix(k, m, g, sources, 1, lost, coef), 0);
        }
        int at = m - 1;
        while (at >= 0 && lost[at] == k + at)
            at--;
        if (at < 0)
            break;
        lost[at]++;
        for (int i = at + 1; i < m; i++)
            lost[i] = (uint8_t)(lost[i - 1] + 1);
    }
}

static void test_every_loss_is_decoded(void **state)
{
    for (int m = 1; m <= SK_MAX_PARITY; m++)
        for (int k = 1; k <= 8; k++)
            every_loss(k, m);
    every_loss(16, 3);
    every_loss(SK_MAX_DATA, 2);
}

static void test_too_little(void **state)
{
    uint8_t g[4], coef[2], wanted[1] = {0};
    const uint8_t twice[2] = {1, 1};
    sk_cauchy(2, 1, g);
    assert_int_equal(sk_decode_matrix(2, 1, g, twice, 1, wanted, coef), SAIKAI_ELOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_field),      cmocka_unit_test(test_first_parity_is_xor),
        cmocka_unit_test(test_kernels),    cmocka_unit_test(test_every_loss_is_decoded),
        cmocka_unit_test(test_too_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
