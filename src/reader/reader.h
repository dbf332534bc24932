/* Readers: where the raw data of a checkpoint file lies. One table of functions per file form.
 *
 * A reader reports extents, each one variable (or one record or chunk of it) stored contiguously
 * and uncompressed in the file. What no extent covers is the file's skeleton: headers, attributes,
 * filtered chunks, padding. Skeleton and extents together are the file, byte for byte, whatever the
 * reader understood: a file that no reader knows is all skeleton. A reader decides how well a file
 * compresses, never whether it comes back. */
#ifndef SK_READER_READER_H
#define SK_READER_READER_H

#include "base/error.h"
#include "base/config/kind.h"

#include <stddef.h>
#include <stdint.h>

struct sk_extent {
    uint64_t offset, length; /* bytes in the file; length = product(dims) * size of type */
    int type;                /* enum saikai_type */
    int big_endian;          /* 1: elements are stored most significant byte first */
    int ndims;
    size_t dims[SAIKAI_MAX_DIMS]; /* dims[0] varies slowest */
    int fields;                   /* 1: the last dimension numbers unlike fields of a record */
    int repeat;                   /* set by who plans archives: its bytes are elsewhere, too */
    char *name;                   /* "Group/Variable"; owned by the scan */
};

/* What a scan found. Zeroed is empty. */
struct sk_view;
struct sk_scan {
    const char *form; /* name of the reader, NULL: none knew the file */
    struct sk_extent *extents;
    size_t count, cap;
    /* for readers of files that hold files: sk_scan_source */
    int (*scan_inner)(const struct sk_view *src, struct sk_scan *scan, struct saikai_error *why);
};

/* The file a reader looks at. It may be cut short by another process while it is looked at, so that
 * it is not mapped: what is asked for is read. */
struct sk_view {
    const char *path;
    const uint8_t *data; /* all of it, when it is in memory already; else NULL */
    uint64_t size;
    struct sk_view_pages *pages; /* view.c: what has been read of it */
    uint64_t start;         /* where it begins in the pages: not 0 for a file within a file */
};

struct sk_reader_ops {
    const char *name, *description;
    /* 1: the file looks like this form. Cheap: the first bytes. */
    int (*probe)(const struct sk_view *src);
    /* Append the file's extents to scan (any order). Input is hostile: any bytes give extents or an
     * error, and the caller checks that they lie inside the file. Fails with SAIKAI_EDAMAGED,
     * SAIKAI_ENOTSUP, SAIKAI_ENOMEM. */
    int (*scan)(const struct sk_view *src, struct sk_scan *scan, struct saikai_error *err);
};

extern const struct sk_kind sk_reader_kind;
/* The i-th reader of the table, NULL past the end. */
const struct sk_reader_ops *sk_reader_at(int i);

/* Scan a file with the first reader whose probe says yes. Extents come out sorted, disjoint and
 * inside the file; those that are not are dropped. Local; blocks on the file. A file that no reader
 * knows, or that is damaged in its reader's eyes, gives an empty scan and success, with the reason
 * in *why (if any; why->code 0: none). Fails with SAIKAI_ENOMEM only. The scan is released with
 * sk_scan_free. */
int sk_scan_source(const struct sk_view *src, struct sk_scan *scan, struct saikai_error *why);
/* The same for a path, with the file's size into *size_bytes. Fails also with SAIKAI_EIO,
 * SAIKAI_ENOENT, SAIKAI_ECHANGED (the file became shorter). */
int sk_scan_file(const char *path, struct sk_scan *scan, uint64_t *size_bytes,
                 struct saikai_error *why, struct saikai_error *err);

/* Layout descriptions of raw formats (read_raw.c): add the text of one, which names itself; it is
 * tried before the built-in forms. Set before threads start. Fails with SAIKAI_EINVAL naming the
 * line. docs/format-raw.md has the language. */
int sk_raw_describe(const char *text, const char *where, struct saikai_error *err);

/* The same for the descriptions that come with Saikai (NICAM, LAMMPS); once is enough, again does
 * nothing. */
void sk_raw_describe_shipped(void);

extern const struct sk_reader_ops sk_reader_netcdf3;
extern const struct sk_reader_ops sk_reader_hdf5;
extern const struct sk_reader_ops sk_reader_raw;
extern const struct sk_reader_ops sk_reader_skc;
extern const struct sk_reader_ops sk_reader_fortran;

#endif
