/* A member's files as one stream of bytes: read for coding, or written by a rebuild. All functions
 * are local. */
#ifndef SK_REDUNDANCY_STREAM_H
#define SK_REDUNDANCY_STREAM_H

#include "redundancy/set/parity.h"

struct sk_files;

enum sk_files_mode {
    SK_FILES_MAP,  /* files that nobody changes any more: read in place */
    SK_FILES_COPY, /* files of others: read into a buffer, so that a file cut short meanwhile is an
                       error, not a fault */
};

/* What is known of a file that is to be read.
 *
 * map: its bytes, in a mapping of the file that stays until the stream is freed, and for ever when
 * it was abandoned; NULL: they are read from the file. hash: the checksum of the whole file
 * (sk_hash64), when hash_known; it is believed here, and a rebuild finds when the bytes are others.
 */
struct sk_source {
    const void *map;
    uint64_t size_bytes; /* of map */
    uint64_t hash;
    int hash_known;
};

/* Open n files for reading; *m gets sizes, modes and names (its hashes come later). path[i] is
 * opened, name[i] (NULL: the last component of the path) is what the record says, source (may be
 * NULL) what the caller has of each already: SAIKAI_EINVAL when it has another size than the file.
 * On failure nothing stays open. */
int sk_files_open(const char *const path[], const char *const name[],
                  const struct sk_source source[], int n, enum sk_files_mode mode,
                  struct sk_member *m, struct sk_files **out, struct saikai_error *err);
/* The same for the files of a record in dir: SAIKAI_ENOENT or SAIKAI_EDAMAGED when one is missing
 * or has another size. */
int sk_files_open_member(const char *dir, const struct sk_member *m, enum sk_files_mode mode,
                         struct sk_files **out, struct saikai_error *err);
/* Create the files of a member below dir under temporary names. A full disk is found when they are
 * written: reserving first would be a pass of its own, while all others wait. */
int sk_files_create(const char *dir, const struct sk_member *m, struct sk_files **out,
                    struct saikai_error *err);

/* len bytes from offset: a pointer that stays valid until the stream is freed, or scratch filled
 * with them; NULL after a read error. */
const uint8_t *sk_files_read(struct sk_files *s, uint64_t offset, uint32_t len, uint8_t *scratch,
                             struct saikai_error *err);
/* Created files: write len bytes at offset. They go through the kernel, not through a mapping: a
 * page that does not exist yet is then not cleared, mapped and unmapped for what overwrites it. */
int sk_files_write(struct sk_files *s, uint64_t offset, uint32_t len, const uint8_t *data,
                   struct saikai_error *err);

/* Add the next len bytes of the stream to the checksums, from front to back. */
void sk_files_hash(struct sk_files *s, const uint8_t *data, uint32_t len);
/* The same for bytes at offset: what is missing before them is read first, what was added already
 * is not again. */
int sk_files_hash_at(struct sk_files *s, uint64_t offset, const uint8_t *data, uint32_t len,
                     struct saikai_error *err);
/* Complete the checksums of all files by reading what was not added yet. */
int sk_files_hash_rest(struct sk_files *s, struct saikai_error *err);
/* Checksums of the files, once all bytes were added, into m->part[].hash. */
void sk_files_hashes(struct sk_files *s, struct sk_member *m);
/* Created files: check against the record's checksums, sync, give them their names. SAIKAI_EDAMAGED
 * names the first file whose bytes are not those of the record; nothing is renamed then. */
int sk_files_check(struct sk_files *s, const struct sk_member *m, struct saikai_error *err);
/* Created files: set their modes, sync when told, give them their names. */
int sk_files_commit(struct sk_files *s, int sync, struct saikai_error *err);

/* The group failed in the middle of transfers from or to these files: free leaves the memory
 * mapped. NULL is accepted. */
void sk_files_abandon(struct sk_files *s);
/* Close; files created and not committed are removed. NULL is accepted. */
void sk_files_free(struct sk_files *s);

#endif
