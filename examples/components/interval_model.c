/* A component: Young's interval, but never shorter than a minute.
 *
 *   cc -std=c11 -shared -fPIC -I PREFIX/include interval_model.c -o interval_model.so -lm
 *   saikai plan --set components=$PWD/interval_model.so --set schedule.model=young-calm -n 64 --mtbf 5y -c 10s */
#include <math.h>
#include <saikai/component.h>

static double optimum(double failures_per_s, double cost_s)
{
    return fmax(60, sqrt(2 * cost_s / failures_per_s));
}

static const struct saikai_interval_model_ops ops = {optimum};

static const struct saikai_component young_calm = {
    .abi = SAIKAI_COMPONENT_ABI,
    .size_bytes = sizeof young_calm,
    .kind = SAIKAI_KIND_INTERVAL_MODEL,
    .name = "young-calm",
    .description = "Young's interval, at least a minute",
    .ops = &ops,
    .ops_size_bytes = sizeof ops,
};

const struct saikai_component *const *saikai_components(void)
{
    static const struct saikai_component *const all[] = {&young_calm, NULL};
    return all;
}
