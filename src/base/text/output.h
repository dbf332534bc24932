/* Where a tool's output goes. A file is replaced at once when it is complete, through a symbolic link in the place that the
 * link names. A FIFO or a character device, such as /dev/null, is never replaced: what was made is written to it, and so it is to
 * standard output, whose name is "-". */
#ifndef SK_BASE_OUTPUT_H
#define SK_BASE_OUTPUT_H

#include "base/error.h"

#include <stddef.h>

struct sk_output {
    char path[4096]; /* of a file: links resolved */
    int is_stream;   /* 1: make it in a temporary file, then sk_output_send */
};

/* Directories, sockets and block devices are refused (SAIKAI_EINVAL). A file need not exist. */
int sk_output_look(const char *path, struct sk_output *out, struct saikai_error *err);
/* Whether the name is that of standard input or output. */
int sk_output_is_dash(const char *path);

/* A temporary file where those of this machine are (TMPDIR, else /tmp), for reading and writing; its name in path[4096]. The
 * caller removes it. */
int sk_output_temporary(char *path, struct saikai_error *err);
/* All of the file into the stream. A FIFO that nobody reads is waited for 10 seconds. */
int sk_output_send(int fd, const char *from, const struct sk_output *out, struct saikai_error *err);
/* A small output as a whole: a file is replaced, a stream written. */
int sk_output_write(const char *path, const void *data, size_t n, struct saikai_error *err);
/* All of standard input into a temporary file without a name: path[64] is one that can be opened as long as the process lives. */
int sk_output_spool_stdin(char *path, struct saikai_error *err);

#endif
