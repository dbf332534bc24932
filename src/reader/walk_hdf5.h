/* All datasets of an HDF5 file, each once, in time that grows with their number however deep they lie: each is opened from the
 * group that holds it. (H5Ovisit and names from the root on go down the whole way for each.) */
#ifndef SK_READER_WALK_HDF5_H
#define SK_READER_WALK_HDF5_H

#include <hdf5.h>

enum { SK_HDF5_DEEPEST = 1 << 16 }; /* groups within groups */

enum sk_hdf5_walk_result { SK_HDF5_WALKED, SK_HDF5_STOPPED, SK_HDF5_FAILED, SK_HDF5_TOO_DEEP };

/* Calls dataset(d, name without the first slash, arg) until it returns other than 0 (STOPPED). Hard links are followed, others
 * are not. */
enum sk_hdf5_walk_result sk_hdf5_walk(hid_t file, H5_iter_order_t order, int (*dataset)(hid_t d, const char *name, void *arg), void *arg);

#endif
