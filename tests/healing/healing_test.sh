#!/bin/bash
# Damage in node-local files, and orders to end, with real processes. usage: healing_test.sh CASE BUILD MPI
#   damage         a random file is hit while the job runs, healed, and then a rank is killed: it goes back at most one interval
#                  and what was under way (SAIKAI_TEST_TRIALS trials)
#   at_once        the same without waiting: there are copies in the prefix, which are one interval older
#   stopped_run, stopped_mpiexec
#                  orders to end before the first candidate, again and again, make no generation unusable
set -eu
what=$1 build=$2 mpi=$3
. "$(dirname "$0")/../common.sh"
saikai=$build/src/cli/saikai subject=$build/tests/healing/subject_$mpi
need "$saikai"
need "$subject"
cd "$work"
export SAIKAI_STORE_PREFIX=$work/store SAIKAI_STORE_LOCAL=$work/local SAIKAI_SCHEDULE_EVERY=20 SAIKAI_SCHEDULE_POLL=10ms
export SAIKAI_JOB_NAME=test # its arguments change from start to start: it is one job all the same
export SAIKAI_STORE_FSYNC=no SAIKAI_CAPTURE_TRACKER=hash SAIKAI_STORE_SCRUB=100ms SAIKAI_STORE_SCRUB_SHARE=0.5
export SAIKAI_RESTART_MODE=always SAIKAI_SCHEDULE_STOP_GRACE=1s

fail() {
    echo "FAILED: $*"
    tail -n 40 out err | cut -c1-300
    exit 1
}
# wait_for LIMIT COMMAND…: until it succeeds, 0.05 s at a time; a busy machine has four times as long
wait_for() {
    local left=$(($1 * 80))
    shift
    until "$@" 2>/dev/null; do
        [ $((left -= 1)) -gt 0 ] || return 1
        kill -0 "$run" 2>/dev/null || return 1
        sleep 0.05
    done
}
launch() { # PROGRAM AND ARGUMENTS, behind our back
    rm -f out err
    : >out
    : >err
    if [ "$what" = stopped_mpiexec ]; then
        timeout 400 "${mpiexec[@]}" -n 2 "$@" >out 2>err &
    else
        timeout 400 "$saikai" run -n 2 --launcher "$mpi" --set run.backoff=0.1s --set run.grace=2s -- "$@" >out 2>err &
    fi
    run=$!
}
started() { cut -d' ' -f1 <"/proc/$run/task/$run/children"; } # what timeout runs
reached() { # the last iteration that rank 0 told
    grep -E '^[0-9]+$' out | tail -n 1 || true
}
has_reached() { [ "$(reached || true)" ] && [ "$(reached)" -ge "$1" ]; }
resumed() { grep -c '^resumed ' out || true; }
has_resumed() { [ "$(resumed)" -ge "$1" ]; }
ranks() { # process ids of this test's ranks
    local p
    for p in $(grep -lzsxF "SAIKAI_STORE_PREFIX=$SAIKAI_STORE_PREFIX" /proc/[0-9]*/environ); do
        p=${p%/environ}
        [ "$p/exe" -ef "$subject" ] && echo "${p#/proc/}"
    done
    true
}

# ---- damage ----

