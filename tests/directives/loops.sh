#!/usr/bin/env bash
# Programs with directives in each language die at each of their steps, start again, and say in the end what the same file says when the
# MPI's own compiler has made it.
# usage: loops.sh SOURCE_DIR BUILD_DIR MPI COMPILER(saikaicc|saikaicxx|saikaifort) FILE OWN_COMPILER
set -euo pipefail
source=$1 build=$2 mpi=$3 tool=$4 file=$5 own=$6
. "$source/tests/common.sh"
cd "$work"
ulimit -c 0
cp "$source/tests/directives/$file" "$source/tests/directives/loops.h" .
[ "$tool" != saikaicxx ] || { mv "$file" loops.cpp; file=loops.cpp; }
flags="-O2 -Wall -Wextra -Werror -Wno-unknown-pragmas"
[ "$tool" != saikaifort ] || flags="-O2"
"$own" $flags "$file" -o plain
PATH=$build/src/directive:$PATH "$tool" --mpi="$mpi" $flags "$file" -o own
./plain >expected # no MPI in it: MPICH's mpiexec dies now and then when such a program is at its end at once
export SAIKAI_STORE_LOCAL=$work/local SAIKAI_STORE_FSYNC=no SAIKAI_SCHEDULE_EVERY=1 SAIKAI_JOB_NAME=loops SAIKAI_LOG_LEVEL=error
resumed=0 deaths=0
for at in ${DEATHS:-1 2 3 5 8 11 13 17 30}; do
    rm -rf store local
    export SAIKAI_STORE_PREFIX=$work/store
    for try in $(seq 40); do
        rc=0
        DIE_AT=$at SAIKAI_LOG_LEVEL=notice timeout 100 "${mpiexec[@]}" -n 1 ./own >out 2>err || rc=$?
        resumed=$((resumed + $(grep -c 'resuming from iteration' err || true)))
        [ $rc != 0 ] || break
        deaths=$((deaths + 1))
        [ "$at" -gt 2 ] || break # it would never end
    done
    [ $rc = 0 ] || timeout 100 "${mpiexec[@]}" -n 1 ./own >out
    diff expected out || { echo "killed at step $at of each start"; cat err; exit 1; }
done
echo "$tool: $deaths deaths, resumed $resumed times: $(cat out)"
[ $deaths -gt 3 ] && [ $resumed -gt 2 ]
