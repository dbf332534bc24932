/* Restart with another number of ranks, or other tiles: where every protected variable is a tile of
 * a global array or the same on all ranks, any rank count can read a generation, each rank the
 * parts that it needs out of the old ranks' files. All functions are collective unless they say
 * otherwise. */
#ifndef SK_LIB_RESHAPE_H
#define SK_LIB_RESHAPE_H

#include "lib/session/session.h"

/* Compare what the ranks declare, and set s->resume.reshapable. Rank 0 warns when the tiles of an array
 * leave a gap: this number of ranks goes on, another one will not be able to. SAIKAI_EINVAL: the
 * ranks declare different things (only looked at when one of them declares anything at all). */
int sk_reshape_begin(struct sk_session *s, struct saikai_error *err);

/* The generations that this rank can take part in, in no order, as keys in *key (to be freed): of
 * this number of ranks when its own file is there, of another one when the files of all its ranks
 * are, in the node-local directory or the prefix. Rank 0 alone looks through the prefix. Only for a
 * session that is reshapable. */
int sk_reshape_offers(struct sk_session *s, int64_t **key, size_t *count, struct saikai_error *err);

/* No generation was found: SAIKAI_ERANKS when there is one that another number of ranks wrote. It
 * is spread over nodes so that no rank sees all of it, or parts of it are not there at all: whoever
 * changed the number of ranks decides what that means. Else 0. */
int sk_reshape_unreachable(struct sk_session *s, struct saikai_error *err);

/* Restore every variable from generation g, whoever wrote it, verifying what is read; *run_id is
 * its run. Blocks. Memory beside the variables: where the tiles of one variable lie, and what
 * sk_container_read_box takes. Each rank gets its own code: 0, or for want of agreement the codes
 * of sk_session_restart; after an error the variables are undefined. Fatal to the restart, an older
 * generation would not help: SAIKAI_ERANKS names the variable or the gap, SAIKAI_ECHANGED what
 * differs. SAIKAI_EDAMAGED, SAIKAI_ENOENT, SAIKAI_EIO: a file, and no other copy of it. */
int sk_reshape_read(struct sk_session *s, struct sk_gen g, uint64_t *run_id,
                    struct saikai_error *err);

/* Local: why a program cannot be restarted with another number of ranks: the name of a variable,
 * NULL: it can. */
const char *sk_reshape_obstacle(const struct sk_vars *l);

#endif
