/* What vector code of other libraries leaves behind. x86-64's SSE instructions, which programs are compiled to unless told otherwise, become
 * several times slower while the upper halves of the vector registers hold something (Intel 64 and IA-32 Architectures Optimization Reference
 * Manual, section on mixing AVX and SSE): it stays so until somebody clears them. A library that used them without clearing them would slow
 * down the whole program that called it. */
#ifndef SK_BASE_VECTORS_H
#define SK_BASE_VECTORS_H

/* Clear the upper halves. After each call of a library that chooses wide vectors by itself. Costs a few cycles. */
void sk_vectors_clear(void);
/* 1: they are clear, 0: they are not, -1: this processor does not tell. */
int sk_vectors_are_clear(void);

#endif
