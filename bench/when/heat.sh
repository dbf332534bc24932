#!/usr/bin/env bash
# heat under `saikai run`, killed for real, with nothing configured but where files go.
#   newcomer [SECONDS [NX]]   a user's first job is killed after so many seconds (180): what does it lose?
#   kills [STEPS [MEAN]]      a rank is killed after MEAN seconds (20) on average, and again each time that it was started again, until STEPS are
#                             done: total time with nothing configured, and with fixed intervals, one after the other
#   beside [STEPS [MEAN]]     the same, all at the same time on one processor: for machines on which others work, too, as much for all of them
# SAIKAI_BENCH_INTERVALS: the fixed ones (default "0.5s 1s 2s 4s 8s"). How long the processes live is the same in all runs of one seed
# (SAIKAI_BENCH_SEED, default 1).
# usage: heat.sh BUILD_DIR MPI MODE [...]; prints one line of JSON for each run
set -euo pipefail
build=$(realpath "$1") mpi=$2 mode=$3
shift 3
. "$(dirname "$0")/../../tests/common.sh"
exe=$build/examples/heat_$mpi
need "$exe"
need "$build/src/cli/saikaid"
cd "$work"
export SAIKAI_STORE_LOCAL=$work/local SAIKAI_JOB_NAME=heat

newcomer() {
    local seconds=${1:-180} n=${2:-96}
    rm -rf state local saikai-store
    "$build/src/cli/saikai" run -v -n 2 -- "$exe" -p "$work/pid" "$n" "$n" "$n" 100000000 >out 2>err &
    run=$!
    sleep "$seconds"
    kill -9 "$(cat pid.1)"
    for _ in $(seq 600); do
        grep -q 'resumed at iteration' err && break
        sleep 0.1
    done
    kill -9 $run
    wait $run 2>/dev/null || true
    run=
    python3 - "$seconds" "$n" <<'END'
import json, re, sys
err = open("err").read()
again = re.search(r"\((\d+) iterations, ([\d.]+) s, are computed again", err)
resumed = re.search(r"resumed at iteration (\d+)", err)
told = re.search(r"from iteration (\d+)", err)
print(json.dumps({"killed_after_seconds": float(sys.argv[1]), "grid": int(sys.argv[2]), "lost_seconds": float(again.group(2)) if again else None,
                  "lost_iterations": int(again.group(1)) if again else None, "known": int(told.group(1)) if told else None,
                  "resumed": int(resumed.group(1)) if resumed else None}))
END
}

gaps() { # MEAN: seconds that a process lives before it is killed, one after the other
    python3 -c "
import random
random.seed(${SAIKAI_BENCH_SEED:-1})
for i in range(500):
    print('%.3f' % random.expovariate(1 / $1))"
}

wait_for_new() { # RUN LAST: sets pid to that of rank 1 where it is not LAST any more; false when the run ended
    pid=
    while kill -0 "$1" 2>/dev/null; do
        pid=$(cat pid.1 2>/dev/null || true)
        [ -n "$pid" ] && [ "$pid" != "$2" ] && [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$exe" ] && return 0
        sleep 0.1
    done
    return 1
}

wait_beside() { # RUN SECONDS: false when the run ended
    local then
    then=$((${EPOCHREALTIME/./} + 10#${2/./} * 1000))
    while [ "${EPOCHREALTIME/./}" -lt "$then" ]; do
        kill -0 "$1" 2>/dev/null || return 1
        sleep 0.1
    done
}

# A run in a folder of its own, in a session of its own: where the kernel shares a processor out by sessions, runs beside each other get the same.
one() { # INTERVAL STEPS MEAN: "" is nothing configured
    local interval=$1 steps=$2 mean=$3 begin end kills=0 gap pid last= run place=$work/${1:-default} code=0
    local -a fixed=()
    rm -rf "$place"
    mkdir -p "$place"
    cd "$place"
    export SAIKAI_STORE_LOCAL=$place/local XDG_STATE_HOME=$place/state
    [ -z "$interval" ] || fixed=(--set "schedule.interval=$interval")
    begin=$EPOCHREALTIME
    setsid bash -c 'echo "$1" >/proc/self/autogroup 2>/dev/null; shift; exec "$@"' bash "$nice" \
        "${on[@]}" "$build/src/cli/saikai" run -v "${fixed[@]}" -n 2 -- "$exe" -p "$place/pid" 96 96 96 "$steps" >out 2>err &
    run=$!
    trap 'kill -TERM "$run" 2>/dev/null' TERM
    for gap in $(gaps "$mean"); do # counted from where the process is there: one that is being started again does not die of what was due before
        wait_for_new "$run" "$last" && wait_beside "$run" "$gap" && kill -9 "$pid" || break
        last=$pid kills=$((kills + 1))
    done
    wait "$run" || code=$?
    end=$EPOCHREALTIME
    [ "$code" = 0 ] || { echo "a run with interval ${interval:-default} failed:" >&2; tail -n 20 err >&2; }
    python3 - "${interval:-default}" "$begin" "$end" "$kills" "$(cut -d ' ' -f 1 /proc/loadavg)" <<'END'
import json, re, sys
err = open("err").read()
again = [float(x) for x in re.findall(r"iterations, ([\d.]+) s, are computed again", err)]
print(json.dumps({"interval": sys.argv[1], "seconds": round(float(sys.argv[3]) - float(sys.argv[2]), 2), "kills": int(sys.argv[4]),
                  "lost_seconds": round(sum(again), 1), "right": "verified" in open("out").read(), "load": float(sys.argv[5])}))
END
    return "$code"
}

beside() { # STEPS MEAN INTERVAL…: all at the same time, so that a busy machine is as busy for all
    local steps=$1 mean=$2 i code=0
    shift 2
    on=(taskset -c "$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')")
    export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
    for i in "" "$@"; do
        (trap - EXIT; one "$i" "$steps" "$mean") &
        runs+=($!)
    done
    for i in "${runs[@]}"; do wait "$i" || code=1; done
    runs=()
    return $code
}
runs=() on=()
trap 'kill -TERM "${runs[@]}" 2>/dev/null || true; cleanup' EXIT
nice=$(sed 's/.* nice //' /proc/self/autogroup 2>/dev/null || echo 0)

case $mode in
newcomer) newcomer "$@" ;;
kills | beside)
    steps=${1:-300000} mean=${2:-20}
    read -ra intervals <<<"${SAIKAI_BENCH_INTERVALS:-0.5s 1s 2s 4s 8s}"
    if [ "$mode" = beside ]; then beside "$steps" "$mean" "${intervals[@]}"; exit; fi
    for i in "" "${intervals[@]}"; do (trap - EXIT; one "$i" "$steps" "$mean"); done ;;
*) echo "no mode $mode"; exit 2 ;;
esac
