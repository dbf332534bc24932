/* Figures of a plan: times and ratios for people, and what the job needs without checkpoints. */
#include "cli/plan/plan.h"

#include "base/config/units.h"

#include <math.h>
#include <stdio.h>

const char *cli_plan_time(char out[32], double seconds)
{
    if (!isfinite(seconds) || seconds > 1e12)
        return isfinite(seconds) ? "30 000 years and more" : "for ever";
    return sk_format_time(out, 32, seconds);
}

const char *cli_plan_ratio(char out[32], double r)
{
    if (!isfinite(r))
        return "without end";
    snprintf(out, 32, r < 10 ? "%.4g %%" : "%.4g times", r < 10 ? 100 * r : r);
    return out;
}

double cli_plan_without_checkpoints(const struct plan *p)
{
    struct sk_costs c = {p->costs.rate, 0, 0, 0};
    return sk_model_interval(&c, p->work);
}
