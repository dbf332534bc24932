/* For tests: two numbers are as near as is said. assert_float_equal of CMocka compares them as floats, and takes what is infinite for the same
 * as anything. */
#ifndef SK_BASE_NEAR_TESTING_H
#define SK_BASE_NEAR_TESTING_H

#include <math.h>

#define assert_near(a, b, within)                                                                              \
    do {                                                                                                       \
        const double a_ = (a), b_ = (b), within_ = (within);                                                   \
        if (!(fabs(a_ - b_) <= within_))                                                                       \
            fail_msg("%s = %.17g, expected %.17g, %g apart and %g allowed", #a, a_, b_, fabs(a_ - b_), within_); \
    } while (0)

#endif
