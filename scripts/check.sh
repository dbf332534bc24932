#!/bin/sh
# Runs all tests of BUILD_DIR but those of the label `more`, which are further cases of others and run with `make check-sweeps`.
# What is skipped is listed with its reason. Ends with one line of totals.
# usage: check.sh BUILD_DIR [ARGUMENT OF CTEST]…   (-R REGEX: some of them)
set -eu
build=$1
shift
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
slots=$(($(nproc) * 2)) # many tests wait most of the time, and jobs of several ranks starve each other when there are more
failed=0

ctest --test-dir "$build" -LE '^more$' --output-on-failure -j"$slots" "$@" >"$build/tests.log" 2>&1 || failed=1
grep -E 'tests passed|Passed|Skipped' "$build/tests.log" | grep -vE ' (0\.|1\.)[0-9]* sec$' || true

echo "== skipped, and why"
grep -h 'Skipped' "$build/tests.log" | sort -u || true
for log in "$build"/Testing/Temporary/LastTest.log; do
    grep -h '^skip' "$log" 2>/dev/null | sort -u || true
done

[ $failed = 0 ] || "$(dirname "$0")/failed_tests.sh" "$build/tests.log"

total=$(sed -n 's/.* tests failed out of \([0-9]*\)$/\1/p' "$build/tests.log" | tail -n 1)
bad=$(sed -n 's/.*, \([0-9]*\) tests failed out of .*/\1/p' "$build/tests.log" | tail -n 1)
total=${total:-0} bad=${bad:-0}
echo "$((total - bad)) passed, $bad failed"
[ $failed = 0 ] && [ "$bad" = 0 ] && [ "$total" -gt 0 ]
