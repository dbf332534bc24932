#include "base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *hex(const uint8_t h[SK_SHA256_BYTES])
{
    static char out[65];
    for (int i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", h[i]);
    return out;
}

static void the_examples_of_the_standard_come_out(void **state)
{
    uint8_t h[SK_SHA256_BYTES];
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    sk_sha256("", 0, h);
    assert_string_equal(hex(h), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sk_sha256("abc", 3, h);
    assert_string_equal(hex(h), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sk_sha256(two, strlen(two), h);
    assert_string_equal(hex(h), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    sk_sha256(million, 1000000, h);
    assert_string_equal(hex(h), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

/* RFC 4231 */
static void hmac_gives_the_known_answers(void **state)
{
    uint8_t h[SK_SHA256_BYTES], key[131];
    memset(key, 0x0b, 20);
    sk_hmac_sha256(key, 20, "Hi There", 8, h);
    assert_string_equal(hex(h), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    sk_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, h);
    assert_string_equal(hex(h), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    const char *text = "Test Using Larger Than Block-Size Key - Hash Key First";
    sk_hmac_sha256(key, sizeof key, text, strlen(text), h);
    assert_string_equal(hex(h), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_standard_come_out),
        cmocka_unit_test(hmac_gives_the_known_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
