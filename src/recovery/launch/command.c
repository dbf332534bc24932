/* Command lines that grow, and the environment and the list of hosts that belong to them. */
#include "recovery/launch/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void append(char ***list, int *n, int *failed, char *text)
{
    char **p = text ? realloc(*list, sizeof *p * (size_t)(*n + 2)) : NULL;
    if (!p) {
        free(text);
        *failed = 1;
        return;
    }
    p[(*n)++] = text;
    p[*n] = NULL;
    *list = p;
}

static char *format(const char *fmt, va_list ap)
{
    char *text = NULL;
    return vasprintf(&text, fmt, ap) < 0 ? NULL : text;
}

void sk_command_add(struct sk_command *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    append(&c->argv, &c->n, &c->failed, format(fmt, ap));
    va_end(ap);
}

void sk_command_set(struct sk_command *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    append(&c->env, &c->n_env, &c->failed, format(fmt, ap));
    va_end(ap);
}

static void free_list(char **list)
{
    for (char **p = list; p && *p; p++)
        free(*p);
    free(list);
}

void sk_command_free(struct sk_command *c)
{
    free_list(c->argv);
    free_list(c->env);
    if (c->hosts_fd >= 0)
        close(c->hosts_fd);
    *c = (struct sk_command){.hosts_fd = -1};
}

int sk_command_hosts(struct sk_command *c, const char *text, char path[32],
                     struct saikai_error *err)
{
    c->hosts_fd = memfd_create("saikai-hosts", 0);
    size_t n = strlen(text);
    if (c->hosts_fd < 0 || write(c->hosts_fd, text, n) != (ssize_t)n)
        return sk_fail_errno(err, errno, "cannot write the list of hosts for the launcher");
    snprintf(path, 32, "/proc/self/fd/%d", c->hosts_fd);
    return 0;
}

int sk_command_check(char *const *program, struct saikai_error *err)
{
    for (; program && *program; program++)
        if (!strcmp(*program, ":"))
            return sk_fail(err, SAIKAI_ECONFIG,
                           "an argument ':' begins another program for the MPI's launcher, whose ranks would run without Saikai: start one program "
                           "on all ranks, such as a script that chooses by the rank in its environment (OMPI_COMM_WORLD_RANK, PMI_RANK)");
    return 0;
}

int sk_command_split(struct sk_command *c, const char *what, const char *text,
                     struct saikai_error *err)
{
    char word[4096];
    for (const char *p = text; *p;) {
        size_t n = 0;
        int any = 0;
        while (*p == ' ' || *p == '\t')
            p++;
        for (char quote = 0; *p && (quote || (*p != ' ' && *p != '\t')); p++) {
            if (quote ? *p == quote : *p == '\'' || *p == '"') {
                quote = quote ? 0 : *p;
                any = 1;
                if (quote && !strchr(p + 1, quote))
                    return sk_fail(err, SAIKAI_ECONFIG,
                                   "%s: a quote is not closed: %.200s", what, text);
            } else if (n + 1 < sizeof word) {
                word[n++] = *p;
            }
        }
        word[n] = 0;
        if (n || any)
            sk_command_add(c, "%s", word);
    }
    return 0;
}
