/* The end that somebody asked for (stop.c). */
#ifndef SK_LIB_SESSION_ENDING_H
#define SK_LIB_SESSION_ENDING_H

#include <stdint.h>

struct sk_ending {
    int stop_agreed;   /* all ranks took a stop request up at the same tick */
    int asked, told;   /* the program has asked whether it should stop; and was told that it should */
    uint64_t end_tick; /* where it is seen whether it asks: a program that does not is ended there; UINT64_MAX: nowhere */
    int halted;        /* all is saved, and the process waits for its end */
};

#endif
