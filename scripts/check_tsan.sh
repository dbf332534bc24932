#!/bin/sh
# Builds the unit tests that start threads with the thread sanitizer and runs them. A report in any of them is a failure: there
# is no list of known ones. Left out are the tests that start thousands of processes, one for each operation or power cut, and
# those that take minutes with threads that others test as well; copies_test, which counts what starts leave behind that are given up
# in one process, and so depends on how soon their threads end; those of snapshots, where the kernel lets a writer wait until
# its page is copied, which the sanitizer cannot know; and servers and who asks them in one process, between which messages go by
# ZeroMQ's own threads: it is not built with the sanitizer, which so takes memory that it hands over for shared.
# usage: check_tsan.sh
set -eu
jobs=$(nproc)
left_out='crash|job_memory|retention|survive|copies|series|never_worse|powercut|cow|^store_test|^redundancy_test|lossless|rates_link|rates_hostile|^events_|^way_test'
mkdir -p build-tsan
log=build-tsan/tests.log
cmake --preset tsan >build-tsan/build.log 2>&1 &&
    cmake --build build-tsan -j"$jobs" --target thread_tests -- --no-print-directory -s >>build-tsan/build.log 2>&1 || {
    cat build-tsan/build.log
    exit 1
}
# The sanitizer wants certain addresses to be free; where the kernel spreads mappings further than it knows (vm.mmap_rnd_bits
# above 28), it ends at once.
fixed=
setarch -R true 2>/dev/null && fixed="setarch -R"
export TSAN_OPTIONS="exitcode=66 history_size=4"
timeout 5400 $fixed ctest --test-dir build-tsan -L threads -E "$left_out" -j"$jobs" --timeout 600 --output-on-failure >"$log" 2>&1 || {
    "$(dirname "$0")/failed_tests.sh" "$log"
    exit 1
}
tail -n 4 "$log"