inode() { stat -c %i "$1" 2>/dev/null || echo gone; }
hit() { # one file of a generation, in one of three ways
    mapfile -t files < <(find local -name '*.skc' -size +0)
    [ ${#files[@]} -gt 0 ] || return 1
    target=${files[RANDOM % ${#files[@]}]}
    was=$(inode "$target")
    local size at
    size=$(stat -c %s "$target" 2>/dev/null) || return 0
    at=$((128 + (RANDOM * 32768 + RANDOM) % (size * 9 / 10 - 128)))
    how=$((RANDOM % 3))
    case $how in
    0) rm -f "$target" ;;
    1) truncate -c -s "$at" "$target" ;;
    2) printf '\125\252\125\252\125\252\125\252' | dd of="$target" bs=1 seek="$at" conv=notrunc,nocreat status=none 2>/dev/null || true ;;
    esac
}
# Written anew, or told to be replaced, or given up meanwhile for newer ones.
healed() {
    grep -q 'is damaged in memory' err || { [ "$how" != 0 ] && [ "$(inode "$target")" != "$was" ]; } ||
        { [ ! -e "$(dirname "$target")" ]; }
}

damage() { # NUMBER WAIT
    local each=20 before killed back kill_at first
    RANDOM=$1
    rm -rf store local
    launch "$subject" 100000 $each
    kill_at=$((60 + RANDOM % 100))
    wait_for 60 has_reached $kill_at || fail "trial $1: it does not get to $kill_at"
    hit || fail "trial $1: there is no generation"
    if [ "$2" = 1 ]; then
        wait_for 60 healed || fail "trial $1: damage $how to $target is not noticed"
        before=$(reached)
        wait_for 60 has_reached $((before + 40)) || fail "trial $1: it does not go on"
    fi
    mapfile -t pids < <(ranks)
    [ ${#pids[@]} = 2 ] || fail "trial $1: ${#pids[@]} ranks"
    killed=$(reached)
    kill -9 "${pids[RANDOM % 2]}" || fail "trial $1: a rank is gone already, after damage $how to $target"
    wait_for 60 has_resumed 1 || fail "trial $1: it does not come back after damage $how to $target"
    back=$(sed -n 's/^resumed //p' out)
    # the interval, another one that was being brought to its place; without waiting, the scrub's 100 ms, too
    [ "$back" -ge $((killed - 60)) ] || fail "trial $1: it goes back from $killed to $back after damage $how to $target"
    echo "trial $1: damage $how to ${target#local/*/*/}, killed at $killed, back at $back"
    first=$back
    wait_for 60 has_reached $((first + 20)) || fail "trial $1: it does not go on from $first"
    kill -TERM "$run"
    wait "$run" || true
    run=
}

# ---- orders to end ----

stopped() {
    local signal killed back
    launch "$subject" 100000 20
    wait_for 60 has_reached 200 || fail "it does not get to 200"
    mapfile -t pids < <(ranks)
    kill -9 "$(started)" "$run" "${pids[@]}" 2>/dev/null || true # all at once, as a node dies
    wait "$run" 2>/dev/null || true
    killed=$(reached)
    for signal in INT TERM INT TERM; do
        SUBJECT_STALL=60 launch "$subject" 100000 20
        wait_for 60 has_resumed 1 || fail "it does not resume before SIG$signal"
        back=$(sed -n 's/^resumed //p' out)
        [ "$back" -ge $((killed - 60)) ] || fail "it goes back from $killed to $back"
        kill -"$signal" "$(started)" || true
        for _ in $(seq 2400); do
            [ "$(ranks)" ] || break
            sleep 0.05
        done
        [ -z "$(ranks)" ] || fail "SIG$signal did not end it"
        wait "$run" 2>/dev/null || true
    done
    launch "$subject" $((back + 40)) 20
    wait_for 60 has_resumed 1 || fail "it does not resume"
    [ "$(sed -n 's/^resumed //p' out)" -ge "$back" ] || fail "a good generation was thrown away"
    wait "$run" || fail "it does not end well"
    run=
    grep -q '^done' out || fail "it is not done"
    ! grep -q 'passed over' err || fail "a generation is passed over"
}

case $what in
damage | at_once)
    [ "$what" = at_once ] || export SAIKAI_STORE_ARCHIVE_EVERY=0 SAIKAI_STORE_ARCHIVE_LAST=no
    for k in $(seq "${SAIKAI_TEST_TRIALS:-3}"); do
        damage "$k" $([ "$what" = damage ] && echo 1 || echo 0)
    done
    ;;
stopped_*) stopped ;;
esac
