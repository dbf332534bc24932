/* Looks at the file of the run, and at those that were brought to this host. */
#include "daemon/rank/key.h"

#include "backbone/keys.h"
#include "base/clock.h"

#include <string.h>
#include <unistd.h>

int sk_run_key_find(const struct sk_link_settings *s, uint8_t job[SK_KEY_BYTES], struct saikai_error *err)
{
    uint8_t content[SK_KEY_FILE_MAX];
    char own[128];
    size_t n = 0;
    int rc = sk_key_file_read(s->key_file, content, &n, err);
    for (int i = 0;
         rc == SAIKAI_ENOENT && sk_key_file_own(i, s->nonce, s->incarnation, own); i++)
        rc = sk_key_file_read(own, content, &n, err);
    if (!rc)
        sk_key_job(content, n, s->nonce, job);
    explicit_bzero(content, sizeof content);
    return rc;
}

void sk_run_key_remove(const struct sk_link_settings *s, double until)
{
    char own[128];
    double left = until - sk_now();
    int there = 0;
    for (int i = 0; sk_key_file_own(i, s->nonce, s->incarnation, own); i++)
        there |= !access(own, F_OK);
    if (there && left > 0)
        sk_sleep(left);
    for (int i = 0; there && sk_key_file_own(i, s->nonce, s->incarnation, own); i++)
        unlink(own);
}
