/* Parses values, files and the environment into the table of keys, keeps where each value came
 * from, and says what a mistyped key may have meant. */
#include "base/config/config.h"

#include "base/config/component.h"
#include "base/config/kind.h"
#include "base/file/io.h"
#include "base/config/units.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define KIND_OF_TEXT                SK_TEXT, NULL, NULL, 0, 0
#define KIND_OF_PATH                SK_PATH, NULL, NULL, 0, 0
#define KIND_OF_SIZE                SK_SIZE, NULL, NULL, 0, 0
#define KIND_OF_TIME                SK_TIME, NULL, NULL, 0, 0
#define KIND_OF_TIME_OR_AUTO        SK_TIME_OR_AUTO, NULL, NULL, 0, 0
#define KIND_OF_INT                 SK_INT, NULL, NULL, 0, INT_MAX
#define KIND_OF_INT_OR_AUTO         SK_INT_OR_AUTO, NULL, NULL, 0, INT_MAX
#define KIND_OF_INT_IN(low, high)   SK_INT, NULL, NULL, low, high
#define KIND_OF_REAL                SK_REAL, NULL, NULL, 0, 0
#define KIND_OF_BOOL                SK_BOOL, NULL, NULL, 0, 0
#define KIND_OF_CHOICE(words)       SK_CHOICE, words, NULL, 0, 0
#define KIND_OF_FORM_OF(of, before) SK_FORM, before, of, 0, 0
#define KIND_OF_WORD_OF(of)         SK_TEXT, NULL, of, 0, 0

static const struct sk_key keys[] = {
#define SK_KEY(section, key, kind, standard, help) {#section, #key, KIND_OF_##kind, standard, help},
#include "base/config/config_keys.def"
#undef SK_KEY
};
enum { n_keys = sizeof keys / sizeof *keys };

const struct sk_variable sk_config_variables[] = {
    {"SAIKAI_CONFIG", "the user's configuration file"},
    {"SAIKAI_START", "set by saikai run for the program: 1 in the first start of the job, 2 in the second, and so on"},
    {"SAIKAI_KEEPER_FD", "set by saikai run for the library: the page that it shares with the rank's keeper"},
    {"SAIKAI_KEEPER_LINK", "set by saikai run for the keepers: how they reach it"},
    {"SAIKAI_TEST_", "for the tests of Saikai"},
    {NULL, NULL},
};

struct value {
    char *text, *where;
    enum sk_origin origin;
};

struct sk_config {
    struct value v[n_keys];
    int expects; /* forms that are not known yet, until sk_config_settle */
};

struct sk_config *sk_config_new(void)
{
    return calloc(1, sizeof(struct sk_config));
}

void sk_config_free(struct sk_config *c)
{
    if (!c)
        return;
    for (int i = 0; i < n_keys; i++) {
        free(c->v[i].text);
        free(c->v[i].where);
    }
    free(c);
}

/* A section of one key may be named in place of it. */
static int is_only_key(int i)
{
    return (!i || strcmp(keys[i - 1].section, keys[i].section)) && (i == n_keys - 1 || strcmp(keys[i + 1].section, keys[i].section));
}

static int find(const char *name)
{
    for (int i = 0; i < n_keys; i++) {
        size_t n = strlen(keys[i].section);
        if (strncasecmp(name, keys[i].section, n))
            continue;
        if (name[n] == '.' ? !strcasecmp(name + n + 1, keys[i].key) : !name[n] && is_only_key(i))
            return i;
    }
    return -1;
}

static int parse_bool(const char *s, int *out)
{
    static const char *const yes[] = {"yes", "true", "on", "1"}, *const no[] = {"no", "false", "off", "0"};
    for (int i = 0; i < 4; i++) {
        if (!strcasecmp(s, yes[i])) {
            *out = 1;
            return 0;
        }
        if (!strcasecmp(s, no[i])) {
            *out = 0;
            return 0;
        }
    }
    return -1;
}

static int parse_int(const char *s, int64_t *out)
{
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (errno || end == s || *end)
        return -1;
    *out = v;
    return 0;
}

