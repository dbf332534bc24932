/* Looks a variable's name up in the patterns of the configuration, and fixes its chain and its
 * bound. */
#include "lib/data/coding.h"

#include "base/types.h"
#include "codec/quality/bound.h"
#include "codec/wavelet/wavelet.h"
#include "store/form/coded.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Next "pattern=value" of a list into pattern and value; 0 at the end, -1 when it is none. */
static int next_entry(const char **at, char pattern[256], char value[SK_CHAIN_NAME])
{
    const char *p = *at;
    while (*p == ',' || isspace((unsigned char)*p))
        p++;
    if (!*p)
        return 0;
    size_t n = strcspn(p, ","), eq = strcspn(p, "=,");
    *at = p + n;
    size_t end = n;
    while (end > eq && isspace((unsigned char)p[end - 1]))
        end--;
    if (p[eq] != '=' || !eq || eq >= 256 || end - eq - 1 >= SK_CHAIN_NAME || end == eq + 1)
        return -1;
    memcpy(pattern, p, eq);
    pattern[eq] = 0;
    while (eq && isspace((unsigned char)pattern[eq - 1]))
        pattern[--eq] = 0;
    p += strcspn(p, "=") + 1;
    n = end - (size_t)(p - (*at - n));
    memcpy(value, p, n);
    value[n] = 0;
    while (isspace((unsigned char)*value))
        memmove(value, value + 1, strlen(value));
    return 1;
}

static int check_chain(const char *text, struct saikai_error *err)
{
    struct sk_chain chain;
    if (!strcmp(text, "plain") || !strcmp(text, "auto"))
        return 0;
    return sk_chain_parse(text, &chain, err);
}

static int check_list(const char *key, const char *list, struct saikai_error *err)
{
    char pattern[256], value[SK_CHAIN_NAME];
    struct sk_bound bound;
    int more, chains = !strcmp(key, "codec.chains");
    const char *entry = list;
    for (; (more = next_entry(&list, pattern, value)) > 0; entry = list) {
        int rc = chains ? check_chain(value, err) : sk_bound_parse(value, &bound, err);
        if (rc) {
            sk_error_prefix(err, "%s: pattern '%.60s'", key, pattern);
            return SAIKAI_ECONFIG;
        }
    }
    return more ? sk_fail(err, SAIKAI_ECONFIG, "%s: '%.60s' is no list of pattern=value separated by commas", key,
                          entry + strspn(entry, ", \t"))
                : 0;
}

int sk_coding_policy_new(const struct sk_config *c, struct sk_coding_policy **out, struct saikai_error *err)
{
    const char *chains = sk_config_text(c, "codec.chains"), *bounds = sk_config_text(c, "codec.bounds");
    int rc = check_list("codec.chains", chains, err);
    if (!rc)
        rc = check_list("codec.bounds", bounds, err);
    if (rc)
        return rc;
    struct sk_coding_policy *p = calloc(1, sizeof *p);
    if (p) {
        p->chains = strdup(chains);
        p->bounds = strdup(bounds);
        p->bandwidth = (double)sk_config_size(c, "codec.bandwidth");
        p->threads = (int)sk_config_int(c, "codec.threads");
        p->verify = sk_config_bool(c, "codec.verify");
    }
    if (!p || !p->chains || !p->bounds) {
        sk_coding_policy_free(p);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the codecs' configuration");
    }
    *out = p;
    return 0;
}

void sk_coding_policy_free(struct sk_coding_policy *p)
{
    if (!p)
        return;
    free(p->chains);
    free(p->bounds);
    free(p);
}

/* The value of the first pattern that matches name. */
static int look_up(const char *list, const char *name, char value[SK_CHAIN_NAME])
{
    char pattern[256];
    while (next_entry(&list, pattern, value) > 0)
        if (!fnmatch(pattern, name, 0))
            return 1;
    return 0;
}

int sk_coding_wish(const struct sk_coding_policy *p, const char *name, int type, struct sk_bound asked, const char *codec,
                   struct sk_wish *out)
{
    char text[SK_CHAIN_NAME] = "";
    struct sk_wish w = {.bound = asked};
    struct saikai_error ignored;
    if (!sk_type_is_float(type))
        w.bound = (struct sk_bound){0};
    else if (!asked.kind && look_up(p->bounds, name, text))
        sk_bound_parse(text, &w.bound, &ignored); /* checked when the policy was made */
    if (*codec)
        snprintf(text, sizeof text, "%s", codec);
    if ((*codec || look_up(p->chains, name, text)) && strcmp(text, "plain"))
        memcpy(w.chain, text, sizeof w.chain);
    else if (w.bound.kind)
        strcpy(w.chain, sk_codec_wavelet.name);
    *out = w;
    return *w.chain != 0;
}

int sk_coding_write(const struct sk_coding_policy *p, const char *path, const struct sk_skc_header *h,
                    const struct sk_piece *pieces, const struct sk_wish *wishes, size_t count, int sync,
                    struct saikai_error *err)
{
    struct sk_coding *coding = calloc(count ? count : 1, sizeof *coding);
    struct sk_choice *choice = calloc(count ? count : 1, sizeof *choice);
    int rc = coding && choice ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to code %zu variables", count);
    for (size_t i = 0; !rc && i < count; i++) {
        coding[i].chain = wishes[i].chain;
        coding[i].opt.codec.bound = wishes[i].bound;
        coding[i].opt.threads = p->threads;
        coding[i].opt.verify = p->verify;
        if (strcmp(wishes[i].chain, "auto") || !pieces[i].size_bytes)
            continue;
        struct sk_array a = {.type = pieces[i].type, .ndims = pieces[i].ndims};
        memcpy(a.dims, pieces[i].dims, sizeof a.dims);
        struct sk_chooser_options o = {.bandwidth = p->bandwidth, .threads = p->threads, .bound = wishes[i].bound};
        rc = sk_choose(&a, pieces[i].data, &o, &choice[i], err);
        coding[i].chain = choice[i].chain;
        coding[i].opt.piece_bytes = choice[i].piece_bytes;
    }
    if (!rc)
        rc = sk_container_write(path, h, pieces, coding, count, sync, NULL, NULL, err);
    free(coding);
    free(choice);
    return rc;
}
