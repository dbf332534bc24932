#!/usr/bin/env bash
# Blocks of arrays with ghost cells, saved and restored by several numbers of ranks. usage: blocks.sh PROGRAM MPI
set -euo pipefail
program=$1 mpi=$2
. "$(dirname "$0")/../common.sh"
need "$program"
export SAIKAI_STORE_PREFIX="$work/store" SAIKAI_STORE_LOCAL="$work/local" SAIKAI_STORE_FSYNC=no
export SAIKAI_JOB_NAME=test # its arguments change from start to start: it is one job all the same
at=0
for ranks in 4 3 1 6 2; do
    timeout 240 "${mpiexec[@]}" -n "$ranks" "$program" >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err"; exit 1; }
    cat "$work/out"
    [ $at = 0 ] || grep -q "resumed from $at: 0 wrong" "$work/out"
    at=$((at + 5))
done
