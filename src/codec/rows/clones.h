/* What looks at many bytes at once is compiled for wider registers as well, where there are such. */
#ifndef SK_CODEC_ROWS_CLONES_H
#define SK_CODEC_ROWS_CLONES_H

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define WIDE
#endif

#endif
