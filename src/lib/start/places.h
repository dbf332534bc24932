/* Where a session saves to: the prefix and the node-local directory. */
#ifndef SK_LIB_START_PLACES_H
#define SK_LIB_START_PLACES_H

#include "lib/start/start.h"

/* 1: the path is the word 'none'. */
int sk_path_is_none(const char *path);
/* Rank 0: the prefix as an absolute path into st->prefix, made if need be; "" when there is none. After an error, too, when
 * the path alone says it: the prefix is away. */
int sk_places_find_prefix(struct sk_session *s, struct sk_start *st, struct saikai_error *err);
/* rc. To an error of missing rights in the prefix: what to do. Any other stays as it is. */
int sk_places_refuse(struct saikai_error *err, int rc);
/* Every rank: its local directory into s->place.local_root, made if need be, and the prefix into s->place.prefix_root. */
int sk_places_make_local(struct sk_session *s, const struct sk_start *st, struct saikai_error *err);
/* Every rank: *newest grows to the highest incarnation of which it finds a file in the prefix, waiting no longer than
 * store.prefix_timeout. */
int sk_places_scan_prefix(struct sk_session *s, int64_t *newest, struct saikai_error *err);

#endif
