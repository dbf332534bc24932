/* Parses and prints sizes and times with their units. */
#include "base/config/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

struct unit {
    const char *name;
    double factor;
};

static const struct unit sizes[] = {
    {"", 1},           {"B", 1},          {"kB", 1e3},       {"MB", 1e6},        {"GB", 1e9},
    {"TB", 1e12},      {"KiB", 1024},     {"MiB", 0x1p20},   {"GiB", 0x1p30},    {"TiB", 0x1p40},
    {"K", 1024},       {"M", 0x1p20},     {"G", 0x1p30},     {"T", 0x1p40},      {NULL, 0},
};
static const struct unit times[] = {
    {"", 1},    {"s", 1},    {"ms", 1e-3}, {"us", 1e-6},   {"ns", 1e-9},      {"min", 60},
    {"m", 60},  {"h", 3600}, {"d", 86400}, {"y", 31557600}, {NULL, 0},
};

static int parse(const char *text, const struct unit *units, double *value)
{
    char *end;
    while (isspace((unsigned char)*text))
        text++;
    if (!isdigit((unsigned char)*text) && *text != '.')
        return -1;
    double v = strtod(text, &end);
    if (end == text || !isfinite(v) || v < 0)
        return -1;
    while (isspace((unsigned char)*end))
        end++;
    char unit[8];
    size_t n = 0;
    for (; *end && !isspace((unsigned char)*end); end++) {
        if (n + 1 == sizeof unit)
            return -1;
        unit[n++] = *end;
    }
    unit[n] = 0;
    while (isspace((unsigned char)*end))
        end++;
    if (*end)
        return -1;
    for (const struct unit *u = units; u->name; u++)
        if (!strcasecmp(u->name, unit)) {
            *value = v * u->factor;
            return 0;
        }
    return -1;
}

int sk_parse_size(const char *text, uint64_t *size_bytes)
{
    double v;
    if (parse(text, sizes, &v) || v >= 0x1p63)
        return -1;
    *size_bytes = (uint64_t)v;
    return 0;
}

int sk_parse_time(const char *text, double *seconds)
{
    return parse(text, times, seconds);
}

char *sk_format_size(char *out, size_t cap, uint64_t size_bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double v = (double)size_bytes;
    int i = 0;
    for (; v >= 1024 && i < 5; i++)
        v /= 1024;
    snprintf(out, cap, i && v < 100 ? "%.1f %s" : "%.0f %s", v, names[i]);
    return out;
}

char *sk_format_time(char *out, size_t cap, double seconds)
{
    static const struct unit show[] = {{"y", 31557600}, {"d", 86400}, {"h", 3600}, {"min", 60},
                                       {"s", 1},        {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    size_t i = 0, n = sizeof show / sizeof *show;
    while (i + 1 < n && seconds < show[i].factor * (i < 4 ? 2 : 1))
        i++;
    double v = seconds / show[i].factor;
    if (seconds == 0)
        snprintf(out, cap, "0 s");
    else /* no exponents */
        snprintf(out, cap, v >= 99.95 ? "%.0f %s" : "%.3g %s", v, show[i].name);
    return out;
}
