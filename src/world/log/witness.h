/* Who keeps the events of a rank (outcomes.h): they are written into memory that other ranks of its host have mapped, too, and so outlive
 * the process. Nothing has to be sent or waited for. Where the process runs alone on its host nobody keeps them; jobs on several hosts
 * are not repaired in place anyhow. */
#ifndef SK_WORLD_LOG_WITNESS_H
#define SK_WORLD_LOG_WITNESS_H

#include "world/log/course.h"
#include "world/log/outcomes.h"

/* Of this process. */
extern struct sk_outcomes_log sk_witness_log;

/* Of this process, as well; NULL: there is no such memory. */
struct sk_course *sk_witness_course(void);

/* All ranks of the world: each maps the memory of some others. */
void sk_witness_exchange(void);
/* 1: the events of this process outlive it. */
int sk_witness_is_kept(void);
/* 1: whoever kept the events of this rank is gone, too. */
int sk_witness_is_lost(const char *is_new, int rank);
/* What follows the mark, to a rank that is new, if it is this one's affair; and the same there. */
void sk_witness_send(const char *is_new, int rank, int64_t key);
void sk_witness_receive(const char *is_new, int64_t key, struct sk_course_check *check);

#endif
