/* Restart: of what all ranks can give, the newest, or what was chosen. */
#ifndef SK_LIB_RESTART_H
#define SK_LIB_RESTART_H

#include "lib/session/session.h"

/* Collective: restore the newest generation that all ranks can give. *restored 1 and *iteration, or 0. */
int sk_session_restart(struct sk_session *s, int *restored, int64_t *iteration, struct saikai_error *err);
/* The same from a generation by name or iteration (chosen.h), or with an error; NULL: by restart.from. */
int sk_session_restart_from(struct sk_session *s, const char *which, int *restored, int64_t *iteration, struct saikai_error *err);

#endif
