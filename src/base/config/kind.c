/* Kinds and the words that their forms are known by. */
#include "base/config/kind.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MOST_KINDS = 48 };

/* The kinds that this process knows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct sk_kind *told[MOST_KINDS];
static int n_told;

int sk_is_auto(const char *word)
{
    return !word || !*word || !strcmp(word, SK_AUTO);
}

/* With the lock. */
static const struct sk_kind *find(const char *name)
{
    for (int i = 0; i < n_told; i++)
        if (!strcmp(told[i]->name, name))
            return told[i];
    return NULL;
}

void sk_kinds_tell(const struct sk_kind *const *list)
{
    pthread_mutex_lock(&lock);
    for (; *list && n_told < MOST_KINDS; list++)
        if (!find((*list)->name))
            told[n_told++] = *list;
    pthread_mutex_unlock(&lock);
}

const struct sk_kind *sk_kind_find(const char *name)
{
    pthread_mutex_lock(&lock);
    const struct sk_kind *k = find(name);
    pthread_mutex_unlock(&lock);
    return k;
}

const struct sk_kind *sk_kind_at(int i)
{
    pthread_mutex_lock(&lock);
    const struct sk_kind *k = i >= 0 && i < n_told ? told[i] : NULL;
    pthread_mutex_unlock(&lock);
    return k;
}

int sk_kind_form(const struct sk_kind *k, const char *name)
{
    const char *at;
    for (int i = 0; (at = k->form(i, NULL)); i++)
        if (!strcmp(at, name))
            return i;
    return -1;
}

/* Append to a text that is cut where there is no more room. */
static size_t add(char *out, size_t cap, size_t n, const char *between, const char *a, const char *b)
{
    int more = snprintf(out + n, cap - n, "%s%s%s", n ? between : "", a, b);
    return more < 0 ? n : n + (size_t)more < cap ? n + (size_t)more : cap - 1;
}

char *sk_kind_words(const struct sk_kind *k, const char *before, char *out, size_t cap)
{
    const char *name;
    size_t n = before ? add(out, cap, 0, "", before, "") : 0;
    for (int i = 0; (name = k->form(i, NULL)); i++)
        n = add(out, cap, n, "|", name, "");
    if (!n)
        *out = 0;
    return out;
}

char *sk_kind_help(const struct sk_kind *k, char *out, size_t cap)
{
    const char *name, *about = NULL;
    size_t n = 0;
    *out = 0;
    for (int i = 0; (name = k->form(i, &about)); i++)
        if (about) {
            n = add(out, cap, n, "; ", name, ": ");
            n = add(out, cap, n, "", about, "");
        }
    return out;
}

int sk_kind_unknown(const struct sk_kind *k, const char *before, const char *word, struct saikai_error *err)
{
    char words[256], spelled[300];
    return sk_fail(err, SAIKAI_EINVAL, "unknown %s '%.60s': %s", k->what, word ? word : "",
                   sk_words_spell(sk_kind_words(k, before, words, sizeof words), spelled, sizeof spelled));
}

int sk_words_have(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = words; n && p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
        if (!strncmp(p, word, n) && (p[n] == '|' || !p[n]))
            return 1;
    return 0;
}

char *sk_words_spell(const char *words, char *out, size_t cap)
{
    size_t n = 0;
    *out = 0;
    for (const char *p = words; p && *p;) {
        size_t length = strcspn(p, "|");
        int last = !p[length];
        int more = snprintf(out + n, cap - n, "%s%.*s", !n ? "" : last ? " or " : ", ", (int)length, p);
        n = n + (size_t)more < cap ? n + (size_t)more : cap - 1;
        p = last ? NULL : p + length + 1;
    }
    return out;
}
