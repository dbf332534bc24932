/* Reading files where they lie in archives: any bytes of any file, without restoring one.
 *
 * A block is decoded whole, all its segments are compared with their hashes, and it is kept while
 * there is room: whoever reads the files one after another, each from its beginning to its end, has
 * few blocks decoded twice, as neighbours in a block are neighbours in this order. */
#ifndef SK_ARCHIVE_READ_INSIDE_H
#define SK_ARCHIVE_READ_INSIDE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct sk_inside;

/* Local. memory_bytes: limit for decoded blocks, 0: 256 MiB; at least one is kept. Shared by
 * counting: freed by the last of as many sk_inside_release as there were sk_inside_new and
 * sk_inside_share. */
int sk_inside_new(uint64_t memory_bytes, struct sk_inside **out, struct saikai_error *err);
void sk_inside_share(struct sk_inside *s);
void sk_inside_release(struct sk_inside *s); /* NULL is accepted */

/* Open one more archive. Local, before anything is read. Memory: its index and 24 bytes for each
 * segment. Errors name the archive; after one the others can be read. Those of sk_ska_read. */
int sk_inside_add(struct sk_inside *s, const char *path, struct saikai_error *err);

/* The files of all archives are numbered in the order they were added. */
size_t sk_inside_count(const struct sk_inside *s);
const char *sk_inside_name(const struct sk_inside *s, size_t file);
uint64_t sk_inside_size(const struct sk_inside *s, size_t file);
/* The path of the archive that holds it. */
const char *sk_inside_archive(const struct sk_inside *s, size_t file);

/* Bytes [at, at + n) of a file, every one checked. Local, blocks; several threads may call it at
 * once, one at a time decodes. SAIKAI_EDAMAGED, also for bytes that the file does not have;
 * SAIKAI_EIO, SAIKAI_ENOMEM, and what sk_unpack_block fails with. Errors name the archive. */
int sk_inside_read(struct sk_inside *s, size_t file, uint64_t at, void *data, size_t n,
                   struct saikai_error *err);

/* Decode and check all blocks of which nothing has been asked for so far, and say of each that is
 * damaged which one: fault returns 0 to go on. progress (may be NULL) gets the stored bytes checked
 * since the last call. Fails as fault does, or for want of memory. */
int sk_inside_check_rest(struct sk_inside *s,
                         int (*fault)(void *arg, const char *archive,
                                      const struct saikai_error *why),
                         void (*progress)(void *arg, uint64_t more_bytes), void *arg,
                         struct saikai_error *err);

/* 1: each archive still has its name; it was not removed while it was read. */
int sk_inside_is_there(const struct sk_inside *s);

#endif
