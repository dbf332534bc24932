#!/usr/bin/env bash
# An example goes on with other numbers of ranks, 4, 3, 8 and 4 again; in between a rank is killed, and the job is stopped.
# Its final line must be that of an undisturbed run: the checksums are the same bits.
# usage: ranks.sh BUILD_DIR MPI PROGRAM [ARGUMENTS...]; the number of steps comes after them
set -euo pipefail
build=$1 mpi=$2 program=$3
shift 3
. "$(dirname "$0")/../common.sh"
exe="$build/examples/${program}_$mpi"
need "$exe"
need "$build/src/cli/saikaid" # without ZeroMQ there is no saikai run
cd "$work"
export SAIKAI_SCHEDULE_EVERY=10 SAIKAI_STORE_FSYNC=no SAIKAI_STORE_LOCAL="$work/local" SAIKAI_RUN_GRACE=200ms
export SAIKAI_STORE_PREFIX="$work/store" SAIKAI_LOG_LEVEL=info
export SAIKAI_JOB_NAME=test # its arguments change from start to start: it is one job all the same
fail() {
    echo "$program, $mpi, $ranks ranks: $1"
    cat out
    tail -n 40 err
    exit 1
}
newest() { # incarnation and iteration of the newest generation that is in the prefix with all ranks' files
    local g files newest=0-0
    for g in store/gen-*; do
        files=("$g"/rank-*.skc)
        [ ! -e "${files[0]}" ] || [ ${#files[@]} -lt "$ranks" ] || newest=${g#store/gen-}
    done
    newest_incarnation=$((10#${newest%%-*}))
    newest=${newest#*-}
    newest_iteration=$((10#${newest%%-*}))
}
last_step() { # the newest iteration of which there is a generation anywhere: a job may come back from its node's memory
    find "$work/store" "$work/local" -type d -name 'gen-*' | sed 's/.*gen-[0-9]*-0*\([0-9]\{1,\}\)-.*/\1/' | sort -n | tail -n 1
}
wait_for_generation() { # newer than those of incarnation $1
    for _ in $(seq 4800); do
        kill -0 "$run" 2>/dev/null || fail "ended before it was stopped"
        newest
        [ "$newest_incarnation" -gt "$1" ] && return
        sleep 0.05
    done
    fail "no generation in a minute"
}
before=0 stage=0 steps=1000000 # more than it will come to; the last stage ends soon
for ranks in 4 3 8 4; do
    stage=$((stage + 1))
    old_ranks=$ranks ranks=1
    newest
    ranks=$old_ranks
    [ "$stage" -lt 4 ] || steps=$(($(last_step) + 50))
    rm -f pid.*
    "$build/src/cli/saikai" run -n "$ranks" -- "$exe" -p "$work/pid" "$@" "$steps" >out 2>err &
    run=$!
    if [ "$stage" -lt 4 ]; then
        wait_for_generation "$newest_incarnation"
        # a rank dies: the job comes back with as many as it had
        victim=$(cat "pid.$((RANDOM % ranks))")
        [ "$(readlink "/proc/$victim/exe" 2>/dev/null)" = "$(readlink -f "$exe")" ] && kill -KILL "$victim"
        newest
        wait_for_generation "$newest_incarnation"
        kill -TERM "$run" # the job's time is up
    fi
    rc=0
    wait "$run" || rc=$?
    run=
    if [ "$stage" -gt 1 ]; then
        grep -q "was written by $before ranks: each of $ranks took its part" err || fail "did not go on from $before ranks"
    fi
    before=$ranks
done
SAIKAI_STORE_PREFIX="$work/calm" SAIKAI_SCHEDULE_EVERY=100000 timeout 600 "${mpiexec[@]}" -n 2 "$exe" "$@" "$steps" >calm.out
grep -q verified calm.out || { cat calm.out; exit 1; }
grep -E 'verified|WRONG' out | sort -u >said || true
[ $rc = 0 ] && cmp -s calm.out said || fail "exit code $rc, expected: $(cat calm.out)"
# store.keep_prefix is 2; the older one may still be of other ranks
[ "$(find store -type d -name 'gen-*' | wc -l)" -le 2 ] || fail "older generations were left: $(find store -name 'rank-*.skc')"
echo "$program, $mpi: 4, 3, 8 and 4 ranks, $steps steps; $(cat said)"
