#!/bin/bash
# Two to eight jobs in one directory: same and other arguments, together and apart, under `saikai run` and plain mpiexec, with
# kills in each. Each must end with its own result, or be refused with the holder's name; no crash, no other job's state.
# usage: trials.sh SAIKAI WORKER openmpi|mpich; SAIKAI_TEST_TRIALS trials (3)
set -u
saikai=$1 worker=$2 mpi=$3
. "$(dirname "$0")/../common.sh"
need "$worker"
need "$saikai"
trials=${SAIKAI_TEST_TRIALS:-3}
RANDOM=${SAIKAI_TEST_SEED:-7}
unset SAIKAI_STORE_PREFIX SAIKAI_JOB_NAME
export SAIKAI_STORE_LOCAL=$work/local SAIKAI_SCHEDULE_EVERY=20 SAIKAI_STORE_FSYNC=no
verified=0 refused=0 killed=0 jobs=0

fail() {
    echo "FAILED in trial $trial: $*"
    tail -n 25 "$work"/run/*.log | cut -c1-300
    exit 1
}

# One job until it ends well or is refused: job NUMBER SEED LAUNCHER KILLS DELAY
job() {
    local n=$1 seed=$2 how=$3 kills=$4 log=$work/run/$1.log rc try
    sleep "$5"
    for try in 1 2 3 4; do
        [ "$try" -gt "$kills" ] || export WORKER_KILL=$((try % 2)):$((30 + 40 * try + n * 5)):$work/run/$n.kill$try
        [ "$try" -le "$kills" ] || unset WORKER_KILL
        if [ "$how" = run ]; then
            timeout -k 5 120 "$saikai" run --set run.backoff=0.1s -n 2 "$worker" "$seed" 220 >>"$log" 2>&1 </dev/null
        else
            timeout -k 5 120 "${mpiexec[@]}" -n 2 "$worker" "$seed" 220 >>"$log" 2>&1 </dev/null
        fi
        rc=$?
        [ $rc -ne 0 ] || break
        grep -q 'is running already in .*: host .*, process .*, since\|is in use by living processes' "$log" && break
    done
    echo "$rc" >"$work/run/$n.rc"
}

for trial in $(seq "$trials"); do
    rm -rf "$work/run"
    mkdir -p "$work/run" "$work/local"
    cd "$work/run" || exit 1
    count=$((2 + RANDOM % 7))
    for n in $(seq $count); do
        how=run kills=$((RANDOM % 3)) seed=$((1 + RANDOM % 4)) delay=0.$((RANDOM % 8))
        [ $((RANDOM % 2)) -eq 0 ] || how=mpiexec
        jobs=$((jobs + 1))
        job "$n" "$seed" "$how" "$kills" "$delay" &
        [ $((RANDOM % 4)) -ne 0 ] || wait # the next ones come apart
    done
    wait
    for n in $(seq $count); do
        log=$work/run/$n.log
        killed=$((killed + $(ls "$work/run/$n".kill* 2>/dev/null | wc -l)))
        grep -q 'WRONG' "$log" && fail "job $n has another one's state"
        grep -qi 'bus error\|segmentation fault\|signal 7\b\|signal 11\b\|SIGBUS\|SIGSEGV' "$log" && fail "job $n crashed"
        if grep -q 'verified' "$log"; then
            verified=$((verified + 1))
        elif grep -q 'is running already in .*: host .*, process .*, since\|is in use by living processes' "$log"; then
            refused=$((refused + 1))
        else
            fail "job $n ended with $(cat "$work/run/$n.rc") and is neither right nor refused"
        fi
    done
    cd "$work" || exit 1
done
left=$(ls "$work"/local/saikai-*/ 2>/dev/null | wc -l)
echo "$trials trials, $jobs jobs, $killed kills: $verified ended right, $refused refused with the holder's name, 0 other states, 0 crashes"
[ "$verified" -gt 0 ] || { echo "FAILED: nothing ended right"; exit 1; }
