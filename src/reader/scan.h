/* Lists of what was found in a file (struct sk_scan). */
#ifndef SK_READER_SCAN_H
#define SK_READER_SCAN_H

#include "reader/reader.h"

void sk_scan_free(struct sk_scan *scan);
/* For readers: append a copy of *e with this name (NULL: e->name; both are copied). */
int sk_scan_add(struct sk_scan *scan, const struct sk_extent *e, const char *name);

#endif
