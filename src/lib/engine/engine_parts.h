/* The engine's inside, for its own files: engine.c (interface), slots.c, committer.c, heal.c, archiver.c,
 * retention.c. */
#ifndef SK_LIB_ENGINE_PARTS_H
#define SK_LIB_ENGINE_PARTS_H

#include "lib/engine/engine.h"
#include "lib/engine/scrub.h"

#include <pthread.h>

enum stage {
    FREE,      /* the slot can be captured into */
    TAKEN,     /* the application is copying into it */
    SUBMITTED, /* waits for the committer, or is with it */
    COMMITTED, /* is a generation's file */
};

/* A slot and what it holds; slot NULL: a generation's file of an earlier start. */
struct held {
    enum stage stage;
    struct sk_slot *slot;
    enum sk_slot_use use; /* what the slot was last asked for */
    size_t size_bytes;    /* of what it holds: the slot may be larger until it is committed */
    int64_t seq;
    struct sk_gen gen;
    struct sk_gen base; /* what it builds on, incarnation 0: nothing */
    struct sk_skc_header header;
    struct sk_skc_index *index;
    struct sk_wish *wishes;
    struct sk_saver *pending; /* still fills the slot */
    int archiving;
    int holds; /* by sk_engine_hold */
    int lent;  /* by sk_engine_lend, and not taken back */
    uint64_t file_hash; /* of the slot as a file, when hash_known */
    int hash_known;
    uint64_t index_hash; /* of the file, 0: not known */
    int damaged;         /* its file is, and could not be healed */
    int looked;          /* examined in this round */
    int fold_failed;     /* it could not be put together with its base */
    enum { HERE, FAR, FAR_ARCHIVED, FAR_GONE } place; /* not HERE: its file is in the prefix alone (direct.c), and is archived
                                                       * there, or is to be removed */
    int replaced; /* a later one took the name of its file */
    int kept;     /* found by retention: stays */
    struct held *next;
};

/* The newest generation that was committed: what the next delta must build on. */
struct tip {
    int known;           /* 0: nothing, or the newest one was lost: a full one must come */
    struct sk_gen gen;
    uint64_t index_hash; /* of its file */
    unsigned deltas;     /* that it consists of, beside a full one */
    uint64_t delta_bytes, full_bytes;
    int spoiled; /* something that it builds on is damaged: a full one was asked for */
};

/* What somebody suspects, for the committer to look at. */
struct doubt {
    int any, all;       /* all files of this rank; else … */
    struct sk_gen gen;  /* … the one of this generation, */
    struct sk_gen parity, parity_told; /* or its parity file: that it is damaged was said already */
    char why[480];
};

struct sk_engine {
    char *local_root, *prefix_root, *leased_root;
    struct sk_id lease;
    struct sk_ledger *ledger;
    const struct sk_coding_policy *coding;
    uint32_t incarnation;
    int rank, nranks, keep_local, keep_prefix, sync_local, sync_prefix;
    pthread_t committer, archiver;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int stopping, busy_commit, busy_archive;
    struct sk_patience *patience; /* the committer's, with the prefix */
    double final_wait; /* for the prefix when all else is done; 0: without end */
    int archiver_ended;
    double share;    /* of what the node's ranks may have in local_root together; 0: that is not looked at */
    int plain_told, fold_told; /* that there was no room to code, or to fold */
    int orphaned; /* the engine is gone but for the archiver, which frees the rest */
    int archiver_stuck; /* nobody waits for it any more */
    int archive_trouble; /* the last copy failed, and that was said */
    struct held *all; /* in no order */
    int hash_files; /* somebody will want the checksums of whole files */
    int slot_number;
    size_t wanted_bytes[SK_SLOT_USES]; /* size of the slot to keep ready, 0: none */
    int prepare, preparing;
    struct sk_delta_limits limits;
    struct tip tip;
    int breaks; /* how often the tip was lost */
    int damages; /* how often a checkpoint is wanted because something is damaged */
    struct doubt doubt;
    struct sk_scrub *scrub; /* NULL: nothing is scrubbed */
    struct sk_parity_set *set; /* parity of this rank that protects something, */
    size_t sets;               /* so many */
    int list_stale;            /* the scrub's list is no longer what there is */
    int64_t complete_seq;  /* newest complete one, 0: the adopted one or none */
    int64_t retired_seq;   /* retention has been done up to here */
    int64_t archive_seq;   /* to be copied, 0: none */
    int64_t archived_seq;  /* newest copied by this rank */
    int64_t pruned_request, pruned_seq;
    int strays_local, strays_prefix; /* files of ranks that this run does not have may be there */
    int64_t committed_seq;
    int64_t told_seq; /* newest committed one that the other ranks were told of */
    int failures;
    struct saikai_error last_error;
    enum sk_earlier earlier;
    uint32_t finished_from, spare_before;
    int any_archived; /* all ranks have a generation of this start in the prefix */
};

