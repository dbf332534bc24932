#!/bin/sh
# The unit tests that do the same hundreds of times (die at every operation, lose every two nodes …), under the address and
# undefined-behaviour sanitizers.
# usage: check_sweeps.sh
set -eu
jobs=$(nproc)
mkdir -p build-asan
cmake --preset asan >build-asan/build.log 2>&1 &&
    cmake --build build-asan -j"$jobs" --target unit_tests -- --no-print-directory -s >>build-asan/build.log 2>&1 || {
    cat build-asan/build.log
    exit 1
}
timeout 2400 ctest --test-dir build-asan -L sweep -j"$jobs" --timeout 1200 --output-on-failure >build-asan/sweeps.log 2>&1 || {
    cat build-asan/sweeps.log
    exit 1
}
tail -n 4 build-asan/sweeps.log
