/* Chooses a remote shell and makes its command line. */
#include "recovery/launch/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sk_agent_choose(const struct sk_config *c, char *out, size_t cap)
{
    const char *told = sk_config_text(c, "run.agent");
    const char *const names[] = {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "HYDRA_LAUNCHER_EXEC"};
    for (size_t i = 0; !*told && i < sizeof names / sizeof *names; i++)
        told = getenv(names[i]) ? getenv(names[i]) : "";
    snprintf(out, cap, "%.*s", (int)strcspn(told, ":"), told); /* Open MPI takes a list */
    if (!out[strspn(out, " \t")])
        snprintf(out, cap, "ssh");
}

static int is_ssh(const char *program)
{
    const char *slash = strrchr(program, '/');
    return !strcmp(slash ? slash + 1 : program, "ssh");
}

void sk_agent_command(struct sk_command *c, const char *agent, const char *host, const char *script)
{
    static const char *const quiet[] = {"-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"};
    static const char blanks[] = " \t";
    int first = c->n;
    for (const char *p = agent; *(p += strspn(p, blanks)); p += strcspn(p, blanks))
        sk_command_add(c, "%.*s", (int)strcspn(p, blanks), p);
    for (size_t i = 0; c->n > first && is_ssh(c->argv[first]) && i < sizeof quiet / sizeof *quiet; i++)
        sk_command_add(c, "%s", quiet[i]);
    sk_command_add(c, "%s", host);
    sk_command_add(c, "%s", script);
}
