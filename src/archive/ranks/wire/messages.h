/* Byte strings of any length between two ranks, and waiting politely. */
#ifndef SK_ARCHIVE_RANKS_WIRE_MESSAGES_H
#define SK_ARCHIVE_RANKS_WIRE_MESSAGES_H

#include "group/group.h"

/* Messages of the archive use these tags; one conversation at a time has a group. */
enum { SK_TAG_LENGTH = 1, SK_TAG_DATA, SK_TAG_HEAD, SK_TAG_BODY, SK_TAG_PIECE };
/* What a request is for, in its head: the end, the bytes of ranges, the hash of one range (8 bytes, the lowest first). */
enum { SK_ASK_NOTHING = 0, SK_ASK_BYTES = 1, SK_ASK_HASH = 2 };
/* A request goes out in messages of so many bytes. */
enum { SK_REQUEST_PIECE = 64 << 10 };

/* Blocking; the other rank calls the other one. They fail when the group does. The received bytes are to be freed; where there
 * is no memory for them *data is NULL, and they are taken off all the same, so that nobody waits. */
int sk_message_send(struct sk_group *g, int to, const void *data, size_t n);
int sk_message_recv(struct sk_group *g, int from, void **data, size_t *n);
/* Collective: the root's bytes to all; *data of the others is allocated. Fails on all ranks: the group's code, SAIKAI_ENOMEM
 * where there was no memory, SAIKAI_EPEER on the others. */
int sk_message_bcast(struct sk_group *g, int root, void **data, size_t *n, struct saikai_error *err);

/* Sleep when nothing moved: longer and longer, up to half a millisecond. *idle counts; set it to 0
 * when something moved. */
void sk_message_relax(unsigned *idle);
/* How long that is, when so many looks found nothing: pure. */
long sk_message_pause_ns(unsigned idle);

#endif
