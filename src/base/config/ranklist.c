/* Numbers and ranges between commas, read from the left. */
#include "base/config/ranklist.h"

#include <ctype.h>
#include <string.h>

static void skip_space(const char **s)
{
    while (isspace((unsigned char)**s))
        (*s)++;
}

/* Of at most 9 digits. -1: there is none. */
static int number(const char **s)
{
    int value = 0, digits = 0;
    skip_space(s);
    for (; isdigit((unsigned char)**s) && digits < 10; (*s)++, digits++)
        value = digits < 9 ? value * 10 + (**s - '0') : value;
    skip_space(s);
    return digits > 0 && digits < 10 ? value : -1;
}

int sk_ranklist_parse(const char *text, int n_ranks, char *is_named, struct saikai_error *err)
{
    const char *s = text;
    int n = 0;
    skip_space(&s);
    memset(is_named, !*s, (size_t)n_ranks);
    while (*s) {
        int first = number(&s), last = first;
        if (*s == '-') {
            s++;
            last = number(&s);
        }
        if (first < 0 || last < first || (*s && *s != ',') || (*s == ',' && !s[1]))
            return sk_fail(err, SAIKAI_EINVAL, "'%.60s' is no list of ranks: write numbers and ranges, as in 0,4-7", text);
        if (last >= n_ranks)
            return sk_fail(err, SAIKAI_EINVAL, "'%.60s' names rank %d, and the ranks are 0 to %d", text, last, n_ranks - 1);
        memset(is_named + first, 1, (size_t)(last - first + 1));
        s += *s == ',';
    }
    for (int r = 0; r < n_ranks; r++)
        n += is_named[r];
    return n;
}
