#include "store/state.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/io.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int decode_line(const char *line, struct sk_state *s)
{
    unsigned u;
    int n = 0, tries;
    char name[48];
    if (sscanf(line, "incarnation %5u%n", &u, &n) == 1 && !line[n] && u <= SK_GEN_MAX_INCARNATION) {
        s->incarnation = u;
        return 0;
    }
    if (sscanf(line, "first_incarnation %5u%n", &u, &n) == 1 && !line[n] && u <= SK_GEN_MAX_INCARNATION) {
        s->first_incarnation = u;
        return 0;
    }
    if (sscanf(line, "finished %1u%n", &u, &n) == 1 && !line[n]) {
        s->finished = u != 0;
        return 0;
    }
    if (sscanf(line, "tried %47s %9d%n", name, &tries, &n) == 2 && !line[n] && tries > 0 &&
        s->tried_count < SK_STATE_TRIED && !sk_gen_parse(name, &s->tried[s->tried_count].gen)) {
        s->tried[s->tried_count++].tries = tries;
        return 0;
    }
    return -1;
}

int sk_state_decode(const char *text, size_t n, struct sk_state *out, struct saikai_error *err)
{
    struct sk_state s = {0};
    unsigned long long hash;
    int line_number = 0, checked = 0;
    for (size_t at = 0; at < n; line_number++) {
        const char *end = memchr(text + at, '\n', n - at);
        char line[128];
        size_t len = end ? (size_t)(end - text) - at : n - at;
        if (!end || len >= sizeof line || memchr(text + at, 0, len) || checked)
            return sk_fail(err, SAIKAI_EDAMAGED, "line %d is not one of a state file", line_number + 1);
        memcpy(line, text + at, len);
        line[len] = 0;
        if (line_number == 0) {
            if (strcmp(line, "saikai-state 1"))
                return sk_fail(err, SAIKAI_EFORMAT, "not a state file that this Saikai reads");
        } else if (sscanf(line, "check %16llx", &hash) == 1) {
            checked = hash == sk_hash64(text, at);
            if (!checked)
                return sk_fail(err, SAIKAI_EDAMAGED, "its checksum is wrong");
        } else if (decode_line(line, &s)) {
            return sk_fail(err, SAIKAI_EDAMAGED, "line %d is not one of a state file", line_number + 1);
        }
        at += len + 1;
    }
    if (!checked || s.first_incarnation > s.incarnation)
        return sk_fail(err, SAIKAI_EDAMAGED, "it is truncated");
    *out = s;
    return 0;
}

int sk_state_load(const char *root, struct sk_state *s, struct saikai_error *err)
{
    char path[PATH_MAX];
    void *text;
    size_t n;
    struct saikai_error local = {0};
    int rc = sk_io_path(path, sizeof path, err, "%s/state", root);
    if (rc)
        return rc;
    rc = sk_io_slurp(path, 1 << 16, &text, &n, &local);
    if (rc == SAIKAI_ENOENT) {
        memset(s, 0, sizeof *s);
        return 0;
    }
    if (!rc) {
        rc = sk_state_decode(text, n, s, &local);
        if (rc) {
            char why[sizeof local.text];
            snprintf(why, sizeof why, "%s", local.text);
            sk_fail(&local, rc, "%s: %s; remove it to go on from the newest generation", path, why);
        }
        free(text);
    }
    if (rc && err)
        *err = local;
    return rc;
}

int sk_state_save(const char *root, const struct sk_state *s, struct saikai_error *err)
{
    char path[PATH_MAX], name[48];
    int rc = sk_io_path(path, sizeof path, err, "%s/state", root);
    if (rc)
        return rc;
    struct sk_buf b = {0};
    sk_buf_printf(&b, "saikai-state 1\nincarnation %u\nfirst_incarnation %u\nfinished %d\n",
                  s->incarnation, s->first_incarnation, s->finished);
    for (int i = 0; i < s->tried_count; i++)
        sk_buf_printf(&b, "tried %s %d\n", sk_gen_name(s->tried[i].gen, name), s->tried[i].tries);
    if (sk_buf_ok(&b))
        sk_buf_printf(&b, "check %016llx\n", (unsigned long long)sk_hash64(b.data, b.len));
    rc = sk_buf_ok(&b) ? sk_io_replace(path, b.data, b.len, err)
                       : sk_fail(err, SAIKAI_ENOMEM, "no memory to write %s", path);
    sk_buf_free(&b);
    return rc;
}

static int find(const struct sk_state *s, struct sk_gen g)
{
    for (int i = 0; i < s->tried_count; i++)
        if (sk_gen_key(s->tried[i].gen) == sk_gen_key(g))
            return i;
    return -1;
}

int sk_state_tries(const struct sk_state *s, struct sk_gen g)
{
    int i = find(s, g);
    return i < 0 ? 0 : s->tried[i].tries;
}

void sk_state_try(struct sk_state *s, struct sk_gen g)
{
    int i = find(s, g);
    if (i < 0) {
        if (s->tried_count == SK_STATE_TRIED)
            memmove(s->tried, s->tried + 1, (size_t)--s->tried_count * sizeof s->tried[0]);
        i = s->tried_count++;
        s->tried[i].gen = g;
        s->tried[i].tries = 0;
    }
    s->tried[i].tries++;
}

void sk_state_untry(struct sk_state *s, struct sk_gen g)
{
    int i = find(s, g);
    if (i >= 0)
        memmove(s->tried + i, s->tried + i + 1, (size_t)(--s->tried_count - i) * sizeof s->tried[0]);
}
