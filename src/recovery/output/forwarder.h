/* Who carries generations from the prefix to an output (output.to) while a job runs: a process beside `saikai run`, so that a method may wait,
 * hang or crash without anybody noticing but for one line. */
#ifndef SK_RECOVERY_FORWARDER_H
#define SK_RECOVERY_FORWARDER_H

#include "base/config/config.h"

#include <stdint.h>

struct sk_forwarder;

/* Where nothing is in the prefix, bring back what the output has of it, when output.back and restart.mode say so; what was brought is
 * said. Blocks. An output that fails is an error: the job would begin anew without a word. */
int sk_forwarder_bring_back(const struct sk_config *c, struct saikai_error *err);

/* Begin (NULL in *out: there is no output, or no prefix). run: the number of this `saikai run` in its stores. To be called while the process
 * has one thread: it forks. SAIKAI_ECONFIG: output.to is wrong. */
int sk_forwarder_new(const struct sk_config *c, uint64_t run, struct sk_forwarder **out, struct saikai_error *err);
/* The job has ended: let it carry what is newest, wait for that (output.final_wait at most, or until a signal comes that is blocked here), and end
 * it. NULL is accepted. */
void sk_forwarder_finish(struct sk_forwarder *k);
/* End it at once. NULL is accepted. */
void sk_forwarder_free(struct sk_forwarder *k);

#endif
