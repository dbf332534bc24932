/* Calls of a method, with what it may get wrong looked at: names, sentences, files that it leaves behind. */
#include "output/outlet.h"

#include "base/file/io.h"
#include "base/file/modes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WHY = 300 };

int sk_outlet_open(const struct sk_config *c, struct sk_outlet *out, struct saikai_error *err)
{
    const char *to = sk_config_text(c, "output.to"), *colon = strchr(to, ':');
    char word[32];
    *out = (struct sk_outlet){0};
    if (!*to)
        return 0;
    size_t n = colon ? (size_t)(colon - to) : strlen(to);
    snprintf(word, sizeof word, "%.*s", (int)n, to);
    int i = n < sizeof word ? sk_kind_form(&sk_method_kind, word) : -1;
    if (i < 0) {
        sk_kind_unknown(&sk_method_kind, NULL, word, err);
        sk_error_prefix(err, "output.to");
        return err ? err->code = SAIKAI_ECONFIG : SAIKAI_ECONFIG;
    }
    if (!colon || !colon[1] || strlen(colon + 1) >= sizeof out->place)
        return sk_fail(err, SAIKAI_ECONFIG, "output.to=%.80s: write METHOD:PLACE, with a place that the method knows", to);
    out->method = sk_method_at(i);
    snprintf(out->place, sizeof out->place, "%s", colon + 1);
    snprintf(out->label, sizeof out->label, "%s:%s", out->method->name, out->place);
    return 0;
}

/* ---- names ---- */

static int is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("._+@%-", c));
}

int sk_outlet_is_name(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    char before = '/';
    if (!n || n >= SK_OUTLET_NAME || name[n - 1] == '/')
        return 0;
    for (const char *p = name; *p; before = *p++)
        if (!(*p == '/' ? before != '/' : is_plain(*p)) || (*p == '.' && before == '/'))
            return 0;
    return 1;
}

int sk_outlet_base(const char *told, const char *dir, char *out, size_t cap, struct saikai_error *err)
{
    char path[2 * PATH_MAX], here[PATH_MAX] = "", before = '/';
    size_t n = 0;
    if (*told) {
        if (!sk_outlet_is_name(told))
            return sk_fail(err, SAIKAI_ECONFIG, "output.name=%.80s: letters, digits and '._+@%%-' make a name, with '/' between its parts", told);
        return sk_io_path(out, cap, err, "%s", told);
    }
    if (*dir != '/' && !getcwd(here, sizeof here))
        return sk_fail(err, SAIKAI_EIO, "the working directory is not known: say output.name");
    snprintf(path, sizeof path, "%s/%s", here, dir);
    for (const char *p = path; *p; p++) {
        if (n + 4 >= cap)
            return sk_fail(err, SAIKAI_ECONFIG, "%s is too long to make a name of at the output: say output.name", dir);
        if (*p == '/' && (before == '/' || !p[1]))
            continue;
        if (*p == '.' && before == '/' && (p[1] == '/' || !p[1])) /* "/./" */
            continue;
        int plain = *p == '/' || (is_plain(*p) && *p != '%' && !(*p == '.' && before == '/'));
        n += (size_t)(plain ? snprintf(out + n, cap - n, "%c", *p) : snprintf(out + n, cap - n, "%%%02X", (unsigned char)*p));
        before = *p;
    }
    while (n && out[n - 1] == '/')
        n--;
    out[n] = 0;
    return sk_outlet_is_name(out) ? 0 : sk_fail(err, SAIKAI_ECONFIG, "no name at the output can be made of '%s': say output.name", dir);
}

/* ---- calls ---- */

static int failed(const struct sk_outlet *o, const char *what, const char *name, const char *why, struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_EIO, "output %.120s: %s %.200s: %.200s", o->label, what, name, *why ? why : "the method does not say why");
}

int sk_outlet_put(const struct sk_outlet *o, const char *name, const char *path, struct saikai_error *err)
{
    char why[WHY] = "";
    if (!sk_outlet_is_name(name))
        return sk_fail(err, SAIKAI_EINVAL, "'%.100s' cannot be a name at the output %.200s", name, o->label);
    int bad = o->method->ops.put(o->place, name, path, why, sizeof why);
    why[sizeof why - 1] = 0;
    return bad ? failed(o, "cannot put", name, why, err) : 0;
}

