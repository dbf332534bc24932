#!/usr/bin/env bash
# A notice: a job that would not save for an hour has a new checkpoint in the prefix before the deadline, under `saikai run` and under plain
# mpirun, and of two jobs in one directory only the one that is named; and the events of a job that is killed and goes on.
# usage: notice.sh BUILD_DIR MPI
set -euo pipefail
build=$1 mpi=$2
. "$(dirname "$0")/../common.sh"
exe=$build/examples/heat_$mpi
need "$exe"
need "$build/src/cli/saikaid"
cd "$work"
export SAIKAI_SCHEDULE_STOP_GRACE=300s # on a machine however busy
export SAIKAI_STORE_LOCAL=$work/local SAIKAI_SCHEDULE_INTERVAL=1h SAIKAI_STORE_LEASE_TIMEOUT=6s # it tells how it is doing every second
saikai=$build/src/cli/saikai
plain=
trap '[ -z "$plain" ] || kill "$plain" 2>/dev/null || true; cleanup' EXIT
bad() {
    echo "$mpi: $*"
    "$saikai" status || true
    "$saikai" events || true
    tail -n 30 err out err2 out2 2>/dev/null
    exit 1
}
# until_true SECONDS EXPRESSION COMMAND...: until the expression holds of `d`, the JSON that saikai COMMAND prints
until_true() {
    local end=$((SECONDS + $1)) expression=$2
    shift 2
    until "$saikai" "$@" --json 2>/dev/null | python3 -c "import json, sys; d = json.load(sys.stdin); sys.exit(not ($expression))" 2>/dev/null; do
        [ $SECONDS -lt $end ] || bad "never: $expression"
        sleep 0.2
    done
}
newest() { # JOB: iteration of its newest checkpoint in the prefix
    "$saikai" status --json --job "$1" | python3 -c "import json, sys; print(json.load(sys.stdin)[0]['report']['newest']['prefix']['iteration'])"
}
SAIKAI_JOB_NAME=first timeout 1200 "$saikai" run -n 2 -- "$exe" -p "$work/pid" 16 16 16 100000000 >out 2>err &
run=$!
until_true 100 "d[0]['report']['newest']['prefix']['iteration'] >= 0 and d[0]['report']['checkpoints'] == 1" status --job first
SAIKAI_JOB_NAME=second timeout 1200 "${mpiexec[@]}" -n 2 "$exe" 16 16 16 100000001 >out2 2>err2 &
plain=$!
until_true 100 "d[0]['report']['newest']['prefix']['iteration'] >= 0 and d[0]['report']['checkpoints'] == 1" status --job second
for job in first second; do
    other=$([ $job = first ] && echo second || echo first)
    at=$(newest $job) others=$(newest $other)
    count=$("$saikai" events --json --filter name=saved "$other" | grep -c time_ms || true)
    "$saikai" publish -j $job notice deadline=1h from=test || bad "$job cannot be told"
    until_true 200 "any(e['fields']['level'] != '' and int(e['fields']['iteration']) > $at for e in d)" events --filter name=saved $job
    until_true 200 "d[0]['report']['newest']['prefix']['iteration'] > $at" status --job $job
    [ "$(newest $other)" = "$others" ] || bad "$other was not meant"
    [ "$("$saikai" events --json --filter name=saved "$other" | grep -c time_ms || true)" = "$count" ] || bad "$other heard it, too"
done
grep -q 'first: a notice with a deadline in' err || bad "it is not said"
# a fault, and the start after it
kill -9 "$(cat pid.1)"
until_true 100 "[(e['severity'], e['rank'], e['fields']['answer'], e['fields']['start']) for e in d] == [('error', 1, 'restart', '1')]" \
    events --filter space=mw,name=fault first
until_true 100 "len(d) == 1" events --filter space=mw,name=restarted first
until_true 100 "[e['fields']['start'] for e in d] == ['1', '2']" events --filter name=started first
"$saikai" events --json --filter name=fault second | grep -q time_ms && bad "the second job had no fault" || true
kill -INT $run
wait $run && bad "it was interrupted and ended with 0" || true
run=
until_true 100 "len(d) == 1" events --filter name=stop-asked first
kill -TERM $plain
wait $plain || true
plain=
