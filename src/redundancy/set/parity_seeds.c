/* Makes the corpus of parity_fuzz: whole small parity files of all schemes, and bare records.
 * usage: parity_seeds DIRECTORY */
#include "redundancy/set/parity_file.h"

#include "base/file/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int write_one(const char *dir, int number, const char *scheme, int members, int m,
                     int placement, int parts)
{
    char path[400];
    struct saikai_error err = {0};
    struct sk_record r = {
        .generation = (uint64_t)number + 1, .group = (uint64_t)number, .block = 64};
    struct sk_parity_part part[3] = {
        {(char *)"part.skc", 100, 1, 0644}, {(char *)"a/b", 0, 2, 0600}, {(char *)"c", 7, 3, 0}};
    int rc = sk_code_init(&r.code, scheme, members, m, placement, &err);
    for (int i = 0; !rc && i < members; i++) {
        r.member[i] = (struct sk_member){.rank = (uint32_t)i, .host = "node"};
        if (placement == SK_DEDICATED && i >= members - m)
            continue;
        r.member[i].parts = (uint32_t)parts;
        r.member[i].part = part;
        for (int k = 0; k < parts; k++)
            r.member[i].size_bytes += part[k].size_bytes;
    }
    if (!rc)
        rc = sk_record_finish(&r, &err);
    struct sk_buf record = {0};
    if (!rc) {
        sk_record_encode(&r, &record);
        snprintf(path, sizeof path, "%s/record%d", dir, number);
        rc = sk_io_replace(path, record.data, record.len, &err);
    }
    struct sk_parity_file *f = NULL;
    snprintf(path, sizeof path, "%s/file%d", dir, number);
    if (!rc)
        rc = sk_parity_create(path, NULL, NULL, &r, 0, &f, &err);
    if (!rc && number % 2)
        sk_parity_of_store(f, (struct sk_id){{0x5a, 7, 7}});
    if (!rc)
        rc = sk_parity_seal(f, &r, 0, &err);
    if (!rc)
        rc = sk_parity_commit(f, 0, &err);
    sk_parity_file_free(f);
    sk_buf_free(&record);
    if (rc)
        fprintf(stderr, "%s\n", err.text);
    return rc;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    return write_one(argv[1], 0, "partner", 3, 1, SK_SPREAD, 1) ||
           write_one(argv[1], 1, "xor", 4, 1, SK_SPREAD, 3) ||
           write_one(argv[1], 2, "rs", 6, 2, SK_SPREAD, 1) ||
           write_one(argv[1], 3, "rs", 6, 2, SK_DEDICATED, 2) ||
           write_one(argv[1], 4, "rs", 5, 4, SK_SPREAD, 0);
}
