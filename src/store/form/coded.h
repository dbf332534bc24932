/* Containers with coded variables are written piece by piece. */
#ifndef SK_STORE_CODED_H
#define SK_STORE_CODED_H

#include "store/form/container.h"

/* Write pieces as a container to_path, piece i through coding[i]; coding NULL: all plain. A chain that does not take the
 * type of its piece, and an empty piece, are stored plain: *index says what became of each (codec, bound, largest error,
 * stored bytes). A file that is there is overwritten in place, so that its blocks are used again; with sync it is on the
 * disk afterwards. Local, blocks; memory beside the pieces: what sk_stream_encode takes for one of them. index (to be
 * freed with sk_skc_index_free) and file_bytes may be NULL. On failure to_path is removed. Errors name the file, and the
 * piece that could not be coded: those of sk_stream_encode and of writing. */
int sk_container_write(const char *to_path, const struct sk_skc_header *h, const struct sk_piece *p,
                       const struct sk_coding *coding, size_t count, int sync,
                       struct sk_skc_index **index, uint64_t *file_bytes, struct saikai_error *err);

#endif
