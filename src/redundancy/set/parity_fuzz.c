/* Any bytes as a parity file's header, as a record, and as a header whose checksum is right. */
#include "redundancy/set/parity.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What was believed must be usable: walk over all that the numbers promise, and encode it again. */
static void use(const struct sk_record *r)
{
    struct sk_buf again = {0};
    struct sk_record copy = {0};
    uint64_t stripes = r->stripes < 200 ? r->stripes : 200;
    for (int i = 0; i < r->code.members; i++) {
        for (uint64_t t = 0; t < stripes; t++) {
            int index;
            enum sk_role role = sk_code_role(&r->code, t, i, &index);
            if (role == SK_ROLE_DATA &&
                sk_record_block_len(r, i, sk_code_block(&r->code, t, i)) > r->block)
                abort();
            if (index < 0 || index >= SK_MAX_MEMBERS)
                abort();
        }
        for (uint32_t k = 0; k < r->member[i].parts; k++)
            if (!sk_part_name_ok(r->member[i].part[k].name))
                abort();
    }
    sk_record_encode(r, &again);
    if (sk_buf_ok(&again) && sk_record_decode(again.data, again.len, &copy, NULL))
        abort();
    sk_record_free(&copy);
    sk_buf_free(&again);
}

static void as_file(const uint8_t *data, size_t n, uint64_t file_bytes)
{
    struct sk_parity_header h = {0};
    struct saikai_error err = {0};
    size_t need = 0;
    int rc = sk_parity_decode(data, n, file_bytes, &h, &need, &err);
    if (!rc)
        use(&h.record);
    else if (!err.text[0])
        abort();
    sk_parity_header_free(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sk_record r = {0};
    as_file(data, n, n);
    if (!sk_record_decode(data, n, &r, NULL))
        use(&r);
    sk_record_free(&r);
    if (n > 48 && !sk_record_decode(data + 48, n - 48, &r, NULL))
        use(&r);
    sk_record_free(&r);
    if (n < 32)
        return 0;
    /* damage gets past the checksum only when it is put right */
    uint8_t *copy = malloc(n);
    if (!copy)
        return 0;
    memcpy(copy, data, n);
    uint32_t header_bytes;
    uint64_t file_bytes;
    memcpy(&header_bytes, copy + 12, sizeof header_bytes);
    memcpy(&file_bytes, copy + 24, sizeof file_bytes);
    if (header_bytes > 24 && header_bytes <= n) {
        uint64_t hash = sk_hash64(copy + 24, header_bytes - 24);
        memcpy(copy + 16, &hash, sizeof hash);
        as_file(copy, n, n);
        as_file(copy, n, file_bytes);
    }
    free(copy);
    return 0;
}
