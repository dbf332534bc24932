/* A host that keeps HDF5's symbols to itself, as interpreters do with their extension modules: the
 * plug-in must find them all the same. usage: local_host_test LIBHDF5 FILE.h5 (writes FILE.h5
 * through the filter and reads it back) */
#include <hdf5.h>

/* The header's macros would call the library directly. */
#undef H5OPEN
#define H5OPEN
#undef H5CHECK
#define H5CHECK

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *lib;

static void *find(const char *name)
{
    void *p = dlsym(lib, name);
    if (!p)
        fprintf(stderr, "no %s\n", name);
    return p;
}

#define CALL(f) ((__typeof__(&f))find(#f))

int main(int argc, char **argv)
{
    static double in[100][80], out[100][80];
    const hsize_t dims[2] = {100, 80};
    const unsigned values[1] = {0};
    if (argc != 3)
        return 2;
    if (!(lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)))
        return 77; /* HDF5 is not a shared library here */
    CALL(H5open)();
    hid_t real = *(hid_t *)find("H5T_NATIVE_DOUBLE_g");
    hid_t how = CALL(H5Pcreate)(*(hid_t *)find("H5P_CLS_DATASET_CREATE_ID_g"));
    for (int i = 0; i < 8000; i++)
        in[i / 80][i % 80] = i * 0.5;
    CALL(H5Pset_chunk)(how, 2, dims);
    CALL(H5Pset_filter)(how, 397, H5Z_FLAG_MANDATORY, 1, values);
    hid_t space = CALL(H5Screate_simple)(2, dims, NULL);
    hid_t file = CALL(H5Fcreate)(argv[2], H5F_ACC_TRUNC, 0, 0);
    hid_t d = CALL(H5Dcreate2)(file, "x", real, space, 0, how, 0);
    int bad = CALL(H5Dwrite)(d, real, 0, 0, 0, in) < 0 || CALL(H5Dclose)(d) < 0;
    d = CALL(H5Dopen2)(file, "x", 0);
    bad |= CALL(H5Dread)(d, real, 0, 0, 0, out) < 0 || memcmp(in, out, sizeof in);
    bad |= CALL(H5Dget_storage_size)(d) >= sizeof in;
    CALL(H5Dclose)(d);
    bad |= CALL(H5Fclose)(file) < 0;
    return bad;
}
