/* One parity file on disk: created under a temporary name, filled in any order, named when it is
 * whole; or opened and checked. All functions are local. The format is in parity.h. */
#ifndef SK_REDUNDANCY_PARITY_FILE_H
#define SK_REDUNDANCY_PARITY_FILE_H

#include "redundancy/set/parity.h"

struct sk_parity_file;

struct sk_kept_maps;

/* Create path (as path.new) for the member's share of the record. A file at recycle (NULL or
 * missing: none), of a generation that is no longer needed, gives its place and its pages: they are
 * written several times faster than fresh ones, and what it is too short by is reserved now. kept
 * (NULL: none) gives a mapping that is there already, and takes this file's when it is freed; it
 * must outlive the file. */
int sk_parity_create(const char *path, const char *recycle, struct sk_kept_maps *kept,
                     const struct sk_record *r, int member, struct sk_parity_file **out,
                     struct saikai_error *err);
/* Memory of parity block `number`; NULL: the file is fresh and is written block by block. Then
 * bytes go through the kernel, so that pages that do not exist yet are not cleared first, and a
 * full disk is found then. */
uint8_t *sk_parity_block(struct sk_parity_file *f, uint64_t number);
/* Block `number` as it was written: a pointer that stays valid until the file is closed, or scratch
 * (one block) filled with it; NULL after a read error. */
const uint8_t *sk_parity_read(struct sk_parity_file *f, uint64_t number, uint8_t *scratch,
                              struct saikai_error *err);
/* Block `number` is final and lies at data, its memory or any other: take its checksum, write it. A
 * failure is remembered until the file is sealed. */
void sk_parity_stored(struct sk_parity_file *f, uint64_t number, const uint8_t *data);
/* The next n bytes of all blocks from front to back, however they are cut. */
void sk_parity_append(struct sk_parity_file *f, const uint8_t *data, size_t n);
/* Before it is sealed: the store that its files are of; else it is of none. */
void sk_parity_of_store(struct sk_parity_file *f, struct sk_id store);
/* Write table and header for this record (now with all checksums) and sync when told. The record
 * must have the same length and numbers as at creation. */
int sk_parity_seal(struct sk_parity_file *f, const struct sk_record *r, int sync,
                   struct saikai_error *err);
/* Give it its name. */
int sk_parity_commit(struct sk_parity_file *f, int sync, struct saikai_error *err);

/* Open a file and read its header into *h (to be freed): SAIKAI_ENOENT, SAIKAI_EDAMAGED or
 * SAIKAI_EFORMAT with a sentence that names it. The blocks are not looked at yet. */
int sk_parity_open(const char *path, struct sk_parity_header *h, struct sk_parity_file **out,
                   struct saikai_error *err);
/* Compare the table with the header; then single blocks with the table; or the table and all blocks
 * that were not found good yet. SAIKAI_EDAMAGED. */
int sk_parity_check_table(struct sk_parity_file *f, struct saikai_error *err);
int sk_parity_check_block(struct sk_parity_file *f, uint64_t number, struct saikai_error *err);
int sk_parity_check(struct sk_parity_file *f, struct saikai_error *err);

/* As sk_files_abandon. */
void sk_parity_abandon(struct sk_parity_file *f);
/* Close; a file that was created and not committed is removed. NULL is accepted. */
void sk_parity_file_free(struct sk_parity_file *f);

#endif
