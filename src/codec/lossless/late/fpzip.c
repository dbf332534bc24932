/* Loads fpzip. */
#define SK_CODEC_LATE_OWN
#include "codec/lossless/late/fpzip.h"

#include "base/host/load.h"

struct sk_fpzip_late sk_fpzip_late;

#define SYMBOL(name) {#name, offsetof(struct sk_fpzip_late, name)},
static const struct sk_late_symbol symbols[] = {SK_FPZIP_FUNCTIONS(SYMBOL) SYMBOL(fpzip_errno) SYMBOL(fpzip_errstr)};
static struct sk_late_library library = {"the fpzip library", SK_FPZIP_SONAME, "libfpzip1", symbols, sizeof symbols / sizeof *symbols, &sk_fpzip_late, NULL};

int sk_fpzip_load(struct saikai_error *err)
{
    return sk_late_load(&library, err);
}
