/* A short list of hosts and who says what of them. */
#include "recovery/fault/unwell.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 1024 };

static struct {
    char host[256], source[32], why[160];
} list[MOST];
static int n_list, well_spares;

void sk_unwell_forget_all(void)
{
    n_list = well_spares = 0;
}

/* What anybody (source NULL) says, -1: nothing. */
static int find(const char *host, const char *source)
{
    for (int i = 0; i < n_list; i++)
        if (!strcmp(list[i].host, host) && (!source || !strcmp(list[i].source, source)))
            return i;
    return -1;
}

int sk_unwell_set(const char *host, const char *source, const char *why)
{
    int i = find(host, source);
    if (!why && i >= 0)
        list[i] = list[--n_list];
    if (!why || i >= 0 || n_list == MOST)
        return !why && i >= 0;
    snprintf(list[n_list].host, sizeof list->host, "%s", host);
    snprintf(list[n_list].source, sizeof list->source, "%s", source);
    snprintf(list[n_list++].why, sizeof list->why, "%s", why);
    return 1;
}

void sk_unwell_look(const struct sk_hosts *h)
{
    well_spares = 0;
    for (int i = 0; i < h->n; i++)
        well_spares += h->host[i].state == SK_HOST_SPARE && find(h->host[i].name, NULL) < 0;
}

int sk_unwell_is_down(const struct saikai_node *node, char *why, size_t why_cap)
{
    int i = find(node->name, NULL);
    if (i < 0 || (node->state == SAIKAI_NODE_ACTIVE && !well_spares))
        return 0;
    snprintf(why, why_cap, "it is not well: %.60s (%s)", list[i].why, list[i].source);
    return 1;
}
