/* Slots: the files that checkpoints are captured into. A slot is a mapped file in the store's directory with its pages
 * already there, so that capturing is a plain copy into memory; it becomes a generation's file by renaming, and a
 * retired generation's file becomes a slot again with its pages and its mapping. (Fresh tmpfs pages cost several times
 * what a copy into present ones does.) */
#ifndef SK_STORE_SLOT_H
#define SK_STORE_SLOT_H

#include "store/gen.h"

#include <sys/types.h>

struct sk_slot {
    char *tmp_path; /* its name while it is no generation */
    int fd; /* the program may have closed it: sk_slot_is_whole */
    dev_t device;
    ino_t inode;
    uint8_t *map;
    size_t size_bytes; /* of file and mapping */
};

/* Make root/slot-<incarnation>-<rank>-<number>.tmp of this size, reserved, mapped and touched. A full disk is an error
 * here and not a signal later. */
int sk_slot_new(const char *root, uint32_t incarnation, int rank, int number, size_t size_bytes,
                struct sk_slot **out, struct saikai_error *err);
/* Another size, reserved and touched; the content is undefined. On failure the slot keeps its old size. */
int sk_slot_resize(struct sk_slot *s, size_t size_bytes, struct saikai_error *err);
/* Rename to the generation's file. */
int sk_slot_commit(struct sk_slot *s, const char *root, struct sk_gen g, int rank, int sync,
                   struct saikai_error *err);
/* 0: its file was removed, or cut, by somebody else: the mapping must not be touched. 1: it is as it was made, as far as that can
 * be seen without reading. A descriptor that the program closed is opened again by the slot's own name; a generation's file, which has
 * another name, is not whole then. */
int sk_slot_is_whole(struct sk_slot *s);
/* 1: path names this slot's file. */
int sk_slot_is_named(const struct sk_slot *s, const char *path);
/* Take a generation's file back as a slot. */
int sk_slot_retire(struct sk_slot *s, const char *root, struct sk_gen g, int rank,
                   struct saikai_error *err);
/* Unmap and close; with remove also delete the temporary file. NULL is accepted. */
void sk_slot_free(struct sk_slot *s, int remove);
/* Delete the slots, half copies to a prefix, and directories of the program's files that earlier incarnations of this rank, or of ranks from nranks on, left in
 * root. */
void sk_slot_clean(const char *root, uint32_t incarnation, int rank, int nranks);

#endif
