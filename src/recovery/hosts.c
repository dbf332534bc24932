/* Parses hosts files, seats the ranks, and puts a spare, or else the least loaded hosts, in the
 * place of a lost one. */
#include "recovery/hosts.h"

#include "base/file/io.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void sk_hosts_free(struct sk_hosts *h)
{
    free(h->host);
    *h = (struct sk_hosts){0};
}

int sk_hosts_add(struct sk_hosts *h, const char *name, int slots, struct saikai_error *err)
{
    for (int i = 0; i < h->n; i++)
        if (!strcmp(h->host[i].name, name))
            return sk_fail(err, SAIKAI_EEXIST,
                           "host '%.100s' is listed twice: use slots=N for several ranks", name);
    struct sk_host *p = realloc(h->host, sizeof *p * (size_t)(h->n + 1));
    if (!p)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for %d hosts", h->n + 1);
    h->host = p;
    p[h->n] = (struct sk_host){.slots = slots};
    strncpy(p[h->n].name, name, sizeof p->name - 1);
    h->n++;
    return 0;
}

static int is_name(const char *s)
{
    if (!isalnum((unsigned char)*s) && *s != '[' && *s != ':')
        return 0; /* above all: a name that begins with '-' would be an option of the launcher */
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("-._:[]", *s))
            return 0;
    return 1;
}

static int parse_line(char *line, struct sk_hosts *out, struct saikai_error *err)
{
    char *save = NULL, *name = strtok_r(line, " \t\r\v\f", &save), *word;
    long slots = 0;
    if (!name)
        return 0;
    if (strlen(name) >= sizeof out->host->name || !is_name(name))
        return sk_fail(err, SAIKAI_EINVAL, "'%.60s' is no host name: write host [slots=N]", name);
    while ((word = strtok_r(NULL, " \t\r\v\f", &save))) {
        char *end;
        if (strncmp(word, "slots=", 6) || slots)
            return sk_fail(err, SAIKAI_EINVAL, "'%.60s' is not understood: write host [slots=N]",
                           word);
        slots = strtol(word + 6, &end, 10);
        if (end == word + 6 || *end || slots < 1 || slots > INT_MAX / 2)
            return sk_fail(err, SAIKAI_EINVAL,
                           "'%.60s' is no number of slots: write for example slots=4", word);
    }
    return sk_hosts_add(out, name, (int)slots, err);
}

int sk_hosts_parse(const char *text, size_t n, const char *path, struct sk_hosts *out,
                   struct saikai_error *err)
{
    struct sk_hosts h = {0};
    char *copy = strndup(text, n), *next = copy;
    int rc = copy ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for %s", path);
    if (!rc && strlen(copy) < n)
        rc = sk_fail(err, SAIKAI_EINVAL, "%s holds a zero byte: it is no text file", path);
    for (int line = 1; !rc && next; line++) {
        char *this = next;
        if ((next = strchr(this, '\n')))
            *next++ = 0;
        this[strcspn(this, "#")] = 0;
        rc = parse_line(this, &h, err);
        if (rc)
            sk_error_prefix(err, "%s:%d", path, line);
    }
    if (!rc && !h.n)
        rc = sk_fail(err, SAIKAI_EINVAL, "%s names no host: write one host [slots=N] a line", path);
    free(copy);
    if (rc)
        sk_hosts_free(&h);
    else
        *out = h;
    return rc;
}

int sk_hosts_load(const char *path, struct sk_hosts *out, struct saikai_error *err)
{
    void *data;
    size_t n;
    int rc = sk_io_slurp(path, 16 << 20, &data, &n, err);
    if (rc)
        return rc;
    rc = sk_hosts_parse(data, n, path, out, err);
    free(data);
    return rc;
}

