/* Similarity: when two variables are one. Key "Group/Variable_Type_Class" (Islam et al., SC'12,
 * section III-A). */
#ifndef SK_ARCHIVE_PLAN_KEY_H
#define SK_ARCHIVE_PLAN_KEY_H

#include <regex.h>
#include <stddef.h>

/* The rule of one archive; zeroed: numbers in the group's name (Grid00000012/Density) do not tell
 * variables apart. */
struct sk_key_rule {
    regex_t re;
    int has_re;
};

/* What the extended regular expression matches, anywhere in a name and as often as it does, is
 * written as '#'. NULL: the default. 0, or -1 when it does not compile (text of the reason in why).
 */
int sk_key_rule_set(struct sk_key_rule *k, const char *pattern, char *why, size_t cap);
void sk_key_rule_free(struct sk_key_rule *k);

/* The key of a variable into out[cap] (cut when it is longer). Class: "array" or "atomic" (a single
 * element). */
void sk_key_make(const struct sk_key_rule *k, const char *name, int type, int is_array, char *out,
                 size_t cap);
/* The key of a file's skeleton: the form and the file's name without its directories and numbers.
 */
void sk_key_skeleton(const char *form, const char *file, char *out, size_t cap);

#endif
