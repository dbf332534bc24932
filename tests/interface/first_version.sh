#!/usr/bin/env bash
# A program of the first version of the interface runs with today's library: compiled anew with the headers of then, and the
# very file that was linked then, where this machine can run it. No name of that version is gone.
# usage: first_version.sh MPI PROGRAM LIBRARY MACHINE
set -euo pipefail
mpi=$1 program=$2 library=$3 machine=$4 here=$(cd "$(dirname "$0")" && pwd)
. "$here/../common.sh"
need "$program"
cd "$work"
export SAIKAI_SCHEDULE_EVERY=1000000 # no checkpoint but those that the program demands, however slow the machine

nm -D --defined-only --with-symbol-versions "$library" | awk '{ print $3 }' | sed 's/@@/@/' | LC_ALL=C sort >now
grep -v '^#' "$here/v1/symbols" | sed 's/@@/@/' | LC_ALL=C sort >then
gone=$(LC_ALL=C comm -23 then now)
[ -z "$gone" ] || { echo "the library has lost what the first version had: $gone"; exit 1; }

runs() { # PROGRAM NAME
    export SAIKAI_STORE_PREFIX="$work/$2" SAIKAI_STORE_LOCAL="$work/$2-local" SAIKAI_JOB_NAME=test
    for start in begin resume; do
        LD_LIBRARY_PATH=$(dirname "$library")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} timeout 200 "${mpiexec[@]}" -n 2 "$1" $start >out 2>&1 &&
            grep -q '^begun\|^resumed' out || { echo "$2, $start:"; cat out; exit 1; }
    done
}

runs "$program" compiled
kept=$here/v1/program_${mpi}_$machine
[ ! -x "$kept" ] || needs=$(LD_LIBRARY_PATH=$(dirname "$library") ldd "$kept")
case ${needs:-not found} in
*"not found"*) echo "no program that was linked then is kept for $mpi on $machine, or its MPI is another one here" ;;
*"$(dirname "$library")"*) runs "$kept" kept ;;
*) echo "$needs: another libsaikai would be tried"; exit 1 ;;
esac
