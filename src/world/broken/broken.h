/* Connections of MPI to processes that have died, kept from MPI.
 *
 * Open MPI 4 outlives the end of a connection by TCP only where nothing is on its way there: it writes without MSG_NOSIGNAL, so that the kernel
 * ends the process (SIGPIPE), and what is left to be sent when the connection ends is a "FATAL" error, upon which it ends the job. Where a world is
 * repaired, or a twin takes over, a survivor must do neither: what it sends to the dead may get lost. So the calls that Open MPI's TCP makes to send and to
 * receive go through here: of a connection whose other end is gone, all that is sent is taken for sent, and nothing ever comes. */
#ifndef SK_WORLD_BROKEN_H
#define SK_WORLD_BROKEN_H

/* Local; once MPI has begun, where deaths are kept from it and it is Open MPI 4. Before it, and of whatever else calls them, writev, readv, send and
 * recv are those of the C library. Costs two comparisons a call. */
void sk_broken_begin(void);

#endif
