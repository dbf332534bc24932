/* Completes a manual page from the tables that the programs are made of: copies a template and puts
 * the commands, the configuration keys or the error codes in the place of a line @COMMANDS@, @KEYS@
 * or @ERRORS@. usage: generate TEMPLATE > PAGE */
#include "base/config/config.h"
#include "cli/kinds.h"

#include <ctype.h>
#include <saikai/codes.h>
#include <stdio.h>
#include <string.h>

/* Text as mdoc wants it: no request at the start of a line, no escape, no macro named by accident.
 */
static void put_text(const char *s)
{
    if (*s == '.' || *s == '\'')
        fputs("\\&", stdout);
    for (; *s; s++)
        if (*s == '\\')
            fputs("\\e", stdout);
        else
            putchar(*s);
    putchar('\n');
}

static void commands(void)
{
    static const struct {
        const char *name, *help;
    } table[] = {
#define CLI_COMMAND(name, help) {#name, help},
#include "cli/commands.def"
#undef CLI_COMMAND
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        printf(".It Cm %s\n", table[i].name);
        put_text(table[i].help);
    }
}

static void keys(void)
{
    const char *section = "";
    char words[256], help[2048];
    for (int i = 0; i < sk_config_count(); i++) {
        const struct sk_key *k = sk_config_key(i);
        if (strcmp(section, k->section))
            printf("%s.Ss [%s]\n.Bl -tag -width Ds\n", *section ? ".El\n" : "", k->section);
        section = k->section;
        printf(".It Ic %s\n", k->key);
        put_text(sk_key_help(k, help, sizeof help));
        printf("(%s", sk_key_kind_phrase(k));
        const char *between = ": ", *standard = sk_key_standard(k);
        for (const char *p = sk_key_choices(k, words, sizeof words); *p; p += *p == '|') {
            int n = (int)strcspn(p, "|");
            printf("%s%.*s", between, n, p);
            between = ", ";
            p += n;
        }
        printf("; default: %s)\n", *standard ? standard : "empty");
    }
    puts(".El");
}

static void errors(void)
{
#define SAIKAI_ERROR(number, name, text)                                                           \
    printf(".It Dv SAIKAI_%s Ta \\-%d Ta %s\n", #name, number, text);
#include <saikai/errors.def>
#undef SAIKAI_ERROR
}

int main(int argc, char **argv)
{
    char line[1024];
    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!f) {
        fprintf(stderr, "usage: generate TEMPLATE > PAGE\n");
        return 2;
    }
    sk_cli_kinds_tell();
    while (fgets(line, sizeof line, f)) {
        if (!strcmp(line, "@COMMANDS@\n"))
            commands();
        else if (!strcmp(line, "@KEYS@\n"))
            keys();
        else if (!strcmp(line, "@ERRORS@\n"))
            errors();
        else
            fputs(line, stdout);
    }
    fclose(f);
    return fflush(stdout) ? 1 : 0;
}
