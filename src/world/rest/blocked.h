/* Calls that block inside MPI, as those of a repair: where one waits for what takes long, as for a process that begins, its processor is left to others. MPI
 * itself would look all the time. */
#ifndef SK_WORLD_REST_BLOCKED_H
#define SK_WORLD_REST_BLOCKED_H

/* From here on MPI's waits of this thread sleep between two looks, until as many ends as beginnings have come. On an MPI that cannot be told so nothing changes. */
void sk_blocked_begin(void);
void sk_blocked_end(void);
/* All calls were left (longjmp). */
void sk_blocked_end_all(void);

#endif
