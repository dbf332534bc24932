#!/usr/bin/env bash
# What mpirun tells by PMIx. Open MPI 5: the end of a start, of which a rank was killed, is among the events as mpirun saw it, and what another
# tool tells mpirun of a host; nothing of the listener is left when `saikai run` ends or is killed; a libpmix that is not there is said once
# and harms nobody. Open MPI 4: its mpirun is left alone, also when it could be found, since a tool that connects would be its end.
# usage: pmix.sh BUILD_DIR
set -euo pipefail
build=$1 mpi=openmpi
. "$(dirname "$0")/../common.sh"
exe=$build/examples/heat_openmpi
need "$exe"
need "$build/src/cli/saikaid"
cd "$work"
export SAIKAI_STORE_LOCAL=$work/local SAIKAI_SCHEDULE_INTERVAL=1s SAIKAI_STORE_LEASE_TIMEOUT=6s SAIKAI_JOB_NAME=heat OMPI_MCA_pmix_session_server=1
export SAIKAI_RUN_GRACE=60s # a busy machine's mpirun is not ended before it has told of its end
saikai=$build/src/cli/saikai
bad() {
    echo "$*"
    "$saikai" events || true
    tail -n 30 err out 2>/dev/null
    exit 1
}
told() { # EXPRESSION: until it holds of `d`, the events of PMIx
    local end=$((SECONDS + 200))
    until "$saikai" events --json --filter source=pmix 2>/dev/null | python3 -c "
import json, sys
ends = lambda d: [e for e in d if e['fields'].get('event') != 'PMIX_ERR_LOST_CONNECTION'] # of an mpirun that had to be ended
d = json.load(sys.stdin)
sys.exit(not ($1))" 2>/dev/null; do
        [ $SECONDS -lt $end ] || bad "never: $1"
        sleep 0.2
    done
}
above() { pgrep -P "$run"; } # saikai run, below timeout
# It has that name from the moment on at which it is connected.
listening() { pgrep -P "$(pgrep -d, -P "$(above)" saikai-source)" saikai-pmix; }
heard=
until_heard() { # the ranks of a start compute, and it is listened to their mpirun
    local end=$((SECONDS + 200)) now=
    until [ -s pid.0 ] && [ -s pid.1 ] && kill -0 "$(cat pid.0)" "$(cat pid.1)" 2>/dev/null && [ -n "$now" ] && [ "$now" != "$heard" ]; do
        [ $SECONDS -lt $end ] || bad "it is not listened to mpirun"
        sleep 0.2
        now=$(listening || true)
    done
    heard=$now
}
gone() { # PID...
    local end=$((SECONDS + 60)) pid
    for pid; do
        while kill -0 "$pid" 2>/dev/null; do
            [ $SECONDS -lt $end ] || bad "process $pid is left: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
            sleep 0.1
        done
    done
}
if "${mpiexec[0]}" --version | grep -q ' 4\.'; then
    timeout 600 "$saikai" run -v --set events.sources=pmix -n 2 -- "$exe" 16 16 16 300 >out 2>err || bad "it did not come through"
    [ "$(grep -c 'is not the mpirun of an Open MPI 5' err)" = 1 ] || bad "it is not said once"
    timeout 600 "$saikai" run -v -n 2 -- "$exe" 16 16 16 300 >out 2>err || bad "it did not come through"
    ! grep -q 'source of events: pmix' err || bad "a source that hears nothing"
    exit 0
fi
timeout 600 "$saikai" run -v -n 2 -- "$exe" -p "$work/pid" 16 16 16 100000000 >out 2>err &
run=$!
until_heard
# `saikai run` ends the other one's keeper at once, and that may be what mpirun sees first
end="e['space'], e['name'], e['severity'], e['fields']['event'], e['fields']['proc'] in ('0', '1'), e['fields']['status'] != '0'"
is="'mw', 'pmix', 'error', 'PMIX_EVENT_JOB_END', True, True"
kill -9 "$(cat pid.1)"
told "[($end) for e in ends(d)] == [($is)]"
until_heard
kill -9 "$(cat pid.0)"
told "[($end) for e in ends(d)] == [($is), ($is)] and len({e['fields']['namespace'] for e in ends(d)}) == 2"
[ "$(grep -c PMIX err)" = 0 ] || bad "something of it is among what the job prints"
until_heard
if [ -x "$build/tests/run/pmix_notify" ]; then # somebody tells mpirun that a host is down
    "$build/tests/run/pmix_notify" "$(pgrep -P "$(above)" prte)" >notified 2>&1 || bad "$(cat notified)"
    told "('hw', 'pmix', 'PMIX_EVENT_NODE_DOWN', 'unwell', 'a power supply has failed') in [(e['space'], e['name'], e['fields'].get('event'),
        e['fields'].get('node'), e['fields'].get('message')) for e in d] and any(e['name'] == 'notice' for e in d)"
fi
of="$heard $(pgrep -P "$(above)" saikai-source | tr '\n' ' ') $(cat pid.0 pid.1 | tr '\n' ' ')"
kill -9 "$(above)"
wait $run || true
run=
gone $of
# without the library
rm -rf saikai-store local pid.*
timeout 600 "$saikai" run -v --set events.pmix=/nowhere/libpmix.so.2 -n 2 -- "$exe" -p "$work/pid" 16 16 16 100000000 >out 2>err &
run=$!
for ((i = 0; i < 1000; i++)); do
    ! grep -q 'source of events pmix: libpmix is not there: /nowhere/libpmix.so.2' err || [ ! -s pid.1 ] || break
    sleep 0.2
done
kill -0 "$(cat pid.0)" "$(cat pid.1)" || bad "the job is not undisturbed"
kill -INT $run
wait $run && bad "it was interrupted and ended with 0" || true
run=
[ "$(grep -c 'source of events pmix: libpmix is not there: /nowhere/libpmix.so.2' err)" = 1 ] || bad "it is not said once that libpmix is not there"
