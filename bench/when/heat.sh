#!/usr/bin/env bash
# heat under `saikai run`, killed for real, with nothing configured but where files go.
#   newcomer [SECONDS [NX]]   a user's first job is killed after so many seconds (180): what does it lose?
#   kills [STEPS [MEAN]]      a rank is killed every MEAN seconds (20) on average until STEPS are done: total time with nothing configured, and with
#                             fixed intervals
# SAIKAI_BENCH_INTERVALS: the fixed ones (default "0.5s 1s 2s 4s 8s"). The moments of kills are the same in all runs of one seed.
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
now() { date +%s.%N; }

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

one() { # INTERVAL STEPS MEAN: "" is nothing configured
    local interval=$1 steps=$2 mean=$3 begin end kills=0 at pid
    rm -rf state local saikai-store pid.*
    [ -z "$interval" ] || export SAIKAI_SCHEDULE_INTERVAL=$interval
    begin=$(now)
    "$build/src/cli/saikai" run -n 2 -- "$exe" -p "$work/pid" 96 96 96 "$steps" >out 2>err &
    run=$!
    for at in $(python3 -c "
import random
random.seed(1)
t = 0
for i in range(500):
    t += random.expovariate(1 / $mean)
    print('%.3f' % t)"); do
        while kill -0 $run 2>/dev/null && python3 -c "import time, sys; sys.exit(not time.time() < $begin + $at)"; do sleep 0.05; done
        kill -0 $run 2>/dev/null || break
        pid=$(cat pid.1 2>/dev/null || true)
        [ -n "$pid" ] && [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$exe" ] && kill -9 "$pid" && kills=$((kills + 1))
    done
    wait $run || { tail -n 20 err; exit 1; }
    run=
    end=$(now)
    unset SAIKAI_SCHEDULE_INTERVAL
    python3 -c "
import json
print(json.dumps({'interval': '${interval:-default}', 'seconds': round($end - $begin, 2), 'kills': $kills, 'right': 'verified' in open('out').read()}))"
}

case $mode in
newcomer) newcomer "$@" ;;
kills)
    steps=${1:-300000} mean=${2:-20}
    one "" "$steps" "$mean"
    for i in ${SAIKAI_BENCH_INTERVALS:-0.5s 1s 2s 4s 8s}; do one "$i" "$steps" "$mean"; done ;;
*) echo "no mode $mode"; exit 2 ;;
esac
