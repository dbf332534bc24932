/* The kinds that the tools have: those of the library and their own. */
#ifndef SK_CLI_KINDS_H
#define SK_CLI_KINDS_H

#include "base/config/kind.h"

/* Tell them (base/config/kind.h); again has no effect. */
void sk_cli_kinds_tell(void);

/* For tables of options: what may be written for a kind (as sk_kind_words), and a help text whose %s is "a, b or c" of its forms.
 * The text stays as long as the process; not thread-safe. */
const char *cli_forms(const struct sk_kind *kind, const char *before);
const char *cli_forms_help(const struct sk_kind *kind, const char *help);

#endif
