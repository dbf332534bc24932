/* Sets of HDF5 files: plain arrays, structures and complex numbers, chunks, deflated chunks. */
#include "archive/sets.h"
#include "codec/unseen.h"

#ifdef HAVE_HDF5
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>

static hid_t file_of(const char *name, int rank)
{
    char path[256];
    hid_t access = H5Pcreate(H5P_FILE_CREATE);
    snprintf(path, sizeof path, name, rank);
    H5Pset_obj_track_times(access, 0);
    hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, access, H5P_DEFAULT);
    H5Pclose(access);
    return f;
}

/* chunk: NULL, or its sides; deflate: -1 none. */
static int put(hid_t f, const char *name, hid_t type, int rank, const hsize_t *dims, const hsize_t *chunk, int deflate, const void *data)
{
    hid_t space = H5Screate_simple(rank, dims, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(how, 0);
    if (chunk)
        H5Pset_chunk(how, rank, chunk);
    if (deflate >= 0) {
        H5Pset_shuffle(how);
        H5Pset_deflate(how, (unsigned)deflate);
    }
    hid_t set = H5Dcreate2(f, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    int bad = set < 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0;
    H5Dclose(set);
    H5Pclose(how);
    H5Sclose(space);
    return bad ? -1 : 0;
}

static const size_t side[3] = {16, 64, 64};
static const hsize_t dims[3] = {16, 64, 64};

static int fields(const char *format, int step, uint64_t seed, int count, const hsize_t *chunk, int deflate, int single)
{
    static const char *const names[] = {"density", "velocity_x", "velocity_y", "velocity_z", "pressure"};
    int rc = 0;
    for (int r = 0; r < SETS_RANKS && !rc; r++) {
        hid_t f = file_of(format, r);
        rc = f < 0 ? -1 : 0;
        for (int k = 0; k < count && !rc; k++) {
            double *x = sets_field(seed + (uint64_t)(10 * r + k), step, side);
            float *s = (float *)x;
            for (size_t i = 0; i < side[0] * side[1] * side[2]; i++) {
                x[i] = k == 0 ? exp(0.5 * x[i]) : k == 4 ? 1e5 + 50 * x[i] : x[i];
                if (single)
                    s[i] = (float)x[i]; /* in its own place: not behind what is still to be read */
            }
            rc = put(f, names[k], single ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE, 3, dims, chunk, deflate, x);
            free(x);
        }
        if (H5Fclose(f) < 0)
            rc = -1;
    }
    return rc;
}

int sets_hdf5(int step)
{
    return fields("grid_%d.h5", step, 900, 4, NULL, -1, 0);
}

int sets_chunks(int step)
{
    return fields("blocks_%d.h5", step, 1000, 5, (const hsize_t[]){8, 32, 32}, -1, 1);
}

int sets_deflated(int step)
{
    return fields("small_%d.h5", step, 1100, 5, (const hsize_t[]){4, 64, 64}, 4, 1);
}

struct complex_number {
    double re, im;
};
struct body {
    double at[3], speed[3];
    int64_t id;
    float mass;
    int32_t kind;
};

static int put_bodies(hid_t f, const struct particles *p)
{
    struct body *b = calloc(p->count, sizeof *b);
    hid_t three = H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, (const hsize_t[]){3}), type = H5Tcreate(H5T_COMPOUND, sizeof *b);
    H5Tinsert(type, "position", HOFFSET(struct body, at), three);
    H5Tinsert(type, "velocity", HOFFSET(struct body, speed), three);
    H5Tinsert(type, "id", HOFFSET(struct body, id), H5T_NATIVE_INT64);
    H5Tinsert(type, "mass", HOFFSET(struct body, mass), H5T_NATIVE_FLOAT);
    H5Tinsert(type, "kind", HOFFSET(struct body, kind), H5T_NATIVE_INT32);
    for (size_t i = 0; b && i < p->count; i++) {
        b[i].id = (int64_t)i + 1;
        b[i].mass = i % 3 ? 1.008f : 15.999f;
        b[i].kind = i % 3 ? 1 : 2;
        for (int d = 0; d < 3; d++) {
            b[i].at[d] = p->x[i][d];
            b[i].speed[d] = p->v[i][d];
        }
    }
    int rc = b ? put(f, "bodies", type, 1, (const hsize_t[]){p->count}, NULL, -1, b) : -1;
    H5Tclose(type);
    H5Tclose(three);
    free(b);
    return rc;
}

static int put_complex(hid_t f, uint64_t seed, int step)
{
    const size_t n = side[0] * side[1] * side[2];
    double *x = sets_field(seed, step, side), *y = sets_field(seed + 1, step, side);
    struct complex_number *c = calloc(n, sizeof *c);
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof *c);
    H5Tinsert(type, "r", HOFFSET(struct complex_number, re), H5T_NATIVE_DOUBLE);
    H5Tinsert(type, "i", HOFFSET(struct complex_number, im), H5T_NATIVE_DOUBLE);
    for (size_t i = 0; c && i < n; i++)
        c[i] = (struct complex_number){x[i], y[i]};
    int rc = c ? put(f, "ez", type, 3, dims, NULL, -1, c) : -1;
    H5Tclose(type);
    free(c);
    free(x);
    free(y);
    return rc;
}

int sets_compound(int step)
{
    int rc = 0;
    for (int r = 0; r < SETS_RANKS && !rc; r++) {
        struct particles p = sets_particles((uint64_t)(1200 + r), step, 20);
        hid_t f = file_of("snap_%d.h5", r);
        rc = f < 0 ? -1 : put_bodies(f, &p);
        if (!rc)
            rc = put_complex(f, (uint64_t)(1210 + 2 * r), step);
        sets_particles_free(&p);
        if (H5Fclose(f) < 0)
            rc = -1;
    }
    return rc;
}
#endif
