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
yield_beside "$(dirname "$saikai")"
grid="48 48 48"
fail() {
    echo "$*"
    tail -n 40 "$work/out" "$work/err"
    exit 1
}
sum_of() { grep -o 'checksum [0-9a-f]*' "$1"; }
threads() { export OMPI_MPI_THREAD_LEVEL=3 MPIR_CVAR_DEFAULT_THREAD_LEVEL=MPI_THREAD_MULTIPLE; }


export SAIKAI_STORE_PREFIX=$work/store SAIKAI_STORE_LOCAL=$work/local SAIKAI_STORE_FSYNC=no SAIKAI_LOG_LEVEL=debug
export SAIKAI_JOB_NAME=test # its arguments change from start to start: it is one job all the same
export SAIKAI_SCHEDULE_EVERY=50 SAIKAI_SCHEDULE_POLL=5ms SAIKAI_STORE_ARCHIVE=aggregate SAIKAI_FAR_WRITERS=2

# without threads
timeout 300 "${mpiexec[@]}" -n 2 "$heat" $grid 100 > "$work/out" 2> "$work/err" || fail "failed without threads"
grep -q 'needs MPI_THREAD_MULTIPLE' "$work/err" || fail "does not say that it needs threads"
ls "$work"/store/gen-*/rank-000001.skc > /dev/null || fail "no file of each rank without threads"
rm -rf "$work/store" "$work/local"

# with them: killed when some archives are there
threads
for ranks in 3 3 4; do
    before=$(ls -d "$work"/store/gen-* 2> /dev/null | tail -n 1)
    : > "$work/err"
    timeout --foreground -k 2 300 "${mpiexec[@]}" -n $ranks "$heat" -p "$work/pid" $grid 1000000 > "$work/out" 2> "$work/err" &
    run=$!
    for i in $(seq 2400); do
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

# what a job leaves that dies while it writes archives is not taken for a generation, and the next one takes it away
expect() { # PATTERN ARG...
    "$saikai" "${@:2}" > "$work/out" 2> "$work/err" || fail "saikai ${*:2}: exit code $?"
    grep -q -e "$1" "$work/out" || fail "saikai ${*:2}: no '$1'"
}
whole=$(basename "$(dirname "$(ls -d "$work"/store/gen-*/set-*.2-of-2.ska | tail -n 1)")")
reached=$((10#$(echo "$whole" | cut -d - -f 3)))
half=$(printf 'gen-0003-%012d-0' $((reached + 1))) begun=$(printf 'gen-0003-%012d-0' $((reached + 2)))
rm -rf $(ls -d "$work"/store/gen-* | sed "1,/$whole/d") # may be there already: killed at any moment
mkdir "$work/store/$half" "$work/store/$begun"
cp "$work/store/$whole/set-000001.1-of-2.ska" "$work/store/$half"
head -c 1000 "$work/store/$whole/set-000001.2-of-2.ska" > "$work/store/$begun/set-000001.2-of-2.ska.4711.tmp"
expect "^$whole .* 4 of 4 archived  *2 archives .* complete" ls
expect "^$half .* - .* incomplete" ls
expect "^$begun .* 0 of ? .* unfinished" ls
expect "^Generation  $whole" info
expect "^$whole: good, 4 of 4 ranks" verify --gen newest

# to the end: to twice as far as it has come, and the same without faults
steps=$((reached + 100))
SAIKAI_LOG_LEVEL=info timeout 600 "${mpiexec[@]}" -n 2 "$heat" $grid $steps > "$work/out" 2> "$work/err" || fail "the last run failed"
grep -q "resuming from iteration $reached" "$work/err" || fail "the last run does not resume from $reached"
grep -q "generation $begun of iteration .* is out of reach.*; going back to iteration $reached" "$work/err" ||
    fail "what is out of reach is not said"
[ ! -e "$work/store/$half" ] && [ ! -e "$work/store/$begun" ] || fail "what dead jobs left is still there"
cp "$work/out" "$work/last.out"
expect ': all good' verify
SAIKAI_STORE_PREFIX=$work/calm2 SAIKAI_STORE_ARCHIVE=files SAIKAI_SCHEDULE_EVERY=0 timeout 600 "${mpiexec[@]}" -n 3 \
    "$heat" $grid $steps > "$work/calm.out" 2> "$work/err" || fail "the undisturbed run failed"
[ -n "$(sum_of "$work/last.out")" ] && [ "$(sum_of "$work/last.out")" = "$(sum_of "$work/calm.out")" ] || fail "another result than without faults"

# back to files: what is in archives goes under the same rule
SAIKAI_STORE_ARCHIVE=files SAIKAI_RESTART_MODE=always timeout 600 "${mpiexec[@]}" -n 3 "$heat" $grid $((steps + 200)) > "$work/out" 2> "$work/err" ||
    fail "the run with files failed"
grep -q "resuming from iteration $steps" "$work/err" || fail "the run with files does not resume"
ls "$work"/store/gen-*/set-* > /dev/null 2>&1 && fail "archives are left beside files"
[ "$(ls -d "$work"/store/gen-* | wc -l)" -le 2 ] || { ls -R "$work/store"; fail "more generations than store.keep_prefix"; }
expect ': all good' verify
exit 0