/* A kind that nobody has told in this process takes every word: whoever uses it knows its forms. Nothing is the first form, where
 * no other word may stand for it. */
static int is_form(const struct sk_key *k, const char *s)
{
    const struct sk_kind *kind = sk_kind_find(k->form_of);
    return !kind || sk_words_have(k->words, s) || sk_kind_form(kind, s) >= 0 || (!*s && !k->words);
}

/* What is wrong with a value, NULL: nothing. */
static const char *complaint(const struct sk_key *k, const char *s)
{
    static __thread char range[80];
    int b;
    int64_t i;
    double d;
    uint64_t u;
    char *end;
    switch (k->kind) {
    case SK_SIZE:
        return sk_parse_size(s, &u) ? "is no size: write for example 4GiB" : NULL;
    case SK_TIME:
        return sk_parse_time(s, &d) ? "is no time: write for example 30s or 1.5h" : NULL;
    case SK_TIME_OR_AUTO:
        return strcmp(s, SK_AUTO) && sk_parse_time(s, &d)
                   ? "is no time: write for example 30s or 1.5h, or auto"
                   : NULL;
    case SK_INT:
        if (!parse_int(s, &i) && i >= k->low && i <= k->high)
            return NULL;
        snprintf(range, sizeof range, "is no whole number of %lld to %lld", (long long)k->low, (long long)k->high);
        return range;
    case SK_INT_OR_AUTO:
        return strcmp(s, SK_AUTO) && (parse_int(s, &i) || i < k->low || i > k->high) ? "is no whole number of 0 or more, nor auto" : NULL;
    case SK_REAL:
        d = strtod(s, &end);
        return end == s || *end || !isfinite(d) || d < 0 ? "is no number of 0 or more" : NULL;
    case SK_BOOL:
        return parse_bool(s, &b) ? "is neither yes nor no" : NULL;
    case SK_CHOICE:
        return sk_words_have(k->words, s) ? NULL : "is none of the choices";
    case SK_FORM:
        return is_form(k, s) ? NULL : "is none of the choices";
    case SK_TEXT:
    case SK_PATH:
        break;
    }
    return NULL;
}

/* The key that looks most like a mistyped name, for the remedy in an error. */
static const char *closest(const char *name)
{
    static __thread char out[96];
    int best = -1, best_score = 0;
    for (int i = 0; i < n_keys; i++) {
        char full[96];
        snprintf(full, sizeof full, "%s.%s", keys[i].section, keys[i].key);
        int score = 0;
        for (const char *a = name, *b = full; *a && *b && tolower((unsigned char)*a) == *b; a++, b++)
            score += 2;
        const char *a = name + strlen(name), *b = full + strlen(full);
        while (a > name && b > full && tolower((unsigned char)*--a) == *--b)
            score++;
        if (score > best_score) {
            best_score = score;
            best = i;
            strcpy(out, full);
        }
    }
    return best >= 0 && best_score > 4 ? out : "one of those that `saikai config` lists";
}

static int refuse(const struct sk_key *k, const char *name, const char *value, const char *bad, const char *where,
                  struct saikai_error *err)
{
    char words[256];
    return sk_fail(err, SAIKAI_ECONFIG, "%s: %s: '%.60s' %s%s%s", where, name, value, bad,
                   *sk_key_choices(k, words, sizeof words) ? ": " : "", words);
}

/* 1: a component that is still to be loaded may bring this form. */
static int may_come(const struct sk_config *c, const struct sk_key *k)
{
    const struct sk_kind *kind = c->expects && k->kind == SK_FORM ? sk_kind_find(k->form_of) : NULL;
    return kind && kind->component;
}

void sk_config_expect_components(struct sk_config *c)
{
    c->expects = 1;
}

