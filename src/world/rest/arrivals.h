/* A sleep that ends when something comes by TCP. Whoever sleeps for a fixed time between two looks is found asleep by the first message that comes, and by each
 * answer that is waited for at the other end: a process that is made again, whose messages go by TCP, would wait for half a sleep each time. */
#ifndef SK_WORLD_REST_ARRIVALS_H
#define SK_WORLD_REST_ARRIVALS_H

/* Sleeps for so many seconds, or until something has come at one of this process's TCP sockets, or can be sent by one again, since the sleep before this one. 1:
 * something has. What is left unread counts once. Messages by other ways end no sleep. For one thread. */
int sk_arrivals_sleep(double seconds);

#endif
