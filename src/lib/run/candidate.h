/* Candidates at which something may be due, and what is captured there. */
#ifndef SK_LIB_RUN_CANDIDATE_H
#define SK_LIB_RUN_CANDIDATE_H

#include "lib/session/session.h"

/* The slow path of a candidate; 1 captured, 0 nothing was due. */
int sk_session_candidate(struct sk_session *s, uint32_t place, int64_t iteration, struct saikai_error *err);
/* 1 when a checkpoint is due at this candidate; counts the tick. For programs that write files. */
int sk_session_due(struct sk_session *s, uint32_t place, int64_t iteration, struct saikai_error *err);
/* Capture now, at this candidate (collective in the sense that all ranks call it). */
int sk_session_capture(struct sk_session *s, uint32_t place, int64_t iteration, struct saikai_error *err);
/* The same with the files in the work directory. valid 0: this rank's part of them failed. */
int sk_session_capture_files(struct sk_session *s, uint32_t place, int64_t iteration, int valid,
                             struct saikai_error *err);
/* Where the program is to write a file of that name. */
int sk_session_file_path(struct sk_session *s, const char *name, char *out, size_t cap,
                         struct saikai_error *err);

#endif
