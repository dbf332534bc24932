/* What the golden containers hold, for the generator and for the test that reads them: names and
 * values by formula. */
#ifndef SK_TESTS_GOLDEN_H
#define SK_TESTS_GOLDEN_H

#include "base/types.h"
#include "store/form/container.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Element i of a variable of this type, as bytes. Whole numbers that every type holds exactly. */
static inline void golden_element(int type, size_t i, void *out)
{
    long v = (long)(i * 7 % 101);
    switch (type) {
    case SAIKAI_U8:
    case SAIKAI_I8:
        memcpy(out, &(int8_t){(int8_t)v}, 1);
        break;
    case SAIKAI_I16:
    case SAIKAI_U16:
        memcpy(out, &(int16_t){(int16_t)(300 + v)}, 2);
        break;
    case SAIKAI_I32:
    case SAIKAI_U32:
        memcpy(out, &(int32_t){(int32_t)(70000 + v)}, 4);
        break;
    case SAIKAI_I64:
    case SAIKAI_U64:
        memcpy(out, &(int64_t){5000000000 + v}, 8);
        break;
    case SAIKAI_F32:
        memcpy(out, &(float){(float)v + 0.25f}, 4);
        break;
    case SAIKAI_F64:
        memcpy(out, &(double){(double)v + 0.125}, 8);
        break;
    case SAIKAI_C64:
        memcpy(out, (float[2]){(float)v, -0.5f}, 8);
        break;
    case SAIKAI_C128:
        memcpy(out, (double[2]){(double)v, -0.5}, 16);
        break;
    }
}

static inline void golden_fill(int type, size_t size_bytes, uint8_t *out)
{
    size_t size = sk_type_size(type);
    for (size_t i = 0; i < size_bytes / size; i++)
        golden_element(type, i, out + i * size);
}

#endif