/* Both threads have ended. Without the lock. */
void sk_engine_drop_all(struct sk_engine *e);
void sk_engine_free_parts(struct sk_engine *e);

/* Every function below is called with the lock held and may let go of it for a while. */

/* How long something that is written waits for the lease of a prefix that is just coming back, in seconds. */
#define SK_ENGINE_LEASE_WAIT 1.0
/* 0: files of root may be written and removed; else why not. No lock is needed. wait_s: for a prefix that is just coming back. */
int sk_engine_may_write(const struct sk_engine *e, const char *root, double wait_s, struct saikai_error *err);
/* Count and tell a failure of a thread. */
void sk_engine_fail(struct sk_engine *e, const struct saikai_error *err);
/* Without the lock: 0 when so many bytes more are to be had in the local directory, and what working on them takes. */
int sk_engine_room(const struct sk_engine *e, uint64_t bytes, struct saikai_error *err);
/* The committed generation of this number, NULL: none. */
struct held *sk_engine_find(struct sk_engine *e, int64_t seq);
/* The oldest one that waits for the committer. */
struct held *sk_engine_next(struct sk_engine *e);

/* direct.c: the record of a file in the prefix alone is no longer needed: its file goes, by the archiver, unless it is archived. */
void sk_engine_retire_far(struct sk_engine *e, struct held *h);
/* By the archiver: 1: a file was removed. */
int sk_engine_remove_far(struct sk_engine *e);

/* slots.c: have the wanted slots ready; give away what nobody wants. */
void sk_engine_prepare_slots(struct sk_engine *e);
void sk_engine_trim_slots(struct sk_engine *e);

/* Forget h; with remove_file its slot's file goes, too. */
void sk_engine_drop(struct sk_engine *e, struct held *h, int remove_file);
/* Give a committed generation's file up; its slot becomes free. */
int sk_engine_retire(struct sk_engine *e, struct held *h, struct saikai_error *err);
/* The oldest committed generation that nobody needs and nothing builds on, NULL: none. Needed are the newest complete ones
 * (keep_local of them), the newest of all, those that are being archived or held, with all_new every one that may still
 * become complete, and all that any of these builds on. */
struct held *sk_engine_unneeded(struct sk_engine *e, int all_new);
/* Slots that only somebody's hold keeps from being free: so many more than usual may be in use. */
int sk_engine_held_back(struct sk_engine *e);
int sk_engine_retain_local(struct sk_engine *e);
void sk_engine_retain_prefix(struct sk_engine *e);

/* heal.c. The committer: look at what is suspected, and heal what is damaged. */
void sk_engine_examine(struct sk_engine *e);
/* Tell the scrub what there is. */
void sk_engine_list_for_scrub(struct sk_engine *e);
/* The next checkpoint is to be full, and soon. */
void sk_engine_close_lineage(struct sk_engine *e);
/* 1: h is base, or builds on it. 1: what h builds on, or h itself, is damaged or gone. */
int sk_engine_builds_on(const struct sk_engine *e, const struct held *h, const struct held *base);
int sk_engine_is_spoiled(const struct sk_engine *e, const struct held *h);
/* For the scrub; takes the lock itself. */
void sk_engine_scrub_suspects(void *engine, struct sk_gen gen, int parity, const char *why);

/* 1: it could not be read when it was wanted, and nothing of this start can take its place yet. */
int sk_engine_spares(const struct sk_engine *e, struct sk_gen g);
/* As sk_engine_may_remove_earlier, for those who hold the lock, and without a look at what is spared. */
int sk_engine_earlier_may_go(const struct sk_engine *e);

/* The threads; they take the lock themselves. */
void *sk_engine_committer(void *engine);
void *sk_engine_archiver(void *engine);

#endif
