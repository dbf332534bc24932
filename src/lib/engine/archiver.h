/* The thread that copies generations to the prefix. */
#ifndef SK_LIB_ENGINE_ARCHIVER_H
#define SK_LIB_ENGINE_ARCHIVER_H

/* Takes the lock itself. */
void *sk_engine_archiver(void *engine);

#endif
