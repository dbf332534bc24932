#!/usr/bin/env bash
# `saikai publish` and `saikai events` with nothing set: of one job and of two in one prefix, what is damaged, and mistakes.
# usage: events.sh BUILD_DIR MPI
set -euo pipefail
build=$1 mpi=$2
. "$(dirname "$0")/../common.sh"
exe=$build/examples/heat_$mpi
need "$exe"
cd "$work"
export SAIKAI_STORE_LOCAL=$work/local
saikai=$build/src/cli/saikai
bad() {
    echo "$mpi: $*"
    "$saikai" events || true
    tail -n 30 err out follow 2>/dev/null
    exit 1
}
holds() { # EXPRESSION ARGUMENT... of `d`, what saikai events says
    local expression=$1
    shift
    "$saikai" events --json "$@" | python3 -c "import json, sys; d = json.load(sys.stdin); sys.exit(not ($expression))" || bad "events $*: not $expression"
}
fails() { # CODE PATTERN ARGUMENT...
    local code=$1 pattern=$2 got=0
    shift 2
    "$saikai" "$@" >out 2>err || got=$?
    [ $got = "$code" ] && grep -q -e "$pattern" err || bad "saikai $*: exit code $got, or no '$pattern'"
}
[ "$("$saikai" events)" = "no events are known of saikai-store" ] || bad "there are events before there is a job"
fails 1 "no jobs are known" publish x
timeout 200 "${mpiexec[@]}" -n 2 "$exe" 12 12 12 20 >out 2>err || bad "the job failed"
name=$("$saikai" status --json | python3 -c "import json, sys; print(json.load(sys.stdin)[0]['job'])")
"$saikai" publish -s warning -r 1 --host n7 hw.fan fan=3 "note=two words" deadline=2min || bad "it cannot be told"
holds "[(e['space'], e['name'], e['severity'], e['rank'], e['host'], e['job'], e['fields']) for e in d] == [('hw', 'fan', 'warning', 1, 'n7', '$name', {'fan': '3', 'note': 'two words'})] and 119000 < d[0]['deadline_ms'] - d[0]['time_ms'] < 121000" \
    --filter space=hw
"$saikai" events --filter fan=3 | grep -q '  warning  hw.fan  rank 1 on n7  fan=3  note="two words"  deadline in [0-9]' || bad "not for people"
[ "$(stat -c %a saikai-store/events)" = 600 ] || bad "others may read the events"
"$saikai" publish "$(printf 'a%.0s' {1..40})" || bad "a long name is refused"
for wrong in A 'a b' hw. mw.B x/y; do fails 2 "no name of an event" publish "$wrong"; done
for wrong in novalue =x rank=3 "$(printf 'k%.0s' {1..40})=1" "k=$(printf 'v%.0s' {1..300})" deadline=soon; do fails 2 . publish a "$wrong"; done
fails 2 "there twice" publish a k=1 k=2
fails 2 "no term of a filter" events --filter nonsense
fails 1 "no job nobody" publish -j nobody a
fails 1 "no job nobody" events nobody
# followed, as it happens
"$saikai" events --follow --json --filter name=later >follow 2>&1 &
run=$!
"$saikai" publish later n=1
for ((i = 0; i < 1000; i++)); do grep -q '"n":"1"' follow && break; sleep 0.1; done
grep -q '"n":"1"' follow || bad "it is not followed"
kill $run
wait $run || true
run=
# a second job in the prefix
timeout 200 "${mpiexec[@]}" -n 1 "$exe" 12 12 12 30 >out 2>err || bad "the second job failed"
second=$("$saikai" status --json | python3 -c "import json, sys; print([j['job'] for j in json.load(sys.stdin) if j['job'] != '$name'][0])")
fails 2 "has several jobs" publish ours
"$saikai" publish -j "$second" ours || bad "the second job cannot be told"
holds "[e['job'] for e in d] == ['$second']" --filter name=ours
holds "d == []" --filter name=ours -j "$name"
holds "len(d) == 1" --filter name=ours "$second"
holds "len(d) == 1" --filter name=ours -j "$second" saikai-store
"$saikai" publish --all everybody && holds "len(d) == 2" --filter name=everybody
# what is damaged is told, and costs itself alone
printf '{"version":1,"ti' >>saikai-store/events
"$saikai" publish -j "$name" after
fails 1 "saikai-store/events damaged" events --filter name=after
grep -q app.after out || bad "what came after a damaged line is lost"
chmod 620 saikai-store/events
fails 1 "others may write" publish -j "$name" x
fails 1 "others may write" events
