/* A small JSON writer: what the tools print with --json.
 *
 * Values are appended in order; the writer puts in commas, line breaks and indentation. Inside an
 * object every value has a key, inside an array the key is NULL. Text that is not valid UTF-8 is
 * made so (U+FFFD for each bad byte), control characters are escaped; numbers that JSON cannot hold (infinite, not a number) become
 * null. Memory: freed by sk_json_free. When memory runs out or the nesting is wrong, the writer
 * remembers it and sk_json_print says so. */
#ifndef SK_BASE_JSON_H
#define SK_BASE_JSON_H

#include "base/buf.h"
#include "base/error.h"

#include <stdint.h>
#include <stdio.h>

enum { SK_JSON_MAX_DEPTH = 32 };

struct sk_json {
    struct sk_buf out;
    int depth, misused;
    int compact; /* set at the beginning: all in one line, without spaces */
    char kind[SK_JSON_MAX_DEPTH]; /* '{' or '[' of each open level */
    int count[SK_JSON_MAX_DEPTH + 1];
};

/* Begin from a zeroed struct. */
void sk_json_object(struct sk_json *j, const char *key);
void sk_json_array(struct sk_json *j, const char *key);
void sk_json_end(struct sk_json *j); /* closes the innermost object or array */
void sk_json_text(struct sk_json *j, const char *key, const char *value); /* NULL: null */
void sk_json_int(struct sk_json *j, const char *key, int64_t value);
void sk_json_uint(struct sk_json *j, const char *key, uint64_t value);
void sk_json_real(struct sk_json *j, const char *key, double value); /* reads back exactly */
void sk_json_bool(struct sk_json *j, const char *key, int value);
void sk_json_null(struct sk_json *j, const char *key);

/* Bytes of the UTF-8 character at s, 0: there is none (too long a form, a surrogate, cut off). */
int sk_json_utf8(const unsigned char *s);

/* Write the finished document and a newline to f. SAIKAI_EINTERNAL: levels left open or a key
 * missing, SAIKAI_ENOMEM, SAIKAI_EIO. */
int sk_json_print(const struct sk_json *j, FILE *f, struct saikai_error *err);
void sk_json_free(struct sk_json *j);

#endif
