/* The parity file: what one member of a group keeps so that others can be rebuilt.
 *
 * All numbers little-endian; strings are u16 length and bytes. XXH3 is XXH3_64bits.
 *
 *   offset 0        u8[8]  "SKPARITY"
 *          8        u32    version, 2
 *          12       u32    header_bytes: where the blocks begin, a multiple of 4096
 *          16       u64    XXH3 of bytes 24 … header_bytes
 *          24       u32    member: whose file this is, its place in the group
 *          28       u32    bytes of the record
 *          32       u64    blocks: parity blocks in this file
 *          40       u64    XXH3 of the table
 *          48       u8[16] id of the store that the files are of, all zero: of none (version 1: it is missing)
 *          64              record (version 1: at 48), then zeros up to header_bytes
 *   header_bytes           blocks × block bytes, in the order of the stripes
 *   then                   table: u64 XXH3 of each block, in their order
 *
 * The record is the same in all files of a group and a generation:
 *
 *   u64 generation, u64 group, string scheme, u8 placement, u8 data columns, u8 parity rows, u8
 * members, u32 block bytes, u64 stripes, then for each member: u32 rank, string host, u32 files,
 * for each file: string name, u64 size, u64 XXH3, u32 mode (permission bits)
 *
 * A member's data are its files one after the other, cut into blocks; the last block is shorter and
 * counts as filled with zeros. Which member keeps what of a stripe follows from the scheme
 * (scheme.h). */
#ifndef SK_REDUNDANCY_PARITY_H
#define SK_REDUNDANCY_PARITY_H

#include "base/buf.h"
#include "base/id.h"
#include "redundancy/code/scheme.h"

#define SK_PARITY_VERSION 2
#define SK_MAX_HOST       64
/* Largest record that is written or believed. */
#define SK_MAX_RECORD (64u << 20)
#define SK_MAX_BLOCK  (4u << 20)

struct sk_parity_part {
    char *name; /* relative, below the directory of the member's files */
    uint64_t size_bytes, hash;
    uint32_t mode;
};

struct sk_member {
    uint32_t rank;
    char host[SK_MAX_HOST];
    uint64_t size_bytes; /* of all parts */
    uint32_t parts;
    struct sk_parity_part *part;
};

struct sk_record {
    uint64_t generation, group;
    struct sk_code code;
    uint32_t block;
    uint64_t stripes;
    struct sk_member member[SK_MAX_MEMBERS];
};

struct sk_parity_header {
    struct sk_record record;
    int member;
    struct sk_id store; /* none in version 1, and of files that are in no store */
    uint32_t header_bytes;
    uint64_t blocks, table_hash;
    uint64_t record_hash; /* XXH3 of the encoded record: equal for files that belong together */
};

/* All local. Free what the record owns; a zeroed record is accepted. */
void sk_record_free(struct sk_record *r);
/* Set stripes from the code, the block and the members' sizes; SAIKAI_EINVAL when they do not fit.
 */
int sk_record_finish(struct sk_record *r, struct saikai_error *err);
void sk_record_encode(const struct sk_record *r, struct sk_buf *out);
/* Input is hostile: any bytes give a record whose numbers fit together, or SAIKAI_EDAMAGED or
 * SAIKAI_EFORMAT. */
int sk_record_decode(const void *data, size_t n, struct sk_record *r, struct saikai_error *err);

/* Length of a member's data block of this number; 0 past its end. */
uint32_t sk_record_block_len(const struct sk_record *r, int member, uint64_t number);

/* The member part of a record: files of one rank. Used to exchange them before a record exists. */
void sk_member_encode(const struct sk_member *m, struct sk_buf *out);
int sk_member_decode(struct sk_rd *in, struct sk_member *m);
void sk_member_free(struct sk_member *m);

/* header_bytes, blocks and record_hash are computed; member, store, table_hash and the record are the
 * caller's. */
int sk_parity_encode(struct sk_parity_header *h, struct sk_buf *out, struct saikai_error *err);
/* As sk_record_decode. data[n] is the beginning of a file of file_bytes bytes: a file with a good
 * header but another length than the header says is SAIKAI_EDAMAGED. When n is too short, *need (if
 * not NULL) says how much to read. */
int sk_parity_decode(const void *data, size_t n, uint64_t file_bytes, struct sk_parity_header *h,
                     size_t *need, struct saikai_error *err);
void sk_parity_header_free(struct sk_parity_header *h);

/* 1: a relative path of plain components, safe to create below a directory. */
int sk_part_name_ok(const char *name);

#endif
