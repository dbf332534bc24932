/* A source file that is being translated: its text, what is to be put in place of parts of it, and the first thing that is wrong. */
#ifndef SK_DIRECTIVE_TEXT_H
#define SK_DIRECTIVE_TEXT_H

#include "base/buf.h"

#include <stddef.h>

struct edit {
    size_t at, removed; /* bytes of the source */
    size_t text, n;     /* where the new ones begin in the pool */
    size_t order;       /* those at the same place stay in the order in which they were made */
};

struct source {
    const char *name; /* as messages say it */
    const char *text;
    size_t n;
    struct edit *edits;
    size_t nedits, cap;
    struct sk_buf pool;
    int failed;         /* 1: something is wrong, and `said` tells what */
    char said[900];
    struct sk_buf warned; /* lines */
    size_t counted_at, counted; /* line ends before a byte that was asked for, from where the next one is counted */
};

void sk_source_free(struct source *s);
/* The line of a byte, from 1. */
size_t sk_source_line(struct source *s, size_t at);
/* Say "file:line: error: …" once; later things are not said. Returns -1. */
int sk_source_refuse(struct source *s, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Say "file:line: warning: …", a line in `warned`. */
void sk_source_warn(struct source *s, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Put formatted text in place of `removed` bytes from `at` on. */
void sk_source_edit(struct source *s, size_t at, size_t removed, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same, and so many line ends behind it as are removed, so that all that follows stays in its line. */
void sk_source_replace(struct source *s, size_t at, size_t removed, const char *text);
/* The source with its edits into out. 0, or -1 when memory ran out or edits overlap. */
int sk_source_write(struct source *s, struct sk_buf *out);

/* A growing text, always with a zero byte behind it. */
const char *sk_text_of(struct sk_buf *b);
/* n bytes at p as a string of the heap, NULL: no memory. */
char *sk_text_copy(const char *p, size_t n);
/* p is equal to word, ignoring case. */
int sk_text_same(const char *p, size_t n, const char *word);

#endif
