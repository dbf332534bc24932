#!/bin/bash
# usage: stage_test.sh BUILD_DIR MPI
# A program brings its checkpoints to the prefix as archives; it is killed, its nodes lose everything, and it goes on from
# the archives alone, with as many ranks and with others: the result has the same bits as that of an undisturbed run.
# Where MPI gives no threads, each rank's file is copied instead, and that is said.
build=$1 mpi=$2
heat=$build/examples/heat_$mpi
saikai=$build/src/cli/saikai
. "$(dirname "$0")/../common.sh"
need "$heat"
grid="48 48 48"
fail() {
    echo "$*"
    tail -n 40 "$work/out" "$work/err"
    exit 1
}
sum_of() { grep -o 'checksum [0-9a-f]*' "$1"; }
threads() { export OMPI_MPI_THREAD_LEVEL=3 MPIR_CVAR_DEFAULT_THREAD_LEVEL=MPI_THREAD_MULTIPLE; }


export SAIKAI_STORE_PREFIX=$work/store SAIKAI_STORE_LOCAL=$work/local SAIKAI_STORE_FSYNC=no SAIKAI_LOG_LEVEL=debug
export SAIKAI_SCHEDULE_EVERY=50 SAIKAI_SCHEDULE_POLL=5ms SAIKAI_STORE_ARCHIVE=aggregate SAIKAI_FAR_WRITERS=2

# without threads
timeout 100 "${mpiexec[@]}" -n 2 "$heat" $grid 100 > "$work/out" 2> "$work/err" || fail "failed without threads"
grep -q 'needs MPI_THREAD_MULTIPLE' "$work/err" || fail "does not say that it needs threads"
ls "$work"/store/gen-*/rank-000001.skc > /dev/null || fail "no file of each rank without threads"
rm -rf "$work/store" "$work/local"

# with them: killed when some archives are there
threads
for ranks in 3 3 4; do
    before=$(ls -d "$work"/store/gen-* 2> /dev/null | tail -n 1)
    : > "$work/err"
    timeout --foreground -k 2 100 "${mpiexec[@]}" -n $ranks "$heat" -p "$work/pid" $grid 1000000 > "$work/out" 2> "$work/err" &
    run=$!
    for i in $(seq 600); do
        [ "$(grep -c 'is archived' "$work/err")" -ge 3 ] && break
        kill -0 $run 2> /dev/null || fail "the program ended"
        sleep 0.1
    done
    [ "$(grep -c 'is archived' "$work/err")" -ge 3 ] || fail "nothing is archived"
    for p in "$work"/pid.*; do kill -KILL "$(cat "$p")" 2> /dev/null; done
    wait $run 2> /dev/null
    run=
    [ -z "$before" ] || grep -q 'resuming from iteration' "$work/err" || fail "does not resume from the archives"
    newest=$(ls -d "$work"/store/gen-* | tail -n 1)
    [ "$newest" != "$before" ] || fail "no progress"
    ls "$newest"/rank-*.skc > /dev/null 2>&1 && fail "files of single ranks beside the archives"
    rm -rf "$work/local" "$work"/pid.*
done
"$saikai" archive verify -q "$(ls -d "$work"/store/gen-*/set-*.2-of-2.ska | tail -n 1)" || fail "an archive is damaged"

# to the end: to twice as far as it has come, and the same without faults
reached=$(ls -d "$work"/store/gen-*/set-*.2-of-2.ska | tail -n 1 | sed 's/.*gen-[0-9]*-0*\([0-9]*\)-.*/\1/')
steps=$((reached + 100))
SAIKAI_LOG_LEVEL=info timeout 200 "${mpiexec[@]}" -n 2 "$heat" $grid $steps > "$work/out" 2> "$work/err" || fail "the last run failed"
grep -q 'resuming from iteration' "$work/err" || fail "the last run does not resume"
SAIKAI_STORE_PREFIX=$work/calm2 SAIKAI_STORE_ARCHIVE=files SAIKAI_SCHEDULE_EVERY=0 timeout 200 "${mpiexec[@]}" -n 3 \
    "$heat" $grid $steps > "$work/calm.out" 2> "$work/err" || fail "the undisturbed run failed"
[ -n "$(sum_of "$work/out")" ] && [ "$(sum_of "$work/out")" = "$(sum_of "$work/calm.out")" ] || fail "another result than without faults"
exit 0
