#!/usr/bin/env bash
# The layer between program and MPI changes nothing: what a program gets from each call is the same without it, with it when nobody wants
# a repair, and with it fully at work (under `saikai run`, in saikai_in_place). And what has no MPI can be started with it.
# usage: passes.sh BUILD_DIR MPI
set -euo pipefail
build=$1 mpi=$2
. "$(dirname "$0")/../common.sh"
exe="$build/tests/world/layered_$mpi" layer="$build/src/cli/libsaikai-world-$mpi.so"
need "$exe"
need "$build/src/cli/saikaid"
cd "$work"
export SAIKAI_STORE_LOCAL="$work/local"
# The programs write to a file: for a warning of its own, that its topologies were not tested with its fault tolerance, Open MPI 5 puts a
# line end and a zero byte into what it passes on, wherever a buffer ends, now and then loses some of it there, and gives out as
# standard output what was standard error.
export LAYERED_OUTPUT=$work/written
to() { # FILE COMMAND…
    local file=$1
    shift
    rm -f "$LAYERED_OUTPUT"
    timeout 100 "$@" >"$file" || return
    mv "$LAYERED_OUTPUT" "$file"
}
LD_PRELOAD="$layer" LD_BIND_NOW=1 sh -c 'exit 0' || { echo "a shell does not start with the layer"; exit 1; }
for exe in "$exe" "$build"/tests/world/layered_MPI*_"$mpi"; do
    [ -x "$exe" ] || continue # there is no Fortran
    for n in 1 3 4; do
        to plain "${mpiexec[@]}" -n $n "$exe"
        grep -q verified plain || { cat plain; exit 1; }
        to idle "${mpiexec[@]}" -n $n env LD_PRELOAD="$layer" "$exe"
        cmp plain idle || { echo "$exe, $n ranks: another result with the layer idle"; diff plain idle; exit 1; }
        to atwork "$build/src/cli/saikai" run --recovery process=in-place --warm 0 -n $n -- "$exe" 2>err || { cat err; exit 1; }
        cmp plain atwork || { echo "$exe, $n ranks: another result with the layer at work"; diff plain atwork; cat err; exit 1; }
        to warm "$build/src/cli/saikai" run --recovery process=in-place --warm 1 -n $n -- "$exe" 2>err || { cat err; exit 1; }
        cmp plain warm || { echo "$exe, $n ranks: another result with a warm spare"; diff plain warm; cat err; exit 1; }
        to logged "$build/src/cli/saikai" run --recovery process=in-place --protocol logging -n $n -- "$exe" 2>err || { cat err; exit 1; }
        cmp plain logged || { echo "$exe, $n ranks: another result when messages are logged"; diff plain logged; cat err; exit 1; }
        ! grep "not repaired in place" err || ! is_repaired || { echo "$exe: the layer gave up"; exit 1; }
    done
done
unset LAYERED_OUTPUT
for protocol in coordinated logging; do # one rank cannot be repaired, and only it knows: the others' messages still meet its own
    timeout 100 "$build/src/cli/saikai" run --recovery process=in-place --protocol $protocol -n 3 -- "$build/tests/world/layered_$mpi" alone >alone 2>err ||
        { echo "what one rank alone may not call, $protocol:"; cat alone err; exit 1; }
    grep -q verified alone || { cat alone err; exit 1; }
done
for program in heat cg particles heat_fortran; do
    [ -x "$build/examples/${program}_$mpi" ] || continue
    case $program in cg | heat_fortran) arguments="24 60" ;; particles) arguments= ;; *) arguments="24 24 24 60" ;; esac
    SAIKAI_STORE_PREFIX=none timeout 200 "${mpiexec[@]}" -n 3 "$build/examples/${program}_$mpi" $arguments >plain
    SAIKAI_STORE_PREFIX=none timeout 200 "${mpiexec[@]}" -n 3 env LD_PRELOAD="$layer" "$build/examples/${program}_$mpi" $arguments >idle
    cmp plain idle || { echo "$program: another result with the layer"; diff plain idle; exit 1; }
done
echo "the same with and without the layer"
