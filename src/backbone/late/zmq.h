/* ZeroMQ, loaded by the first link of a process: with the libraries that it brings along it takes a process 3 ms to begin, which each keeper of a
 * rank would pay that speaks through its node's service, and each command. Include this in place of zmq.h; a function that is missing here does
 * not link. */
#ifndef SK_BACKBONE_LATE_ZMQ_H
#define SK_BACKBONE_LATE_ZMQ_H

#include <zmq.h>

struct saikai_error;

#ifdef SK_ZMQ_SONAME
#define SK_ZMQ_FUNCTIONS(X) \
    X(zmq_bind) X(zmq_close) X(zmq_connect) X(zmq_ctx_new) X(zmq_ctx_term) X(zmq_curve_public) X(zmq_errno) \
    X(zmq_getsockopt) X(zmq_msg_close) X(zmq_msg_data) X(zmq_msg_gets) X(zmq_msg_init) X(zmq_msg_more) X(zmq_msg_move) \
    X(zmq_msg_recv) X(zmq_msg_size) X(zmq_poll) X(zmq_send) X(zmq_setsockopt) X(zmq_socket) X(zmq_socket_monitor) \
    X(zmq_strerror) X(zmq_z85_decode) X(zmq_z85_encode)

#define SK_ZMQ_FUNCTION(name) __typeof__(&name) name;
/* NULL until sk_zmq_load has returned 0. */
extern struct sk_zmq_late {
    SK_ZMQ_FUNCTIONS(SK_ZMQ_FUNCTION)
} sk_zmq_late;

/* Once per process, from any thread, before any other call of ZeroMQ. SAIKAI_ENOTSUP: it is not there, or another one than Saikai was built
 * with. */
int sk_zmq_load(struct saikai_error *err);

#ifndef SK_BACKBONE_LATE_OWN /* not where it is loaded */
#define zmq_bind sk_zmq_late.zmq_bind
#define zmq_close sk_zmq_late.zmq_close
#define zmq_connect sk_zmq_late.zmq_connect
#define zmq_ctx_new sk_zmq_late.zmq_ctx_new
#define zmq_ctx_term sk_zmq_late.zmq_ctx_term
#define zmq_curve_public sk_zmq_late.zmq_curve_public
#define zmq_errno sk_zmq_late.zmq_errno
#define zmq_getsockopt sk_zmq_late.zmq_getsockopt
#define zmq_msg_close sk_zmq_late.zmq_msg_close
#define zmq_msg_data sk_zmq_late.zmq_msg_data
#define zmq_msg_gets sk_zmq_late.zmq_msg_gets
#define zmq_msg_init sk_zmq_late.zmq_msg_init
#define zmq_msg_more sk_zmq_late.zmq_msg_more
#define zmq_msg_move sk_zmq_late.zmq_msg_move
#define zmq_msg_recv sk_zmq_late.zmq_msg_recv
#define zmq_msg_size sk_zmq_late.zmq_msg_size
#define zmq_poll sk_zmq_late.zmq_poll
#define zmq_send sk_zmq_late.zmq_send
#define zmq_setsockopt sk_zmq_late.zmq_setsockopt
#define zmq_socket sk_zmq_late.zmq_socket
#define zmq_socket_monitor sk_zmq_late.zmq_socket_monitor
#define zmq_strerror sk_zmq_late.zmq_strerror
#define zmq_z85_decode sk_zmq_late.zmq_z85_decode
#define zmq_z85_encode sk_zmq_late.zmq_z85_encode
#endif
#else
static inline int sk_zmq_load(struct saikai_error *err)
{
    (void)err;
    return 0;
}
#endif
#endif
