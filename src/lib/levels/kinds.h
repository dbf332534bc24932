/* The kinds that the library has, for keys of the configuration and those who list them. */
#ifndef SK_LIB_KINDS_H
#define SK_LIB_KINDS_H

/* Tell them (base/config/kind.h); again has no effect. */
void sk_lib_kinds_tell(void);

#endif
