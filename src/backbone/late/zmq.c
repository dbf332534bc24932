/* Loads ZeroMQ. */
#define SK_BACKBONE_LATE_OWN
#include "backbone/late/zmq.h"

#include "base/host/load.h"

struct sk_zmq_late sk_zmq_late;

#define SYMBOL(name) {#name, offsetof(struct sk_zmq_late, name)},
static const struct sk_late_symbol symbols[] = {SK_ZMQ_FUNCTIONS(SYMBOL)};
static struct sk_late_library library = {"ZeroMQ", SK_ZMQ_SONAME, "libzmq5", symbols, sizeof symbols / sizeof *symbols, &sk_zmq_late, NULL};

int sk_zmq_load(struct saikai_error *err)
{
    return sk_late_load(&library, err);
}
