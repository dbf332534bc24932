/* The thread that seals what was captured, and keeps house. */
#ifndef SK_LIB_ENGINE_COMMITTER_H
#define SK_LIB_ENGINE_COMMITTER_H

/* Takes the lock itself. */
void *sk_engine_committer(void *engine);

#endif
