#!/usr/bin/env bash
# A Fortran program with the module mpi_f08 saves arrays that move and streams, and finds them again.
# usage: moving.sh PROGRAM MPI
set -euo pipefail
program=$1 mpi=$2
. "$(dirname "$0")/../common.sh"
need "$program"
cd "$work"
export SAIKAI_SCHEDULE_EVERY=1000000 # no checkpoint but those that the program demands, however slow the machine
export SAIKAI_STORE_PREFIX="$work/store" SAIKAI_STORE_LOCAL="$work/local" SAIKAI_JOB_NAME=test
for expected in 'began at *0: 0 wrong' 'resumed from 5: 0 wrong' 'resumed from 5: 0 wrong'; do
    timeout 240 "${mpiexec[@]}" -n 1 "$program" >out 2>&1 && grep -q "$expected" out || { cat out; exit 1; }
    ! grep 'saikai: job' out || { echo "the program has a log of its own"; exit 1; }
    case $expected in resumed*) export CHOOSE=1 ;; esac
done
