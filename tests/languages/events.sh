#!/usr/bin/env bash
# A Fortran program tells and hears events, and `saikai events` shows them. usage: events.sh PROGRAM MPI SAIKAI
set -euo pipefail
program=$1 mpi=$2 saikai=$3
. "$(dirname "$0")/../common.sh"
need "$program"
cd "$work"
export SAIKAI_STORE_PREFIX="$work/store" SAIKAI_STORE_LOCAL="$work/local" SAIKAI_JOB_NAME=test
timeout 400 "${mpiexec[@]}" -n 2 "$program" >out 2>err && grep -q '^ *fine$' out || { cat out err; exit 1; }
"$saikai" events "$work/store" --filter space=app >shown && grep -q 'step.*residual=1e-9' shown && [ "$(grep -c . shown)" = 2 ] ||
    { cat shown; exit 1; }
