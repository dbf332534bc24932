#!/usr/bin/env bash
# Kills random ranks of an example at random times, again and again, and compares its final line with that of an
# undisturbed run: the checksums must be the same bits.
# No more than MOST (eight) of them, unless SAIKAI_TEST_SWEEP=all. With INCREMENTS only changes are saved wherever possible; 1: and some of the checkpoints must have been such.
# With PLAIN the undisturbed run is that of another program: the one without Saikai.
# EXE: the program, which knows nothing of process files, wherever it is. WANTED: what it says when all is well, SAYS: the lines to compare,
# ALSO: lines of which each must be one of the undisturbed run's (extended regular expressions).
# usage: kills.sh BUILD_DIR MPI KILLS RANKS EVERY PROGRAM [ARGUMENTS...]
set -euo pipefail
build=$1 mpi=$2 wanted=$3 ranks=$4 every=$5 program=$6
shift 6
kills=$wanted
[ "${SAIKAI_TEST_SWEEP:-}" = all ] || [ "$wanted" -le "${MOST:-8}" ] || kills=${MOST:-8}
. "$(dirname "$0")/../common.sh"
exe=${EXE:-$build/examples/${program}_$mpi} says=${SAYS:-verified|WRONG}
need "$exe"
need "$build/src/cli/saikaid" # without ZeroMQ there is no saikai run
cd "$work"
exe=$(readlink -f "$exe")
pid=()
[ -n "${EXE:-}" ] || pid=(-p "$work/pid")

# A rank of this very program, started by this test; "": there is none now.
victim() {
    local one
    if [ -n "${EXE:-}" ]; then
        find /proc -mindepth 2 -maxdepth 2 -name exe -lname "$exe" 2>/dev/null | shuf -n 1 | tr -dc 0-9 || true
        return
    fi
    one=$(cat "pid.$((RANDOM % ranks))" 2>/dev/null || true)
    [ -z "$one" ] || [ "$(readlink "/proc/$one/exe" 2>/dev/null)" != "$exe" ] || echo "$one"
}
export SAIKAI_SCHEDULE_EVERY=$every SAIKAI_STORE_FSYNC=no SAIKAI_STORE_LOCAL="$work/local"
begun=$(date +%s%N)
SAIKAI_STORE_PREFIX="$work/calm" timeout 600 "${mpiexec[@]}" -n "$ranks" "${PLAIN:-$exe}" "$@" >calm.all
calm_ms=$((($(date +%s%N) - begun) / 1000000))
grep -Eq "${WANTED:-verified}" calm.all || { cat calm.all; exit 1; }
grep -E "$says" calm.all | sort -u >calm.out
[ -z "${ALSO:-}" ] || grep -E "$ALSO" calm.all | sort -u >calm.also || true

done_kills=0 runs=0 resumed=0 deltas=0 late=0
export SAIKAI_STORE_PREFIX="$work/store" SAIKAI_RUN_NO_PROGRESS=1000 SAIKAI_RUN_RETRIES=1000 SAIKAI_LOG_LEVEL=info
if [ -n "${INCREMENTS:-}" ]; then
    export SAIKAI_LOG_LEVEL=debug SAIKAI_CAPTURE_MAX_CHANGED=1 SAIKAI_CAPTURE_MAX_DELTAS=5 SAIKAI_CAPTURE_MAX_RATIO=100
fi
RANDOM=$$
while [ "$done_kills" -lt "$kills" ]; do
    runs=$((runs + 1))
    rm -f pid.*
    : >begun
    started=$(date +%s%N)
    "$build/src/cli/saikai" run -n "$ranks" -- "$exe" ${pid[@]+"${pid[@]}"} "$@" >out 2>err &
    run=$!
    while kill -0 $run 2>/dev/null; do
        # somewhere in a run of this length, and often enough in a long one
        wait_ms=$((calm_ms * (RANDOM % 80 + 20) / 100))
        ((late || wait_ms <= 900)) || wait_ms=$((300 + RANDOM % 600))
        wait_ms=$((wait_ms < 50 ? 50 : wait_ms))
        sleep "$((wait_ms / 1000)).$(printf %03d $((wait_ms % 1000)))"
        [ "$done_kills" -lt "$kills" ] || continue
        # EXE: each kill waits for a checkpoint of its start, so that each gets on
        [ -z "${EXE:-}" ] || [ -n "$(find store -name 'gen-*' -newer begun 2>/dev/null | head -n 1)" ] || continue
        one=$(victim)
        [ -n "$one" ] || continue
        kill -KILL "$one" 2>/dev/null && done_kills=$((done_kills + 1))
        [ -z "${EXE:-}" ] || touch begun
    done
    rc=0
    wait $run || rc=$?
    run=
    took_ms=$((($(date +%s%N) - started) / 1000000)) # the machine may have been busier before
    calm_ms=$((took_ms < calm_ms ? took_ms : calm_ms))
    # the launcher's own words are not the program's; killed while it was leaving, the program says its line twice
    grep -E "$says" out | sort -u >said || true
    : >other
    [ -z "${ALSO:-}" ] || grep -E "$ALSO" out | sort -u | comm -13 calm.also - >other || true
    if [ $rc != 0 ] || ! cmp -s calm.out said || [ -s other ]; then
        echo "run $runs, after $done_kills kills: exit code $rc"
        echo "expected: $(cat calm.out)"
        echo "got:      $(cat said other)"
        tail -n 40 err
        exit 1
    fi
    [ "$runs" -lt $((20 * kills)) ] || { echo "$runs runs of ${calm_ms} ms, and only $done_kills kills"; exit 1; }
    resumed=$((resumed + $(grep -c 'resuming from iteration' err || true)))
    deltas=$((deltas + $(grep -c 'changes only' err || true)))
    # On a busy machine all kills may come before the first checkpoint: then there is one more, at any time of another run.
    [ "$done_kills" -lt "$kills" ] || [ "$resumed" -gt 0 ] || [ "$late" = 20 ] || { late=$((late + 1)) kills=$((kills + 1)); }
done
echo "$program, $mpi: $done_kills kills in $runs run(s), resumed $resumed times, $deltas deltas; $(cat said)"
[ "$kills" -ge "$wanted" ] || echo "$kills of $wanted kills; SAIKAI_TEST_SWEEP=all: all of them"
# a test in which nothing was ever restored would prove nothing
[ "$resumed" -gt 0 ]
[ "${INCREMENTS:-}" != 1 ] || [ "$deltas" -gt 0 ]
