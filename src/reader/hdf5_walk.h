/* All datasets of an HDF5 file, in time that grows with their number however deep they lie: each is opened from the
 * group that holds it. (H5Ovisit and names from the root on go down the whole way for each.) */
#ifndef SK_READER_WALK_HDF5_H
#define SK_READER_WALK_HDF5_H

#include "reader/late/hdf5.h"

enum { SK_HDF5_DEEPEST = 1 << 16 }; /* groups within groups */

enum sk_hdf5_walk_result { SK_HDF5_WALKED, SK_HDF5_STOPPED, SK_HDF5_FAILED, SK_HDF5_TOO_DEEP };

enum sk_hdf5_walk_names {
    SK_HDF5_ONCE,       /* one of a dataset's hard links */
    SK_HDF5_EVERY_NAME, /* each of its links, of whatever kind; links that lead nowhere are passed over */
};

/* Calls dataset(d, name without the first slash, arg), in the order of names, until it returns other than 0 (STOPPED). Groups are looked
 * into once, through hard links. */
enum sk_hdf5_walk_result sk_hdf5_walk(hid_t file, enum sk_hdf5_walk_names names, int (*dataset)(hid_t d, const char *name, void *arg),
                                      void *arg);

#endif
