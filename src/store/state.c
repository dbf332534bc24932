/* Parses and prints the state file, and decides which generations a restart refuses after failed
 * attempts. */
#include "store/state.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/file/io.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "GENERATION DEATHS UNEXPLAINED BAD FILES"; version 1 knew only how often it was tried. */
static int decode_tried(const char *line, int version, struct sk_state *s)
{
    struct sk_tried t = {0};
    unsigned long long files = 0;
    char name[48];
    int n = 0;
    if (s->tried_count == SK_STATE_TRIED)
        return -1;
    if (version == 1) {
        if (sscanf(line, "tried %47s %9d%n", name, &t.deaths, &n) != 2 || line[n] || t.deaths <= 0)
            return -1;
    } else if (sscanf(line, "tried %47s %9d %9d %1d %16llx%n", name, &t.deaths, &t.unexplained, &t.bad, &files, &n) != 5 ||
               line[n] || t.deaths < 0 || t.unexplained < 0 || t.bad < 0) {
        return -1;
    }
    t.bad = t.bad != 0;
    t.files = files;
    if (sk_gen_parse(name, &t.gen))
        return -1;
    s->tried[s->tried_count++] = t;
    return 0;
}

static int decode_trying(const char *line, struct sk_state *s)
{
    unsigned long long files;
    unsigned start;
    char name[48];
    int n = 0;
    if (sscanf(line, "trying %47s %5u %16llx%n", name, &start, &files, &n) != 3 || line[n] ||
        start > SK_GEN_MAX_INCARNATION || sk_gen_parse(name, &s->trying.gen))
        return -1;
    s->trying.files = files;
    s->trying_start = start;
    return 0;
}

static int decode_line(const char *line, int version, struct sk_state *s)
{
    unsigned u;
    int n = 0;
    if (version > 1 && !strncmp(line, "store ", 6))
        return sk_id_parse(line + 6, &s->store);
    if (version > 1 && sscanf(line, "run %16" SCNx64 "%n", &s->run, &n) == 1 && !line[n])
        return 0;
    if (sscanf(line, "incarnation %5u%n", &u, &n) == 1 && !line[n] && u <= SK_GEN_MAX_INCARNATION) {
        s->incarnation = u;
        return 0;
    }
    if (sscanf(line, "first_incarnation %5u%n", &u, &n) == 1 && !line[n] && u <= SK_GEN_MAX_INCARNATION) {
        s->first_incarnation = u;
        return 0;
    }
    if (version > 3 && sscanf(line, "unread_before %5u%n", &u, &n) == 1 && !line[n] && u <= SK_GEN_MAX_INCARNATION) {
        s->unread_before = u;
        return 0;
    }
    if (sscanf(line, "finished %1u%n", &u, &n) == 1 && !line[n]) {
        s->finished = u != 0;
        return 0;
    }
    if (!strncmp(line, "tried ", 6))
        return decode_tried(line, version, s);
    if (version >= 3 && !strncmp(line, "trying ", 7))
        return decode_trying(line, s);
    return -1;
}

