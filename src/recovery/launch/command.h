/* Command lines for launchers, which grow argument by argument. */
#ifndef SK_RECOVERY_COMMAND_H
#define SK_RECOVERY_COMMAND_H

#include "base/error.h"

/* A command line that grows, and what its environment needs. It begins with hosts_fd -1, all else zero. */
struct sk_command {
    char **argv; /* ends with NULL */
    int n;
    char **env; /* "NAME=VALUE" to set, ends with NULL */
    int n_env;
    int hosts_fd; /* memory file with the list of hosts, inherited by the launcher; -1: none */
    int failed;   /* memory ran out */
};

void sk_command_free(struct sk_command *c);
void sk_command_add(struct sk_command *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void sk_command_set(struct sk_command *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Text split into arguments: white space separates, single and double quotes keep together. what: where it comes from, for
 * the sentence that says that a quote is not closed. */
int sk_command_split(struct sk_command *c, const char *what, const char *text,
                     struct saikai_error *err);
/* SAIKAI_ECONFIG for program and arguments that no launcher passes on as they are: a word ":" is where all of them begin another program. */
int sk_command_check(char *const *program, struct saikai_error *err);
/* Text as a file that the launcher can open by *path = "/proc/self/fd/N"; valid as long as the
 * command. */
int sk_command_hosts(struct sk_command *c, const char *text, char path[32],
                     struct saikai_error *err);

#endif
