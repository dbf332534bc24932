/* A generation's containers, wherever they lie: each a file of its own, or all of them in the
 * archives of a set (set.h) in the generation's directory, or some so and some so.
 *
 * Who looks at generations opens them here and need not know the difference. All functions are
 * local and block for reading files. */
#ifndef SK_ARCHIVE_READ_CONTENT_H
#define SK_ARCHIVE_READ_CONTENT_H

#include "archive/read/inside.h"
#include "archive/file/set.h"
#include "store/form/container.h"
#include "store/gen.h"

enum sk_content_form {
    SK_CONTENT_FILES = 1,
    SK_CONTENT_ARCHIVES = 2,
};

/* An archive of the set that does not give what it should. */
struct sk_content_trouble {
    char *path, *text; /* text names the path and says what is wrong */
    int missing;       /* 1: it is not there at all */
};

struct sk_content {
    struct sk_gen gen;
    int *ranks; /* whose containers are there, growing */
    size_t count;
    int forms;             /* enum sk_content_form, or-ed; 0: nothing but traces of archives */
    uint64_t bytes;        /* of the containers */
    uint64_t stored_bytes; /* of the files that they lie in */
    struct sk_skc_header header; /* of the first one whose header can be read */
    int nranks;                  /* as it says; 0: there is none */
    int complete;                /* all ranks are there; nothing is said about what is in them */
    struct sk_ska_set set;       /* the newest whole one, else the newest; parts 0: none */
    struct sk_content_trouble *trouble;
    size_t troubles;
    /* its own */
    char *root, *file;
    size_t *at; /* of each rank: 0: a file; else its number in the archives, plus 1 */
    struct sk_inside *inside;
    uint64_t memory_bytes;
};

/* What root holds of g. A directory that is not there holds nothing. memory_bytes: of decoded
 * blocks, later, as for sk_inside_new. Archives that are missing or cannot be read are told in
 * trouble and are no error. Free with sk_content_free. */
int sk_content_load(const char *root, struct sk_gen g, uint64_t memory_bytes,
                    struct sk_content **out, struct saikai_error *err);
/* One container file alone, with the generations that it may build on beside its own one. One that
 * is no container is found out when it is opened: its rank is -1. */
int sk_content_of_file(const char *path, struct sk_content **out, struct saikai_error *err);
void sk_content_free(struct sk_content *c); /* NULL is accepted */

/* The index of a rank's container; -1: it is not there. */
long sk_content_find(const struct sk_content *c, int rank);
/* The path of a container; of one in an archive the archive's, a colon and its name. */
int sk_content_path(struct sk_content *c, size_t i, char *out, size_t cap,
                    struct saikai_error *err);
/* Open the i-th container with all that it builds on (as sk_lineage_open), or by itself. It may be
 * closed after c is freed. */
int sk_content_open(struct sk_content *c, size_t i, struct sk_container **out,
                    struct saikai_error *err);
int sk_content_open_alone(struct sk_content *c, size_t i, struct sk_container **out,
                          struct saikai_error *err);
/* Check what of the archives was not read through opened containers, see sk_inside_check_rest. */
int sk_content_check_rest(struct sk_content *c,
                          int (*fault)(void *arg, const char *archive,
                                       const struct saikai_error *why),
                          void (*progress)(void *arg, uint64_t more_bytes), void *arg,
                          struct saikai_error *err);
/* Give back what reading archives took; the next open takes it again. */
void sk_content_rest(struct sk_content *c);
/* 1: the open container of c is still what has its name; else it was retired while it was read. */
int sk_content_is_there(const struct sk_content *c, const struct sk_container *x);

/* The generations below root of which there is a container of some rank, or a trace of archives
 * (unfinished ones, too). Free with sk_gen_list_free. */
int sk_content_scan(const char *root, struct sk_gen_list *out, struct saikai_error *err);

#endif