int sk_config_settle(struct sk_config *c, struct saikai_error *err)
{
    int rc = sk_components_load(sk_config_text(c, "components.load"), err);
    c->expects = 0;
    for (int i = 0; i < n_keys; i++) {
        struct value *v = &c->v[i];
        const char *bad = v->text ? complaint(&keys[i], v->text) : NULL;
        char name[96];
        if (!bad)
            continue;
        snprintf(name, sizeof name, "%s.%s", keys[i].section, keys[i].key);
        int other = refuse(&keys[i], name, v->text, bad, v->where, rc ? NULL : err);
        rc = rc ? rc : other;
        free(v->text);
        free(v->where);
        *v = (struct value){0};
    }
    return rc;
}

/* What a shell does that was not asked, as in a file or a quoted setting: ~ and ~/… are the user's own home. NULL: no memory; *bad: it is none of both. */
static char *expand(const struct sk_key *k, const char *value, const char **bad)
{
    *bad = NULL;
    if (k->kind != SK_PATH || *value != '~')
        return strdup(value);
    const struct passwd *user = getenv("HOME") ? NULL : getpwuid(geteuid());
    const char *home = user ? user->pw_dir : getenv("HOME");
    if ((value[1] && value[1] != '/') || !home || *home != '/') {
        *bad = value[1] && value[1] != '/' ? "begins with another user's ~, which is not looked up: write the whole path, or ./~ for a file of that name"
                                           : "begins with ~, and there is no home (HOME): write the whole path";
        return NULL;
    }
    size_t n = strlen(home) + strlen(value);
    char *out = malloc(n);
    if (out)
        snprintf(out, n, "%s%s", home, value + 1);
    return out;
}

int sk_config_set(struct sk_config *c, const char *name, const char *value, enum sk_origin origin,
                  const char *where, struct saikai_error *err)
{
    int i = find(name);
    if (i < 0)
        return sk_fail(err, SAIKAI_ECONFIG, "%s: unknown key '%.60s'; did you mean %s?", where, name,
                       closest(name));
    const char *bad = complaint(&keys[i], value);
    if (bad && !may_come(c, &keys[i]))
        return refuse(&keys[i], name, value, bad, where, err);
    struct value *v = &c->v[i];
    if (v->text && origin < v->origin)
        return 0;
    char *text = expand(&keys[i], value, &bad), *from = bad ? NULL : strdup(where);
    if (bad)
        return refuse(&keys[i], name, value, bad, where, err);
    if (!text || !from) {
        free(text);
        free(from);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the configuration");
    }
    free(v->text);
    free(v->where);
    *v = (struct value){text, from, origin};
    return 0;
}

static char *trim(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    char *end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1]))
        end--;
    *end = 0;
    return s;
}

static int first_of(int rc, int next)
{
    return rc ? rc : next;
}

static int parse_line(struct sk_config *c, char *line, char section[64], const char *where,
                      enum sk_origin origin, struct saikai_error *err)
{
    line = trim(line);
    if (!*line || *line == '#' || *line == ';')
        return 0;
    size_t n = strlen(line);
    if (*line == '[') {
        if (line[n - 1] != ']' || n - 2 >= 64)
            return sk_fail(err, SAIKAI_ECONFIG, "%s: '%.60s' is no heading: write [section]", where, line);
        memcpy(section, line + 1, n - 2);
        section[n - 2] = 0;
        return 0;
    }
    char *eq = strchr(line, '=');
    if (!eq)
        return sk_fail(err, SAIKAI_ECONFIG, "%s: '%.60s' is no setting: write key = value", where, line);
    *eq = 0;
    char name[160];
    snprintf(name, sizeof name, "%s%s%.80s", section, *section ? "." : "", trim(line));
    char *value = trim(eq + 1);
    for (char *p = value; *p; p++) /* a comment after the value begins with white space and # */
        if (*p == '#' && p > value && isspace((unsigned char)p[-1])) {
            *p = 0;
            value = trim(value);
            break;
        }
    return sk_config_set(c, name, value, origin, where, err);
}

