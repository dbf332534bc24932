/* Components (saikai/component.h): shared objects that add forms to kinds. What is loaded stays until the process ends. */
#ifndef SK_BASE_COMPONENT_H
#define SK_BASE_COMPONENT_H

#include "base/config/kind.h"

/* Load each shared object of the list ("/path/x.so, /path/y.so") that is not loaded yet, and add its components to the kinds that were
 * told; those of kinds that only other programs of Saikai have are passed over. A file that somebody else may change is not loaded,
 * and each is first tried in a process of its own, so that a crash in its constructor is an error here. Blocks meanwhile (some
 * milliseconds, at most 20 s). Of an object with an error nothing is added. SAIKAI_ECONFIG: the sentence names the file. */
int sk_components_load(const char *list, struct saikai_error *err);

/* The file that a form of this kind comes from, NULL: it is built in. */
const char *sk_component_path(const struct sk_kind *k, const char *form);

#endif
