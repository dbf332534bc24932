/* What a restore leaves when it is killed (SIGKILL, no memory left on the node), and how the next one below the same directory knows it.
 *
 * While files are restored below DIR, a note lies there whose name says which process they belong to (base/host/life.h) and which
 * holds the names of the unfinished ones. What a process that has ended left is removed by its note, and nothing else: processes
 * that live, and those of another node or start of the system, of which nobody here can tell, keep theirs. Best effort: where no note
 * can be made, or nothing is known of processes, leftovers stay. */
#ifndef SK_ARCHIVE_FILE_PARTS_H
#define SK_ARCHIVE_FILE_PARTS_H

#include "base/buf.h"
#include "base/error.h"

#define SK_PARTS_END ".saikai-part" /* of the name of each unfinished file */

/* A name below dir that says that it is this process's, another one each time: for a note, or for a directory whose content is unfinished as
 * a whole. SAIKAI_EINVAL: it is too long; SAIKAI_ENOTSUP: nothing is known of processes here. */
int sk_parts_name(const char *dir, char out[4096], struct saikai_error *err);
/* Write a note: the names of the unfinished files below its directory, each with a zero behind it. -1: there is none. */
int sk_parts_note(const char *note, const struct sk_buf *names);
/* Remove what processes that have ended left below dir, and their notes and directories. */
void sk_parts_sweep(const char *dir);

#endif
