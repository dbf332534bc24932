/* The global arrays of a generation: what the ranks' tiles make together. */
#ifndef SK_CLI_GLOBAL_ARRAYS_H
#define SK_CLI_GLOBAL_ARRAYS_H

#include "base/box.h"
#include "cli/store/export.h"

struct cli_global_array {
    struct sk_skc_var
        var; /* as the first file has it, but with the dimensions and bytes of the global array */
    struct sk_box
        *tile; /* of each file; NULL: replicated, the value of the first file is that of all */
    uint64_t element_bytes;
};

struct cli_globals {
    struct cli_global_array *array;
    size_t count, cap;
    size_t tiled;    /* variables that are parts of one, wanted or not */
    size_t left_out; /* variables that are a rank's own */
};

/* Find those that are wanted, and check that the tiles of each fit together and, but with
 * CLI_EXPORT_GLOBAL_PARTIAL, that they leave no gap. Release with cli_globals_free, also after
 * a failure. SAIKAI_ENOENT: there are none. SAIKAI_EDAMAGED: the files contradict each other.
 * Errors name file, variable, gap. */
int cli_globals_load(const struct cli_export *x, struct cli_globals *out, struct saikai_error *err);
void cli_globals_free(struct cli_globals *g);

/* Copy what file number `file`, opened as c, has of the array into memory (or a mapped file) that
 * holds all of it. */
int cli_global_copy(const struct cli_global_array *a, size_t file, struct sk_container *c,
                    uint8_t *to, struct saikai_error *err);

#endif
