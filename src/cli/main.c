/* saikai: the tools of Saikai, one subcommand each. */
#include "cli/cli.h"
#include "cli/kinds.h"

#include "base/file/standard.h"

#include <saikai/version.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *help;
    int (*run)(struct cli *cli, int argc, char **argv);
} commands[] = {
#define CLI_COMMAND(name, help) {#name, help, cli_##name},
#include "cli/commands.def"
#undef CLI_COMMAND
};
enum { n_commands = sizeof commands / sizeof *commands };

static void print_help(FILE *f)
{
    fputs("Usage: saikai COMMAND [OPTION...] [ARGUMENT...]\n"
          "       saikai help COMMAND [SUBCOMMAND]\n"
          "       saikai --version\n\n"
          "Keeps MPI programs alive: saves their state at the right time and brings them back.\n\n"
          "Commands:\n",
          f);
    for (int i = 0; i < n_commands; i++)
        fprintf(f, "  %-10s %s\n", commands[i].name, commands[i].help);
}

static int unknown_command(struct cli *cli, const char *word)
{
    const char *names[n_commands + 1];
    for (int i = 0; i < n_commands; i++)
        names[i] = commands[i].name;
    names[n_commands] = NULL;
    const char *near = cli_closest(word, names);
    return cli_usage(cli, "unknown command '%s'%s%s%s", word, near ? "; did you mean '" : "",
                     near ? near : "", near ? "'?" : "");
}

static int run(struct cli *cli, const char *name, int argc, char **argv)
{
    for (int i = 0; i < n_commands; i++)
        if (!strcmp(commands[i].name, name)) {
            cli->command = commands[i].name;
            return commands[i].run(cli, argc, argv);
        }
    return unknown_command(cli, name);
}

static int dispatch(struct cli *cli, int argc, char **argv)
{
    const char *own = argc ? strrchr(argv[0], '/') : NULL;
    if (argc && !strcmp(own ? own + 1 : argv[0], "saikai-archive"))
        return run(cli, "archive", argc, argv);
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    const char *word = argv[1];
    if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
        puts("saikai " SAIKAI_VERSION);
        return CLI_OK;
    }
    if (!strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h")) {
        if (argc == 3 && (!strcmp(argv[2], "help") || !strcmp(argv[2], "--help") || !strcmp(argv[2], "-h")))
            argc = 2;
        int most = argc > 2 && !strcmp(argv[2], "archive") ? 4 : 3; /* the one command with subcommands */
        if (argc > most)
            return cli_usage(cli, "help: '%s' is one argument too many", argv[most]);
        if (argc > 2) {
            char *args[] = {argv[2], argc == 4 ? argv[3] : "--help", argc == 4 ? "--help" : NULL, NULL};
            return run(cli, argv[2], argc - 1, args);
        }
        print_help(stdout);
        return CLI_OK;
    }
    if (word[0] == '-')
        return cli_usage(cli, "unknown option '%s': a command comes first, its options after it",
                         word);
    return run(cli, word, argc - 1, argv + 1);
}

/* Help and the choices of options know the components that files and environment name. What is wrong with them is said when a command
 * reads its configuration. */
static void load_components(void)
{
    struct sk_config *c = sk_config_new();
    if (!c)
        return;
    sk_config_expect_components(c);
    sk_config_load(c, NULL);
    sk_config_settle(c, NULL);
    sk_config_free(c);
}

int main(int argc, char **argv)
{
    sk_standard_hold();
    struct cli cli = {.config = sk_config_new()};
    if (!cli.config) {
        fputs("saikai: out of memory\n", stderr);
        return CLI_FAILED;
    }
    sk_cli_kinds_tell();
    sk_config_expect_components(cli.config);
    load_components();
    int rc = dispatch(&cli, argc, argv);
    sk_config_free(cli.config);
    if (fflush(stdout) || ferror(stdout)) {
        perror("saikai: cannot write to standard output");
        return rc ? rc : CLI_FAILED;
    }
    return rc;
}