int sk_state_decode(const char *text, size_t n, struct sk_state *out, struct saikai_error *err)
{
    struct sk_state s = {0};
    unsigned long long hash;
    int line_number = 0, checked = 0, version = 0;
    for (size_t at = 0; at < n; line_number++) {
        const char *end = memchr(text + at, '\n', n - at);
        char line[128];
        size_t len = end ? (size_t)(end - text) - at : n - at;
        if (!end || len >= sizeof line || memchr(text + at, 0, len) || checked)
            return sk_fail(err, SAIKAI_EDAMAGED, "line %d is not one of a state file", line_number + 1);
        memcpy(line, text + at, len);
        line[len] = 0;
        if (line_number == 0) {
            version = !strcmp(line, "saikai-state 1")   ? 1
                      : !strcmp(line, "saikai-state 3") ? 3
                      : !strcmp(line, "saikai-state 4") ? 4
                                                        : 0;
            if (!version)
                return sk_fail(err, SAIKAI_EFORMAT, "not a state file that this Saikai reads");
        } else if (sscanf(line, "check %16llx", &hash) == 1) {
            checked = hash == sk_hash64(text, at);
            if (!checked)
                return sk_fail(err, SAIKAI_EDAMAGED, "its checksum is wrong");
        } else if (decode_line(line, version, &s)) {
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
    char id[SK_ID_TEXT];
    /* what an older Saikai can do with it, it may */
    sk_buf_printf(&b, "saikai-state %d\nincarnation %u\nfirst_incarnation %u\nfinished %d\nrun %016" PRIx64 "\n",
                  s->unread_before ? 4 : 3, s->incarnation, s->first_incarnation, s->finished, s->run);
    if (s->unread_before)
        sk_buf_printf(&b, "unread_before %u\n", s->unread_before);
    if (!sk_id_none(s->store))
        sk_buf_printf(&b, "store %s\n", sk_id_print(s->store, id));
    for (int i = 0; i < s->tried_count; i++) {
        const struct sk_tried *t = &s->tried[i];
        sk_buf_printf(&b, "tried %s %d %d %d %016llx\n", sk_gen_name(t->gen, name), t->deaths, t->unexplained, t->bad,
                      (unsigned long long)t->files);
    }
    if (s->trying.gen.incarnation)
        sk_buf_printf(&b, "trying %s %u %016llx\n", sk_gen_name(s->trying.gen, name), s->trying_start,
                      (unsigned long long)s->trying.files);
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

const struct sk_tried *sk_state_tried(const struct sk_state *s, struct sk_gen g)
{
    int i = find(s, g);
    return i < 0 ? NULL : &s->tried[i];
}

static int other_files(const struct sk_tried *t, uint64_t files)
{
    return files && t->files && files != t->files;
}

int sk_state_refuses(const struct sk_state *s, struct sk_gen g, uint64_t files, int limit)
{
    const struct sk_tried *t = sk_state_tried(s, g);
    if (!t || t->bad)
        return t != NULL;
    return !other_files(t, files) && (t->deaths || t->unexplained) && 2LL * t->deaths + t->unexplained >= 2LL * limit;
}

static void forget(struct sk_state *s, int i)
{
    memmove(s->tried + i, s->tried + i + 1, (size_t)(--s->tried_count - i) * sizeof s->tried[0]);
}

/* The entry of g, a new one at the end; -1: all are marked by hand. */
static int find_or_add(struct sk_state *s, struct sk_gen g)
{
    int i = find(s, g), oldest = 0;
    if (i >= 0)
        return i;
    while (s->tried_count == SK_STATE_TRIED && oldest < s->tried_count && s->tried[oldest].bad)
        oldest++;
    if (oldest == SK_STATE_TRIED)
        return -1;
    if (s->tried_count == SK_STATE_TRIED)
        forget(s, oldest);
    s->tried[s->tried_count] = (struct sk_tried){.gen = g};
    return s->tried_count++;
}

void sk_state_count(struct sk_state *s, struct sk_gen g, uint64_t files, int by_itself)
{
    int i = find_or_add(s, g);
    if (i < 0)
        return;
    struct sk_tried *t = &s->tried[i];
    if (other_files(t, files))
        t->deaths = t->unexplained = 0;
    t->files = files;
    t->deaths += by_itself != 0;
    t->unexplained += !by_itself;
}

void sk_state_untry(struct sk_state *s, struct sk_gen g)
{
    int i = find(s, g);
    if (i >= 0 && s->tried[i].bad)
        s->tried[i].deaths = s->tried[i].unexplained = 0;
    else if (i >= 0)
        forget(s, i);
}

int sk_state_mark(struct sk_state *s, struct sk_gen g, int bad, struct saikai_error *err)
{
    int i = bad ? find_or_add(s, g) : find(s, g);
    if (bad && i < 0)
        return sk_fail(err, SAIKAI_ENOMEM, "%d generations are marked bad already: mark one of them good", SK_STATE_TRIED);
    if (bad)
        s->tried[i].bad = 1;
    else if (i >= 0)
        forget(s, i);
    return 0;
}
