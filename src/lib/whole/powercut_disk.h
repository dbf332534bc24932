/* For tests: what a disk may hold after a power cut, from a record of what was done (powercut_record.h).
 *
 * The model is meaner than any file system that is in use. A file holds what it held when it was last synced; what was
 * written since may be there, be missing, or be there by some blocks of 4 KiB, with the old or the new length. A name that was made,
 * changed or removed since its directory was last synced may have either form; names change independently of each other, of
 * the files' content, and of what is done in other directories. A rename is one change, in one or two directories. Changes
 * of one name keep their order. Syncing a file does not sync its name. */
#ifndef SK_LIB_POWERCUT_DISK_H
#define SK_LIB_POWERCUT_DISK_H

#include "lib/whole/powercut_record.h"

struct powercut_disk;

struct powercut_disk *powercut_disk_new(void);
void powercut_disk_free(struct powercut_disk *d);

/* Do what the event says; 0, or -1 when it cannot be: the record is not whole. */
int powercut_disk_apply(struct powercut_disk *d, const struct powercut_event *e);

enum powercut_names { POWERCUT_NO_NAMES, POWERCUT_ALL_NAMES, POWERCUT_SOME_NAMES };
enum powercut_data { POWERCUT_SYNCED_DATA, POWERCUT_ALL_DATA, POWERCUT_NO_BLOCKS, POWERCUT_SOME_BLOCKS, POWERCUT_ANY_DATA };

/* Which of the disks that may be left to make. */
struct powercut_choice {
    enum powercut_names names;
    enum powercut_data data;
    uint64_t seed;
    const char *without; /* a directory that is lost, NULL: none */
    /* what comes after the cut: stores into a mapping may be on the disk before they are seen */
    const struct powercut_event *coming;
    long coming_count;
};

/* Nothing that a choice could change. */
int powercut_disk_is_settled(const struct powercut_disk *d);
/* Write the disk into an empty directory; *hash: of all names and contents. dir NULL: the hash alone. 0, or -1. */
int powercut_disk_write(struct powercut_disk *d, const struct powercut_choice *c, const char *dir, uint64_t *hash);

#endif
