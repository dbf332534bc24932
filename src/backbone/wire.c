/* What the two ends of a link do alike. */
#include "backbone/wire.h"

#include "backbone/late/zmq.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { WAITS_MAX = 8, SOCKETS_MAX = 5 };
/* A packet that is lost may be sent twice in this time. A handshake takes some eight turns of the threads at its ends: on a machine
 * with ten times as many processes as processors each of them may wait for its turn for a quarter of a second. */
enum { LEAST_UNHEARD_MS = 500, LEAST_HANDSHAKE_MS = 10000, KEEPALIVE_S = 10 };

int sk_wire_fail(struct saikai_error *err, const char *what)
{
    return sk_fail(err, SAIKAI_EIO, "%s: %s", what, zmq_strerror(zmq_errno()));
}

void sk_wire_set(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof value);
}

void sk_wire_set_timing(void *socket, double node_timeout_s, int64_t most)
{
    int ms = (int)(node_timeout_s * 1000);
    sk_wire_set(socket, ZMQ_LINGER, 0);
    sk_wire_set(socket, ZMQ_TCP_MAXRT, ms / 4 > LEAST_UNHEARD_MS ? ms / 4 : LEAST_UNHEARD_MS);
    sk_wire_set(socket, ZMQ_TCP_KEEPALIVE, 1); /* one that says nothing */
    sk_wire_set(socket, ZMQ_TCP_KEEPALIVE_IDLE, KEEPALIVE_S);
    sk_wire_set(socket, ZMQ_TCP_KEEPALIVE_INTVL, KEEPALIVE_S);
    sk_wire_set(socket, ZMQ_HANDSHAKE_IVL, 2 * ms > LEAST_HANDSHAKE_MS ? 2 * ms : LEAST_HANDSHAKE_MS);
    zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most);
}

void sk_wire_name_rank(uint8_t id[SK_NAME_BYTES], uint32_t incarnation, uint32_t rank)
{
    id[0] = SK_NAME_OF_RANK;
    for (int i = 0; i < 4; i++) {
        id[1 + i] = (uint8_t)(incarnation >> 8 * i);
        id[5 + i] = (uint8_t)(rank >> 8 * i);
    }
}

void sk_wire_name_service(uint8_t id[SK_NAME_BYTES], uint64_t number)
{
    id[0] = SK_NAME_OF_SERVICE;
    for (int i = 0; i < 8; i++)
        id[1 + i] = (uint8_t)(number >> 8 * i);
}

int sk_wire_receive(void *socket, uint8_t *part, size_t cap, size_t len[], int max, char user[SK_USER_MAX])
{
    int n = 0, more = 1;
    if (user)
        *user = 0;
    for (; more; n++) {
        zmq_msg_t m;
        zmq_msg_init(&m);
        if (zmq_msg_recv(&m, socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&m);
            return n ? n : -1;
        }
        if (n < max) {
            len[n] = zmq_msg_size(&m) < cap ? zmq_msg_size(&m) : cap;
            memcpy(part + (size_t)n * cap, zmq_msg_data(&m), len[n]);
        }
        more = zmq_msg_more(&m);
        const char *id = user ? zmq_msg_gets(&m, "User-Id") : NULL;
        if (id)
            snprintf(user, SK_USER_MAX, "%s", id);
        zmq_msg_close(&m);
    }
    return n;
}

/* Without a socket: ZeroMQ may not be loaded. */
static void wait_for_descriptors(struct sk_wait *waits, int n, int ms)
{
    struct pollfd items[WAITS_MAX];
    for (int i = 0; i < n; i++) {
        waits[i].ready = 0;
        items[i] = (struct pollfd){.fd = waits[i].fd, .events = waits[i].out ? POLLOUT : POLLIN}; /* one below 0 is passed over */
    }
    if (poll(items, (nfds_t)n, ms) <= 0)
        return;
    for (int i = 0; i < n; i++)
        waits[i].ready = items[i].revents != 0;
}

void sk_wire_wait(void *const *sockets, int n_sockets, struct sk_wait *waits, int n, double timeout_s)
{
    int ms = timeout_s < 0 ? -1 : timeout_s < INT_MAX / 1000 - 1 ? (int)(timeout_s * 1000 + 0.999) : INT_MAX;
    if (!n_sockets) {
        wait_for_descriptors(waits, n < WAITS_MAX ? n : WAITS_MAX, ms);
        return;
    }
    zmq_pollitem_t items[SOCKETS_MAX + WAITS_MAX] = {0};
    int k = 0, first;
    for (; k < n_sockets && k < SOCKETS_MAX; k++)
        items[k] = (zmq_pollitem_t){.socket = sockets[k], .events = ZMQ_POLLIN};
    first = k;
    for (int i = 0; i < n && i < WAITS_MAX; i++) {
        waits[i].ready = 0;
        if (waits[i].fd >= 0)
            items[k++] = (zmq_pollitem_t){.fd = waits[i].fd,
                                          .events = waits[i].out ? ZMQ_POLLOUT : ZMQ_POLLIN};
    }
    if (zmq_poll(items, k, ms) <= 0)
        return;
    for (int i = 0, j = first; i < n && i < WAITS_MAX; i++)
        if (waits[i].fd >= 0)
            waits[i].ready = items[j++].revents != 0;
}
