/* A component: failure rates of hosts from a table of a site's own, which begins with the line "host,mtbf_hours". */
#define _POSIX_C_SOURCE 200809L
#include <saikai/component.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char heading[] = "host,mtbf_hours";

static int recognises(const uint8_t *head, size_t n)
{
    return n >= sizeof heading - 1 && !memcmp(head, heading, sizeof heading - 1);
}

static int load(const char *path, saikai_take_rate *take, void *to, char *why, size_t why_cap)
{
    char line[512];
    int rc = 0;
    FILE *f = fopen(path, "re");
    if (!f) {
        snprintf(why, why_cap, "it cannot be opened");
        return -1;
    }
    for (int number = 1; !rc && fgets(line, sizeof line, f); number++) {
        char *comma = strchr(line, ','), *end;
        if (number == 1 || line[0] == '\n')
            continue;
        double hours = comma ? strtod(comma + 1, &end) : 0;
        if (!comma || !(hours > 0) || *end != '\n') {
            snprintf(why, why_cap, "line %d: write host,hours", number);
            rc = -1;
        } else {
            *comma = 0;
            rc = take(to, line, 1 / (hours * 3600), number);
        }
    }
    fclose(f);
    return rc;
}

static const struct saikai_failure_rates_ops ops = {recognises, load};

static const struct saikai_component csv = {
    .abi = SAIKAI_COMPONENT_ABI,
    .size_bytes = sizeof csv,
    .kind = SAIKAI_KIND_FAILURE_RATES,
    .name = "csv",
    .description = "a table that begins with host,mtbf_hours",
    .ops = &ops,
    .ops_size_bytes = sizeof ops,
};

const struct saikai_component *const *saikai_components(void)
{
    static const struct saikai_component *const all[] = {&csv, NULL};
    return all;
}
