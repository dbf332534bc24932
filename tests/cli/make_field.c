/* Writes a smooth field of 12 x 20 x 31 doubles with one NaN in four forms into a folder: field.f64
 * (raw), field.f32, field.h5
 * (/group/T big-endian, /group/level integers, /name text) and field.nc (T, level; classic format).
 * A form whose library was not there when this was built is left out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_HDF5
#include <hdf5.h>
#endif
#ifdef HAVE_NETCDF
#include <netcdf.h>
#endif

enum { NZ = 12, NY = 20, NX = 31, COUNT = NZ * NY * NX };

static double field[COUNT];
static float field32[COUNT];
static int level[COUNT];

static int write_raw(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    return !f || fwrite(data, 1, n, f) != n || fclose(f);
}

static int write_hdf5(const char *path)
{
#ifdef HAVE_HDF5
    const hsize_t dims[3] = {NZ, NY, NX}, one = 1;
    hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t g = H5Gcreate2(f, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t s = H5Screate_simple(3, dims, NULL), s1 = H5Screate_simple(1, &one, NULL);
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 4);
    hid_t a = H5Dcreate2(g, "T", H5T_IEEE_F64BE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t b = H5Dcreate2(g, "level", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t c = H5Dcreate2(f, "name", text, s1, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int bad = H5Dwrite(a, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, field) < 0 ||
              H5Dwrite(b, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, level) < 0 ||
              H5Dwrite(c, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, "abc") < 0;
    H5Dclose(a);
    H5Dclose(b);
    H5Dclose(c);
    H5Tclose(text);
    H5Sclose(s);
    H5Sclose(s1);
    H5Gclose(g);
    return H5Fclose(f) < 0 || bad;
#else
    return path == NULL;
#endif
}

static int write_netcdf(const char *path)
{
#ifdef HAVE_NETCDF
    int id, dims[3], t, l;
    int bad = nc_create(path, NC_CLOBBER | NC_64BIT_OFFSET, &id) || nc_def_dim(id, "z", NZ, dims) ||
              nc_def_dim(id, "y", NY, dims + 1) || nc_def_dim(id, "x", NX, dims + 2) ||
              nc_def_var(id, "T", NC_DOUBLE, 3, dims, &t) ||
              nc_def_var(id, "level", NC_INT, 3, dims, &l) || nc_enddef(id) ||
              nc_put_var_double(id, t, field) || nc_put_var_int(id, l, level);
    return nc_close(id) || bad;
#else
    return path == NULL;
#endif
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 2)
        return 2;
    for (int i = 0; i < COUNT; i++) {
        level[i] = i / (NY * NX);
        field[i] =
            i == 777 ? NAN : 280 + 20 * sin(0.05 * (i % NX)) * cos(0.1 * (i / NX % NY)) - level[i];
        field32[i] = (float)field[i];
    }
    snprintf(path, sizeof path, "%s/field.f64", argv[1]);
    int bad = write_raw(path, field, sizeof field);
    snprintf(path, sizeof path, "%s/field.f32", argv[1]);
    bad |= write_raw(path, field32, sizeof field32);
    snprintf(path, sizeof path, "%s/field.h5", argv[1]);
    bad |= write_hdf5(path);
    snprintf(path, sizeof path, "%s/field.nc", argv[1]);
    bad |= write_netcdf(path);
    return bad;
}
