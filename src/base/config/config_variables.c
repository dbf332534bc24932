/* Which variables of the environment are Saikai's: a mistyped one would else be ignored without a word. */
#include "base/config/config.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

extern char **environ;

static const char *const variables[] = {
#define SK_VARIABLE(name, help) name,
#include "base/config/config_variables.def"
#undef SK_VARIABLE
};
enum { n_variables = sizeof variables / sizeof *variables, LONGEST = 96 };

static void name_of_key(int i, char out[LONGEST])
{
    const struct sk_key *k = sk_config_key(i);
    snprintf(out, LONGEST, "SAIKAI_%s_%s", k->section, k->key);
    for (char *p = out; *p; p++)
        *p = (char)toupper((unsigned char)*p);
}

static int is_known(const char *name)
{
    char key[LONGEST];
    for (int i = 0; i < n_variables; i++) {
        size_t n = strlen(variables[i]);
        if (variables[i][n - 1] == '*' ? !strncmp(name, variables[i], n - 1) : !strcmp(name, variables[i]))
            return 1;
    }
    for (int i = 0; i < sk_config_count(); i++) {
        name_of_key(i, key);
        if (!strcmp(name, key))
            return 1;
    }
    return 0;
}

/* How many letters must be put in, left out or changed to make b of a. */
static int distance(const char *a, const char *b)
{
    int row[LONGEST + 1];
    size_t n = strlen(b);
    for (size_t j = 0; j <= n; j++)
        row[j] = (int)j;
    for (size_t i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            int change = diagonal + (toupper((unsigned char)a[i - 1]) != b[j - 1]);
            diagonal = row[j];
            int less = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < less ? change : less;
        }
    }
    return row[n];
}

static void nearest(const char *name, char out[LONGEST])
{
    char key[LONGEST];
    int best = INT_MAX;
    for (int i = 0; i < n_variables + sk_config_count(); i++) {
        if (i < n_variables)
            snprintf(key, sizeof key, "%s", variables[i]);
        else
            name_of_key(i - n_variables, key);
        int d = key[strlen(key) - 1] == '*' ? INT_MAX : distance(name, key);
        if (d < best) {
            best = d;
            memcpy(out, key, sizeof key);
        }
    }
}

void sk_config_unknown_variables(void (*tell)(void *arg, const char *name, const char *meant), void *arg)
{
    for (char **e = environ; e && *e; e++) {
        char name[LONGEST], meant[LONGEST] = "";
        size_t n = strcspn(*e, "=");
        if (strncmp(*e, "SAIKAI_", 7) || n >= sizeof name)
            continue;
        memcpy(name, *e, n);
        name[n] = 0;
        if (is_known(name))
            continue;
        nearest(name, meant);
        tell(arg, name, meant);
    }
}
