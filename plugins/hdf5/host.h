/* The HDF5 library of the program that loaded the plug-in.
 *
 * The plug-in is not linked to HDF5: a second copy (serial beside parallel, another version) in one
 * process would not know the first one's handles. Its functions are looked up in the process
 * instead, also where the host loaded HDF5 without making its symbols global, as interpreters do.
 */
#ifndef SAIKAI_HDF5_HOST_H
#define SAIKAI_HDF5_HOST_H

#include <hdf5.h>

struct host {
    H5T_class_t (*H5Tget_class)(hid_t);
    size_t (*H5Tget_size)(hid_t);
    H5T_order_t (*H5Tget_order)(hid_t);
    H5T_sign_t (*H5Tget_sign)(hid_t);
    int (*H5Pget_chunk)(hid_t, int, hsize_t *);
    herr_t (*H5Pget_filter_by_id2)(hid_t, H5Z_filter_t, unsigned *, size_t *, unsigned *, size_t,
                                   char *, unsigned *);
    int (*H5Pget_nfilters)(hid_t);
    H5Z_filter_t (*H5Pget_filter2)(hid_t, unsigned, unsigned *, size_t *, unsigned *, size_t,
                                   char *, unsigned *);
    herr_t (*H5Pmodify_filter)(hid_t, H5Z_filter_t, unsigned, size_t, const unsigned *);
    herr_t (*H5Epush2)(hid_t, const char *, const char *, unsigned, hid_t, hid_t, hid_t,
                       const char *, ...);
    hid_t *cls, *major, *minor; /* HDF5's error class, "data filters", "filter failed" */
    int drops_what_filters_push; /* nobody would see on the error stack what went wrong */
};

/* The one table, NULL when a function is missing from this process. Thread-safe. */
const struct host *host_hdf5(void);

#endif