static int temporary(const char *dir, char *path, size_t cap, struct saikai_error *err)
{
    return sk_io_path(path, cap, err, "%s/.output-%ld.tmp", dir, (long)getpid());
}

int sk_outlet_put_bytes(const struct sk_outlet *o, const char *name, const void *data, size_t n, const char *dir, struct saikai_error *err)
{
    char path[PATH_MAX];
    int rc = temporary(dir, path, sizeof path, err);
    if (rc || (rc = sk_io_replace(path, data, n, err)))
        return rc;
    rc = sk_outlet_put(o, name, path, err);
    sk_io_unlink(path, NULL);
    return rc;
}

int sk_outlet_get(const struct sk_outlet *o, const char *name, const char *path, struct saikai_error *err)
{
    char why[WHY] = "";
    int bad = o->method->ops.get(o->place, name, path, why, sizeof why), mode = sk_modes_of_files();
    why[sizeof why - 1] = 0;
    if (!bad && access(path, R_OK)) {
        bad = -1;
        snprintf(why, sizeof why, "it was said to be there, and no file was made of it");
    }
    if (!bad) {
        if (mode)
            chmod(path, (mode_t)mode);
        return 0;
    }
    sk_io_unlink(path, NULL);
    return bad > 0 ? sk_fail(err, SAIKAI_ENOENT, "output %.120s: there is no %.200s", o->label, name) : failed(o, "cannot get", name, why, err);
}

int sk_outlet_get_bytes(const struct sk_outlet *o, const char *name, size_t most, const char *dir, void **data, size_t *n, struct saikai_error *err)
{
    char path[PATH_MAX];
    int rc = temporary(dir, path, sizeof path, err);
    if (!rc)
        rc = sk_io_unlink(path, err);
    if (!rc)
        rc = sk_outlet_get(o, name, path, err);
    if (rc)
        return rc;
    rc = sk_io_slurp(path, most, data, n, err);
    sk_io_unlink(path, NULL);
    return rc;
}

int sk_outlet_remove(const struct sk_outlet *o, const char *name, struct saikai_error *err)
{
    char why[WHY] = "";
    int bad = o->method->ops.remove(o->place, name, why, sizeof why);
    why[sizeof why - 1] = 0;
    return bad ? failed(o, "cannot remove", name, why, err) : 0;
}

/* ---- lists ---- */

static int take(void *to, const char *name, uint64_t size_bytes)
{
    struct sk_outlet_names *l = to;
    if (!sk_outlet_is_name(name))
        return 0;
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        struct sk_outlet_entry *p = realloc(l->at, cap * sizeof *p);
        if (!p)
            return SAIKAI_ENOMEM;
        l->at = p;
        l->cap = cap;
    }
    char *copy = strdup(name);
    if (!copy)
        return SAIKAI_ENOMEM;
    l->at[l->n++] = (struct sk_outlet_entry){copy, size_bytes};
    return 0;
}

static int ascending(const void *a, const void *b)
{
    return strcmp(((const struct sk_outlet_entry *)a)->name, ((const struct sk_outlet_entry *)b)->name);
}

/* What a method may tell besides what was asked for. */
static void leave_out_others(struct sk_outlet_names *l, const char *begins)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (!strncmp(l->at[i].name, begins, strlen(begins)))
            l->at[n++] = l->at[i];
        else
            free(l->at[i].name);
    }
    l->n = n;
    if (n)
        qsort(l->at, n, sizeof *l->at, ascending);
}

int sk_outlet_list(const struct sk_outlet *o, const char *begins, struct sk_outlet_names *out, struct saikai_error *err)
{
    struct sk_outlet_names l = {0};
    char why[WHY] = "";
    int bad = o->method->ops.list(o->place, begins, take, &l, why, sizeof why);
    why[sizeof why - 1] = 0;
    if (bad) {
        sk_outlet_names_free(&l);
        return bad == SAIKAI_ENOMEM ? sk_fail(err, bad, "no memory to list %.200s", o->label) : failed(o, "cannot list", begins, why, err);
    }
    leave_out_others(&l, begins);
    *out = l;
    return 0;
}

void sk_outlet_names_free(struct sk_outlet_names *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i].name);
    free(l->at);
    *l = (struct sk_outlet_names){0};
}
