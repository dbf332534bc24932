/* What the launcher leaves for a keeper in its environment, beside the link. */
#ifndef SK_DAEMON_TOLD_H
#define SK_DAEMON_TOLD_H

#include "backbone/keeper_page.h"

/* 1: survivors of a death may be on other hosts. */
int sk_told_apart(void);
/* enum sk_last_end. */
uint32_t sk_told_last_end(void);
/* What was learnt of failures, into the page. What is no such text is as if there were none. */
void sk_told_learnt(struct sk_keeper_page *page);

#endif
