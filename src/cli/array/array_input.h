/* Arrays from files: raw bytes, HDF5 and netCDF variables, and what `saikai compress` wrote. */
#ifndef SK_CLI_ARRAY_INPUT_H
#define SK_CLI_ARRAY_INPUT_H

#include "codec/codec.h"

struct cli_array {
    struct sk_array array;
    void *data; /* native byte order */
    size_t size_bytes;
    size_t file_bytes; /* of the frame when it was compressed, else size_bytes */
    size_t mapped;     /* bytes of the mapping, 0: data was allocated */
};

/* What the caller says about a raw file; also checked against what other files say of themselves.
 */
struct cli_array_hint {
    int type;         /* enum saikai_type, 0: not told */
    const char *dims; /* "84x34x34", NULL: one dimension, or what the file says */
};

struct cli;
/* Take the type that --type names (NULL: not told) into the hint. -1: go on; else the exit code of
 * a mistake that has been reported. */
int cli_array_hint_type(const struct cli *cli, const char *type, struct cli_array_hint *hint);

/* Read the array that spec names. Local, blocks.
 *   FILE              raw bytes (type needed), or the output of `saikai compress`
 *   FILE:/group/name  a variable of an HDF5 or netCDF file, converted to native byte order
 * A raw file is mapped, not copied: it must not shrink meanwhile. *out is to be given to
 * cli_array_free; untouched on failure. Errors name the file and what to do: SAIKAI_EINVAL (type or
 * dimensions missing or not those of the file), SAIKAI_ENOENT (with the variables there are),
 * SAIKAI_ENOTSUP (type without a counterpart, library not built in), SAIKAI_EDAMAGED, SAIKAI_EIO,
 * SAIKAI_ENOMEM. */
int cli_array_read(const char *spec, const struct cli_array_hint *hint, struct cli_array *out,
                   struct saikai_error *err);
void cli_array_free(struct cli_array *a);

/* For the readers of file formats, below cli_array_read. The file is there; name begins with '/'.
 */
int cli_hdf5_read(const char *path, const char *name, struct cli_array *out,
                  struct saikai_error *err);
int cli_netcdf_read(const char *path, const char *name, struct cli_array *out,
                    struct saikai_error *err);
/* Variables of the file, ", " between them, into out[cap]; "..." at the end when there are more. */
void cli_hdf5_list(const char *path, char *out, size_t cap);
void cli_netcdf_list(const char *path, char *out, size_t cap);

/* Allocate data for out->array, whose type and dimensions are set. */
int cli_array_alloc(const char *path, struct cli_array *out, struct saikai_error *err);

#endif
