/* What went wrong where zstd says that something did. */
#ifndef SK_CODEC_GENERAL_ZSTD_CODE_H
#define SK_CODEC_GENERAL_ZSTD_CODE_H

#include "base/error.h"

#include <zstd.h>
#include <zstd_errors.h>

/* What decompressing returned that did not give what was asked for: SAIKAI_ENOMEM where zstd itself had no memory, else SAIKAI_EDAMAGED. */
static inline int sk_zstd_code(size_t got)
{
    return ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation ? SAIKAI_ENOMEM : SAIKAI_EDAMAGED;
}

#endif
