/* A component: nodes that a site's health check has written to a file, one name a line, are not used any more after the next fault. The
 * environment variable SITE_NODES_DOWN names the file. */
#define _POSIX_C_SOURCE 200809L
#include <saikai/component.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int node_is_down(const struct saikai_node *node, char *why, size_t why_cap)
{
    char line[300];
    int down = 0;
    const char *path = getenv("SITE_NODES_DOWN");
    FILE *f = path ? fopen(path, "re") : NULL;
    while (f && !down && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = 0;
        down = !strcmp(line, node->name);
    }
    if (f)
        fclose(f);
    if (down)
        snprintf(why, why_cap, "the health check has found it to be broken");
    return down;
}

static const struct saikai_monitor_ops ops = {node_is_down};

static const struct saikai_component health_check = {
    .abi = SAIKAI_COMPONENT_ABI,
    .size_bytes = sizeof health_check,
    .kind = SAIKAI_KIND_MONITOR,
    .name = "health-check",
    .description = "nodes that the file SITE_NODES_DOWN names are down",
    .ops = &ops,
    .ops_size_bytes = sizeof ops,
};

const struct saikai_component *const *saikai_components(void)
{
    static const struct saikai_component *const all[] = {&health_check, NULL};
    return all;
}
