#!/bin/sh
# Runs all tests: those of BUILD_DIR, then the unit tests once more with the address and undefined-behaviour sanitizers, but for
# the sweeps, which check_sweeps.sh runs under them.
# What is skipped is listed with its reason. Ends with one line of totals.
# usage: check.sh BUILD_DIR
set -eu
build=$1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
jobs=$(nproc)
slots=$((jobs + 1)) # many tests wait most of the time
failed=0
data=$(sed -n 's/^SAIKAI_DATA:PATH=//p' "$build/CMakeCache.txt")

echo "== tests as built"
ctest --test-dir "$build" --output-on-failure -j"$slots" >"$build/tests.log" 2>&1 || { failed=1; cat "$build/tests.log"; }
grep -E 'tests passed|Passed|Skipped' "$build/tests.log" | grep -vE ' (0\.|1\.)[0-9]* sec$' || true

echo "== unit tests under the sanitizers"
cmake --preset asan -DSAIKAI_DATA="$data" >"$build/asan.log" 2>&1 &&
    cmake --build build-asan -j"$jobs" --target unit_tests -- --no-print-directory -s >>"$build/asan.log" 2>&1 || {
    cat "$build/asan.log"
    exit 1
}
ctest --test-dir build-asan --output-on-failure -j"$slots" -L unit -LE sweep --timeout 600 >"$build/asan-unit.log" 2>&1 || {
    failed=1
    cat "$build/asan-unit.log"
}
tail -n 4 "$build/asan-unit.log"

echo "== skipped, and why"
grep -h 'Skipped' "$build/tests.log" | sort -u || true
for log in "$build"/Testing/Temporary/LastTest.log; do
    grep -h '^skip' "$log" 2>/dev/null | sort -u || true
done

total=0
bad=0
for log in "$build/tests.log" "$build/asan-unit.log"; do
    t=$(sed -n 's/.* tests failed out of \([0-9]*\)$/\1/p' "$log" | tail -n 1)
    f=$(sed -n 's/.*, \([0-9]*\) tests failed out of .*/\1/p' "$log" | tail -n 1)
    total=$((total + ${t:-0}))
    bad=$((bad + ${f:-0}))
done
echo "$((total - bad)) passed, $bad failed"
[ $failed = 0 ] && [ $bad = 0 ] && [ $total -gt 0 ]
