/* Arguments of benches: key=value. */
#ifndef BENCH_CODEC_OPTION_H
#define BENCH_CODEC_OPTION_H

#include <stddef.h>
#include <string.h>

/* The value of the first that has this key; NULL: none has. */
static inline const char *option(int argc, char **argv, const char *key)
{
    size_t n = strlen(key);
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], key, n) && argv[i][n] == '=')
            return argv[i] + n + 1;
    return NULL;
}

#endif
