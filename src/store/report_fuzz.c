/* Any bytes as the file `status`, with its checksum made right so that the lines behind it are reached: no crash, and what is accepted
 * is printed and read back as it was. */
#include "store/report.h"

#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void again(const struct sk_report *r)
{
    struct sk_report twice;
    struct sk_buf a = {0}, b = {0};
    sk_report_print(r, &a);
    if (sk_buf_ok(&a)) {
        if (sk_report_decode((const char *)a.data, a.len, &twice, NULL))
            abort();
        sk_report_print(&twice, &b);
        if (sk_buf_ok(&b) && (a.len != b.len || memcmp(a.data, b.data, a.len)))
            abort();
    }
    sk_buf_free(&a);
    sk_buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sk_report r;
    struct sk_buf metrics = {0};
    if (!sk_report_decode((const char *)data, n, &r, NULL))
        again(&r);
    char *text = malloc(n + 32);
    if (!text)
        return 0;
    memcpy(text, data, n);
    char *check = memmem(text, n, "check ", 6);
    size_t head = check ? (size_t)(check - text) : n;
    head += (size_t)snprintf(text + head, 32, "check %016llx\n", (unsigned long long)sk_hash64(text, head));
    if (!sk_report_decode(text, head, &r, NULL)) {
        again(&r);
        sk_report_metrics(&r, r.host, &metrics);
        sk_buf_free(&metrics);
    }
    free(text);
    return 0;
}
