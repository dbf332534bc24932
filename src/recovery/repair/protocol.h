/* Parallel FT protocols: how a repair in place makes the state of all ranks one again (run.protocol). */
#ifndef SK_RECOVERY_PROTOCOL_H
#define SK_RECOVERY_PROTOCOL_H

#include "base/config/kind.h"

enum sk_protocol { SK_PROTOCOL_COORDINATED, SK_PROTOCOL_LOGGING, SK_PROTOCOL_REPLICATION };

extern const struct sk_kind sk_protocol_kind;

/* The protocol of this name ("": coordinated), or SAIKAI_ECONFIG with a sentence. */
int sk_protocol_parse(const char *name, struct saikai_error *err);

#endif
