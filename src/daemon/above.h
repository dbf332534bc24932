/* The `saikai run` above a keeper, where it is on the same host: its end is seen at once, however it ends. */
#ifndef SK_DAEMON_ABOVE_H
#define SK_DAEMON_ABOVE_H

/* A descriptor that can be read as soon as the process has ended of which text tells (sk_owner_above); -1: it is on another host, or what it
 * is cannot be told. The caller closes it. text may be NULL. */
int sk_above_open(const char *text);

#endif
