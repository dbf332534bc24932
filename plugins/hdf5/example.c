/* Writes fields into an HDF5 file through Saikai's filter and reads them back.
 * usage: saikai_hdf5_example OUT.h5 [CODEC [LEVEL [BOUND_KIND [M [E]]]]]   (numbers of
 * saikai_hdf5.h) Without CODEC the datasets are chunked and have no filter: something for h5repack
 * to work on. The program needs the plug-in in HDF5_PLUGIN_PATH, nothing else of Saikai but the
 * header. */
#include "saikai_hdf5.h"

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NZ = 12, NY = 40, NX = 51, COUNT = NZ * NY * NX };

static const hsize_t dims[3] = {NZ, NY, NX}, chunk[3] = {6, 16, 51};

/* A dataset of this file type, its chunks through the filter when n_values > 0. */
static hid_t create(hid_t file, const char *name, hid_t type, const unsigned *values,
                    size_t n_values)
{
    hid_t space = H5Screate_simple(3, dims, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(how, 3, chunk);
    if (n_values)
        H5Pset_filter(how, SAIKAI_HDF5_FILTER, H5Z_FLAG_MANDATORY, n_values, values);
    hid_t d = H5Dcreate2(file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    H5Pclose(how);
    H5Sclose(space);
    return d;
}

static int write_and_check(hid_t file, const char *name, hid_t file_type, hid_t memory_type,
                           const double *field, const unsigned *values, size_t n_values)
{
    hid_t d = create(file, name, file_type, values, n_values);
    double *in = malloc(COUNT * sizeof *in), *out = malloc(COUNT * sizeof *out), worst = 0;
    if (d < 0 || !in || !out)
        return -1;
    memcpy(in, field, COUNT * sizeof *in);
    for (int i = 0; i < COUNT; i++) /* values that the file's type holds exactly */
        in[i] = H5Tget_class(memory_type) == H5T_INTEGER ? floor(in[i]) : (double)(float)in[i];
    int bad = H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, in) < 0;
    hsize_t stored = H5Dget_storage_size(d);
    H5Dclose(d);
    d = H5Dopen2(file, name, H5P_DEFAULT); /* a fresh handle: chunks are read and decoded */
    bad |= H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0;
    H5Dclose(d);
    for (int i = 0; i < COUNT; i++)
        worst = fmax(worst, fabs(in[i] - out[i]));
    printf("%-12s %zu bytes stored as %llu, largest error %g\n", name,
           COUNT * H5Tget_size(file_type), (unsigned long long)stored, worst);
    free(in);
    free(out);
    return bad ? -1 : 0;
}

int main(int argc, char **argv)
{
    unsigned values[SAIKAI_HDF5_VALUES] = {0};
    if (argc < 2 || argc > 7) {
        fprintf(stderr, "usage: %s OUT.h5 [CODEC [LEVEL [BOUND_KIND [M [E]]]]]\n", argv[0]);
        return 2;
    }
    for (int i = 2; i < argc; i++)
        values[i - 2] = (unsigned)strtoul(argv[i], NULL, 10);
    size_t n_values = argc > 2 ? SAIKAI_HDF5_VALUES : 0;
    if (n_values && H5Zfilter_avail(SAIKAI_HDF5_FILTER) <= 0) {
        fprintf(stderr, "the filter was not found: set HDF5_PLUGIN_PATH to the plug-in's folder\n");
        return 1;
    }
    static double field[COUNT];
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++)
                field[(z * NY + y) * NX + x] =
                    300 - 6.5 * z + 8 * sin(0.11 * x + 0.2 * z) * cos(0.07 * y);
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    int bad = file < 0;
    bad |= write_and_check(file, "T", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, field, values, n_values);
    bad |=
        write_and_check(file, "T_float", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, field, values, n_values);
    bad |= write_and_check(file, "T_bigendian", H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, field, values,
                           n_values);
    bad |= write_and_check(file, "level", H5T_STD_I32LE, H5T_NATIVE_INT, field, values, n_values);
    if (file >= 0)
        bad |= H5Fclose(file) < 0;
    return bad ? 1 : 0;
}
