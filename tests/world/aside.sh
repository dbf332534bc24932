#!/usr/bin/env bash
# One rank waits inside MPI, in something that the protocol logging does not have, while the others wait for what it has begun before: no program that ends
# without the layer hangs with it. It is said that a fault starts the job again, and it does.
# usage: aside.sh WHAT BUILD_DIR MPI AT_CANDIDATE
set -euo pipefail
what=$1 build=$2 mpi=$3 at_candidate=$4
. "$(dirname "$0")/../common.sh"
exe="$build/tests/world/aside_$mpi"
need "$build/src/cli/saikaid"
need "$exe"
takes_no_notice || { echo "skip: with Open MPI 4 alone, as another version has what this is about otherwise where it bears deaths"; exit 77; }
cd "$work"
export SAIKAI_JOB_NAME=aside SAIKAI_STORE_LOCAL="$work/local" SAIKAI_SCHEDULE_EVERY=1 SAIKAI_STORE_FSYNC=no SAIKAI_RUN_NO_PROGRESS=0
saikai=("$build/src/cli/saikai" run --recovery process=in-place --protocol logging -n 4 --)
said=': after a fault this job is started again, and not repaired in place'

fail() {
    echo "$what: $*"
    echo "--- out"; cat out
    echo "--- err"; tail -n 40 err
    exit 1
}

# Without poll a process that is started may wait in MPI_Init for ever, as with any mpirun of PMIx (src/recovery/launch/openmpi.c).
EVENT_NOEPOLL=1 SAIKAI_STORE_PREFIX="$work/calm" timeout 120 "${mpiexec[@]}" -n 4 "$exe" 4 "$what" simple >calm.out
grep -q verified calm.out || { cat calm.out; exit 1; }
SAIKAI_STORE_PREFIX="$work/quiet" timeout 200 "${saikai[@]}" "$exe" 4 "$what" >out 2>err || fail "exit code $? without a fault: it hangs, or ends with an error"
cmp -s calm.out out || fail "not the result that it has without the layer: $(cat calm.out)"
grep -q "$said" err || fail "it was not said that a fault is a restart"
export SAIKAI_STORE_PREFIX="$work/store"
hold "$work/pid.2"
timeout 400 "${saikai[@]}" "$exe" -p "$work/pid" 4 "$what" >out 2>err &
run=$!
wait "$held" || fail "rank 2 did not get to its first candidate"
held=
pid=$(cat pid.2)
"$at_candidate" "$pid" 1 9 "$pid" >killed || fail "rank 2 did not reach a candidate"
rc=0
wait "$run" || rc=$?
run=
[ "$rc" = 0 ] || fail "exit code $rc"
cmp -s calm.out out || fail "not the result that it has without the layer: $(cat calm.out)"
grep -q 'answer: restart, not in place: ' err || fail "the job was not started again"
echo "$what: $(cat out)"
