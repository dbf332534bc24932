#!/usr/bin/env bash
# Several jobs in one Fortran program, each with its own store: they begin, resume, and know nothing of each other.
# usage: handles.sh PROGRAM MPI
set -euo pipefail
program=$1 mpi=$2
. "$(dirname "$0")/../common.sh"
need "$program"
cd "$work"
export SAIKAI_STORE_PREFIX="$work/store" SAIKAI_STORE_LOCAL="$work/local"
for start in begin resume resume; do
    timeout 100 "${mpiexec[@]}" -n 4 "$program" $start >out 2>err && grep -q '^ *fine$' out || { echo "$start:"; cat out err; exit 1; }
done
for job in lower upper all; do
    grep -rqs "name $job\$" --include=job store || { find store -name job; echo "there is no store of $job"; exit 1; }
done
