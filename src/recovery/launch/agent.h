/* The remote shell that reaches the hosts of a job. */
#ifndef SK_RECOVERY_AGENT_H
#define SK_RECOVERY_AGENT_H

#include "base/config/config.h"
#include "recovery/launch/command.h"

/* run.agent, else that of the MPI's launcher, else ssh; words with blanks between them. */
void sk_agent_choose(const struct sk_config *c, char *out, size_t cap);
/* Add the command that has the host's shell do what script says. */
void sk_agent_command(struct sk_command *c, const char *agent, const char *host, const char *script);

#endif
