/* Where the events of a job are kept: the file `events` in its store, one line for each, and `events.1` with those before. Any process of
 * the store's user adds lines, whoever has the store's lease; nobody else may: a file that another user owns or may write to is neither
 * read nor written. A line that was cut off or damaged costs that line alone. */
#ifndef SK_STORE_EVENT_KEPT_H
#define SK_STORE_EVENT_KEPT_H

#include "store/event/event.h"

#include <limits.h>
#include <sys/types.h>

#define SK_EVENTS_FILE   "events"
#define SK_EVENTS_BEFORE "events.1"
enum { SK_EVENTS_MOST = 1 << 20 }; /* bytes of each of the two */

/* Add lines with their ends to the events of a directory that exists: SAIKAI_ENOENT when it does not; SAIKAI_EAUTH: another user could
 * write there, too. lasting: wait for the disk. Blocks as the file system does, and about a second at most for other writers. */
int sk_events_add(const char *dir, const void *lines, size_t n, int lasting, struct saikai_error *err);

/* Reading on and on, while others write. */
struct sk_events_reader {
    char dir[PATH_MAX - 16];
    int own;    /* to act on it: only what this process's user wrote, not what the directory's did */
    ino_t file; /* that is read now, 0: none so far … */
    off_t at;   /* … up to here */
    int bad;    /* lines that were none so far */
};

/* From the beginning on. */
int sk_events_open(struct sk_events_reader *r, const char *dir, int own, struct saikai_error *err);
/* each(arg, e) for what has come since, the oldest first; a line without its end is left for later. 0, also when there is nothing;
 * SAIKAI_EAUTH. */
typedef void sk_events_each(void *arg, const struct saikai_event *e);
int sk_events_read(struct sk_events_reader *r, sk_events_each *each, void *arg, struct saikai_error *err);

#endif
