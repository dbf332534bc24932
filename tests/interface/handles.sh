#!/usr/bin/env bash
# Several jobs in one process, each with its own store: they begin, resume, and know nothing of each other.
# usage: handles.sh MPI PROGRAM SAIKAI
set -euo pipefail
mpi=$1 program=$2 saikai=$3
. "$(dirname "$0")/../common.sh"
need "$program"
cd "$work"
export SAIKAI_SCHEDULE_EVERY=1000000 # no checkpoint but those that the program demands, however slow the machine
export SAIKAI_STORE_LOCAL="$work/local"

try() { # what the program does, twice
    for start in begin resume; do
        SAIKAI_STORE_PREFIX="$work/$1" timeout 200 "${mpiexec[@]}" -n "$2" "$program" "$1" $start >out 2>err && grep -q '^fine$' out ||
            { echo "$1, $start:"; cat out err; exit 1; }
        # the program's own function has heard the lines of these jobs
        ! grep -E 'job (upper|lower|a|b):' err || { echo "$1, $start: these lines went to stderr"; exit 1; }
    done
}
try halves 4
try pair 2
# each has its own place, and the names that it was given
for job in halves/lower halves/upper pair/a pair/b; do
    grep -qs "name ${job#*/}\$" "$work/${job%/*}/job" "$work/${job%/*}/jobs/${job#*/}/job" || { find "$work" -name job; echo "there is no store of $job"; exit 1; }
done
# under the launcher, a rank has ended when its last handle is closed
SAIKAI_STORE_PREFIX="$work/run" timeout 300 "$saikai" run --launcher "$mpi" -n 2 -- "$program" pair begin >out 2>err && grep -q '^fine$' out ||
    { cat out err; exit 1; }
! grep -q 'restart 1' err || { cat err; exit 1; }
