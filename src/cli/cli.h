/* What the subcommands of saikai share: options, usage errors, exit codes.
 *
 * A subcommand is one file with `int cli_NAME(struct cli *, int argc, char **argv)` and one line of
 * commands.def. It describes itself with a struct cli_spec, calls cli_parse, and returns an exit
 * code. `saikai help NAME` and `saikai NAME --help` print what the spec says. */
#ifndef SK_CLI_CLI_H
#define SK_CLI_CLI_H

#include "base/config/config.h"
#include "base/error.h"
#include "base/text/json.h"

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1, /* it could not be done, or what was checked is not good */
    CLI_USAGE = 2,
    CLI_PARTIAL = 3, /* a part of it was done; what was not has been listed */
};

struct cli {
    const char *command; /* name of the running subcommand */
    struct sk_config
        *config; /* complete after cli_parse: command line, environment, files, defaults */
};

/* What an option takes, and the type that its `out` points to. */
enum cli_kind {
    CLI_FLAG = 1, /* int, set to 1 */
    CLI_TEXT,     /* const char *, points into argv */
    CLI_CHOICE,   /* const char *, one of `choices` */
    CLI_INT,      /* int64_t, 0 or more */
    CLI_REAL,     /* double, 0 or more */
    CLI_SIZE,     /* uint64_t bytes, "4GiB" */
    CLI_TIME,     /* double seconds, "1.5h" */
    CLI_LIST,     /* struct cli_list, the option may be repeated */
};

struct cli_option {
    char letter;      /* 0: none */
    const char *name; /* without the dashes */
    enum cli_kind kind;
    void *out;           /* untouched when the option is not given */
    const char *arg;     /* name of the argument in the help; NULL for flags */
    const char *choices; /* "a|b|c" for CLI_CHOICE */
    const char *help;
};

struct cli_list {
    const char **items; /* texts point into argv */
    int n;
};

struct cli_spec {
    const char *operands; /* "[DIR]", "-- PROGRAM [ARG...]"; "" for none */
    const char *about;    /* what the subcommand does: sentences, wrapped by the help */
    int min_operands;
    int max_operands;    /* -1: any number */
    int stop_at_operand; /* options end at the first operand: those of a program to start are not
                            ours */
    const struct cli_option *options; /* ends with a zeroed entry */
};

/* Read options and operands and complete cli->config. Every subcommand also takes --config FILE,
 * --set SECTION.KEY=VALUE and --help. Returns -1 to go on: then (*argv)[0 … *argc) are the
 * operands. Otherwise the exit code to return: usage errors have been reported with the argument at
 * fault and the remedy, help was printed. */
int cli_parse(struct cli *cli, const struct cli_spec *spec, int *argc, char ***argv);
void cli_list_free(struct cli_list *l);

/* Report a mistake in the command line and where to read on; returns CLI_USAGE. */
int cli_usage(const struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Report err on stderr; returns CLI_FAILED, for bad configuration CLI_USAGE. */
int cli_fail(const struct cli *cli, const struct saikai_error *err);
/* Print a JSON document on stdout, free it, and return the exit code: code when that went well. */
int cli_print_json(const struct cli *cli, struct sk_json *j, int code);

/* Print text wrapped at 80 columns with this indentation. */
void cli_wrap(FILE *f, int indent, const char *text);
/* The candidate most like a mistyped word, NULL when none is near. Candidates end with NULL. */
const char *cli_closest(const char *word, const char *const *candidates);

#define CLI_COMMAND(name, help) int cli_##name(struct cli *cli, int argc, char **argv);
#include "cli/commands.def"
#undef CLI_COMMAND

#endif
