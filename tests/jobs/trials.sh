#!/bin/bash
# Two to eight jobs in one directory: same and other arguments, together and apart, under `saikai run` and plain mpiexec. Every job
# is killed once or twice: one of its ranks, or its launcher. Each must end with its own result, or be refused with the holder's
# name; no crash, no other job's state. usage: trials.sh SAIKAI WORKER openmpi|mpich; SAIKAI_TEST_TRIALS trials (3)
set -u
saikai=$1 worker=$2 mpi=$3
. "$(dirname "$0")/../common.sh"
need "$worker"
need "$saikai"
trials=${SAIKAI_TEST_TRIALS:-3}
RANDOM=${SAIKAI_TEST_SEED:-7}
unset SAIKAI_STORE_PREFIX SAIKAI_JOB_NAME
export SAIKAI_STORE_LOCAL=$work/local SAIKAI_SCHEDULE_EVERY=20 SAIKAI_STORE_FSYNC=no
declare -A seen=()
for key in jobs right refused resumed same other together apart run mpiexec run-rank run-launcher mpiexec-rank mpiexec-launcher; do
    seen[$key]=0
done
# All that a refusal names: `saikai run` and mpiexec alike. The second: of the node's directory, while ranks of a killed launcher die.
refusal='is running already in .*: host .*, process .*, user .*, since 20\|is in use by living processes'

fail() {
    echo "FAILED in trial $trial: $*"
    tail -n 25 "$work"/run/*.log | cut -c1-300
    exit 1
}
count() {
    local key
    for key in "$@"; do seen[$key]=$((seen[$key] + 1)); done
}

# One start. start HOW LAUNCHER-DIES-AFTER SEED, which is 0 when it does not
start() {
    local command=("${mpiexec[@]}" -n 2 "$worker" "$3" 220) pid child rc
    [ "$1" = mpiexec ] || command=("$saikai" run --set run.backoff=0.1s -n 2 "$worker" "$3" 220)
    timeout -k 5 400 "${command[@]}" </dev/null &
    pid=$!
    if [ "$2" != 0 ]; then
        sleep "$2"
        child=$(pgrep -P "$pid") && kill -KILL $child && : >"$work/run/$n.kill-$1-launcher$try"
    fi
    wait "$pid"
    rc=$?
    return $rc
}

# One job until it ends well or is refused: job NUMBER SEED HOW KILLS DELAY VICTIM
job() {
    local n=$1 seed=$2 how=$3 kills=$4 victim=$6 log=$work/run/$1.log rc try after
    sleep "$5"
    for try in 1 2 3 4 5; do
        after=0
        unset WORKER_KILL
        if [ "$try" -le "$kills" ] && [ "$victim" = rank ]; then
            export WORKER_KILL=$((try % 2)):$((30 + 40 * try + n * 5)):$work/run/$n.kill-$how-rank$try
        elif [ "$try" -le "$kills" ]; then
            after=0.$((3 + n % 6))
        fi
        start "$how" "$after" "$seed" >>"$log" 2>&1
        rc=$?
        # mpiexec of MPICH 4.2 often ends with 0 when a process was killed
        [ $rc -ne 0 ] || { [ "$how" = mpiexec ] && ! grep -q verified "$log"; } || break
        ! grep -q "$refusal" "$log" || break
    done
    echo "$rc" >"$work/run/$n.rc"
}

# Without what Open MPI's launcher says when it crashes itself, as it may when its job ends while it is told to end it.
launcher_aside() {
    sed '/\*\*\* Process received signal \*\*\*/,/\*\*\* End of error message \*\*\*/{H;/End of error message/!d;s/.*//;x;/\/mpi\(run\|exec\)/d}' "$1"
}
judge() { # NUMBER SEED
    local log=$work/run/$1.log
    ! grep -q 'WRONG' "$log" || fail "job $1 has another one's state"
    ! launcher_aside "$log" | grep -qi 'bus error\|segmentation fault\|signal 7\b\|signal 11\b\|SIGBUS\|SIGSEGV\|process received signal' || fail "job $1 crashed"
    ! grep -q 'verified' "$log" || grep -q "seed $2: verified" "$log" || fail "job $1 has another one's result"
    ! grep -q 'resuming from' "$log" || count resumed
    if grep -q 'verified' "$log"; then
        count right
    elif grep -q "$refusal" "$log"; then
        count refused
    else
        fail "job $1 ended with $(cat "$work/run/$1.rc") and is neither right nor refused"
    fi
}

for trial in $(seq "$trials"); do
    rm -rf "$work/run"
    mkdir -p "$work/run" "$work/local"
    cd "$work/run" || exit 1
    total=$((2 + RANDOM % 7)) seeds=() hows=()
    for n in $(seq $total); do
        how=run seed=$((1 + RANDOM % 4)) victim=rank
        [ $((RANDOM % 2)) -eq 0 ] || how=mpiexec
        [ $((RANDOM % 3)) -ne 0 ] || victim=launcher
        case " ${seeds[*]-} " in *" $seed "*) count same ;; *) count other ;; esac
        seeds+=("$seed") hows+=("$how")
        count jobs "$how"
        job "$n" "$seed" "$how" $((1 + RANDOM % 2)) 0.$((RANDOM % 8)) "$victim" &
        if [ $((RANDOM % 4)) -eq 0 ]; then # the next ones come when this one and those before are done
            wait
            count apart
        else
            count together
        fi
    done
    wait
    for n in $(seq $total); do
        judge "$n" "${seeds[n - 1]}"
        for kind in rank launcher; do
            for mark in "$work/run/$n.kill-${hows[n - 1]}-$kind"*; do [ ! -e "$mark" ] || count "${hows[n - 1]}-$kind"; done
        done
    done
    cd "$work" || exit 1
done
echo "$trials trials: ${seen[jobs]} jobs (${seen[run]} saikai run, ${seen[mpiexec]} mpiexec; ${seen[same]} with arguments of" \
    "another; ${seen[together]} together, ${seen[apart]} apart), killed ranks ${seen[run-rank]} and ${seen[mpiexec-rank]}," \
    "killed launchers ${seen[run-launcher]} and ${seen[mpiexec-launcher]}: ${seen[right]} ended right (${seen[resumed]} resumed)," \
    "${seen[refused]} refused with the holder's name, 0 other states, 0 crashes"
# What the numbers drawn decide must be there in every run of it, what time decides in a long one: whether two jobs meet, and
# whether a launcher still lives when its time has come. A few trials in a row may well miss that; tests of their own show each.
wanted="jobs right same other together apart run mpiexec"
[ "$trials" -lt 20 ] || wanted=${!seen[*]}
for key in $wanted; do
    [ "${seen[$key]}" -gt 0 ] || { echo "FAILED: the mix lacks '$key'"; exit 1; }
done
