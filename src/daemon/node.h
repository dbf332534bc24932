/* The service of one node (`saikaid node`): speaks to `saikai run` for all keepers of the node.
 *
 *   keepers ──meeting.h, messages──▶ service ──link.h, frames──▶ launcher
 *
 * It merges: one frame up in each heartbeat, in which ranks that have nothing to say but that they live are one entry, and how far the
 * program is comes from the rank that is the furthest; what is new of a rank goes up at once. Orders come down in one frame and are
 * given to each keeper. That the launcher lives is told to all of them with each frame that comes, and else in each heartbeat that the
 * service does.
 *
 * It decides nothing and keeps nothing that its keepers could not say again: when it dies another one takes its place (daemon/way.h).
 * It stays between the starts of a job, and ends when the job does, or when it has no keepers and hears nobody, or has had none for long. */
#ifndef SK_DAEMON_NODE_H
#define SK_DAEMON_NODE_H

#include "backbone/message.h"

/* As which descriptors the service finds the job key, in a pipe, and the socket that it listens on. */
enum { SK_NODE_KEY_FD = 0, SK_NODE_LISTENER_FD = 3 };

/* Serve until the job is over; the exit code of this process. s: of whichever start. listener is closed. */
int sk_node_run(const struct sk_link_settings *s, const uint8_t job[SK_KEY_BYTES], int listener);

#endif
