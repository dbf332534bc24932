/* The inside of a delivery: who decodes what (deliver.c), and how it moves (deliver_run.c). */
#ifndef SK_ARCHIVE_RANKS_DELIVER_RUN_H
#define SK_ARCHIVE_RANKS_DELIVER_RUN_H

#include "archive/file/sink.h"
#include "archive/coding/unpack.h"
#include "archive/plan/options.h"
#include "base/file/patient_io.h"
#include "group/group.h"

#include <pthread.h>

enum { SK_DELIVER_THREADS = 64, SK_DELIVER_SENDS = 8 };

/* One archive of the set. */
struct sk_delivery_part {
    char path[4096];
    int fd;
    struct sk_ska a;
    struct sk_opened opened;
    int *owner;      /* per file */
    uint8_t *wanted; /* per file: by this rank */
    uint8_t *anyone; /* per file: by some rank */
    struct sk_sink sink;
};

/* One block that somebody wants something of. */
struct sk_delivery_place {
    struct sk_delivery_part *part;
    size_t block;
    int rank; /* that decodes it */
};

/* A segment on its way. */
struct sk_delivery_item {
    int dest;
    const struct sk_ska_segment *s;
    const uint8_t *data;
    size_t n;
};

struct sk_delivery_slot {
    int state;   /* 0: empty */
    size_t turn; /* among this rank's blocks */
    struct sk_unpacked block;
    struct sk_delivery_item *items; /* for other ranks, by rank */
    size_t count, cap;
};

/* What comes from one rank. */
struct sk_delivery_source {
    size_t place;  /* its block whose bytes are received */
    uint64_t left; /* bytes of it that are not yet asked of the group */
    int state;     /* 0: free */
    int failed;
    size_t bytes;
    uint8_t *data; /* status byte, then bytes */
    struct sk_request *in;
    /* where the bytes go: the writer's own */
    size_t to_place;
    uint32_t to_part, to_segment;
    uint64_t within;
};

struct sk_delivery_sending {
    uint8_t *data;
    struct sk_request *out;
    int busy;
};

struct sk_delivery {
    struct sk_group *g;
    struct sk_delivery_part *parts;
    int part_count;
    struct sk_delivery_place *places;
    size_t place_count;
    size_t *mine; /* places that this rank decodes */
    size_t mine_count, taken;
    struct sk_delivery_slot *ring;
    size_t depth;
    int threads;
    size_t piece_bytes;
    struct sk_delivery_source *sources; /* per rank */
    struct sk_delivery_sending send[SK_DELIVER_SENDS];
    size_t at, item, within; /* of the sender: block, item, bytes of it that are sent */
    int sent_all;
    struct sk_patient patient; /* the caller's, with the archives: its threads have no more */
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int stop;      /* the group failed: threads end */
    int decode_rc; /* of this rank's blocks: what follows is not delivered */
    int write_rc;  /* of this rank's files: what comes is dropped */
    struct saikai_error decode_err, write_err;
    struct sk_archive_stats st;
};

/* Decoders, and blocks that are kept: as many as fit into three quarters of the memory when each takes so much. */
void sk_delivery_fit(struct sk_delivery *d, const struct sk_unpack_need *each, int threads, uint64_t memory);
/* Bytes of a block that a rank wants. */
uint64_t sk_delivery_bytes(const struct sk_delivery_place *p, int rank);
/* The next block of a rank, from this one on, that holds something for us; place_count: none. */
size_t sk_delivery_next(const struct sk_delivery *d, int rank, size_t from);
/* Collective: decode, send, receive and write until all is where it belongs; own failures only, but
 * all ranks come back. */
int sk_delivery_run(struct sk_delivery *d, struct saikai_error *err);

#endif
