/* Monitors: what is known of a node besides what the detector found. A kind that components may add to. */
#ifndef SK_RECOVERY_MONITOR_H
#define SK_RECOVERY_MONITOR_H

#include "base/config/kind.h"

#include <saikai/component.h>

struct sk_monitor_ops {
    const char *name, *description;
    struct saikai_monitor_ops ops;
};

extern const struct sk_kind sk_monitor_kind;
/* The i-th, NULL past the last. */
const struct sk_monitor_ops *sk_monitor_at(int i);

/* Ask all monitors about a node: its `down` is set. The first that says so is *by (NULL: none), and why its words. */
void sk_monitors_ask(struct saikai_node *node, const struct sk_monitor_ops **by, char *why, size_t why_cap);

#endif
