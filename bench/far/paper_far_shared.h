/* A shared file system with a limit: all bytes that move to or from files below one directory pass
 * one server of a given bandwidth, and each file opened there waits its turn at another. The linker
 * leads the program's system calls here (--wrap), so that what is measured is the same for all ways
 * to write, and nothing else is changed.
 *
 * The server takes requests in the order in which they come and saves nothing up while it is idle;
 * a call comes back when its bytes are through. What the call itself takes of memory is part of
 * that time and not added to it. */
#ifndef SK_BENCH_PAPER_FAR_SHARED_H
#define SK_BENCH_PAPER_FAR_SHARED_H

#include <stdatomic.h>
#include <stdint.h>

/* Let all processes that name the same file (which exists, 4096 bytes or more of zeros) be served
 * by one server. Before threads start. 0, or -1. */
int far_shared_join(const char *path);
/* dir NULL: no limit and no counting. bytes_per_s of all together, 0: no limit; open_ms: what the
 * server needs per file opened or created. Set while nothing is being written; with several
 * processes each of them says it, between two barriers. */
void far_shared(const char *dir, double bytes_per_s, double open_ms);
/* Let each file that is open there slow the others down, by far_slowdown of paper_far_model.h: a
 * model of contention. After far_shared, which takes it back to none. */
void far_shared_contention(double per_file);
/* What calls do that pass here: for whom, and which way. */
enum far_step { FAR_READ_NODE, FAR_WRITE_NODE, FAR_READ_SHARED, FAR_WRITE_SHARED, FAR_STEPS };
/* Count the processor time of each of them, from here to the next far_shared; waiting for the server is none. Of this process, in seconds. */
void far_shared_time_steps(void);
void far_shared_steps(double seconds[FAR_STEPS]);
/* Queue for so long at a server of one's own that serves one after another and is promised until `until`, and wait until that is over. */
void far_wait_turn(_Atomic int64_t *until, double seconds);
/* Bytes that passed, and files that were opened there, since far_shared; of all processes. */
uint64_t far_shared_bytes(void);
uint64_t far_shared_opened(void);
/* The most files that were open there at a time. */
int far_shared_at_once(void);

#endif
