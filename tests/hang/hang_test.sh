#!/bin/bash
# A prefix that really hangs, for whole processes, at each phase of a job: the job ends right, and nothing is lost that was whole.
# It hangs for SAIKAI_TEST_HANG seconds with default settings, when that is set; else for 6 s with waits that are a tenth as long.
# usage: hang_test.sh SAIKAI SHIM WORKER openmpi|mpich run|mpiexec [CASE…]
set -u
saikai=$1 shim=$2 worker=$3 mpi=$4 how=$5
shift 5
. "$(dirname "$0")/../common.sh"
need "$worker"
need "$saikai"
unset SAIKAI_STORE_PREFIX SAIKAI_JOB_NAME WORKER_KILL HANG_AT HANG_RANK
seconds=${SAIKAI_TEST_HANG:-6}
[ -n "${SAIKAI_TEST_HANG:-}" ] || export SAIKAI_STORE_PREFIX_TIMEOUT=1s SAIKAI_STORE_FINAL_WAIT=12s
limit=$((seconds * 4 + 240)) # of each start, and of each wait: a restart may wait for store.final_wait, too
export SAIKAI_SCHEDULE_EVERY=20

# ---- what the cases are made of; each has a directory and a shell of its own ----

fail() {
    echo "FAILED: $*"
    tail -n 30 log | cut -c1-300
    kill -TERM "$pid" 2>/dev/null
    exit 1
}
launch() { # HOW STEPS
    local command=("${mpiexec[@]}" -n 2 "$worker" 7 "$2")
    [ "$1" = mpiexec ] || command=("$saikai" run --set run.backoff=0.1s -n 2 "$worker" 7 "$2")
    LD_PRELOAD=$shim timeout -k 5 $limit "${command[@]}" </dev/null >>log 2>&1 &
    pid=$!
}
wait_for() { # WHAT COMMAND…
    local what=$1 n
    shift
    for ((n = 0; n < limit * 10; n++)); do
        ! "$@" || return 0
        lives || { "$@" && return 0; break; }
        sleep 0.1
    done
    fail "it does not come to this: $what"
}
is() { [ -e "$1" ]; }
lives() { kill -0 "$pid" 2>/dev/null; }
ended() { ! lives; }
says() { grep -q "$1" log; }
# The newest iteration that is whole below a directory, 0: none.
newest() {
    local dir best=0
    for dir in "$1"/gen-*; do
        [ -e "$dir/rank-000000.skc" ] && [ -e "$dir/rank-000001.skc" ] && best=$((10#$(basename "$dir" | cut -d- -f3)))
    done
    echo "$best"
}
here() { newest "$(echo local/saikai-*/*)"; }
reached_here() { [ "$(here)" -ge "$1" ]; }
reached_there() { [ "$(newest store)" -ge "$1" ]; }
# Iteration that the last start went on from.
resumed() { sed -n 's/.*resuming from iteration \([0-9]*\).*/\1/p' log | tail -n 1; }
has_resumed() { [ -n "$(resumed)" ]; }
no_longer() { # it hung for so long
    local since=$SECONDS
    while [ $((SECONDS - since)) -lt "$seconds" ]; do sleep 0.2; done
    rm hangs
}
ends_right() { # WELL
    local rc=0
    wait "$pid" || rc=$?
    [ $rc = 0 ] || fail "it ends with $rc"
    says 'seed 7: verified' || fail "it does not end right"
    ! says WRONG || fail "it is wrong"
}
# Where the hang is over, and the job goes on: what it saves gets there again.
gets_there() {
    local now
    now=$(here)
    wait_for "the prefix takes files again" reached_there $((now + 20))
    touch end
    ends_right
}
goes_on() { # while it hangs, so many iterations
    wait_for "it goes on for $1 iterations meanwhile" reached_here $(($(here) + $1))
}

# ---- the cases ----

start_first() { # the first start of all: there is nothing to go on from, and what is there must be seen
    HANG_AT=mkdir:store launch "$how" 1000000
    wait_for "it looks at the prefix" is hangs
    no_longer
    says 'nothing is known of this job without it: waiting' || fail "it does not say that it waits"
    wait_for "it is saved" reached_there 20
    touch end
    ends_right
}
checkpoint() { # written to the prefix itself: the program waits
    SAIKAI_STORE_LOCAL=none HANG_AT=rename:rank-000001 launch "$how" 1000000
    wait_for "there is a checkpoint" is hangs
    local now
    now=$(newest store)
    no_longer
    wait_for "further checkpoints" reached_there $((now + 40))
    touch end
    ends_right
}
archiving() {
    HANG_AT=rename:rank-000001 launch "$how" 1000000
    wait_for "something is archived" is hangs
    goes_on 60
    no_longer
    gets_there
}
retention() {
    HANG_AT=unlink:rank- launch "$how" 1000000
    wait_for "something is removed" is hangs
    goes_on 60
    no_longer
    gets_there
}
restart_after_kill() { # goes on from what is in memory, while it hangs
    WORKER_KILL=1:170:$PWD/hangs launch "$how" 1000000
    wait_for "it is killed" is hangs
    local had
    had=$(here)
    if [ "$how" = mpiexec ]; then
        wait "$pid"
        had=$(here) # until mpiexec has ended it the other rank goes on alone, and makes room at the cost of what it has not heard to be whole
        launch "$how" 1000000
    fi
    wait_for "it goes on" has_resumed
    [ "$(resumed)" -ge "$had" ] || fail "it goes back to $(resumed), where $had was whole"
    goes_on 60
    no_longer
    gets_there
}
restart_elsewhere() { # nothing is on the nodes: it waits
    WORKER_KILL=1:170:$PWD/killed launch mpiexec 1000000
    wait "$pid"
    local had
    had=$(newest store)
    rm -rf local
    touch hangs
    launch "$how" 1000000
    wait_for "it waits" says 'nothing is known of this job without it: waiting'
    no_longer
    wait_for "it goes on" has_resumed
    [ "$(resumed)" = "$had" ] || fail "it goes back to $(resumed), where $had was whole"
    touch end
    ends_right
}
end() { # is waited for
    HANG_AT=mkdir:gen-0001-000000000160 launch "$how" 160
    wait_for "the end" is hangs
    no_longer
    ends_right
    reached_there 160 || fail "the last generation is not in the prefix"
}
end_silent() { # for longer than the end waits
    export SAIKAI_STORE_FINAL_WAIT=1s
    HANG_AT=mkdir:gen-0001-000000000160 launch "$how" 160
    wait_for "the end" is hangs
    wait_for "it ends all the same" ended
    ends_right
    is hangs || fail "it has waited"
    says '(iteration 160) is not in the prefix: its files stay in' || fail "it does not say that the last generation is not there"
    [ "$(here)" = 160 ] || fail "the last generation is not in memory"
    rm hangs
    touch end
    SAIKAI_RESTART_MODE=always launch "$how" 1000000
    ends_right
    [ "$(resumed)" = 160 ] || fail "it goes on from '$(resumed)', not from its end"
}
# Archives of all ranks, where one rank is slow to write its own.
archives() {
    export WORKER_THREADS=1 SAIKAI_STORE_ARCHIVE=aggregate SAIKAI_FAR_WRITERS=2 HANG_RANK=1 HANG_SLOW_IN=.ska
}
is_archived() { # as a whole set, of both writers
    local set
    for set in store/gen-*-"$(printf %012d "$1")"-0/set-*.1-of-2.ska; do
        [ -e "$set" ] && [ -e "${set/.1-of-2/.2-of-2}" ] && return 0
    done
    return 1
}
archives_slow() { # is waited for, as long as it moves
    archives
    HANG_SLOW=200 launch "$how" 160
    wait_for "it ends" ended
    ends_right
    is_archived 160 || fail "the last generation is not in the prefix"
    "$saikai" verify store >>log 2>&1 || fail "what is there is not whole"
}
archives_stuck() { # for longer than the end waits
    archives
    export SAIKAI_STORE_FINAL_WAIT=2s
    HANG_SLOW=600000 launch "$how" 160
    wait_for "it ends all the same" ended
    ends_right
    says '(iteration 160) is not in the prefix: its files stay in' || fail "it does not say that the last generation is not there"
    [ "$(here)" = 160 ] || fail "the last generation is not in memory"
    ! is_archived 160 || fail "half an archive counts as one"
    touch end
    SAIKAI_RESTART_MODE=always launch "$how" 1000000
    ends_right
    [ "$(resumed)" = 160 ] || fail "it goes on from '$(resumed)', not from its end"
}

cases=("$@")
[ $# -gt 0 ] || cases=(start_first checkpoint archiving retention restart_after_kill restart_elsewhere end end_silent
    archives_slow archives_stuck)
pids=() at_once=5
for case in "${cases[@]}"; do
    (
        mkdir "$work/$case"
        cd "$work/$case" || exit 1
        export SAIKAI_STORE_PREFIX=$PWD/store SAIKAI_STORE_LOCAL=$PWD/local SAIKAI_JOB_NAME=$case WORKER_END=$PWD/end
        export HANG_BELOW=$PWD/store HANG_FLAG=$PWD/hangs HANG_SECONDS=0
        began=$SECONDS
        $case
        echo "$case: right, after $((SECONDS - began)) s (where it hangs, for $seconds s or more)"
    ) >"$work/$case.said" 2>&1 &
    pids+=($!)
    [ ${#pids[@]} -lt $at_once ] || wait "${pids[${#pids[@]} - at_once]}" || true # they mostly wait, but not only
done
failed=0
for i in "${!cases[@]}"; do
    wait "${pids[i]}" || failed=1
    cat "$work/${cases[i]}.said"
done
exit $failed
