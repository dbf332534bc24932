/* One, or several: the forms of a noun. */
#include "base/text/counted.h"

#include <stdio.h>
#include <string.h>

const char *sk_counted(unsigned long long n, const char *noun)
{
    static _Thread_local char kept[SK_COUNTED_KEPT][64];
    static _Thread_local unsigned next;
    char *out = kept[next++ % SK_COUNTED_KEPT];
    size_t stem = strcspn(noun, "("), inside = stem + (noun[stem] == '('), one = strcspn(noun + inside, "|)");
    int is_choice = noun[inside + one] == '|';
    const char *end = noun + inside + (is_choice && n != 1 ? one + 1 : 0);
    int length = n == 1 && !is_choice ? 0 : (int)strcspn(end, "|)");
    snprintf(out, sizeof kept[0], "%llu %.*s%.*s", n, (int)stem, noun, length, end);
    return out;
}
