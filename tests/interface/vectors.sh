#!/usr/bin/env bash
# A program is as fast after a call of the library as before it: vectors.c, at the start and at a restart, with every candidate saved.
# usage: vectors.sh MPI PROGRAM
set -euo pipefail
mpi=$1 program=$2
. "$(dirname "$0")/../common.sh"
need "$program"
cd "$work"
export SAIKAI_STORE_PREFIX="$work/store" SAIKAI_STORE_LOCAL="$work/local" SAIKAI_SCHEDULE_EVERY=3
for form in "" "SAIKAI_REDUNDANCY_SCHEME=xor SAIKAI_REDUNDANCY_DOMAIN=process" "SAIKAI_REDUNDANCY_SCHEME=rs SAIKAI_REDUNDANCY_DOMAIN=process SAIKAI_CODEC_CHAINS=x=gzip"; do
    rm -rf store local
    for start in first second; do
        rc=0
        env $form timeout 120 "${mpiexec[@]}" -n 4 "$program" >out 2>err || rc=$?
        case $rc in
        0) ;;
        77) echo "skip: this processor does not tell what of the vector registers is in use"; exit 77 ;;
        *) echo "$form, $start start: $rc"; cat out err; exit 1 ;;
        esac
    done
done
echo passed
