/* Where restored files go: under temporary names below a directory, until all of them are complete.
 */
#ifndef SK_ARCHIVE_FILE_SINK_H
#define SK_ARCHIVE_FILE_SINK_H

#include "archive/file/ska.h"
#include "base/file/passing.h"

/* Set it up by hand; nothing in it is owned. It must stay where it is from sk_sink_make until it is finished or dropped. */
struct sk_sink {
    const char *dir; /* NULL: nothing is written */
    const struct sk_ska *a;
    const uint8_t *wanted;  /* per file of the archive */
    const uint8_t *entries; /* per directory or link, NULL: none */
    int sweeps;             /* 1: what killed restores left below dir goes first, and a note says what this one would leave (parts.h) */
    int made;
    char end[24];           /* of temporary names */
    char note[4096];        /* "": none */
    struct sk_passing passing;
};

/* Make the directories and temporary files of all wanted files. */
int sk_sink_make(struct sk_sink *s, struct saikai_error *err);
/* What one thread writes through; {.fd = -1} is none open. Close it with sk_sink_close. */
struct sk_sink_file {
    int fd;
    uint32_t file;
};
int sk_sink_put(const struct sk_sink *s, struct sk_sink_file *o, uint32_t file, uint64_t offset,
                const void *data, size_t n, struct saikai_error *err);
void sk_sink_close(struct sk_sink_file *o);
/* Modes and times, sync, rename, when all files are complete; then links, and at last the times of directories. */
int sk_sink_finish(struct sk_sink *s, int sync, struct saikai_error *err);
/* Remove what has only a temporary name. */
void sk_sink_drop(struct sk_sink *s);

#endif
