#!/bin/sh
# The demonstration: a heat-equation solver on 4 ranks runs once undisturbed and once under `saikai run`, where one of its
# ranks is killed with SIGKILL in the middle. Both must end with the same bits.
# usage: demo.sh BUILD_DIR
set -eu
build=$(cd "$1" && pwd)
mpi=$("$(dirname "$0")/default_mpi.sh" "$build")
heat="$build/examples/heat_$mpi"
size="96 96 96 1500"
work=$(mktemp -d)
run=
cleanup() {
    if [ -n "$run" ]; then
        kill "$run" 2>/dev/null || true
        wait "$run" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
cd "$work"
# mpirun refuses root and more ranks than cores unless it is told otherwise
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
case "$mpi" in
openmpi) mpiexec="mpiexec.openmpi --oversubscribe" ;;
*) mpiexec="mpiexec.$mpi" ;;
esac
command -v ${mpiexec%% *} >/dev/null 2>&1 || mpiexec=mpiexec

echo "1. The heat equation on 4 ranks, undisturbed:"
SAIKAI_STORE_PREFIX="$work/undisturbed" timeout 120 $mpiexec -n 4 "$heat" $size >calm.out
sed 's/^/   /' calm.out

echo "2. The same under 'saikai run', a checkpoint every 100 steps:"
SAIKAI_LOG_LEVEL=info SAIKAI_STORE_PREFIX="$work/disturbed" SAIKAI_SCHEDULE_EVERY=100 \
    timeout 180 "$build/src/cli/saikai" run -v -n 4 -- "$heat" -p "$work/pid" $size >killed.out 2>killed.err &
run=$!
# wait until a generation is complete in the prefix, then kill rank 2 for real
i=0
while [ "$(find disturbed -name 'rank-*.skc' 2>/dev/null | wc -l)" -lt 8 ]; do
    i=$((i + 1))
    if [ $i -gt 1200 ] || ! kill -0 $run 2>/dev/null; then
        cat killed.err killed.out
        echo "demo: no checkpoint appeared" >&2
        exit 1
    fi
    sleep 0.05
done
victim=$(cat pid.2)
echo "   kill -KILL $victim (rank 2)"
kill -KILL "$victim"
rc=0
wait $run || rc=$?
run=
sed 's/^/   /' killed.err killed.out
if [ $rc != 0 ]; then
    echo "demo: saikai run ended with $rc" >&2
    exit 1
fi
if ! grep -q 'resuming from iteration' killed.err; then
    echo "demo: the program did not resume from a checkpoint" >&2
    exit 1
fi
if cmp -s calm.out killed.out; then
    echo "3. The result is identical to the undisturbed run's, bit for bit."
else
    echo "demo: the results differ" >&2
    exit 1
fi
