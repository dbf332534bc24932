#!/usr/bin/env bash
# An example goes on with other numbers of ranks, 4, 3, 8 and 4 again; in between a rank is killed, and the job is stopped.
# Its final line must be that of an undisturbed run: the checksums are the same bits.
# usage: ranks.sh BUILD_DIR MPI PROGRAM [ARGUMENTS...]
set -euo pipefail
build=$1 mpi=$2 program=$3
shift 3
exe="$build/examples/${program}_$mpi"
[ -x "$exe" ] || { echo "skip: $exe was not built"; exit 77; }
[ -x "$build/src/cli/saikaid" ] || { echo "skip: built without ZeroMQ, there is no saikai run"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
run=
cleanup() {
    if [ -n "$run" ] && kill -0 "$run" 2>/dev/null; then
        kill -TERM "$run" || true
        wait "$run" || true
    fi
    rm -rf "$work"
}
trap cleanup EXIT
cd "$work"
export SAIKAI_SCHEDULE_EVERY=10 SAIKAI_STORE_FSYNC=no SAIKAI_STORE_LOCAL="$work/local" SAIKAI_RUN_GRACE=200ms
mpiexec=(mpiexec."$mpi")
[ "$mpi" = openmpi ] && mpiexec+=(--oversubscribe)
command -v "${mpiexec[0]}" >/dev/null || mpiexec[0]=mpiexec

SAIKAI_STORE_PREFIX="$work/calm" timeout 200 "${mpiexec[@]}" -n 2 "$exe" "$@" >calm.out
grep -q verified calm.out || { cat calm.out; exit 1; }

export SAIKAI_STORE_PREFIX="$work/store" SAIKAI_LOG_LEVEL=info
fail() {
    echo "$program, $mpi, $ranks ranks: $1"
    cat out
    tail -n 40 err
    exit 1
}
newest() { # incarnation of the newest generation that is in the prefix with all ranks' files
    local g newest=0
    for g in store/gen-*; do
        if [ "$(find "$g" -name 'rank-*.skc' 2>/dev/null | wc -l)" -ge "$ranks" ]; then
            g=${g#store/gen-}
            newest=$((10#${g%%-*}))
        fi
    done
    echo $newest
}
wait_for_generation() { # newer than those of incarnation $1
    for _ in $(seq 1200); do
        kill -0 "$run" 2>/dev/null || fail "ended before it was stopped: give it more to do"
        [ "$(newest)" -gt "$1" ] && return
        sleep 0.05
    done
    fail "no generation in a minute"
}
before=0 stage=0
for ranks in 4 3 8 4; do
    stage=$((stage + 1))
    seen=0
    [ "$stage" = 1 ] || seen=$(ranks=1 newest)
    rm -f pid.*
    "$build/src/cli/saikai" run -n "$ranks" -- "$exe" -p "$work/pid" "$@" >out 2>err &
    run=$!
    if [ "$stage" -lt 4 ]; then
        wait_for_generation "$seen"
        # a rank dies: the job comes back with as many as it had
        victim=$(cat "pid.$((RANDOM % ranks))")
        [ "$(readlink "/proc/$victim/exe" 2>/dev/null)" = "$(readlink -f "$exe")" ] && kill -KILL "$victim"
        wait_for_generation "$(newest)"
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
grep -E 'verified|WRONG' out | sort -u >said || true
[ $rc = 0 ] && cmp -s calm.out said || fail "exit code $rc, expected: $(cat calm.out)"
[ "$(find store -name 'rank-*.skc' | wc -l)" -le 8 ] || fail "files of ranks that are no more were left: $(find store -name 'rank-*.skc')"
echo "$program, $mpi: 4, 3, 8 and 4 ranks; $(cat said)"
