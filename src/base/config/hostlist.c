/* Expands the brackets of a host list, name by name, and reads lists from files. */
#include "base/config/hostlist.h"

#include "base/file/io.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sk_hostlist_free(struct sk_hostlist *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->n; i++)
        free(list->name[i]);
    free(list->name);
    *list = (struct sk_hostlist){0};
}

struct expansion {
    struct sk_hostlist *list;
    const char *whole; /* the text, for errors */
    size_t most;
    struct saikai_error *err;
    char name[SK_HOST_MAX + 1];
};

static int refuse(struct expansion *x, const char *what)
{
    return sk_fail(x->err, SAIKAI_EINVAL, "host list '%.80s': %s", x->whole, what);
}

static int too_many(struct expansion *x)
{
    return sk_fail(x->err, SAIKAI_EINVAL, "host list '%.80s' has more than %zu hosts", x->whole,
                   x->most);
}

static int add(struct expansion *x)
{
    struct sk_hostlist *l = x->list;
    if (l->n >= x->most)
        return too_many(x);
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        char **name = realloc(l->name, cap * sizeof *name);
        if (!name)
            return sk_fail(x->err, SAIKAI_ENOMEM, "no memory for %zu host names", cap);
        l->name = name;
        l->cap = cap;
    }
    if (!(l->name[l->n] = strdup(x->name)))
        return sk_fail(x->err, SAIKAI_ENOMEM, "no memory for a host name");
    l->n++;
    return 0;
}

/* A number of at most 9 digits at *s; its width, 0: none. */
static int number(const char **s, const char *end, unsigned long *value)
{
    int width = 0;
    *value = 0;
    for (; *s < end && isdigit((unsigned char)**s) && width < 10; (*s)++, width++)
        *value = *value * 10 + (unsigned long)(**s - '0');
    return width < 10 ? width : 0;
}

static int expand(struct expansion *x, size_t used, const char *s, const char *end);

/* Each number of "1-3,07]" after the name so far, then the rest of the pattern. */
static int expand_brackets(struct expansion *x, size_t used, const char *s, const char *close,
                           const char *end)
{
    while (s < close) {
        unsigned long first, last;
        int width = number(&s, close, &first);
        if (!width)
            return refuse(x, "write numbers in brackets, as in node[1-8,12]");
        last = first;
        if (s < close && *s == '-') {
            s++;
            if (!number(&s, close, &last) || last < first)
                return refuse(x, "a range in brackets goes from a lower to a higher number");
        }
        if (s < close && (*s++ != ',' || s == close))
            return refuse(x, "ranges in brackets are separated by single commas");
        if (last - first >= x->most) /* each number gives at least one host */
            return too_many(x);
        for (unsigned long i = first; i <= last; i++) {
            int n = snprintf(x->name + used, sizeof x->name - used, "%0*lu", width, i);
            if (n < 0 || used + (size_t)n >= sizeof x->name)
                return refuse(x, "a host name is longer than 255 characters");
            int rc = expand(x, used + (size_t)n, close + 1, end);
            if (rc)
                return rc;
        }
    }
    return 0;
}

static int expand(struct expansion *x, size_t used, const char *s, const char *end)
{
    for (; s < end && *s != '['; s++) {
        if (*s == ']')
            return refuse(x, "']' without '['");
        if (used + 1 >= sizeof x->name)
            return refuse(x, "a host name is longer than 255 characters");
        x->name[used++] = *s;
    }
    if (s == end) {
        x->name[used] = 0;
        return add(x);
    }
    const char *close = memchr(s, ']', (size_t)(end - s));
    if (!close || close == s + 1)
        return refuse(x, close ? "nothing stands in the brackets" : "']' is missing");
    return expand_brackets(x, used, s + 1, close, end);
}

static int is_separator(char c)
{
    return c == ',' || isspace((unsigned char)c);
}

int sk_hostlist_expand(struct sk_hostlist *list, const char *text, size_t most,
                       struct saikai_error *err)
{
    struct expansion x = {.list = list, .whole = text, .most = most, .err = err};
    size_t before = list->n;
    int rc = 0;
    for (const char *s = text; *s && !rc;) {
        if (is_separator(*s)) {
            s++;
            continue;
        }
        const char *end = s;
        for (int inside = 0; *end && (inside || !is_separator(*end)); end++)
            inside = *end == '[' ? 1 : *end == ']' ? 0 : inside;
        rc = expand(&x, 0, s, end);
        s = end;
    }
    while (rc && list->n > before)
        free(list->name[--list->n]);
    return rc;
}

/* The first word of a line, cut off in place; NULL: the line is empty or a comment. */
static char *first_word(char *line)
{
    line += strspn(line, " \t\r");
    size_t n = strcspn(line, "# \t\r");
    char *colon = memchr(line, ':', n); /* "node7:4" */
    if (colon)
        n = (size_t)(colon - line);
    line[n] = 0;
    return n ? line : NULL;
}

int sk_hostlist_read(struct sk_hostlist *list, const char *path, size_t most,
                     struct saikai_error *err)
{
    void *data;
    size_t n, before = list->n;
    int rc = sk_io_slurp(path, 256u << 20, &data, &n, err);
    if (rc)
        return rc;
    if (memchr(data, 0, n))
        rc = sk_fail(err, SAIKAI_EINVAL, "%s holds a zero byte: not a list of hosts", path);
    char *next = data;
    for (int line = 1; !rc && next; line++) {
        char *this = next;
        if ((next = strchr(this, '\n')))
            *next++ = 0;
        char *word = first_word(this);
        rc = word ? sk_hostlist_expand(list, word, most, err) : 0;
        if (rc)
            sk_error_prefix(err, "%s:%d", path, line);
    }
    free(data);
    while (rc && list->n > before)
        free(list->name[--list->n]);
    return rc;
}
