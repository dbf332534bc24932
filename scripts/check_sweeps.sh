#!/bin/sh
# The unit tests that do the same hundreds of times (die at an operation, cut the power …) once at each operation, of which
# `make check` takes one in a few.
# usage: check_sweeps.sh BUILD_DIR
set -eu
build=$1
SAIKAI_TEST_SWEEP=all timeout 4800 ctest --test-dir "$build" -R 'crash_test|powercut_test' -j$(($(nproc) + 1)) --timeout 1800 \
    --output-on-failure >"$build/sweeps.log" 2>&1 || {
    "$(dirname "$0")/failed_tests.sh" "$build/sweeps.log"
    exit 1
}
tail -n 4 "$build/sweeps.log"
