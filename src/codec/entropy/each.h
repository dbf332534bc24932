/* The elements of a short vector, each as another type: between braces they make a vector that compilers convert in one instruction where
 * the processor has it. What some make of __builtin_convertvector, where elements grow wider, is five. */
#ifndef SK_CODEC_ENTROPY_EACH_H
#define SK_CODEC_ENTROPY_EACH_H

#define SK_EACH_4(v, type)  (type)(v)[0], (type)(v)[1], (type)(v)[2], (type)(v)[3]
#define SK_EACH_8(v, type)  SK_EACH_4(v, type), (type)(v)[4], (type)(v)[5], (type)(v)[6], (type)(v)[7]
#define SK_EACH_16(v, type)                                                                                                      \
    SK_EACH_8(v, type), (type)(v)[8], (type)(v)[9], (type)(v)[10], (type)(v)[11], (type)(v)[12], (type)(v)[13], (type)(v)[14], \
        (type)(v)[15]

#endif
