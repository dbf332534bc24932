/* The table of all codecs in this build, and finding one by name. */
#include "codec/codec.h"

#include "base/types.h"
#include "codec/added.h"
#include "codec/haar/haar.h"
#include "codec/lossless/lossless.h"
#include "codec/quick/quick.h"
#include "codec/wavelet/wavelet.h"

#include <saikai/component.h>
#include <string.h>

/* The one table of codecs. Order is what `saikai config` shows; names are in files and never change
 * their meaning. */
static const struct sk_codec_ops *const table[] = {
    &sk_codec_raw,     &sk_codec_predict, &sk_codec_fast,
#ifdef HAVE_ZSTD
    &sk_codec_zstd,
#endif
#ifdef HAVE_LZMA
    &sk_codec_lzma,
#endif
#ifdef HAVE_LZ4
    &sk_codec_lz4,
#endif
#if defined(HAVE_DEFLATE) || defined(HAVE_ZLIB)
    &sk_codec_gzip,
#endif
    &sk_codec_shuffle, &sk_codec_fpc,
#ifdef HAVE_FPZIP
    &sk_codec_fpzip,
#endif
    &sk_codec_haar,    &sk_codec_wavelet, &sk_codec_quick,
};

const struct sk_codec_ops *sk_codec_at(int i)
{
    int built_in = sizeof table / sizeof *table;
    return i < built_in ? i >= 0 ? table[i] : NULL : sk_codec_added_at(i - built_in);
}

SK_OPEN_KIND(sk_codec_kind, "codec", "codec", struct sk_codec_ops, sk_codec_at, description, SAIKAI_KIND_CODEC,
             struct saikai_codec_ops, sk_codec_add);

const struct sk_codec_ops *sk_codec_find(const char *name)
{
    return sk_codec_at(sk_kind_form(&sk_codec_kind, name));
}
