/* What is left out is kept as text, as far as it fits; the number of them is always right. */
#include "limit.h"

#include "base/clock.h"

#include <stdarg.h>
#include <string.h>

enum { KEPT = 512 };

static struct {
    double until, seconds;
    int count;
    char what[KEPT][120];
} l;

void bench_limit(double seconds)
{
    memset(&l, 0, sizeof l);
    l.seconds = seconds;
    l.until = seconds > 0 ? sk_now() + seconds : 0;
}

int bench_left_out(const char *what, ...)
{
    if (l.until <= 0 || sk_now() < l.until)
        return 0;
    if (l.count < KEPT) {
        va_list ap;
        va_start(ap, what);
        vsnprintf(l.what[l.count], sizeof l.what[0], what, ap);
        va_end(ap);
    }
    l.count++;
    return 1;
}

int bench_limit_report(FILE *out, FILE *json)
{
    int kept = l.count < KEPT ? l.count : KEPT;
    if (l.count)
        fprintf(out, "Skipped, as %.0f s were over (--limit): %d measurements.\n", l.seconds, l.count);
    for (int i = 0; i < kept; i++) {
        fprintf(out, "- %s\n", l.what[i]);
        if (json)
            fprintf(json, "{\"bench\": \"skipped\", \"what\": \"%s\", \"limit_seconds\": %.0f}\n", l.what[i], l.seconds);
    }
    if (l.count)
        fputc('\n', out);
    return l.count;
}
