/* Of which stores a directory's generations say that they are, where nothing else is left that says so. */
#ifndef SK_STORE_WHOSE_H
#define SK_STORE_WHOSE_H

#include "base/id.h"

/* The ids in files of generations below dir, each once, that of the newest generation first; one readable file of each generation is
 * asked. Returns how many there are in ids[most]; those beyond, files that cannot be read and sets of archives are left out. Local; blocks. */
int sk_whose(const char *dir, struct sk_id ids[], int most);

#endif
