/* Writes JSON value by value, with its escapes, its numbers and its indentation. */
#include "base/text/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put(struct sk_json *j, const char *s)
{
    sk_buf_put(&j->out, s, strlen(s));
}

int sk_json_utf8(const unsigned char *s)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = *s < 0x80                 ? 1
            : *s >= 0xc2 && *s < 0xe0 ? 2
            : (*s & 0xf0) == 0xe0     ? 3
            : (*s & 0xf8) == 0xf0     ? 4
                                      : 0;
    if (n < 2)
        return n;
    uint32_t c = *s & (0x7fu >> n);
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    return c >= least[n] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? n : 0;
}

static void put_text(struct sk_json *j, const char *text)
{
    put(j, "\"");
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = sk_json_utf8(s);
        if (!n) {
            put(j, "\xef\xbf\xbd");
            s++;
            continue;
        }
        if (*s == '"' || *s == '\\')
            sk_buf_printf(&j->out, "\\%c", *s);
        else if (*s == '\n')
            put(j, "\\n");
        else if (*s == '\t')
            put(j, "\\t");
        else if (*s < 0x20 || *s == 0x7f)
            sk_buf_printf(&j->out, "\\u%04x", *s);
        else if (*s == 0xc2 && s[1] < 0xa0) /* C1: a terminal may take them for escapes */
            sk_buf_printf(&j->out, "\\u%04x", s[1]);
        else
            sk_buf_put(&j->out, s, (size_t)n);
        s += n;
    }
    put(j, "\"");
}

static void line_break(struct sk_json *j)
{
    if (j->compact)
        return;
    put(j, "\n");
    for (int i = 0; i < j->depth; i++)
        put(j, "  ");
}

/* What stands before a value: comma, line break, key. */
static void lead(struct sk_json *j, const char *key)
{
    int in_object = j->depth && j->kind[j->depth - 1] == '{';
    if (in_object != (key != NULL) || (!j->depth && j->count[0]))
        j->misused = 1;
    if (j->count[j->depth]++)
        put(j, ",");
    if (j->depth)
        line_break(j);
    if (key) {
        put_text(j, key);
        put(j, j->compact ? ":" : ": ");
    }
}

static void open_level(struct sk_json *j, const char *key, char kind)
{
    lead(j, key);
    if (j->depth == SK_JSON_MAX_DEPTH) {
        j->misused = 1;
        return;
    }
    sk_buf_put(&j->out, &kind, 1);
    j->kind[j->depth++] = kind;
    j->count[j->depth] = 0;
}

void sk_json_object(struct sk_json *j, const char *key)
{
    open_level(j, key, '{');
}

void sk_json_array(struct sk_json *j, const char *key)
{
    open_level(j, key, '[');
}

void sk_json_end(struct sk_json *j)
{
    if (!j->depth) {
        j->misused = 1;
        return;
    }
    int used = j->count[j->depth--];
    if (used)
        line_break(j);
    put(j, j->kind[j->depth] == '{' ? "}" : "]");
}

void sk_json_text(struct sk_json *j, const char *key, const char *value)
{
    lead(j, key);
    if (value)
        put_text(j, value);
    else
        put(j, "null");
}

void sk_json_int(struct sk_json *j, const char *key, int64_t value)
{
    lead(j, key);
    sk_buf_printf(&j->out, "%lld", (long long)value);
}

void sk_json_uint(struct sk_json *j, const char *key, uint64_t value)
{
    lead(j, key);
    sk_buf_printf(&j->out, "%llu", (unsigned long long)value);
}

void sk_json_real(struct sk_json *j, const char *key, double value)
{
    lead(j, key);
    if (!isfinite(value)) {
        put(j, "null");
        return;
    }
    char s[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, value);
        if (strtod(s, NULL) == value)
            break;
    }
    put(j, s);
}

void sk_json_bool(struct sk_json *j, const char *key, int value)
{
    lead(j, key);
    put(j, value ? "true" : "false");
}

void sk_json_null(struct sk_json *j, const char *key)
{
    lead(j, key);
    put(j, "null");
}

int sk_json_print(const struct sk_json *j, FILE *f, struct saikai_error *err)
{
    if (!sk_buf_ok(&j->out))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the JSON text");
    if (j->misused || j->depth || !j->count[0])
        return sk_fail(err, SAIKAI_EINTERNAL, "the JSON text is not a whole document");
    if (fwrite(j->out.data, 1, j->out.len, f) != j->out.len || putc('\n', f) == EOF || fflush(f))
        return sk_fail_errno(err, errno, "cannot write the JSON text");
    return 0;
}

void sk_json_free(struct sk_json *j)
{
    if (!j)
        return;
    sk_buf_free(&j->out);
    memset(j, 0, sizeof *j);
}
