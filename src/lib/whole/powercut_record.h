/* For tests: a record of all that a process does to the files below one directory. The calls themselves are wrapped (the
 * linker's --wrap), so that what is done beside base/file/io.c is seen, too. What is stored through a mapping is seen when the file
 * is synced, renamed or unmapped. */
#ifndef SK_LIB_POWERCUT_RECORD_H
#define SK_LIB_POWERCUT_RECORD_H

#include <stddef.h>
#include <stdint.h>

enum powercut_op {
    POWERCUT_CREATE, /* path: a new, empty file */
    POWERCUT_MKDIR,  /* path */
    POWERCUT_WRITE,  /* file: data[n] at `at` */
    POWERCUT_CONTENT, /* file: what it holds now, as far as mappings are concerned */
    POWERCUT_SIZE,   /* file: at */
    POWERCUT_SYNC,   /* file or directory */
    POWERCUT_RENAME, /* path to path2 */
    POWERCUT_UNLINK, /* path, a file */
    POWERCUT_RMDIR,  /* path */
    POWERCUT_MARK,   /* the test's own: at */
};

struct powercut_event {
    enum powercut_op op;
    uint64_t inode; /* of the file or directory, as the system numbers it */
    int64_t at;
    size_t n;
    const uint8_t *data;
    const char *path, *path2; /* below the directory */
};

struct powercut_log {
    struct powercut_event *event;
    long count, most;
    uint8_t *arena;
    size_t used, size;
    int full; /* it did not all fit */
};

/* An empty log whose memory children share, so that the parent can read what a child did. NULL: no memory. */
struct powercut_log *powercut_log_new(long most, size_t bytes);
void powercut_log_free(struct powercut_log *log);

/* From now on what this process does below dir (an absolute path without links) goes to the log. */
void powercut_record_begin(struct powercut_log *log, const char *dir);
/* Nothing without a record under way. */
void powercut_mark(int64_t what);

#endif
