/* The standard output of a process whose rank has another process: it goes through the keeper, which knows how far it is, so that after a death the
 * other one's goes on there. The lead's is handed over at once, the twin's is held until its lead is dead. What is a terminal for the keeper is one for
 * the program, too. A thread hands over, so that a reader who is slow holds up the program, and not the keeper. Local. */
#ifndef SK_DAEMON_PRINT_H
#define SK_DAEMON_PRINT_H

#include "base/error.h"
#include "daemon/print/seam.h"

struct sk_print;

/* How much of a twin's output is kept at most, as far as its lead may be behind. */
enum { SK_PRINT_HELD = 16 << 20 };

/* Output that comes goes to the descriptor `to`, of which a duplicate is kept; hidden: it is held until sk_print_join. No thread may be started
 * before the program is. SAIKAI_EIO, SAIKAI_ENOMEM with why not. */
int sk_print_begin(int to, int hidden, struct sk_print **p, struct saikai_error *err);
/* The program's standard output: to be duplicated in the child. */
int sk_print_of_program(const struct sk_print *p);
/* The program has it: begin to hand over. */
int sk_print_started(struct sk_print *p, struct saikai_error *err);
/* NULL is accepted by all that follow: there is nothing, and all is over. */
/* When this can be read sk_print_take is due; -1: never any more. */
int sk_print_fd(struct sk_print *p);
/* Take what there is; does not block. */
void sk_print_take(struct sk_print *p);
/* How far the output is that is handed over, or surely will be: 0 and 0 as long as it is held. */
struct sk_printed sk_print_count(struct sk_print *p);
/* The lead is dead, and its output was handed over until there: hand over what comes after, and all that follows. Once; later calls do nothing. Returns 1
 * where some of that was held no longer, else 0. */
int sk_print_join(struct sk_print *p, struct sk_printed lead);
/* The program has been dead for gone_s seconds. 1: its output is taken to its end, so that its count is the last one, and it is out, too, or its reader
 * is slow; 0: to be asked again soon. */
int sk_print_is_settled(struct sk_print *p, double gone_s);
/* 1: all that was taken is handed over, or nobody reads it. */
int sk_print_is_out(struct sk_print *p);
/* Drops what is not out. */
void sk_print_end(struct sk_print *p);

#endif
