/* Memory for what comes one after the other and goes in about the same order, as copies of messages do: pieces are cut from large chunks, and a
 * chunk whose pieces have all been given back is used again. So memory that was touched once is touched again, where malloc would give it
 * back to the system at each cut of a log, and a fault of a page would come with each 4 KiB of the next messages. Of a chunk that is new so
 * much is touched at once: in small pages, since huge ones, five times as quick where their memory is there, took six times as long in a guest whose host
 * takes back what is free. One thread. */
#ifndef SK_WORLD_ARENA_ARENA_H
#define SK_WORLD_ARENA_ARENA_H

#include <stddef.h>

/* A piece that is larger than an eighth of a chunk has one of its own. */
enum { SK_ARENA_CHUNK = 4 << 20, SK_ARENA_PIECE = SK_ARENA_CHUNK / 8 };

struct sk_arena_chunk;

/* All 0: empty. */
struct sk_arena {
    struct sk_arena_chunk *now;   /* pieces are cut from it */
    struct sk_arena_chunk *spare; /* that have no piece any more, the newest first */
    size_t mapped;                /* bytes of all chunks, spare ones included. When a chunk is mapped, spare ones go for it: it is at most what pieces
                                     ever needed at the same time, and their chunks' rests */
};

/* A piece of memory, aligned for anything. NULL: no memory. */
void *sk_arena_take(struct sk_arena *a, size_t bytes);
/* Give it back. */
void sk_arena_give(struct sk_arena *a, void *piece);
/* What follows is cut from another chunk: it does not keep what was taken before, nor is it kept by that. */
void sk_arena_part(struct sk_arena *a);
/* Chunks without pieces go back to the system, and it is empty. Pieces that were not given back stay for good, and must not be given any more. */
void sk_arena_free(struct sk_arena *a);

#endif
