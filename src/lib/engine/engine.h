/* The engine: what happens to a checkpoint after it was captured, off the application's path. Two threads of the rank:
 * the committer seals captured slots and gives them their names in the local directory, retires old generations and keeps
 * a slot ready; the archiver copies generations to the prefix. Neither calls MPI. All functions are local.
 *
 * Generations are numbered in the order of their capture (seq 1, 2, …), the same on all ranks. A generation is
 * *committed* when this rank's file has its name, *complete* when the session has learnt that all ranks committed it
 * (sk_engine_complete): only then do older ones go, but for those that a kept one builds on. */
#ifndef SK_LIB_ENGINE_H
#define SK_LIB_ENGINE_H

#include "capture/delta.h"
#include "lib/data/coding.h"
#include "lib/engine/ledger.h"
#include "lib/data/saver.h"
#include "redundancy/set/files.h"
#include "store/form/container.h"
#include "store/owner/hold.h"
#include "store/owner/lease.h"
#include "store/slot.h"

struct sk_engine;

/* What a slot is wanted for: slots of a size are kept for each. */
enum sk_slot_use { SK_SLOT_FULL, SK_SLOT_DELTA, SK_SLOT_USES };

struct sk_engine_config {
    const char *local_root;  /* where slots and generations live; may be the prefix itself */
    const char *prefix_root; /* NULL: no archive */
    const char *leased_root; /* the one of both that another job may take over, NULL: none … */
    struct sk_id lease;      /* … and the lease by which it is this job's (store/owner/lease.h) */
    struct sk_hold *hold;    /* of local_root, NULL: none; stays its owner's */
    uint32_t incarnation;
    int rank, nranks;
    int keep_local, keep_prefix; /* complete generations that stay, at least 1 */
    int sync_local, sync_prefix; /* wait for the disk */
    struct sk_ledger *ledger; /* the generations that are submitted are in it; stays the caller's, must outlive the engine */
    double prefix_timeout; /* seconds that healing waits for the prefix; 0: as long as it takes */
    double final_wait; /* seconds without progress in the prefix after which nobody waits for it any more; 0: never */
    uint32_t finished_from; /* the run before came to its end, and this was its first start: that what it left goes is nothing to be
                             * told; 0: it did not */
    const struct sk_coding_policy *coding; /* stays the caller's, must outlive the engine */
    double scrub_period, scrub_share; /* of the scrub (lib/engine/heal/scrub.h); 0: there is none */
    struct sk_delta_limits limits; /* a delta beyond them is made a full generation when it is committed */
};

struct sk_engine_status {
    int64_t committed_seq; /* newest that this rank has committed, 0: none */
    int64_t archived_seq;  /* newest that this rank has in the prefix */
    int archive_idle;      /* 1: the archiver has nothing to do */
    int failures;          /* commits and archive copies that failed so far */
    int breaks;            /* commits that failed, bases that are damaged: the next generation must be full */
    int damages;           /* how often something was found damaged that a new generation heals: it is wanted soon */
    struct saikai_error last_error;
};

/* Copies the strings. */
int sk_engine_new(const struct sk_engine_config *c, struct sk_engine **out, struct saikai_error *err);
/* Stop at once: what is being committed is finished, copies to the prefix are given up. A prefix that does not answer is
 * left to a thread that ends when it does: then 1, and the ledger is that thread's. NULL is accepted. */
int sk_engine_free(struct sk_engine *e);
/* End its threads, but keep what somebody still uses who hangs. */
void sk_engine_leave(struct sk_engine *e);

/* Have slots of these sizes ready soon: for a full generation, for a delta; 0: none is wanted. Does not block. */
void sk_engine_expect(struct sk_engine *e, size_t full_bytes, size_t delta_bytes);
/* A rank's share, 0 to 1, of the room that the ranks of the node have in the local directory; as long as none was given, or 0,
 * nobody looks how much there is. */
void sk_engine_set_share(struct sk_engine *e, double share);
/* The slot is filled: seal and commit it. With wishes (one per variable of the index) it is not the slot that becomes
 * the generation's file but what the codecs make of it. When the header names a base, the generation is a delta
 * (store/form/lineage.h) on the one submitted before; it fails when that failed. pending: a saver that is still filling the slot,
 * NULL: none. Takes over slot, index and wishes. Does not block. */
