/* Mapped files: let the kernel map pages ahead in one go instead of one fault each (on tmpfs seven
 * times cheaper). */
#ifndef SK_REDUNDANCY_PREFAULT_H
#define SK_REDUNDANCY_PREFAULT_H

#include <stddef.h>
#include <stdint.h>

/* Local. Of a mapping of size bytes, bytes before *done are mapped; see to it that those before end
 * are, and some more. A kernel that cannot do it takes the faults as they come. */
void sk_prefault(void *map, size_t size, uint64_t end, uint64_t *done);

#endif
