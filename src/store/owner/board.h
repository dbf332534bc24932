/* What a process puts up for others to read: a few small files, each replaced whole by a thread that may hang in a file system
 * that does not answer, never by the one that posts. The newest text counts; older ones that were not written are dropped, and so
 * is what cannot be written. Not synced: nobody depends on it. */
#ifndef SK_STORE_BOARD_H
#define SK_STORE_BOARD_H

#include <limits.h>
#include <pthread.h>
#include <stddef.h>

enum { SK_BOARD_MOST = 2 };

struct sk_board {
    pthread_mutex_t lock;
    struct {
        char path[PATH_MAX];
        int open;   /* others may read it, whatever modes were set */
        char *text; /* not yet written */
        size_t bytes;
    } item[SK_BOARD_MOST];
};

void sk_board_init(struct sk_board *b);
void sk_board_free(struct sk_board *b);
/* The text is copied. open: everybody may read the file; else as all files (base/file/modes.h). -1: no memory, or too many paths. Never
 * blocks for long. */
int sk_board_post(struct sk_board *b, const char *path, int open, const void *text, size_t bytes);
/* Write what was posted since; by one thread. May block. */
void sk_board_write(struct sk_board *b);

#endif
