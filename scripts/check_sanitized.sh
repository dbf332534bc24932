#!/bin/sh
# Builds the unit tests with the address and undefined-behaviour sanitizers and runs all of them, those that do the same hundreds of
# times (die at an operation, lose every two nodes …) among them.
# usage: check_sanitized.sh BUILD_DIR; its data folder is taken
set -eu
jobs=$(nproc)
data=$(sed -n 's/^SAIKAI_DATA:PATH=//p' "$1/CMakeCache.txt")
mkdir -p build-asan
log=build-asan/tests.log
cmake --preset asan -DSAIKAI_DATA="$data" >build-asan/build.log 2>&1 &&
    cmake --build build-asan -j"$jobs" --target unit_tests -- --no-print-directory -s >>build-asan/build.log 2>&1 || {
    cat build-asan/build.log
    exit 1
}
timeout 4800 ctest --test-dir build-asan -L unit -j$((jobs + 1)) --timeout 1200 --output-on-failure >"$log" 2>&1 || {
    "$(dirname "$0")/failed_tests.sh" "$log"
    exit 1
}
tail -n 4 "$log"
