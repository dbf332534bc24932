/* Writes pieces of every form: as seeds of quick_fuzz, and as they were kept in tests/golden/quick when the form was new.
 * usage: quick_seeds DIR */
#include "codec/quick/quick.h"
#include "codec/quick/quick_testing.h"

#include <stdio.h>
#include <stdlib.h>

static int write_seed(const char *dir, const struct quick_sample *s)
{
    char path[4096];
    size_t cap = sk_codec_quick.max_encoded(&s->a), made = 0;
    struct sk_codec_options opt = {.bound = {SK_BOUND_ABS, s->bound}};
    struct saikai_error err = {0};
    void *x = malloc(sk_array_size_bytes(&s->a)), *code = malloc(cap);
    snprintf(path, sizeof path, "%s/%s.piece", dir, s->name);
    FILE *out = fopen(path, "wb");
    int ok = x && code && out;
    if (ok) {
        quick_fill(s, x);
        ok = !sk_codec_quick.encode(&s->a, x, &opt, code, cap, &made, &err);
        fputc(s->a.type - 1, out);
        fputc(s->a.ndims, out);
        for (int i = 0; i < s->a.ndims; i++) {
            fputc((int)(s->a.dims[i] & 255), out);
            fputc((int)(s->a.dims[i] >> 8), out);
        }
        fwrite(code, 1, made, out);
    }
    if (out)
        ok &= !fclose(out);
    free(x);
    free(code);
    return ok ? 0 : -1;
}

int main(int argc, char **argv)
{
    int rc = argc > 1 ? 0 : 2;
    for (int k = 0; !rc && k < QUICK_SAMPLES; k++)
        rc = write_seed(argv[1], &quick_samples[k]) ? 1 : 0;
    return rc;
}
