/* A component: events of a file that a site's own tools write, one line "HOST TEXT" for each node that is not well. While a node stands there
 * it counts as not well, and the job saves itself when the first one comes. The environment variable SITE_NODES_ILL names the file. */
#define _POSIX_C_SOURCE 200809L
#include <saikai/component.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };
static char ill[MOST][256]; /* as of the look before */
static int n_ill;

static int stands_in(char names[][256], int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return 1;
    return 0;
}

static int look(const char *const *hosts, saikai_tell_event *tell, void *to, char *why, size_t why_cap)
{
    static const char *const well[] = {"node=well", NULL};
    char line[400], text[300], now[MOST][256];
    int n = 0;
    const char *path = getenv("SITE_NODES_ILL");
    FILE *f = path ? fopen(path, "re") : NULL;
    (void)hosts;
    if (!f) {
        snprintf(why, why_cap, "%s: %s", path ? path : "SITE_NODES_ILL", path ? strerror(errno) : "the variable is not set");
        return -1;
    }
    while (n < MOST && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = 0;
        char *space = strchr(line, ' ');
        if (space)
            *space = 0;
        if (!*line || strlen(line) >= sizeof now[0])
            continue;
        strcpy(now[n++], line);
        if (stands_in(ill, n_ill, line))
            continue;
        snprintf(text, sizeof text, "why=%.200s", space ? space + 1 : "");
        tell(to, "hw.ill", 3, line, (const char *[]){"node=unwell", text, NULL});
        tell(to, "hw.notice", 2, line, NULL);
    }
    fclose(f);
    for (int i = 0; i < n_ill; i++)
        if (!stands_in(now, n, ill[i]))
            tell(to, "hw.ill", 1, ill[i], well);
    memcpy(ill, now, (size_t)n * sizeof now[0]);
    n_ill = n;
    return 0;
}

static const struct saikai_event_source_ops ops = {look};

static const struct saikai_component site_list = {
    .abi = SAIKAI_COMPONENT_ABI,
    .size_bytes = sizeof site_list,
    .kind = SAIKAI_KIND_EVENT_SOURCE,
    .name = "site-list",
    .description = "nodes that the file SITE_NODES_ILL names are not well",
    .ops = &ops,
    .ops_size_bytes = sizeof ops,
};

const struct saikai_component *const *saikai_components(void)
{
    static const struct saikai_component *const all[] = {&site_list, NULL};
    return all;
}
