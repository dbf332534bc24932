/* Readers on hostile files: the first byte chooses the reader, the rest is the file. The HDF5
 * library is left out: it runs in a process of its own; what that says is not. */
#include "reader/hdf5.h"
#include "reader/scan.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sk_scan scan = {0};
    struct sk_hdf5 contents = {0};
    static int described;
    if (!described)
        sk_raw_describe_shipped();
    described = 1;
    if (n < 1)
        return 0;
    struct sk_view src = {
        .path = data[0] % 4 == 2 ? "x.restart.0.1" : "x.pe000000", .data = data + 1, .size = n - 1};
    switch (data[0] % 4) {
    case 0:
        if (sk_reader_netcdf3.probe(&src))
            sk_reader_netcdf3.scan(&src, &scan, NULL);
        break;
    case 1:
        if (data[0] == 5) /* what the library's process says */
            sk_hdf5_decode(data + 1, n - 1, &contents);
        else
            sk_hdf5_parse(&src, &contents, NULL);
        sk_hdf5_free(&contents);
        break;
    default:
        if (!sk_reader_hdf5.probe(&src))
            sk_scan_source(&src, &scan, NULL);
    }
    sk_scan_free(&scan);
    return 0;
}
