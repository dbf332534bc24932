/* Draws the bar on stderr ten times a second at most, with the time that is left. */
#include "cli/progress.h"

#include "base/clock.h"
#include "base/config/units.h"
#include "base/text/shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_progress_begin(struct cli_progress *p, const char *label, uint64_t total)
{
    const char *term = getenv("TERM");
    int on = isatty(STDERR_FILENO) && term && strcmp(term, "dumb");
    double now = sk_now();
    *p = (struct cli_progress){.label = label, .total = total, .on = on, .begun = now, .last = now};
}

void cli_progress_update(struct cli_progress *p, uint64_t done)
{
    if (!p->on)
        return;
    double now = sk_now();
    if (now - p->last < 0.1)
        return;
    p->last = now;
    p->shown = 1;
    if (!p->total) {
        fprintf(stderr, "\r%s: %llu\033[K", sk_shown(p->label), (unsigned long long)done);
        return;
    }
    enum { width = 30 };
    double part = done >= p->total ? 1 : (double)done / (double)p->total;
    char bar[width + 1], left[32] = "";
    for (int i = 0; i < width; i++)
        bar[i] = i < part * width ? '#' : '-';
    bar[width] = 0;
    if (part > 0.02)
        sk_format_time(left, sizeof left, (now - p->begun) * (1 - part) / part);
    fprintf(stderr, "\r%s [%s] %3.0f %%%s%s\033[K", sk_shown(p->label), bar, 100 * part,
            *left ? ", left: " : "", left);
}

void cli_progress_end(struct cli_progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = 0;
}
