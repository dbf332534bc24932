/* Where there are more processes than cores Open MPI gives the core away in each look that finds nothing, and gets it back when all others have had a
 * turn. A wait of the layer's takes several looks in a row, at what it waits for and at what goes on beside it: so the core is kept in all but one of them. */
#ifndef SK_WORLD_REST_CORE_H
#define SK_WORLD_REST_CORE_H

/* From here on MPI gives it away in no call, until all who have kept it have let it go. On an MPI that cannot be told so nothing changes. */
void sk_core_keep(void);
void sk_core_let_go(void);
/* All have, as their calls were left (longjmp). */
void sk_core_let_all_go(void);
/* 1: MPI gives it away in looks that find nothing, where nobody keeps it. */
int sk_core_gives(void);
/* It is given away, if MPI would do so: once for all looks between the two. */
void sk_core_give(void);

#endif