int sk_config_load_file(struct sk_config *c, const char *path, enum sk_origin origin,
                        struct saikai_error *err)
{
    void *data;
    size_t n;
    int rc = sk_io_slurp(path, 1 << 20, &data, &n, err);
    if (rc)
        return rc;
    char section[64] = "", *next = data;
    if (memchr(data, 0, n)) {
        free(data);
        return sk_fail(err, SAIKAI_ECONFIG, "%s holds a zero byte: not a text file", path);
    }
    for (int line = 1; next; line++) {
        char where[PATH_MAX + 16], *this = next;
        if ((next = strchr(this, '\n')))
            *next++ = 0;
        snprintf(where, sizeof where, "%s:%d", path, line);
        rc = first_of(rc, parse_line(c, this, section, where, origin, rc ? NULL : err));
    }
    free(data);
    return rc;
}

int sk_config_set_all(struct sk_config *c, const char *text, enum sk_origin origin,
                      struct saikai_error *err)
{
    char *copy = strdup(text), *save = NULL;
    if (!copy)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the configuration");
    int rc = 0;
    char section[64] = "";
    for (char *p = strtok_r(copy, ";\n", &save); p; p = strtok_r(NULL, ";\n", &save))
        rc = first_of(rc, parse_line(c, p, section,
                                     origin == SK_FROM_API ? "configuration given to saikai_init" : "command line", origin,
                                     rc ? NULL : err));
    free(copy);
    return rc;
}

static int load_environment(struct sk_config *c, struct saikai_error *err)
{
    int rc = 0;
    for (int i = 0; i < n_keys; i++) {
        char env[96], name[96], where[128];
        snprintf(env, sizeof env, "SAIKAI_%s_%s", keys[i].section, keys[i].key);
        for (char *p = env; *p; p++)
            *p = (char)toupper((unsigned char)*p);
        const char *value = getenv(env);
        if (!value)
            continue;
        snprintf(name, sizeof name, "%s.%s", keys[i].section, keys[i].key);
        snprintf(where, sizeof where, "environment %s", env);
        rc = first_of(rc, sk_config_set(c, name, value, SK_FROM_ENVIRONMENT, where, rc ? NULL : err));
    }
    return rc;
}

int sk_config_load(struct sk_config *c, struct saikai_error *err)
{
    struct saikai_error system = {0}, user = {0}, environment = {0};
    int rc = sk_config_load_file(c, "/etc/saikai.conf", SK_FROM_SYSTEM_FILE, &system);
    const char *file = getenv("SAIKAI_CONFIG"), *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char path[PATH_MAX] = "";
    if (file && *file)
        snprintf(path, sizeof path, "%s", file);
    else if (base && *base)
        snprintf(path, sizeof path, "%s/saikai.conf", base);
    else if (home && *home)
        snprintf(path, sizeof path, "%s/.config/saikai.conf", home);
    int user_rc = *path ? sk_config_load_file(c, path, SK_FROM_USER_FILE, &user) : 0;
    int environment_rc = load_environment(c, &environment);
    rc = rc == SAIKAI_ENOENT ? 0 : rc;
    user_rc = user_rc == SAIKAI_ENOENT && !(file && *file) ? 0 : user_rc;
    if (err)
        *err = rc ? system : user_rc ? user : environment_rc ? environment : *err;
    return first_of(first_of(rc, user_rc), environment_rc);
}

static int index_of(const char *name, enum sk_key_kind kind)
{
    int i = find(name);
    assert(i >= 0 && (keys[i].kind == kind || (kind == SK_TEXT && (keys[i].kind == SK_CHOICE || keys[i].kind == SK_FORM ||
                                                                   keys[i].kind == SK_PATH))));
    (void)kind;
    return i < 0 ? 0 : i;
}

const char *sk_config_value_at(const struct sk_config *c, int i)
{
    const char *text = c->v[i].text;
    return text && (*text || keys[i].kind != SK_FORM) ? text : sk_key_standard(&keys[i]);
}

const char *sk_config_text(const struct sk_config *c, const char *name)
{
    return sk_config_value_at(c, index_of(name, SK_TEXT));
}

int64_t sk_config_int(const struct sk_config *c, const char *name)
{
    int64_t v = 0;
    parse_int(sk_config_value_at(c, index_of(name, SK_INT)), &v);
    return v;
}

