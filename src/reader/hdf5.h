/* The reader of HDF5 files (and netCDF-4, which is HDF5), for archives and for tools: which datasets there are, of what type and
 * shape, how and where their bytes lie, and their elements.
 *
 * It knows two ways. The classic structures, which nearly all checkpoint files have, are parsed here, thousands of times faster than
 * by the HDF5 library; input is hostile there. Everything else the library is asked for. It is not safe on hostile files: a damaged
 * one can crash it or keep it busy for ever. So it always works in a child process with limits, and what it says comes back like any
 * stranger's words. libsaikai has the first way only: it must not bring an HDF5 of its own into a program that has another one. */
#ifndef SK_READER_HDF5_H
#define SK_READER_HDF5_H

#include "base/buf.h"
#include "reader/reader.h"

enum sk_hdf5_layout {
    SK_HDF5_INSIDE,    /* in its own description, in other files, or nowhere yet */
    SK_HDF5_ONE_PIECE, /* contiguous */
    SK_HDF5_CHUNKS,
};

/* Bytes of the file, as they are stored. */
struct sk_hdf5_piece {
    uint64_t offset, length;
};

struct sk_hdf5_dataset {
    char *name;     /* "Group/Variable" */
    int type;       /* enum saikai_type; 0: a text, a compound, whatever is neither integer nor float of 1 to 8 bytes */
    int big_endian; /* as it is stored */
    int ndims;      /* 0: a single value; may be more than SAIKAI_MAX_DIMS, then neither dims nor chunk nor pieces are told */
    size_t dims[SAIKAI_MAX_DIMS];  /* dims[0] varies slowest */
    size_t chunk[SAIKAI_MAX_DIMS]; /* with chunks: the shape of one */
    enum sk_hdf5_layout layout;
    int filtered; /* 1: chunks went through filters: their bytes are not elements */
    struct sk_hdf5_piece *pieces; /* where the elements lie in the file: all of it, or each chunk that is there; none when filtered */
    size_t piece_count, piece_cap;
};

/* What is in a file. Zeroed is nothing. */
struct sk_hdf5 {
    struct sk_hdf5_dataset *sets;
    size_t count, cap;
};

/* What is in src, in any order; one of several names may be told under each. pieces: 1 to be told them, too, which may take the library
 * long. Local; blocks on the file. *out is untouched on failure, else released with sk_hdf5_free. Fails with SAIKAI_EDAMAGED, SAIKAI_ENOTSUP (nobody here understands it), SAIKAI_EIO, SAIKAI_ENOMEM. */
int sk_hdf5_look(const struct sk_view *src, int pieces, struct sk_hdf5 *out, struct saikai_error *err);
void sk_hdf5_free(struct sk_hdf5 *contents); /* zeroed afterwards */

/* The dataset of a name ("/Group/Variable"; links of all kinds are followed) by the library, alone in *out and without its pieces.
 * Fails also with SAIKAI_ENOENT. */
int sk_hdf5_describe(const char *path, const char *name, struct sk_hdf5 *out, struct saikai_error *err);
/* Its elements, decoded and in native byte order: `bytes` (what its type and dims come to, more than 0) of them into *data, a mapping
 * that the caller unmaps. Fails with SAIKAI_EIO (damaged, or a filter is missing), SAIKAI_ENOMEM, SAIKAI_ENOTSUP (no library). */
int sk_hdf5_read(const char *path, const char *name, int type, size_t bytes, void **data, struct saikai_error *err);

/* ---- The two ways ---- */

/* Where the file's signature stands: at 0, 512, 1024, 2048 … (a user block may come before it). UINT64_MAX: nowhere. */
uint64_t sk_hdf5_signature(const struct sk_view *src);
/* Superblocks 0 to 3, object headers 1 and 2, symbol tables and compact links, contiguous and chunked data with version 1 trees.
 * SAIKAI_ENOTSUP: something else was met (out may hold part of the list, which the caller frees), ask the library. */
int sk_hdf5_parse(const struct sk_view *src, struct sk_hdf5 *out, struct saikai_error *err);

/* What is asked for files that sk_hdf5_parse does not understand; NULL, as it is at first: they are archived without their structure.
 * Tools set it to sk_hdf5_library before threads start. As sk_hdf5_look; ENOTSUP also in a build without the library. */
extern int (*sk_hdf5_asked)(const struct sk_view *src, int pieces, struct sk_hdf5 *out, struct saikai_error *err);
int sk_hdf5_library(const struct sk_view *src, int pieces, struct sk_hdf5 *out, struct saikai_error *err);

/* ---- Lists (hdf5_contents.c) ---- */

/* A copy of *d with this name and without pieces at the end of the list; NULL: no memory. It stays where it is until the next is added. */
struct sk_hdf5_dataset *sk_hdf5_add(struct sk_hdf5 *contents, const struct sk_hdf5_dataset *d, const char *name);
int sk_hdf5_add_piece(struct sk_hdf5_dataset *d, uint64_t offset, uint64_t length); /* SAIKAI_ENOMEM */
/* From a process to another. Decoding takes any bytes: SAIKAI_EDAMAGED, SAIKAI_ENOMEM; *out may then hold part of it. */
void sk_hdf5_encode(const struct sk_hdf5 *contents, struct sk_buf *out);
int sk_hdf5_decode(const void *data, size_t n, struct sk_hdf5 *out);

#endif
