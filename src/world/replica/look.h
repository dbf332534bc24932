/* Looks at all that may have come: what each wait is made of. */
#ifndef SK_WORLD_REPLICA_LOOK_H
#define SK_WORLD_REPLICA_LOOK_H

/* What comes is taken in. Never blocks. 1: there was something. */
int sk_replica_look(void);
/* The same, and the core is given away if there was nothing. */
void sk_replica_turn(void);
/* The same in a loop that waits for what others do: where there are more processes than cores this one sleeps until they ring (rest/bell.h). */
void sk_replica_wait(void);
/* MPI was not to hear of deaths: when it has after all, because a keeper has died too, what it gives is not what the program is to see. */
void sk_replica_stop_at_death(int error);

#endif
