/* Generations: what they are called, how they are ordered, and which of them a directory holds.
 *
 * A generation is one consistent set of all ranks at the same candidate. A directory (node-local or on the shared file
 * system) holds
 *     gen-<incarnation>-<iteration>-<place>/rank-<rank>.skc
 * and a file is there in full or not at all, because it gets its name last. Nothing here depends on a clock: the order
 * is that of incarnations (starts of the program), then iterations, then places. */
#ifndef SK_STORE_GEN_H
#define SK_STORE_GEN_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct sk_gen {
    uint32_t incarnation; /* 1…SK_GEN_MAX_INCARNATION */
    int64_t iteration;    /* 0…SK_GEN_MAX_ITERATION */
    uint32_t place;       /* 0…SK_GEN_MAX_PLACE */
};

#define SK_GEN_MAX_INCARNATION 32767
#define SK_GEN_MAX_ITERATION   (((int64_t)1 << 42) - 1)
#define SK_GEN_MAX_PLACE       63

/* One number of the same order, above 0; 0 stands for no generation. */
int64_t sk_gen_key(struct sk_gen g);
struct sk_gen sk_gen_of_key(int64_t key);

/* "gen-0003-000000001200-0" into out (at least 48 bytes); and back: 0, or -1 when name is something else. */
char *sk_gen_name(struct sk_gen g, char out[48]);
int sk_gen_parse(const char *name, struct sk_gen *g);

struct sk_gen_list {
    struct sk_gen *gen; /* newest first */
    size_t count;
    struct sk_gen hidden; /* the newest whose directory is there and cannot be looked into, so that it is left out */
    int hidden_errno;     /* why; 0: there is none */
};

/* The generations in root of which the file of this rank (rank >= 0), or of any rank (rank -1), is there. A root that
 * does not exist is empty. Release with sk_gen_list_free. */
int sk_gen_scan(const char *root, int rank, struct sk_gen_list *out, struct saikai_error *err);
/* Those of whose directories wants says 1. */
int sk_gen_scan_if(const char *root, int (*wants)(void *arg, const char *root, struct sk_gen g), void *arg,
                   struct sk_gen_list *out, struct saikai_error *err);
void sk_gen_list_free(struct sk_gen_list *l);

/* The ranks whose files of g are in root, growing, into *ranks (to be freed); none when there is no such directory. */
int sk_gen_ranks(const char *root, struct sk_gen g, int **ranks, size_t *count, struct saikai_error *err);

/* Path of a rank's file, of a generation's directory. */
int sk_gen_file(const char *root, struct sk_gen g, int rank, char *out, size_t cap,
                struct saikai_error *err);
/* The name of a rank's file, "rank-000012.skc", and the rank of such a name, -1: another name. */
char *sk_gen_file_name(int rank, char out[32]);
int sk_gen_file_rank(const char *name);
int sk_gen_dir(const char *root, struct sk_gen g, char *out, size_t cap, struct saikai_error *err);

/* Give a finished temporary file (same file system) its place in the generation: atomic. With sync the file and the
 * directories are on the disk when it returns. */
int sk_gen_commit(const char *root, struct sk_gen g, int rank, const char *tmp_path, int sync,
                  struct saikai_error *err);
/* Remove a rank's file, and the directory when it was the last. Missing is success. */
int sk_gen_remove(const char *root, struct sk_gen g, int rank, struct saikai_error *err);
/* Remove all of a generation. */
int sk_gen_remove_all(const char *root, struct sk_gen g, struct saikai_error *err);

#endif
