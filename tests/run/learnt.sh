#!/usr/bin/env bash
# What saikai run learns of faults, with nothing set: a job that is killed is known to the next one, and a failure database that is of no use
# is told in one line while the job does its work.
# usage: learnt.sh BUILD_DIR MPI AT_CANDIDATE
set -euo pipefail
build=$1 mpi=$2 at_candidate=$3
. "$(dirname "$0")/../common.sh"
exe=$build/examples/heat_$mpi
need "$exe"
need "$build/src/cli/saikaid"
said=$("$build/src/cli/saikai" rates 2>&1) || { case $said in *"without SQLite"*) echo "skip: built without SQLite"; exit 77 ;; esac; echo "$said"; exit 1; }
cd "$work"
export SAIKAI_STORE_LOCAL=$work/local
saikai=$build/src/cli/saikai
bad() {
    echo "$mpi: $*"
    tail -n 30 err out 2>/dev/null
    exit 1
}
# One job that loses rank 0 at a candidate, so many times: lose TIMES [OPTIONS...]
lose() {
    local times=$1 i said before=0
    shift
    rm -f pid.*
    timeout 650 "$saikai" run -v "$@" -n 2 -- "$exe" -p "$work/pid" 32 32 32 "$((times ? 8000 : 900))" >out 2>err &
    run=$!
    for ((i = 0; i < times; i++)); do
        said=$("$at_candidate" "$work/pid.0" 20 9 "$before") || bad "it was not at its candidate"
        before=${said##* }
    done
    wait "$run" || bad "exit code $?"
    run=
    grep -q verified out || bad "no result"
}
field() { # SIDE FIELD: of the first of that side
    "$saikai" rates --json | python3 -c "
import json, sys
rows = [r for r in json.load(sys.stdin)['rates'] if r['side'] == '$1']
print(rows[0]['$2'] if rows else 0)"
}
expects() { # in hours
    sed -n 's/.*failure rates: the program once in \([0-9.]*\) \([a-z]*\),.*/\1 \2/p' err | head -n 1 |
        awk '{ print $1 * ($2 == "y" ? 8766 : $2 == "d" ? 24 : $2 == "h" ? 1 : $2 == "min" ? 1 / 60 : 1 / 3600) }'
}

lose 2
[ "$(expects)" = 168 ] || bad "a fresh user's program was expected to fail once in $(expects) h"
[ "$(field program faults)" = 2 ] || bad "$(field program faults) faults were noted"
[ "$(field node faults)" = 0 ] || bad "the host was blamed"
[ "$(stat -c %a state/saikai/failures.db)" = 600 ] || bad "others can read the database"
lose 0 # and the next job knows
awk "BEGIN { exit !($(expects) > 50 && $(expects) < 60) }" || bad "after two faults: once in $(expects) h"
seen=$(field program seen_seconds)
lose 0
awk "BEGIN { exit !($(field program seen_seconds) > $seen) }" || bad "time that was well was not noted"

# whatever lies there
harmless() {
    lose 1 "$@"
    [ "$(grep -c 'going on without learning' err)" = 1 ] || bad "not told in one line: $*"
}
head -c 5000 /dev/urandom >state/saikai/failures.db
harmless
rm state/saikai/failures.db
mkdir state/saikai/failures.db
harmless
harmless --set failure.database=/dev/null/failures.db
if [ "$(id -u)" = 0 ]; then
    rmdir state/saikai/failures.db
    touch state/saikai/failures.db
    chown 4711 state/saikai/failures.db
    harmless
fi
lose 1 --set failure.database=none
! grep -q 'learning\|failure rates' err || bad "failure.database=none was not heeded"
if env -u HOME -u XDG_STATE_HOME timeout 100 "${mpiexec[@]}" -n 1 true >out 2>&1; then
    (unset HOME XDG_STATE_HOME && timeout 100 "$saikai" run -n 1 -- "$exe" 16 16 16 10 >out 2>err) || bad "without a home"
    [ "$(grep -c 'there is no home directory' err)" = 1 ] || bad "without a home: nothing said"
else
    echo "skip: without a home: this MPI's launcher does not start without one"
fi
echo "$mpi: learnt"
