/* For tests: what goes through a port of this host is recorded, to be sent again. */
#ifndef SK_BACKBONE_RECORDER_TESTING_H
#define SK_BACKBONE_RECORDER_TESTING_H

#include <stddef.h>
#include <stdint.h>

struct recorder;

/* Listen at a port of 127.0.0.1 of its own (*port), pass on what comes to the port `to` of it and back, and record what the clients say. A thread
 * does it. NULL: it cannot. */
struct recorder *recorder_start(int to, int *port);
/* End; what was said (to be freed), *n bytes. */
uint8_t *recorder_end(struct recorder *r, size_t *n);

/* Say n bytes to a port of 127.0.0.1, and hear until the other end hangs up or nothing comes for so long: the number of bytes heard. *hung_up may be NULL. */
size_t recorder_replay(int port, const uint8_t *bytes, size_t n, double seconds, int *hung_up);
/* A connection to it, -1: none. */
int recorder_connect(int port);

#endif
