#!/bin/sh
# Runs the benchmarks and prints a table; the figures go to BUILD_DIR/bench.json (one JSON object a line). Each figure is a
# ratio to what the machine allows, or to a peer, in the same run: quote the ratios, from a quiet machine.
# usage: bench.sh BUILD_DIR [codec]
set -eu
scripts=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
what=${2-all}
jobs=$(nproc)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 SAIKAI_LOG_LEVEL=warn
make_targets() {
    cmake --build "$build" -j"$jobs" --target "$@" -- --no-print-directory -s >"$build/bench.log" 2>&1 || {
        cat "$build/bench.log"
        exit 1
    }
}
has_target() {
    cmake --build "$build" --target help | grep "^\.\.\. $1\$" >/dev/null
}
out="$build/bench.json"
if [ "$what" = codec ]; then
    make_targets bench-codec
    cat "$build/bench.log"
    exit 0
fi
: >"$out"
work=$(mktemp -d)
memory=$(mktemp -d /dev/shm/saikai-bench-XXXXXX)
trap 'rm -rf "$work" "$memory"' EXIT
cd "$work"
mib=${SAIKAI_BENCH_MIB:-512}
for mpi in openmpi mpich; do
    has_target bench_checkpoint_$mpi || continue
    make_targets bench_checkpoint_$mpi
    bench="$build/bench/bench_checkpoint_$mpi"
    mpiexec=$(command -v mpiexec.$mpi || command -v mpiexec)
    [ $mpi = openmpi ] && mpiexec="$mpiexec --oversubscribe"
    export SAIKAI_STORE_LOCAL="$memory" SAIKAI_STORE_PREFIX="$work/prefix" SAIKAI_JOB_NAME=bench
    one() {
        n=$1
        shift
        # more ranks than cores: MPICH polls without a pause, and 'saikai run' preloads what makes it yield
        preload=
        [ $mpi = mpich ] && [ "$n" -gt "$jobs" ] && preload=$(find "$build" -name libsaikai-yield.so | head -n 1)
        LD_PRELOAD=$preload timeout 300 $mpiexec -n "$n" "$bench" "$@" | sed "s/^{/{\"mpi\": \"$mpi\", /" | tee -a "$out" >/dev/null
    }
    echo "checkpoint path, $mpi …" >&2
    one 1 calls
    one 2 calls
    one 1 blocked "$mib" "$memory"
    rm -rf "$memory"/saikai-*
    one 2 blocked "$mib" "$memory"
    rm -rf "$memory"/saikai-*
    one 4 write $((mib / 4)) "$memory"
    for round in 1 2 3 4 5; do one 4 restart $((mib / 4)) "$memory"; done
    rm -rf "$memory"/saikai-*
    one 4 init
    if has_target bench_increments_$mpi; then
        make_targets bench_increments_$mpi
        bench="$build/bench/bench_increments_$mpi"
        one 1 changes "$mib"
        rm -rf "$memory"/saikai-*
        one 1 stop "$mib"
        rm -rf "$memory"/saikai-*
        make_targets bench_tracking_$mpi
        bench="$build/bench/bench_tracking_$mpi"
        one 1 60
        rm -rf "$memory"/saikai-*
    fi
done
python3 "$scripts/bench_table.py" "$out"
for target in bench-run bench-redundancy bench-capture; do
    if has_target $target; then
        echo "$target …" >&2
        make_targets $target
        cat "$build/bench.log"
        grep -h '^{' "$build/bench.log" >>"$out" || true
    fi
done
echo "figures: $out"
