/* Parses and prints error bounds, and knows the name of each kind. */
#include "codec/quality/bound.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int kind;
    const char *name;
} kinds[] = {{SK_BOUND_ABS, "abs"}, {SK_BOUND_REL, "rel"}, {SK_BOUND_PSNR, "psnr"}};

const char *sk_bound_name(int kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == kind)
            return kinds[i].name;
    return kind == SK_BOUND_NONE ? "none" : NULL;
}

int sk_bound_parse(const char *text, struct sk_bound *bound, struct saikai_error *err)
{
    if (!strcmp(text, "exact")) {
        *bound = (struct sk_bound){SK_BOUND_NONE, 0};
        return 0;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = strlen(kinds[i].name);
        if (strncmp(text, kinds[i].name, n) || text[n] != ':')
            continue;
        char *end;
        double v = strtod(text + n + 1, &end);
        if (end == text + n + 1 || *end || !isfinite(v) || v <= 0)
            return sk_fail(err, SAIKAI_EINVAL, "bound '%s': '%s' is not a number above 0", text,
                           text + n + 1);
        *bound = (struct sk_bound){kinds[i].kind, v};
        return 0;
    }
    return sk_fail(err, SAIKAI_EINVAL,
                   "bound '%s' is not abs:X, rel:X (of max - min), psnr:DECIBELS or exact", text);
}

char *sk_bound_format(char *out, size_t cap, const struct sk_bound *bound)
{
    snprintf(out, cap, "exact");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == bound->kind) {
            snprintf(out, cap, "%s:%.15g", kinds[i].name, bound->value);
            if (strtod(strchr(out, ':') + 1, NULL) != bound->value)
                snprintf(out, cap, "%s:%.17g", kinds[i].name, bound->value);
        }
    return out;
}
