/* The engine's two threads, the lock of all that they share, and the word that something changed. */
#ifndef SK_LIB_ENGINE_THREADS_H
#define SK_LIB_ENGINE_THREADS_H

#include <pthread.h>

struct sk_threads {
    pthread_t committer, archiver;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int stopping;
};

void sk_threads_set(struct sk_threads *t);
/* Both begin, with the program's signals left to its own threads; -1: none runs. */
int sk_threads_start(struct sk_threads *t, void *(*committer)(void *), void *(*archiver)(void *), void *arg);
/* They are to end. Takes the lock. */
void sk_threads_stop(struct sk_threads *t);
/* When both have ended, or were never started. */
void sk_threads_free(struct sk_threads *t);

void sk_threads_lock(struct sk_threads *t);
void sk_threads_unlock(struct sk_threads *t);
/* With the lock: somebody may wait for what was changed. */
void sk_threads_tell(struct sk_threads *t);
void sk_threads_tell_and_unlock(struct sk_threads *t);
/* With the lock, which is let go of meanwhile: until something changed, for so long at most. */
void sk_threads_wait(struct sk_threads *t);
void sk_threads_wait_for(struct sk_threads *t, double seconds);

#endif
