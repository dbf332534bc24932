/* What the two ends of a link have in common: names, limits and the way with ZeroMQ's sockets. For their files alone. */
#ifndef SK_BACKBONE_WIRE_H
#define SK_BACKBONE_WIRE_H

#include "backbone/link.h"

enum {
    SK_PART_MAX = 512, /* a part that is one message, cut or not */
    SK_FRAME_ROOM = SK_FRAME_MAX + 1, /* one more than may come, so that what was cut is seen */
    SK_NAME_BYTES = 9,
    SK_USER_MAX = 24,
    /* what the names of ranks and services begin with, for ZeroMQ, which reserves those that begin with zero */
    SK_NAME_OF_RANK = 'K',
    SK_NAME_OF_SERVICE = 'N'
};

int sk_wire_fail(struct saikai_error *err, const char *what);
void sk_wire_set(void *socket, int option, int value);
/* Both ends give a connection up whose other end has not acknowledged anything for a quarter of the node timeout: the keeper to connect
 * again at once, the hub to forget what it cannot deliver. The systems judge that, not the processes, which may be slow or stopped as long
 * as they like: to connect again takes several turns of both of them. most: bytes of a part. */
void sk_wire_set_timing(void *socket, double node_timeout_s, int64_t most);
void sk_wire_name_rank(uint8_t id[SK_NAME_BYTES], uint32_t incarnation, uint32_t rank);
void sk_wire_name_service(uint8_t id[SK_NAME_BYTES], uint64_t number);
/* Read all parts of a message into part, of cap bytes each; returns how many there were, -1: none now.
 * Longer parts are cut, more parts counted but dropped. user, where not NULL, gets as whom the sender
 * was let in. */
int sk_wire_receive(void *socket, uint8_t *part, size_t cap, size_t len[], int max, char user[SK_USER_MAX]);
void sk_wire_wait(void *const *sockets, int n_sockets, struct sk_wait *waits, int n, double timeout_s);

#endif
