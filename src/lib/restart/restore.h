/* The generation that all ranks can give, and what of it is read. */
#ifndef SK_LIB_RESTORE_H
#define SK_LIB_RESTORE_H

#include "lib/session/session.h"

/* sk_session_restart with the places as they are; s->place.prefix_root "" leaves the prefix out. */
int sk_restore_newest(struct sk_session *s, int *restored, int64_t *iteration, struct saikai_error *err);
/* Collective: what is protected now gets the content that it has in the generation restored before, of which not all was wanted then
 * (resume.gate). Before the first candidate. */
int sk_session_restore_again(struct sk_session *s, struct saikai_error *err);
/* Where a file of the generation that was restored is. */
int sk_session_restored_file(struct sk_session *s, const char *name, char *out, size_t cap,
                             struct saikai_error *err);

#endif