int64_t sk_config_int_or_auto(const struct sk_config *c, const char *name)
{
    const char *text = sk_config_value_at(c, index_of(name, SK_INT_OR_AUTO));
    int64_t v = 0;
    if (!strcmp(text, SK_AUTO))
        return (int64_t)SK_CONFIG_AUTO;
    parse_int(text, &v);
    return v;
}

double sk_config_real(const struct sk_config *c, const char *name)
{
    return strtod(sk_config_value_at(c, index_of(name, SK_REAL)), NULL);
}

double sk_config_time(const struct sk_config *c, const char *name)
{
    double v = 0;
    sk_parse_time(sk_config_value_at(c, index_of(name, SK_TIME)), &v);
    return v;
}

double sk_config_time_or_auto(const struct sk_config *c, const char *name)
{
    const char *text = sk_config_value_at(c, index_of(name, SK_TIME_OR_AUTO));
    double v = 0;
    if (!strcmp(text, "auto"))
        return SK_CONFIG_AUTO;
    sk_parse_time(text, &v);
    return v;
}

uint64_t sk_config_size(const struct sk_config *c, const char *name)
{
    uint64_t v = 0;
    sk_parse_size(sk_config_value_at(c, index_of(name, SK_SIZE)), &v);
    return v;
}

int sk_config_bool(const struct sk_config *c, const char *name)
{
    int v = 0;
    parse_bool(sk_config_value_at(c, index_of(name, SK_BOOL)), &v);
    return v;
}

int sk_config_count(void)
{
    return n_keys;
}

const struct sk_key *sk_config_key(int i)
{
    return &keys[i];
}

const char *sk_config_origin_at(const struct sk_config *c, int i)
{
    return c->v[i].where ? c->v[i].where : "default";
}

enum sk_origin sk_config_origin_kind_at(const struct sk_config *c, int i)
{
    return c->v[i].text ? c->v[i].origin : SK_FROM_DEFAULT;
}

static const struct {
    const char *word, *phrase;
} kinds[] = {
    [SK_TEXT] = {"text", "text"},
    [SK_PATH] = {"path", "path"},
    [SK_SIZE] = {"size", "size"},
    [SK_TIME] = {"time", "time"},
    [SK_TIME_OR_AUTO] = {"time|auto", "time, or auto"},
    [SK_INT] = {"integer", "whole number"},
    [SK_INT_OR_AUTO] = {"integer|auto", "whole number, or auto"},
    [SK_REAL] = {"real", "number"},
    [SK_BOOL] = {"yes|no", "yes or no"},
    [SK_CHOICE] = {NULL, "one of"},
    [SK_FORM] = {NULL, "one of"},
};

const char *sk_key_kind_word(const struct sk_key *k, char *out, size_t cap)
{
    const char *word = kinds[k->kind].word;
    return word ? word : sk_key_choices(k, out, cap);
}

const char *sk_key_kind_phrase(const struct sk_key *k)
{
    return kinds[k->kind].phrase;
}

char *sk_key_choices(const struct sk_key *k, char *out, size_t cap)
{
    const struct sk_kind *kind = k->kind == SK_FORM ? sk_kind_find(k->form_of) : NULL;
    if (kind)
        return sk_kind_words(kind, k->words, out, cap);
    snprintf(out, cap, "%s", k->words ? k->words : "");
    return out;
}

char *sk_key_help(const struct sk_key *k, char *out, size_t cap)
{
    const struct sk_kind *kind = k->form_of ? sk_kind_find(k->form_of) : NULL;
    int n = snprintf(out, cap, "%s%s", k->help, kind ? "; " : "");
    if (kind && n > 0 && (size_t)n < cap)
        sk_kind_help(kind, out + n, cap - (size_t)n);
    return out;
}

const char *sk_key_standard(const struct sk_key *k)
{
    const struct sk_kind *kind = k->kind == SK_FORM && !*k->standard ? sk_kind_find(k->form_of) : NULL;
    return kind ? kind->form(0, NULL) : k->standard;
}
