/* Any bytes as a question, an answer, or what is to be sent later: no crash, and what is accepted is encoded as it came. */
#include "backbone/rates/spool.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sk_rates_message m;
    struct sk_buf b = {0};
    size_t at = 0;
    while (sk_rates_spool_next(data, n, &at, &m))
        sk_rates_message_free(&m);
    if (at != n)
        abort();
    if (sk_rates_decode(data, n, &m, NULL))
        return 0;
    sk_rates_encode(&m, &b);
    if (sk_buf_ok(&b) && (b.len != n || memcmp(b.data, data, n)))
        abort();
    sk_buf_free(&b);
    sk_rates_message_free(&m);
    return 0;
}
