/* Any bytes as a source in each language: translated, or refused with a sentence. */
#include "directive/translate.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct {
        enum language language;
        int fixed, cpp;
    } as[] = {{LANG_C, 0, 1}, {LANG_CXX, 0, 1}, {LANG_FORTRAN, 0, 0}, {LANG_FORTRAN, 0, 1}, {LANG_FORTRAN, 1, 0}, {LANG_FORTRAN, 1, 1}};
    for (size_t i = 0; i < sizeof as / sizeof *as; i++) {
        struct sk_buf out = {0};
        char said[900] = "";
        int found = sk_translate_text("source", (const char *)data, n, as[i].language, as[i].fixed, as[i].cpp, &out, said, NULL);
        if ((found < 0 && !*said) || (found > 0 && !out.len))
            abort();
        sk_buf_free(&out);
    }
    return 0;
}
