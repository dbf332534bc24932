/* What is done when the two processes of a rank have sent different messages (run.compare). A table of forms; none of them: nothing is compared. */
#ifndef SK_RECOVERY_COMPARE_H
#define SK_RECOVERY_COMPARE_H

#include "base/config/kind.h"

enum sk_compare { SK_COMPARE_OFF, SK_COMPARE_TELL, SK_COMPARE_RESTART, SK_COMPARE_GIVE_UP };

extern const struct sk_kind sk_compare_kind;

/* The one of this name ("": off), or SAIKAI_ECONFIG with a sentence. */
int sk_compare_parse(const char *name, struct saikai_error *err);

#endif
