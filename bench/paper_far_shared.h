/* A shared file system with a limit: all bytes that this program moves to or from files below one
 * directory pass one token bucket, and each file opened there waits its turn at one server. The
 * linker leads the program's system calls here (--wrap), so that what is measured is the same for
 * all ways to write, and nothing else is changed. */
#ifndef SK_BENCH_PAPER_FAR_SHARED_H
#define SK_BENCH_PAPER_FAR_SHARED_H

#include <stdint.h>

/* dir NULL: no limit and no counting. bytes_per_s of all together, 0: no limit; open_ms: what the
 * server needs per file opened or created. Set while nothing is being written. */
void far_shared(const char *dir, double bytes_per_s, double open_ms);
/* Bytes that passed, and files that were opened there, since far_shared. */
uint64_t far_shared_bytes(void);
uint64_t far_shared_opened(void);

#endif
