/* For tests: a small world of sessions. A folder of the test's own with a prefix and node-local directories in it, a configuration
 * that costs no time, a log that can be asked, and starts of programs whose ranks are threads of this process. */
#ifndef SK_LIB_SESSION_TESTING_H
#define SK_LIB_SESSION_TESTING_H

#include "lib/session/session.h"

#include "base/log.h"
#include "lib/restart/restart.h"
#include "lib/run/candidate.h"
#include "lib/run/questions.h"

#include <stdio.h>

/* In what a rank does: it ends here, with what the call before said in `err`, and the test fails with this line. */
#define CHECK(x)                                                                  \
    do {                                                                          \
        if (!(x)) {                                                               \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x, err.text); \
            return -1000 - __LINE__;                                              \
        }                                                                         \
    } while (0)

struct world {
    char dir[64];     /* the test's folder; "prefix" and "local" are in it */
    char said[65536]; /* the log since the last start */
};
extern struct world world;

/* For setup and teardown: a new folder of this pattern (…-XXXXXX), and the log up to this level; and its end. */
int world_begin(const char *pattern, int level);
int world_end(void);
/* The folder is empty again, in the middle of a test. */
void world_anew(void);

/* The directories above, no wait for disks, polls each millisecond, no signals; then more, which may also say otherwise. */
struct sk_config *world_config(const char *more, ...) __attribute__((format(printf, 1, 2)));

/* One start of a program on so many ranks. The test fails when one of them does. */
void world_start(int ranks, int (*program)(struct sk_group *g, void *arg), void *arg);

/* For programs: a session over the ranks of g, which takes the configuration; and u for a variable "u" of it. */
int world_session(struct sk_group *g, struct sk_config *c, struct sk_session **s, struct saikai_error *err);
int world_protect(struct sk_session *s, double *u, size_t cells, struct saikai_error *err);
/* Until what was captured is complete and, where there is a prefix apart, in it: at the same candidate on all ranks. */
int world_settle(struct sk_session *s, int64_t it);
/* The end of a program that came to rc so far: as a whole (finishes), or as that of a process that is killed. */
int world_leave(struct sk_session *s, int rc, int finishes);

/* Files. A root is "prefix", or what world_local says: the job's node-local directory of the node, by name below the folder. */
const char *world_local(void);
const char *world_local_of(const char *node);
void world_path(char path[256], const char *root, int incarnation, int64_t it, int rank);
int world_has(const char *root, int incarnation, int64_t it, int rank);
void world_damage(const char *root, int incarnation, int64_t it, int rank, long at);
/* The file or directory of this name in the folder is gone. */
void world_lose(const char *name);
/* How many generations are there. */
int world_generations(const char *root);

/* The log: all of it is forgotten, as at each start; does it say this? */
void world_forget(void);
int world_says(const char *text);
void world_expect(const char *text, int is_there);

#endif
