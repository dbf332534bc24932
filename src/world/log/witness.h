/* Who keeps the events of a rank (outcomes.h): they are written into memory that other ranks of its host have mapped, too, or, where it is alone
 * there, its keeper, and so outlive the process. Nothing has to be sent or waited for. With the host they are lost, which is a restart in any case. */
#ifndef SK_WORLD_LOG_WITNESS_H
#define SK_WORLD_LOG_WITNESS_H

#include "world/log/course.h"
#include "world/log/outcomes.h"

/* Of this process: what chance decided since the program's saikai_restart, and before it, which is kept as long as the job lives. */
extern struct sk_outcomes_log sk_witness_log, sk_witness_setup;
/* What a run of the body has had to decide so far is no more. */
void sk_witness_begin(void);

/* Of this process, as well; NULL: there is no such memory. */
struct sk_course *sk_witness_course(void);

/* All ranks of the world: each maps the memory of some others. */
void sk_witness_exchange(void);
/* 1: the events of this process outlive it. */
int sk_witness_is_kept(void);
/* All ranks of a repaired world, before the next exchange: 1: of each process before one that is new the events are there, and it did not refuse to be
 * logged. */
int sk_witness_is_known(const char *is_new);
/* What was decided before saikai_restart, to a rank that is new, if it is this one's affair; and the same there. */
void sk_witness_send_setup(int rank);
void sk_witness_receive_setup(void);
/* What follows the mark, to a rank that is new, if it is this one's affair; and the same there. */
void sk_witness_send(int rank, int64_t key);
void sk_witness_receive(int64_t key, struct sk_course_check *check);

#endif
