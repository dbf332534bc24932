/* The two ways to list an HDF5 file: the classic structures parsed here, everything else by the
 * HDF5 library. */
#ifndef SK_READER_READ_HDF5_H
#define SK_READER_READ_HDF5_H

#include "reader/reader.h"

/* Parse superblocks 0 to 3, object headers 1 and 2, symbol tables and compact links, contiguous and
 * unfiltered chunked data with version 1 trees: what nearly all checkpoint files hold, thousands of
 * times faster than the library. Input is hostile. SAIKAI_ENOTSUP: something else was met (scan may
 * hold part of the list), ask the library. */
int sk_hdf5_parse(const struct sk_view *src, struct sk_scan *scan, struct saikai_error *err);

/* What the reader asks for files that sk_hdf5_parse does not understand; NULL, as it is at first: they
 * are archived without their structure. Tools set it to sk_hdf5_ask_library before threads start; the
 * application's library must not bring an HDF5 of its own into a program that has another one. */
extern int (*sk_hdf5_asked)(const struct sk_view *src, struct sk_scan *scan,
                            struct saikai_error *err);

/* sk_archive_hdf5: the same by the HDF5 library, in a child process with limits. Fails with SAIKAI_EDAMAGED,
 * SAIKAI_ENOTSUP (a build without the library), SAIKAI_EIO, SAIKAI_ENOMEM. */
int sk_hdf5_ask_library(const struct sk_view *src, struct sk_scan *scan, struct saikai_error *err);

#endif
