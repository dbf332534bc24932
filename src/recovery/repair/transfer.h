/* Of a job whose ranks are two processes each: what the supervisor keeps of those that died. */
#ifndef SK_RECOVERY_TRANSFER_H
#define SK_RECOVERY_TRANSFER_H

#include "backbone/message.h"

struct sk_transfers {
    struct sk_message order; /* who is dead, all of this start, in the order in which they died; number 0: nobody */
    double since;            /* when it was first given */
    double order_at;         /* when it is to be given again, 0: all have heard */
    int lost_host;           /* whose processes are among them, and 1; 0: no host was lost */
};

#endif