void sk_engine_submit(struct sk_engine *e, struct sk_slot *slot, int64_t seq, struct sk_gen gen,
                      const struct sk_skc_header *h, struct sk_skc_index *index, struct sk_wish *wishes,
                      struct sk_saver *pending);
/* All ranks have committed seq: it counts, older ones beyond keep_local may go. */
void sk_engine_complete(struct sk_engine *e, int64_t seq);
/* Copy seq (complete, committed here) to the prefix. */
void sk_engine_archive(struct sk_engine *e, int64_t seq);
/* This rank's part of seq is in the prefix by another way than sk_engine_archive, in archives of all ranks. */
void sk_engine_note_archived(struct sk_engine *e, int64_t seq);
/* All ranks have seq in the prefix: older ones beyond keep_prefix may go, in whichever form they are there. Each rank
 * removes its own files, rank 0 also archives, and what dead jobs left unfinished of them. */
void sk_engine_archived(struct sk_engine *e, int64_t seq);
/* Keep this rank's file of a complete or adopted generation until it is released as often as it was held: it is being
 * coded, or protected. SAIKAI_ENOENT when it is not (or no longer) in the local directory. Neither blocks. */
int sk_engine_hold(struct sk_engine *e, struct sk_gen gen, struct saikai_error *err);
void sk_engine_release(struct sk_engine *e, struct sk_gen gen);
/* 0 when this rank may take so many bytes more in the local directory, else SAIKAI_ENOSPC with a sentence. */
int sk_engine_has_room(struct sk_engine *e, uint64_t bytes, struct saikai_error *err);
/* The parity files of this rank that protect something: they are scrubbed. Told before one that no longer does is touched;
 * copied. Does not block. */
struct sk_parity_set;
void sk_engine_protecting(struct sk_engine *e, const struct sk_parity_set *set, size_t count);
/* From now on take the checksum of every slot as a whole when it is committed, while it is in the cache, for
 * sk_engine_lend. */
void sk_engine_hash_files(struct sk_engine *e);
/* What the engine still has of this rank's file of a generation: its mapping, and its checksum; *out all zero when it has
 * neither (a file of an earlier start, or one that codecs or folding made). The generation is held, or one that builds on it is.
 * A mapping stays as it is until it is taken back; one that never is stays mapped for ever. */
void sk_engine_lend(struct sk_engine *e, struct sk_gen gen, struct sk_source *out);
void sk_engine_take_back(struct sk_engine *e, const struct sk_source *lent);
/* What becomes of generations of earlier starts. SK_EARLIER_UNUSED, until this is called: they stay until a generation of this
 * start is complete and archived, and that they go then is said. SK_EARLIER_RESUMED: this start goes on from one of them; what
 * it does not need goes. SK_EARLIER_STAY: none is removed. */
enum sk_earlier { SK_EARLIER_UNUSED, SK_EARLIER_RESUMED, SK_EARLIER_STAY };
void sk_engine_set_earlier(struct sk_engine *e, enum sk_earlier earlier);
/* SK_EARLIER_RESUMED, but generations of starts before this one, which the one resumed from could not read, stay until one of
 * this start is complete and archived. */
void sk_engine_spare(struct sk_engine *e, uint32_t before);
/* 1: a generation of an earlier start may go when nothing needs it. */
int sk_engine_may_remove_earlier(struct sk_engine *e);
/* A generation of an earlier start that is in the local directory: counts as complete with seq 0. */
void sk_engine_adopt(struct sk_engine *e, struct sk_gen gen);

void sk_engine_status(struct sk_engine *e, struct sk_engine_status *out);
/* The same for telling the other ranks: what is committed now may turn out to be complete, and stays until the next
 * report. */
void sk_engine_report(struct sk_engine *e, struct sk_engine_status *out);
/* Wait until nothing is left to do, for the prefix only as long as it makes progress (final_wait). */
void sk_engine_drain(struct sk_engine *e);

#endif
