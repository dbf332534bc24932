#!/bin/sh
# The unit tests that do the same hundreds of times (die at an operation, cut the power …) at one in three operations, of which
# `make check` takes fewer; and further cases of tests with processes (label `more`), of which it takes some.
# usage: check_sweeps.sh BUILD_DIR
#   SAIKAI_TEST_SWEEP  one in how many operations; all: each, and also those further cases that repeat others many times, or with the
#                      other MPI in programs of minutes
set -eu
build=$1
run() {
    log=$1
    shift
    timeout 4800 ctest --test-dir "$build" "$@" --output-on-failure >"$build/$log" 2>&1 || {
        "$(dirname "$0")/failed_tests.sh" "$build/$log"
        exit 1
    }
    tail -n 4 "$build/$log"
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
(export SAIKAI_TEST_SWEEP="${SAIKAI_TEST_SWEEP:-3}" && run sweeps.log -R 'crash_test|powercut_test|collect_series_test' -j$(($(nproc) + 1)) --timeout 1800)
seldom='_twenty_|^world_replication_often_|^(kills|stop|directives)_|^defaults_([^cp]|.*_openmpi$)'
[ "${SAIKAI_TEST_SWEEP:-}" != all ] || seldom='^$'
run more.log -L '^more$' -E "$seldom" -j$(($(nproc) * 2))
