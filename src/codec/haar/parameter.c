/* Parses the parameters, each within its limits. */
#include "codec/haar/parameter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One number within [least, most]; -1 when it is not. */
static int number(const char *text, size_t least, size_t most, size_t *out)
{
    char *end;
    if (*text < '0' || *text > '9')
        return -1;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno || *end || v < least || v > most)
        return -1;
    *out = (size_t)v;
    return 0;
}

static int choice(const char *text, const char *const names[], int *out)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(text, names[i])) {
            *out = i;
            return 0;
        }
    return -1;
}

static int assign(struct sk_haar_parameter *p, const char *key, const char *value,
                  struct saikai_error *err)
{
    static const char *const quantisers[] = {"none", "simple", "spike", NULL};
    static const char *const encodings[] = {"byte", "bits", "none", NULL};
    int which;
    size_t v;
    if (!strcmp(key, "n")) {
        if (number(value, 1, SK_HAAR_MAX_N, &p->n))
            return sk_fail(err, SAIKAI_EINVAL, "haar: n=%s is not a number from 1 to %d", value,
                           SK_HAAR_MAX_N);
    } else if (!strcmp(key, "d")) {
        if (number(value, 1, SK_HAAR_MAX_N, &p->d))
            return sk_fail(err, SAIKAI_EINVAL, "haar: d=%s is not a number from 1 to %d", value,
                           SK_HAAR_MAX_N);
    } else if (!strcmp(key, "gzip")) {
        if (number(value, 0, 9, &v))
            return sk_fail(err, SAIKAI_EINVAL, "haar: gzip=%s is not a level from 0 to 9", value);
        p->gzip = (int)v;
    } else if (!strcmp(key, "quantiser")) {
        if (choice(value, quantisers, &which))
            return sk_fail(err, SAIKAI_EINVAL, "haar: quantiser=%s is not simple, spike or none",
                           value);
        p->quantiser = (enum sk_haar_quantiser)which;
    } else if (!strcmp(key, "encoding")) {
        if (choice(value, encodings, &which))
            return sk_fail(err, SAIKAI_EINVAL, "haar: encoding=%s is not byte, bits or none",
                           value);
        p->encoding = (enum sk_haar_encoding)which;
    } else {
        return sk_fail(err, SAIKAI_EINVAL,
                       "haar: \"%s\" is not a parameter (n, quantiser, d, encoding, gzip)", key);
    }
    return 0;
}

int sk_haar_parameter_parse(const char *text, int level, struct sk_haar_parameter *p,
                            struct saikai_error *err)
{
    struct sk_haar_parameter r = {128, 64, SK_HAAR_SPIKE, SK_HAAR_BYTE, 6};
    if (level < 0 || level > 9)
        return sk_fail(err, SAIKAI_EINVAL, "haar: level %d is not a gzip level from 1 to 9", level);
    if (level)
        r.gzip = level;
    char word[64];
    for (const char *at = text ? text : ""; *at;) {
        size_t len = strcspn(at, ",");
        if (len >= sizeof word)
            return sk_fail(err, SAIKAI_EINVAL, "haar: \"%.60s...\" is too long", at);
        memcpy(word, at, len);
        word[len] = 0;
        at += len;
        at += *at == ',';
        char *equals = strchr(word, '=');
        if (!equals)
            return sk_fail(err, SAIKAI_EINVAL, "haar: \"%s\" should be key=value", word);
        *equals = 0;
        int rc = assign(&r, word, equals + 1, err);
        if (rc)
            return rc;
    }
    if (r.encoding == SK_HAAR_BYTE && r.n > 256)
        return sk_fail(err, SAIKAI_EINVAL,
                       "haar: n=%zu does not fit in a byte: use encoding=bits or n <= 256", r.n);
    *p = r;
    return 0;
}
