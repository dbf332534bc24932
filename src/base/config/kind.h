/* Kinds: things that have several forms, such as redundancy schemes or interval models. The forms of a kind are one table in the
 * room that has them, and their names stand there only: what a configuration key may be set to, the choices and the help of an
 * option, the manual and the sentence about a name that is none of them are made from the table.
 *
 * A program tells once which kinds it has (sk_kinds_tell). Keys and options refer to a kind by its name. Thread-safe. */
#ifndef SK_BASE_KIND_H
#define SK_BASE_KIND_H

#include "base/error.h"

#include <stddef.h>

/* What may stand in place of a form's name where Saikai is to choose. */
#define SK_AUTO "auto"
/* 1: nothing (NULL, "") or "auto". */
int sk_is_auto(const char *word);

/* Most forms of one kind that are not built in (base/config/component.h). */
enum { SK_MOST_ADDED = 8 };

struct saikai_component;

struct sk_kind {
    const char *name; /* "scheme": as keys and options refer to it */
    const char *what; /* "redundancy scheme": in sentences */
    /* The name of the i-th form and one line about it, NULL past the last. about may be NULL. */
    const char *(*form)(int i, const char **about);
    /* Of a kind that components may add forms to, else NULL: what they call it, how large their table of functions is at least, and how
     * one that was checked becomes the n-th added form, n < SK_MOST_ADDED. It is seen by form() from then on; other threads may be
     * reading. */
    const char *component;
    size_t ops_size_bytes;
    void (*add)(const struct saikai_component *c, int n);
};

/* Define the kind `variable` whose forms are structs of a type with a name and a line about them, given by at(i): NULL past the
 * last. */
#define SK_KIND(variable, name_, what_, type, at, about_)                                                                           \
    static const char *variable##_form(int i, const char **about)                                                                  \
    {                                                                                                                              \
        const type *f = at(i);                                                                                                     \
        if (f && about)                                                                                                            \
            *about = f->about_;                                                                                                    \
        return f ? f->name : NULL;                                                                                                 \
    }                                                                                                                              \
    const struct sk_kind variable = {name_, what_, variable##_form, NULL, 0, NULL}

/* The same for a kind that components may add to: what they call it, and the type of their table of functions. */
#define SK_OPEN_KIND(variable, name_, what_, type, at, about_, component_, their_ops, add_)                                        \
    static const char *variable##_form(int i, const char **about)                                                                  \
    {                                                                                                                              \
        const type *f = at(i);                                                                                                     \
        if (f && about)                                                                                                            \
            *about = f->about_;                                                                                                    \
        return f ? f->name : NULL;                                                                                                 \
    }                                                                                                                              \
    const struct sk_kind variable = {name_, what_, variable##_form, component_, sizeof(their_ops), add_}

/* Tell the kinds of a list that ends with NULL; it must stay. A kind that is known already stays as it is. */
void sk_kinds_tell(const struct sk_kind *const *list);
/* The kind of this name, NULL: nobody told it. */
const struct sk_kind *sk_kind_find(const char *name);
/* The i-th of all that were told, NULL past the last. */
const struct sk_kind *sk_kind_at(int i);

/* The place of a form in its table, -1: no form has this name. */
int sk_kind_form(const struct sk_kind *k, const char *name);
/* What may be written: the words of `before` ("auto|none", NULL: no more) and then the names of all forms, separated by '|'.
 * Returns out. */
char *sk_kind_words(const struct sk_kind *k, const char *before, char *out, size_t cap);
/* "name: about; name: about" of all forms. Returns out. */
char *sk_kind_help(const struct sk_kind *k, char *out, size_t cap);
/* SAIKAI_EINVAL, and a sentence that names the word and what may be written. */
int sk_kind_unknown(const struct sk_kind *k, const char *before, const char *word, struct saikai_error *err);

/* 1: word is one of "a|b|c". */
int sk_words_have(const char *words, const char *word);
/* "a|b|c" as "a, b or c". Returns out. */
char *sk_words_spell(const char *words, char *out, size_t cap);

#endif
