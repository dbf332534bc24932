/* Errors and usage errors with their exit codes, wrapped text, and the word that was probably
 * meant. */
#include "cli/cli.h"

#include "base/text/shown.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

int cli_usage(const struct cli *cli, const char *fmt, ...)
{
    va_list ap;
    const char *name = cli->command ? cli->command : "";
    char *text = NULL;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "saikai%s%s: %s\nSee 'saikai help%s%s'.\n", *name ? " " : "", name, n < 0 ? "no memory" : sk_shown(text), *name ? " " : "", name);
    if (n >= 0)
        free(text);
    return CLI_USAGE;
}

int cli_fail(const struct cli *cli, const struct saikai_error *err)
{
    fprintf(stderr, "saikai %s: %s\n", cli->command, sk_shown(err->text));
    return err->code == SAIKAI_ECONFIG ? CLI_USAGE : CLI_FAILED;
}

int cli_print_json(const struct cli *cli, struct sk_json *j, int code)
{
    struct saikai_error err = {0};
    int rc = sk_json_print(j, stdout, &err);
    sk_json_free(j);
    if (!rc)
        return code;
    __fpurge(stdout); /* what it did not take is told here, and not once more at the end */
    clearerr(stdout);
    return cli_fail(cli, &err);
}

void cli_wrap(FILE *f, int indent, const char *text)
{
    int column = 0;
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (!column || column + 1 + (int)n > 80)
            column = fprintf(f, "%s%*s", column ? "\n" : "", indent, "") - (column > 0);
        else
            column += fprintf(f, " ");
        column += fprintf(f, "%.*s", (int)n, text);
        text += n;
        if (*text == '\n') {
            fputc('\n', f);
            column = 0;
        }
        text += *text != 0;
    }
    if (column)
        fputc('\n', f);
}

/* Edits (insert, remove, change, swap of neighbours) from a to b, for short words. */
static int distance(const char *a, const char *b)
{
    enum { most = 40 };
    int n = (int)strlen(a), m = (int)strlen(b), d[most + 1][most + 1];
    if (n > most || m > most)
        return most;
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            if (!i || !j) {
                d[i][j] = i + j;
                continue;
            }
            int best = d[i - 1][j - 1] + (tolower((unsigned char)a[i - 1]) != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[n][m];
}

const char *cli_closest(const char *word, const char *const *candidates)
{
    const char *best = NULL;
    int least = 1 + (int)strlen(word) / 2;
    if (least > 4)
        least = 4;
    for (; *candidates; candidates++) {
        int d = distance(word, *candidates);
        if (d < least) {
            least = d;
            best = *candidates;
        }
    }
    return best;
}
