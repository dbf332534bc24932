#!/usr/bin/env bash
# `saikai status` beside a job with nothing set: while it runs, after a fault, of two jobs in one prefix, and when it has ended; and the metrics.
# usage: status.sh BUILD_DIR MPI
set -euo pipefail
build=$1 mpi=$2
. "$(dirname "$0")/../common.sh"
exe=$build/examples/heat_$mpi
need "$exe"
need "$build/src/cli/saikaid"
cd "$work"
export SAIKAI_STORE_LOCAL=$work/local
saikai=$build/src/cli/saikai
bad() {
    echo "$mpi: $*"
    "$saikai" status || true
    tail -n 30 err out 2>/dev/null
    exit 1
}
# Until the expression holds of `d`, what --json says: until_true SECONDS EXPRESSION
until_true() {
    local end=$((SECONDS + $1))
    until { "$saikai" status --json || true; } | python3 -c "import json, sys; d = json.load(sys.stdin); sys.exit(not ($2))" 2>/dev/null; do
        [ $SECONDS -lt $end ] || bad "never: $2"
        sleep 0.2
    done
}
[ "$("$saikai" status)" = "no jobs are known of saikai-store" ] || bad "there is a job before there is one"
mkdir metrics
SAIKAI_METRICS_TEXTFILE=metrics timeout 650 "$saikai" run -n 2 -- "$exe" -p "$work/pid" 32 32 32 100000000 >out 2>err &
run=$!
until_true 100 "d[0]['condition'] == 'running' and d[0]['report']['ranks'] == 2 and d[0]['report']['nodes'] == 1 and d[0]['report']['start'] == 1"
until_true 100 "d[0]['report']['newest']['prefix']['iteration'] > 0 and d[0]['report']['checkpoints'] > 0 and d[0]['report']['interval_seconds'] > 0"
until_true 100 "d[0]['report']['newest']['local']['iteration'] >= d[0]['report']['newest']['prefix']['iteration']"
"$saikai" status | awk 'length > 80 && !/store|fault/ {print; bad = 1} END {exit bad}' || bad "wider than a terminal"
"$saikai" status | grep -q '^interval .*candidates' || bad "no interval"
# beside a job that is writing, files that are not there yet are none that are missing
mkdir saikai-store/gen-0001-000000000000-9
: >saikai-store/gen-0001-000000000000-9/set-000001.1-of-2.ska.123.tmp
"$saikai" status --json >said || bad "exit code $? beside a job that is writing"
rm -rf saikai-store/gen-0001-000000000000-9
kill -9 "$(cat pid.1)"
until_true 100 "d[0]['report']['start'] == 2 and d[0]['report']['faults'] == 1 and d[0]['report']['lost_seconds'] > 0 and d[0]['faults_recorded'] == 1"
until_true 100 "0 < d[0]['report']['share_lost'] <= 1 and 'killed by signal 9' in d[0]['last_fault']"
prom=$(ls metrics/saikai-heat_"$mpi"-*.prom)
[ "$(stat -c %a "$prom")" = 644 ] || bad "a collector could not read $prom"
grep -q '^saikai_iteration{job="heat_' "$prom" && [ "$(tail -n 1 "$prom")" = "# EOF" ] || bad "no metrics"
[ "$(stat -c %a saikai-store/status)" = 600 ] || bad "others may read the status"
# another job in the same prefix has a place of its own
timeout 300 "$saikai" run -n 1 -- "$exe" 16 16 16 200 >out2 2>err2 || bad "the other job failed"
until_true 100 "len(d) == 2 and sorted(j['condition'] for j in d) == ['finished', 'running']"
name=$("$saikai" status --json | python3 -c "import json, sys; print([j['job'] for j in json.load(sys.stdin) if j['condition'] == 'finished'][0])")
"$saikai" status --job "$name" | grep -q "^job $name: finished" || bad "not the job that was asked for"
[ "$("$saikai" status "$name" | grep -c '^job ')" = 1 ] || bad "not the job that was named"
! "$saikai" status --job nobody >/dev/null 2>&1 || bad "nobody is a job"
kill -INT $run
wait $run && bad "it was interrupted and ended with 0" || true
run=
until_true 100 "sorted(j['condition'] for j in d) == ['finished', 'not running']"
# what lacks files that nobody would write any more, and what cannot be read, is said
rm saikai-store/gen-*/rank-000001.skc
code=0
"$saikai" status >said || code=$?
[ $code = 1 ] && grep -q ' incomplete, the newest of these gen-' said || bad "what lacks files is not told: exit code $code"
printf 'x' >>saikai-store/status
code=0
"$saikai" status >said 2>&1 || code=$?
[ $code = 1 ] && grep -q 'saikai-store/status: ' said || bad "a damaged file is not told: exit code $code"
