#!/bin/bash
# The median cost of saikai_init over many starts, with 1, 4 and 16 ranks on this host: the first start in a directory, and later ones.
# usage: init.sh BUILD_DIR MPI [STARTS]
set -eu
build=$(cd "$1" && pwd) mpi=$2 starts=${3:-15}
. "$(dirname "$0")/../tests/common.sh"
program=$build/bench/bench_init_$mpi
need "$program"
export SAIKAI_STORE_LOCAL=$work/local SAIKAI_LOG_LEVEL=warn
mkdir "$work/local"
one() { timeout 60 "${mpiexec[@]}" -n "$1" "$program" 2>/dev/null | sed -n 's/^init \(.*\) ms$/\1/p'; }
median() { sort -g | sed -n "$(((starts + 1) / 2))p"; }
for ranks in 1 4 16; do
    for kind in first later; do
        cd "$work" && rm -rf run && mkdir run && cd run
        for _ in $(seq "$starts"); do
            [ $kind = later ] || rm -rf saikai-store
            one $ranks
        done | median | sed "s/^/$mpi, $ranks ranks, $kind start: /; s/\$/ ms/"
    done
done
