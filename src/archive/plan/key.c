/* Makes the key of a variable from its name, type and class. Numbers in the group's name, or what
 * the user's pattern matches, do not count. */
#include "archive/plan/key.h"

#include "base/types.h"

#include <stdio.h>
#include <string.h>

int sk_key_rule_set(struct sk_key_rule *k, const char *pattern, char *why, size_t cap)
{
    memset(k, 0, sizeof *k);
    if (!pattern)
        return 0;
    int rc = regcomp(&k->re, pattern, REG_EXTENDED);
    if (rc) {
        regerror(rc, &k->re, why, cap);
        return -1;
    }
    k->has_re = 1;
    return 0;
}

void sk_key_rule_free(struct sk_key_rule *k)
{
    if (k && k->has_re)
        regfree(&k->re);
    if (k)
        k->has_re = 0;
}

/* Copy n bytes with every run of digits written as '#'. Returns what was written. */
static size_t without_numbers(const char *in, size_t n, char *out, size_t cap)
{
    size_t k = 0;
    for (size_t i = 0; i < n && k + 1 < cap; i++) {
        int digit = in[i] >= '0' && in[i] <= '9';
        if (digit && k && out[k - 1] == '#' && i && in[i - 1] >= '0' && in[i - 1] <= '9')
            continue;
        out[k++] = digit ? '#' : in[i];
    }
    out[k] = 0;
    return k;
}

static size_t replaced(const regex_t *re, const char *in, char *out, size_t cap)
{
    size_t k = 0;
    regmatch_t m;
    for (int flags = 0; *in && k + 1 < cap; flags = REG_NOTBOL) {
        size_t n = strlen(in);
        int hit = !regexec(re, in, 1, &m, flags);
        size_t keep = hit ? (size_t)m.rm_so : n;
        for (size_t i = 0; i < keep && k + 1 < cap; i++)
            out[k++] = in[i];
        if (!hit)
            break;
        in += m.rm_eo;
        if (m.rm_eo > m.rm_so && k + 1 < cap)
            out[k++] = '#';
        else if (*in && k + 1 < cap)
            out[k++] = *in++; /* an empty match must not stop us */
    }
    out[k] = 0;
    return k;
}

void sk_key_make(const struct sk_key_rule *k, const char *name, int type, int is_array, char *out,
                 size_t cap)
{
    size_t n;
    if (k->has_re) {
        n = replaced(&k->re, name, out, cap);
    } else {
        const char *slash = strrchr(name, '/');
        size_t group = slash ? (size_t)(slash - name) + 1 : 0;
        n = without_numbers(name, group, out, cap);
        n += (size_t)snprintf(out + n, cap - n, "%s", name + group);
    }
    if (n < cap)
        snprintf(out + n, cap - n, "_%s_%s", sk_type_name(type), is_array ? "array" : "atomic");
}

void sk_key_skeleton(const char *form, const char *file, char *out, size_t cap)
{
    const char *slash = strrchr(file, '/');
    int n = snprintf(out, cap, "skeleton:%s:", form ? form : "bytes");
    if (n >= 0 && (size_t)n < cap)
        without_numbers(slash ? slash + 1 : file, strlen(slash ? slash + 1 : file), out + n,
                        cap - (size_t)n);
}
