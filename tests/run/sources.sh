#!/usr/bin/env bash
# Sources of events beside a job that would not save for an hour: a health check that fails makes it save into the prefix and is among its
# events, as an error is that rasdaemon's database gets; sources that are broken are said once and harm nobody; and nothing is left of them when
# `saikai run` ends or is killed.
# usage: sources.sh BUILD_DIR MPI
set -euo pipefail
build=$1 mpi=$2
. "$(dirname "$0")/../common.sh"
exe=$build/examples/heat_$mpi
need "$exe"
need "$build/src/cli/saikaid"
cd "$work"
export SAIKAI_STORE_LOCAL=$work/local SAIKAI_SCHEDULE_INTERVAL=1h SAIKAI_STORE_LEASE_TIMEOUT=6s SAIKAI_EVENTS_EVERY=200ms SAIKAI_JOB_NAME=heat
saikai=$build/src/cli/saikai
bad() {
    echo "$mpi: $*"
    "$saikai" events || true
    tail -n 30 err out 2>/dev/null
    exit 1
}
until_true() { # EXPRESSION COMMAND...: until the expression holds of `d`, the JSON that saikai COMMAND prints
    local end=$((SECONDS + 200)) expression=$1
    shift
    until "$saikai" "$@" --json 2>/dev/null | python3 -c "import json, sys; d = json.load(sys.stdin); sys.exit(not ($expression))" 2>/dev/null; do
        [ $SECONDS -lt $end ] || bad "never: $expression"
        sleep 0.2
    done
}
until_said() {
    local end=$((SECONDS + 200))
    until grep -q "$1" err; do
        [ $SECONDS -lt $end ] || bad "never said: $1"
        sleep 0.2
    done
}
above() { pgrep -P "$run"; } # saikai run, below timeout
sources() { pgrep -P "$(above)" saikai-source | tr '\n' ' '; }
gone() { # PID...
    local end=$((SECONDS + 60)) pid
    for pid; do
        while kill -0 "$pid" 2>/dev/null; do
            [ $SECONDS -lt $end ] || bad "process $pid is left: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
            sleep 0.1
        done
    done
}
cat >check <<END
#!/bin/sh
[ ! -e $work/broken ] || { echo "event warning fan-slow fan=3"; echo "the fan stands"; exit 1; }
END
chmod +x check
rows() { python3 -c "
import sqlite3, sys
db = sqlite3.connect('ras.db')
db.execute('CREATE TABLE IF NOT EXISTS mc_event (id INTEGER PRIMARY KEY, timestamp TEXT, err_count INTEGER, err_type TEXT, err_msg TEXT, label TEXT)')
db.execute('INSERT INTO mc_event (timestamp, err_count, err_type, label) VALUES (?, 1, ?, ?)', ('2026-01-02 03:04:05 +0000', sys.argv[1], sys.argv[2]))
db.commit()" "$@"; }
rows Uncorrected old
timeout 600 "$saikai" run --set events.health="$work/check" --set events.rasdaemon="$work/ras.db" -n 2 -- \
    "$exe" -p "$work/pid" 16 16 16 100000000 >out 2>err &
run=$!
until_true "d[0]['report']['newest']['prefix']['iteration'] >= 0 and d[0]['report']['checkpoints'] == 1" status
at=$("$saikai" status --json | python3 -c "import json, sys; print(json.load(sys.stdin)[0]['report']['newest']['prefix']['iteration'])")
"$saikai" events --json --filter space=hw | grep -q time_ms && bad "something was told of a host that is well" || true
touch broken
until_true "[(e['name'], e['severity'], e['fields'].get('node'), e['fields'].get('fan')) for e in d if e['name'] != 'notice'] ==
    [('fan-slow', 'warning', None, '3'), ('health', 'error', 'unwell', None)]" events --filter space=hw
until_true "d[0]['report']['newest']['prefix']['iteration'] > $at" status
until_said 'is not well: the fan stands (source of events health)'
rm broken
until_said 'is well again (source of events health)'
if ! "$saikai" rates 2>&1 | grep -q 'without SQLite'; then
    rows Corrected DIMM_A1
    rows Uncorrected DIMM_A2
    until_true "[(e['severity'], e['fields']['label'], e['fields']['source']) for e in d] ==
        [('info', 'DIMM_A1', 'rasdaemon'), ('error', 'DIMM_A2', 'rasdaemon')]" events --filter name=memory
fi
[ "$(grep -c 'is not well' err)" = 1 ] || bad "said more than once"
# a fault meanwhile: without a spare the node is still better than none
touch broken
until_true "len(d) == 3" events --filter name=health
kill -9 "$(cat pid.1)"
until_true "len(d) == 1" events --filter space=mw,name=restarted
of=$(sources)
[ "$(wc -w <<<"$of")" -ge 1 ] || bad "there are no processes of sources"
kill -INT $run
wait $run && bad "it was interrupted and ended with 0" || true
run=
gone $of
# broken ones, and the job ends as it would without; then killed with a check under way
rm -rf saikai-store local broken
head -c 5000 /dev/urandom >ras.db
timeout 600 "$saikai" run --set events.health=/nowhere/check --set events.rasdaemon="$work/ras.db" -n 2 -- "$exe" 16 16 16 300 >out 2>err ||
    bad "it did not come through"
grep -q verified out || bad "no result"
[ "$(grep -c 'source of events' err)" -le 2 ] || bad "said more than once for each source"
timeout 600 "$saikai" run --set events.health="echo \$\$ >$work/check.new; mv $work/check.new $work/check.pid; sleep 1000 & wait" \
    --set events.limit=1000s -n 2 -- "$exe" -p "$work/pid2" 16 16 16 100000000 >out 2>err &
run=$!
for ((i = 0; i < 1000; i++)); do
    [ ! -s pid2.1 ] || [ ! -s check.pid ] || break
    sleep 0.2
done
[ -s check.pid ] || bad "the check was not begun"
of="$(sources) $(cat check.pid pid2.0 pid2.1 | tr '\n' ' ')"
kill -9 "$(above)"
wait $run || true
run=
gone $of
