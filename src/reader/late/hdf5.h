/* The HDF5 library as a command sees it that may never need it: it is loaded with the first file that wants it (base/host/load.h). It brings some
 * forty libraries along (for clouds, which no checkpoint is in), and each start of each command would pay for them. Include this in place of
 * hdf5.h; a function that is missing here does not link. */
#ifndef SK_READER_LATE_HDF5_H
#define SK_READER_LATE_HDF5_H

#include <hdf5.h>

struct saikai_error;

#ifdef SK_HDF5_SONAME
#if H5_VERSION_GE(1, 12, 0)
#define SK_HDF5_OF_VERSION(X) X(H5Literate2) X(H5Oget_info3)
#else
#define SK_HDF5_OF_VERSION(X) X(H5Literate) X(H5Oget_info2)
#endif
#define SK_HDF5_FUNCTIONS(X) \
    X(H5Aclose) X(H5Acreate2) X(H5Awrite) X(H5Dclose) X(H5Dcreate2) X(H5Dget_chunk_info) X(H5Dget_create_plist) \
    X(H5Dget_num_chunks) X(H5Dget_offset) X(H5Dget_space) X(H5Dget_storage_size) X(H5Dget_type) X(H5Dopen2) X(H5Dread) \
    X(H5Dwrite) X(H5Eset_auto2) X(H5Fclose) X(H5Fcreate) X(H5Fget_create_plist) X(H5Fis_hdf5) X(H5Fopen) X(H5Gclose) \
    X(H5Gcreate2) X(H5Lexists) X(H5Oclose) X(H5Oexists_by_name) X(H5Oopen) X(H5Pclose) \
    X(H5Pcreate) X(H5Pget_chunk) X(H5Pget_external_count) X(H5Pget_layout) X(H5Pget_nfilters) X(H5Pget_userblock) \
    X(H5Pset_alloc_time) X(H5Pset_create_intermediate_group) X(H5Pset_fill_time) X(H5Pset_layout) X(H5Pset_obj_track_times) \
    X(H5Sclose) X(H5Screate) X(H5Screate_simple) X(H5Sget_simple_extent_dims) X(H5Sget_simple_extent_ndims) \
    X(H5Sget_simple_extent_npoints) X(H5Sget_simple_extent_type) X(H5Sselect_hyperslab) X(H5Tclose) X(H5Tcopy) X(H5Tcreate) \
    X(H5Tdetect_class) X(H5Tget_class) X(H5Tget_order) X(H5Tget_sign) X(H5Tget_size) X(H5Tinsert) X(H5Tis_variable_str) \
    X(H5Tset_cset) X(H5Tset_size) X(H5Tset_tag) X(H5check_version) X(H5dont_atexit) X(H5get_libversion) X(H5open) SK_HDF5_OF_VERSION(X)
#define SK_HDF5_IDS(X) \
    X(H5P_CLS_DATASET_CREATE_ID_g) X(H5P_CLS_LINK_CREATE_ID_g) X(H5T_C_S1_g) X(H5T_IEEE_F32BE_g) X(H5T_IEEE_F32LE_g) \
    X(H5T_IEEE_F64BE_g) X(H5T_IEEE_F64LE_g) X(H5T_NATIVE_DOUBLE_g) X(H5T_NATIVE_FLOAT_g) X(H5T_NATIVE_INT16_g) \
    X(H5T_NATIVE_INT32_g) X(H5T_NATIVE_INT64_g) X(H5T_NATIVE_INT8_g) X(H5T_NATIVE_UINT16_g) X(H5T_NATIVE_UINT32_g) \
    X(H5T_NATIVE_UINT64_g) X(H5T_NATIVE_UINT8_g) X(H5T_STD_I16BE_g) X(H5T_STD_I16LE_g) X(H5T_STD_I32BE_g) X(H5T_STD_I32LE_g) \
    X(H5T_STD_I64BE_g) X(H5T_STD_I64LE_g) X(H5T_STD_I8LE_g) X(H5T_STD_U16BE_g) X(H5T_STD_U16LE_g) X(H5T_STD_U32BE_g) \
    X(H5T_STD_U32LE_g) X(H5T_STD_U64BE_g) X(H5T_STD_U64LE_g) X(H5T_STD_U8LE_g)

#define SK_HDF5_FUNCTION(name) __typeof__(&name) name;
#define SK_HDF5_ID(name)       hid_t *name;
/* NULL until sk_hdf5_load has returned 0. */
extern struct sk_hdf5_late {
    SK_HDF5_FUNCTIONS(SK_HDF5_FUNCTION)
    SK_HDF5_IDS(SK_HDF5_ID)
} sk_hdf5_late;

