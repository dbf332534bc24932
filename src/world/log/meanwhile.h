/* What the layer has open goes on while the program is inside MPI in something that the layer does not make itself. */
#ifndef SK_WORLD_LOG_MEANWHILE_H
#define SK_WORLD_LOG_MEANWHILE_H

/* From now on. Once is enough. */
void sk_meanwhile_begin(void);

#endif
