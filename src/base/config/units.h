/* Sizes and times as people write them: "4GiB", "512 MB", "30s", "1.5h", "200ms". A bare number is bytes or seconds. */
#ifndef SK_BASE_UNITS_H
#define SK_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* 0, or -1 when text is not a size (B, kB, MB, GB, TB by 1000; KiB, MiB, GiB, TiB, and K, M, G, T by 1024). */
int sk_parse_size(const char *text, uint64_t *size_bytes);
/* 0, or -1 when text is not a time (ns, us, ms, s, min or m, h, d, y). Never negative. */
int sk_parse_time(const char *text, double *seconds);
/* "1.5 GiB", "30 s", "4.2 ms" into out; returns out. */
char *sk_format_size(char *out, size_t cap, uint64_t size_bytes);
char *sk_format_time(char *out, size_t cap, double seconds);

#endif
