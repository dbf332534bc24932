/* Which of two comes first, for qsort: negative, 0 or positive, of numbers of any type. Each argument is looked at twice. */
#ifndef SK_BASE_ORDER_H
#define SK_BASE_ORDER_H

#define SK_ORDER(a, b) (((a) > (b)) - ((a) < (b)))
/* By a first key; where that is the same, by another one. */
#define SK_ORDER_BY(a, b, and_a, and_b) ((a) != (b) ? SK_ORDER(a, b) : SK_ORDER(and_a, and_b))

#endif
