#!/bin/bash
# The set-up of jobs of several sizes with services of nodes and without (setup.sh), and drawings of what it is made of.
# usage: setups.sh BUILD_DIR MPI OUT_DIR [RUNS [NODES...]]    NODES: further numbers of nodes, with two processes on each (16 32 …)
# Leaves OUT_DIR/paper-when-fig7-MPI.{json,svg} (1 to 8 processes on one node) and …-fig8-MPI.… (two processes on each of 1 to 8 nodes and further).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1 mpi=$2 out=$3 runs=${4:-7}
shift $(($# < 4 ? $# : 4))
mkdir -p "$out"
out=$(cd "$out" && pwd)
fig7=$out/paper-when-fig7-$mpi fig8=$out/paper-when-fig8-$mpi
: >"$fig7.json"
for n in 1 2 4 8; do
    "$here/setup.sh" "$build" "$mpi" 1 $n "$runs" | tee -a "$fig7.json"
done
"$here/setup_plot.py" "1 to 8 processes on one node, $mpi" "$fig7.svg" '1 process' '2 processes' '4 processes' '8 processes' <"$fig7.json"
: >"$fig8.json"
names=()
for n in 1 2 4 8 "$@"; do
    "$here/setup.sh" "$build" "$mpi" $n 2 "$runs" | tee -a "$fig8.json"
    names+=("$n × 2")
done
"$here/setup_plot.py" "two processes on each node, $mpi" "$fig8.svg" "${names[@]}" <"$fig8.json"
