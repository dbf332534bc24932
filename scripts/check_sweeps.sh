#!/bin/sh
# The unit tests that do the same hundreds of times (die at every operation, lose every two nodes …): under the address and
# undefined-behaviour sanitizers, and without them at each operation, of which `make check` takes one in a few.
# usage: check_sweeps.sh BUILD_DIR
set -eu
build=$1
jobs=$(nproc)
SAIKAI_TEST_SWEEP=all timeout 4800 ctest --test-dir "$build" -R 'crash_test|powercut_test' -j"$jobs" --timeout 1800 \
    --output-on-failure >"$build/sweeps.log" 2>&1 || {
    cat "$build/sweeps.log"
    exit 1
}
tail -n 4 "$build/sweeps.log"
mkdir -p build-asan
cmake --preset asan >build-asan/build.log 2>&1 &&
    cmake --build build-asan -j"$jobs" --target unit_tests -- --no-print-directory -s >>build-asan/build.log 2>&1 || {
    cat build-asan/build.log
    exit 1
}
timeout 4800 ctest --test-dir build-asan -L sweep -j"$jobs" --timeout 1200 --output-on-failure >build-asan/sweeps.log 2>&1 || {
    cat build-asan/sweeps.log
    exit 1
}
tail -n 4 build-asan/sweeps.log