int sk_hosts_place(struct sk_hosts *h, int spares, int n_ranks, int *seat, struct saikai_error *err)
{
    int active = h->n - spares;
    if (active < 1)
        return sk_fail(
            err, SAIKAI_ECONFIG,
            "%d of %d hosts as spares leave none to run on: name more hosts or fewer spares",
            spares, h->n);
    long told = 0;
    int untold = 0;
    for (int i = 0; i < active; i++) {
        told += h->host[i].slots;
        untold += !h->host[i].slots;
    }
    if (told < n_ranks && !untold)
        return sk_fail(err, SAIKAI_ECONFIG,
                       "%d processes do not fit into the %ld slots of %d hosts (%d are spares): add "
                       "slots=N or hosts",
                       n_ranks, told, active, spares);
    for (int i = 0; i < h->n; i++)
        h->host[i].state = i < active ? SK_HOST_ACTIVE : SK_HOST_SPARE;
    long rest = n_ranks > told ? n_ranks - told : 0;
    int rank = 0, k = 0;
    for (int i = 0; i < active; i++) {
        long share = h->host[i].slots;
        if (!share) { /* an even share of what the others leave, the first hosts one more */
            share = rest / untold + (k < rest % untold);
            k++;
        }
        for (; share > 0 && rank < n_ranks; share--)
            seat[rank++] = i;
    }
    return 0;
}

int sk_hosts_warm(const int *seat, int n_ranks, int spare)
{
    int blocks = 0;
    for (int r = 0; r < n_ranks; r++)
        blocks += !r || seat[r] != seat[r - 1];
    for (int r = 0, block = 0; r < n_ranks; r++)
        if ((!r || seat[r] != seat[r - 1]) && block++ == spare % blocks)
            return seat[r];
    return seat[0];
}

int sk_hosts_ranks(const int *seat, int n_ranks, int host)
{
    int n = 0;
    for (int r = 0; r < n_ranks; r++)
        n += seat[r] == host;
    return n;
}

static int find_spare(const struct sk_hosts *h, int need)
{
    for (int i = 0; i < h->n; i++)
        if (h->host[i].state == SK_HOST_SPARE && (!h->host[i].slots || h->host[i].slots >= need))
            return i;
    return -1;
}

/* The active host to take one more rank: a free slot first, then the one with the fewest ranks over
 * its slots. ranks: how many each host has. */
static int least_loaded(const struct sk_hosts *h, const int *ranks)
{
    int best = -1, best_load = 0;
    for (int i = 0; i < h->n; i++) {
        if (h->host[i].state != SK_HOST_ACTIVE)
            continue;
        int load = ranks[i] - h->host[i].slots;
        if (best < 0 || load < best_load) {
            best = i;
            best_load = load;
        }
    }
    return best;
}

/* Give the ranks of a lost host to the others. 0, or -2: there is none. */
static int spread(const struct sk_hosts *h, int lost, int n_ranks, int *seat)
{
    int *ranks = h->n > 0 ? calloc((size_t)h->n, sizeof *ranks) : NULL;
    for (int r = 0; ranks && r < n_ranks; r++)
        ranks[seat[r]]++;
    if (!ranks || least_loaded(h, ranks) < 0) {
        free(ranks);
        return -2;
    }
    for (int r = 0; r < n_ranks; r++)
        if (seat[r] == lost)
            ranks[seat[r] = least_loaded(h, ranks)]++;
    free(ranks);
    return 0;
}

int sk_hosts_lose(struct sk_hosts *h, int lost, int n_ranks, int *seat)
{
    int need = sk_hosts_ranks(seat, n_ranks, lost);
    h->host[lost].state = SK_HOST_LOST;
    int spare = find_spare(h, need);
    for (int i = 0; spare < 0 && i < h->n;
         i++) /* small spares are better than none: they join the active hosts */
        if (h->host[i].state == SK_HOST_SPARE)
            h->host[i].state = SK_HOST_ACTIVE;
    if (spare < 0)
        return spread(h, lost, n_ranks, seat) ? -2 : -1;
    h->host[spare].state = SK_HOST_ACTIVE;
    for (int r = 0; r < n_ranks; r++)
        if (seat[r] == lost)
            seat[r] = spare;
    return spare;
}

void sk_hosts_return(struct sk_hosts *h, int host)
{
    if (h->host[host].state == SK_HOST_LOST && !h->host[host].shunned)
        h->host[host].state = SK_HOST_SPARE;
}

int sk_hosts_find(const struct sk_hosts *h, const char *name)
{
    int found = -1;
    for (int i = 0; i < h->n; i++)
        if (!strcmp(h->host[i].name, name))
            return i;
    size_t n = strcspn(name, ".");
    for (int i = 0; i < h->n; i++)
        if (strcspn(h->host[i].name, ".") == n && !strncmp(h->host[i].name, name, n)) {
            if (found >= 0)
                return -1;
            found = i;
        }
    return found;
}
