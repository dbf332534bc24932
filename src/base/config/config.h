/* Configuration: one declared table of keys (config_keys.def, made of the rooms' own), values from six places.
 *
 * Precedence: command line > API > environment SAIKAI_<SECTION>_<KEY> > user file > system file > default.
 * Files are "[section]" headings with "key = value" lines, '#' and ';' begin comments. Unknown keys and values that do
 * not parse are errors that name the file, the line and the remedy. */
#ifndef SK_BASE_CONFIG_H
#define SK_BASE_CONFIG_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum sk_origin {
    SK_FROM_DEFAULT,
    SK_FROM_SYSTEM_FILE,
    SK_FROM_USER_FILE,
    SK_FROM_ENVIRONMENT,
    SK_FROM_API,
    SK_FROM_COMMAND_LINE,
};

enum sk_key_kind { SK_TEXT, SK_PATH, SK_SIZE, SK_TIME, SK_TIME_OR_AUTO, SK_INT, SK_INT_OR_AUTO, SK_REAL, SK_BOOL, SK_CHOICE, SK_FORM };

struct sk_key {
    const char *section, *key;
    enum sk_key_kind kind;
    const char *words;   /* "a|b|c" for SK_CHOICE; for SK_FORM those besides the forms' names, or NULL */
    const char *form_of; /* kind (base/config/kind.h) whose forms it names or, as a text, begins with; else NULL */
    int64_t low, high;   /* of SK_INT: the values that are possible */
    const char *standard; /* default value as text */
    const char *help;
};

/* Variables SAIKAI_… of the environment that are not settings: where they come from and what they are for. A name that ends in
 * '_' stands for all that begin with it. Ends with {NULL, NULL}. */
struct sk_variable {
    const char *name, *help;
};
extern const struct sk_variable sk_config_variables[];

struct sk_config;

/* A configuration with the defaults; NULL when memory is out. */
struct sk_config *sk_config_new(void);
void sk_config_free(struct sk_config *c);

/* Read what a process starts with: the system file (/etc/saikai.conf), the user file ($SAIKAI_CONFIG, else
 * $XDG_CONFIG_HOME/saikai.conf or ~/.config/saikai.conf; only $SAIKAI_CONFIG has to exist) and the environment. What is wrong
 * is left out, and the first such error told, here and below. */
int sk_config_load(struct sk_config *c, struct saikai_error *err);
int sk_config_load_file(struct sk_config *c, const char *path, enum sk_origin origin,
                        struct saikai_error *err);
/* From now on a name that no form has is accepted where a component may bring it, until sk_config_settle. */
void sk_config_expect_components(struct sk_config *c);
/* Load what components.load names (base/config/component.h: blocks) and check the names that were accepted. What is wrong is left out,
 * and the first such error told. */
int sk_config_settle(struct sk_config *c, struct saikai_error *err);
/* Tell every SAIKAI_… variable of the environment that is neither a setting nor another one of Saikai's, and the known name that
 * looks most like it. */
void sk_config_unknown_variables(void (*tell)(void *arg, const char *name, const char *meant), void *arg);
/* Set "section.key" from text; a value of lower precedence than the present one is checked and dropped. */
int sk_config_set(struct sk_config *c, const char *name, const char *value, enum sk_origin origin,
                  const char *where, struct saikai_error *err);
/* Set many: "section.key=value; section.key=value" (also separated by newlines). */
int sk_config_set_all(struct sk_config *c, const char *text, enum sk_origin origin,
                      struct saikai_error *err);

/* The value of a key of the table. Asking for a key that is not in it, or as the wrong kind, is a bug (abort in
 * debug builds, zero value otherwise). Strings belong to the configuration. */
const char *sk_config_text(const struct sk_config *c, const char *name);
int64_t sk_config_int(const struct sk_config *c, const char *name);
double sk_config_real(const struct sk_config *c, const char *name);
double sk_config_time(const struct sk_config *c, const char *name); /* seconds */
/* The same for keys that may also be "auto": SK_CONFIG_AUTO then. */
#define SK_CONFIG_AUTO (-1.0)
double sk_config_time_or_auto(const struct sk_config *c, const char *name);
int64_t sk_config_int_or_auto(const struct sk_config *c, const char *name);
uint64_t sk_config_size(const struct sk_config *c, const char *name);
int sk_config_bool(const struct sk_config *c, const char *name);

/* What values a key takes: a word for programs ("text", "time|auto", the choices, for which out is used), a phrase for people
 * ("time, or auto"). */
const char *sk_key_kind_word(const struct sk_key *k, char *out, size_t cap);
const char *sk_key_kind_phrase(const struct sk_key *k);
/* Its choices as "a|b|c", empty when it has none; its help with a line for each form; its default. out is returned. */
char *sk_key_choices(const struct sk_key *k, char *out, size_t cap);
char *sk_key_help(const struct sk_key *k, char *out, size_t cap);
const char *sk_key_standard(const struct sk_key *k);

/* The table, and where each value came from ("default", "environment SAIKAI_STORE_PREFIX", "/etc/saikai.conf:3"). */
int sk_config_count(void);
const struct sk_key *sk_config_key(int i);
const char *sk_config_value_at(const struct sk_config *c, int i);
const char *sk_config_origin_at(const struct sk_config *c, int i);
enum sk_origin sk_config_origin_kind_at(const struct sk_config *c, int i);

#endif
