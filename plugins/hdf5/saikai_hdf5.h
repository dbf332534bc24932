/* The HDF5 filter "saikai": Saikai's codecs for the chunks of any HDF5 dataset.
 *
 * A program that writes includes this header and adds the filter to a dataset's creation
 * properties; one that reads needs nothing. Both find the plug-in by HDF5_PLUGIN_PATH. What the
 * filter's numbers mean: [0] codec: a number of enum saikai_hdf5_codec [1] level, 0: the codec's
 * default [2] bound: 0 exact, 1 absolute, 2 relative to max - min, 3 PSNR in decibels [3] and [4]
 * the bound's value, m and e: m * 10^-e (1, 3 is 1e-3) Numbers that are left out are 0. The same
 * for h5repack: -f UD=397,0,5,9,0,2,1,3 is codec 9 (wavelet), default level, relative 1e-3.
 *
 * A bound holds for every chunk. max - min is that of the chunk, never more than the variable's, so
 * a relative bound is kept for the variable too. Lossy codecs touch floating-point datasets only;
 * any other type, and without a bound any codec but haar, comes back bit for bit. Chunks carry a
 * checksum: damage is an error, never wrong data. */
#ifndef SAIKAI_HDF5_H
#define SAIKAI_HDF5_H

/* From the range that HDF5 keeps for testing and local use (256-511). */
#define SAIKAI_HDF5_FILTER 397

/* Never reused for another codec. */
enum saikai_hdf5_codec {
    SAIKAI_HDF5_DEFAULT = 0, /* what Saikai takes for the type; with a bound the wavelet codec */
    SAIKAI_HDF5_RAW = 1,     /* checksum only */
    SAIKAI_HDF5_ZSTD = 2,
    SAIKAI_HDF5_LZ4 = 3,
    SAIKAI_HDF5_GZIP = 4,
    SAIKAI_HDF5_SHUFFLE_ZSTD = 5,
    SAIKAI_HDF5_FPC = 6,
    SAIKAI_HDF5_FPZIP = 7,
    SAIKAI_HDF5_HAAR = 8, /* lossy without keeping any bound: the method of 2015 */
    SAIKAI_HDF5_WAVELET = 9,
    SAIKAI_HDF5_PREDICT = 10,
    SAIKAI_HDF5_FAST = 11,
    SAIKAI_HDF5_QUICK = 12,
};

#define SAIKAI_HDF5_VALUES 5

/* cd_values for H5Pset_filter(dcpl, SAIKAI_HDF5_FILTER, H5Z_FLAG_MANDATORY, SAIKAI_HDF5_VALUES,
 * values). */
static inline void saikai_hdf5_values(enum saikai_hdf5_codec codec, unsigned level,
                                      unsigned bound_kind, unsigned m, unsigned e,
                                      unsigned values[SAIKAI_HDF5_VALUES])
{
    values[0] = (unsigned)codec;
    values[1] = level;
    values[2] = bound_kind;
    values[3] = m;
    values[4] = e;
}

#endif
