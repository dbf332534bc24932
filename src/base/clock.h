/* Time. Intervals come from the monotonic clock; wall time is for people and file headers only. */
#ifndef SK_BASE_CLOCK_H
#define SK_BASE_CLOCK_H

#include <stdint.h>

double sk_now(void);        /* seconds, monotonic */
int64_t sk_wall_ms(void);   /* milliseconds since 1970 */
void sk_sleep(double seconds);

#endif