/* Once per process; before any other call of HDF5. SAIKAI_ENOTSUP: it is not there, or another one than Saikai was built with. */
int sk_hdf5_load(struct saikai_error *err);

#ifndef SK_READER_LATE_OWN /* not where it is loaded */
#define H5Aclose sk_hdf5_late.H5Aclose
#define H5Acreate2 sk_hdf5_late.H5Acreate2
#define H5Awrite sk_hdf5_late.H5Awrite
#define H5Dclose sk_hdf5_late.H5Dclose
#define H5Dcreate2 sk_hdf5_late.H5Dcreate2
#define H5Dget_chunk_info sk_hdf5_late.H5Dget_chunk_info
#define H5Dget_create_plist sk_hdf5_late.H5Dget_create_plist
#define H5Dget_num_chunks sk_hdf5_late.H5Dget_num_chunks
#define H5Dget_offset sk_hdf5_late.H5Dget_offset
#define H5Dget_space sk_hdf5_late.H5Dget_space
#define H5Dget_storage_size sk_hdf5_late.H5Dget_storage_size
#define H5Dget_type sk_hdf5_late.H5Dget_type
#define H5Dopen2 sk_hdf5_late.H5Dopen2
#define H5Dread sk_hdf5_late.H5Dread
#define H5Dwrite sk_hdf5_late.H5Dwrite
#define H5Eset_auto2 sk_hdf5_late.H5Eset_auto2
#define H5Fclose sk_hdf5_late.H5Fclose
#define H5Fcreate sk_hdf5_late.H5Fcreate
#define H5Fget_create_plist sk_hdf5_late.H5Fget_create_plist
#define H5Fis_hdf5 sk_hdf5_late.H5Fis_hdf5
#define H5Fopen sk_hdf5_late.H5Fopen
#define H5Gclose sk_hdf5_late.H5Gclose
#define H5Gcreate2 sk_hdf5_late.H5Gcreate2
#define H5Lexists sk_hdf5_late.H5Lexists
#define H5Oclose sk_hdf5_late.H5Oclose
#define H5Oexists_by_name sk_hdf5_late.H5Oexists_by_name
#define H5Oopen sk_hdf5_late.H5Oopen
#define H5Pclose sk_hdf5_late.H5Pclose
#define H5Pcreate sk_hdf5_late.H5Pcreate
#define H5Pget_chunk sk_hdf5_late.H5Pget_chunk
#define H5Pget_external_count sk_hdf5_late.H5Pget_external_count
#define H5Pget_layout sk_hdf5_late.H5Pget_layout
#define H5Pget_nfilters sk_hdf5_late.H5Pget_nfilters
#define H5Pget_userblock sk_hdf5_late.H5Pget_userblock
#define H5Pset_alloc_time sk_hdf5_late.H5Pset_alloc_time
#define H5Pset_create_intermediate_group sk_hdf5_late.H5Pset_create_intermediate_group
#define H5Pset_fill_time sk_hdf5_late.H5Pset_fill_time
#define H5Pset_layout sk_hdf5_late.H5Pset_layout
#define H5Pset_obj_track_times sk_hdf5_late.H5Pset_obj_track_times
#define H5Sclose sk_hdf5_late.H5Sclose
#define H5Screate sk_hdf5_late.H5Screate
#define H5Screate_simple sk_hdf5_late.H5Screate_simple
#define H5Sget_simple_extent_dims sk_hdf5_late.H5Sget_simple_extent_dims
#define H5Sget_simple_extent_ndims sk_hdf5_late.H5Sget_simple_extent_ndims
#define H5Sget_simple_extent_npoints sk_hdf5_late.H5Sget_simple_extent_npoints
#define H5Sget_simple_extent_type sk_hdf5_late.H5Sget_simple_extent_type
#define H5Sselect_hyperslab sk_hdf5_late.H5Sselect_hyperslab
#define H5Tclose sk_hdf5_late.H5Tclose
#define H5Tcopy sk_hdf5_late.H5Tcopy
#define H5Tcreate sk_hdf5_late.H5Tcreate
#define H5Tdetect_class sk_hdf5_late.H5Tdetect_class
#define H5Tget_class sk_hdf5_late.H5Tget_class
#define H5Tget_order sk_hdf5_late.H5Tget_order
#define H5Tget_sign sk_hdf5_late.H5Tget_sign
#define H5Tget_size sk_hdf5_late.H5Tget_size
#define H5Tinsert sk_hdf5_late.H5Tinsert
#define H5Tis_variable_str sk_hdf5_late.H5Tis_variable_str
#define H5Tset_cset sk_hdf5_late.H5Tset_cset
#define H5Tset_size sk_hdf5_late.H5Tset_size
#define H5Tset_tag sk_hdf5_late.H5Tset_tag
#define H5check_version sk_hdf5_late.H5check_version
#define H5dont_atexit sk_hdf5_late.H5dont_atexit
#define H5get_libversion sk_hdf5_late.H5get_libversion
#define H5open sk_hdf5_late.H5open
#if H5_VERSION_GE(1, 12, 0)
#define H5Literate2 sk_hdf5_late.H5Literate2
#define H5Oget_info3 sk_hdf5_late.H5Oget_info3
#else
#define H5Literate sk_hdf5_late.H5Literate
#define H5Oget_info2 sk_hdf5_late.H5Oget_info2
#endif
#define H5P_CLS_DATASET_CREATE_ID_g (*sk_hdf5_late.H5P_CLS_DATASET_CREATE_ID_g)
#define H5P_CLS_LINK_CREATE_ID_g (*sk_hdf5_late.H5P_CLS_LINK_CREATE_ID_g)
#define H5T_C_S1_g (*sk_hdf5_late.H5T_C_S1_g)
#define H5T_IEEE_F32BE_g (*sk_hdf5_late.H5T_IEEE_F32BE_g)
#define H5T_IEEE_F32LE_g (*sk_hdf5_late.H5T_IEEE_F32LE_g)
#define H5T_IEEE_F64BE_g (*sk_hdf5_late.H5T_IEEE_F64BE_g)
#define H5T_IEEE_F64LE_g (*sk_hdf5_late.H5T_IEEE_F64LE_g)
#define H5T_NATIVE_DOUBLE_g (*sk_hdf5_late.H5T_NATIVE_DOUBLE_g)
#define H5T_NATIVE_FLOAT_g (*sk_hdf5_late.H5T_NATIVE_FLOAT_g)
#define H5T_NATIVE_INT16_g (*sk_hdf5_late.H5T_NATIVE_INT16_g)
#define H5T_NATIVE_INT32_g (*sk_hdf5_late.H5T_NATIVE_INT32_g)
#define H5T_NATIVE_INT64_g (*sk_hdf5_late.H5T_NATIVE_INT64_g)
#define H5T_NATIVE_INT8_g (*sk_hdf5_late.H5T_NATIVE_INT8_g)
#define H5T_NATIVE_UINT16_g (*sk_hdf5_late.H5T_NATIVE_UINT16_g)
#define H5T_NATIVE_UINT32_g (*sk_hdf5_late.H5T_NATIVE_UINT32_g)
#define H5T_NATIVE_UINT64_g (*sk_hdf5_late.H5T_NATIVE_UINT64_g)
#define H5T_NATIVE_UINT8_g (*sk_hdf5_late.H5T_NATIVE_UINT8_g)
#define H5T_STD_I16BE_g (*sk_hdf5_late.H5T_STD_I16BE_g)
#define H5T_STD_I16LE_g (*sk_hdf5_late.H5T_STD_I16LE_g)
#define H5T_STD_I32BE_g (*sk_hdf5_late.H5T_STD_I32BE_g)
#define H5T_STD_I32LE_g (*sk_hdf5_late.H5T_STD_I32LE_g)
#define H5T_STD_I64BE_g (*sk_hdf5_late.H5T_STD_I64BE_g)
#define H5T_STD_I64LE_g (*sk_hdf5_late.H5T_STD_I64LE_g)
#define H5T_STD_I8LE_g (*sk_hdf5_late.H5T_STD_I8LE_g)
#define H5T_STD_U16BE_g (*sk_hdf5_late.H5T_STD_U16BE_g)
#define H5T_STD_U16LE_g (*sk_hdf5_late.H5T_STD_U16LE_g)
#define H5T_STD_U32BE_g (*sk_hdf5_late.H5T_STD_U32BE_g)
#define H5T_STD_U32LE_g (*sk_hdf5_late.H5T_STD_U32LE_g)
#define H5T_STD_U64BE_g (*sk_hdf5_late.H5T_STD_U64BE_g)
#define H5T_STD_U64LE_g (*sk_hdf5_late.H5T_STD_U64LE_g)
#define H5T_STD_U8LE_g (*sk_hdf5_late.H5T_STD_U8LE_g)
#endif
#else
static inline int sk_hdf5_load(struct saikai_error *err)
{
    (void)err;
    return 0;
}
#endif
#endif
