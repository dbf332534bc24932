/* Properties of a protected variable, by name: one table, so that a property more is one line more. */
#ifndef SK_LIB_ATTRIBUTES_H
#define SK_LIB_ATTRIBUTES_H

#include "lib/data/vars.h"

/* Set an attribute of a variable to what the text says. SAIKAI_EINVAL: no such variable or attribute, or not for this variable;
 * the sentence lists the attributes, or says how the value is written. After an error the variable is as before. */
int sk_attribute_set(struct sk_vars *l, const char *name, const char *attribute, const char *value, struct saikai_error *err);
/* The same for an attribute that is a list of sizes. */
int sk_attribute_set_sizes(struct sk_vars *l, const char *name, const char *attribute, size_t count, const size_t *sizes,
                           struct saikai_error *err);

#endif
