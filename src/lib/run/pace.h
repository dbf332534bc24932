/* How often to protect and to archive. Local. */
#ifndef SK_LIB_RUN_PACE_H
#define SK_LIB_RUN_PACE_H

#include "lib/session/session.h"

/* What a checkpoint of this rank costs: as the last one was measured;
 * before the first, as long as its bytes may take. */
double sk_pace_cost(const struct sk_session *s);
/* 1: a checkpoint that is to be there by then must be asked for now. */
int sk_pace_is_near(const struct sk_session *s, double deadline);
/* When the session is set up: */
void sk_pace_start(struct sk_session *s);
/* A generation is sent to a level, and all ranks have it there. */
void sk_pace_begun(struct sk_session *s, enum sk_level_place place);
void sk_pace_arrived(struct sk_session *s, enum sk_level_place place, int64_t seq);
/* The agreed time of a candidate and cost of a checkpoint, and what was on its way when the exchange began. */
void sk_pace_hear(struct sk_session *s, double tick, double cost, const struct sk_level_heard h[SK_LEVELS]);
/* Rank 0: 1 when a newer generation is to be brought to this level; others: 0. */
int sk_pace_due(struct sk_session *s, enum sk_level_place place);
/* Rank 0, where all levels that there are have the interval `auto`: seconds between local checkpoints by the same model; 0:
 * not known, or others decide. */
double sk_pace_interval(struct sk_session *s);

#endif
