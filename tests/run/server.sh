#!/usr/bin/env bash
# The server of a site's failure database: jobs tell it what they suffer and learn from it what others did, go on when it was killed, and tell
# it later; who has another key learns nothing.
# usage: server.sh BUILD_DIR MPI AT_CANDIDATE
set -euo pipefail
build=$1 mpi=$2 at_candidate=$3
. "$(dirname "$0")/../common.sh"
exe=$build/examples/heat_$mpi
need "$exe"
need "$build/src/cli/saikaid"
said=$("$build/src/cli/saikai" rates 2>&1) || { case $said in *"without SQLite"*) echo "skip: built without SQLite"; exit 77 ;; esac; echo "$said"; exit 1; }
cd "$work"
export SAIKAI_STORE_LOCAL=$work/local SAIKAI_FAILURE_SERVER_KEY=$work/key
saikai=$build/src/cli/saikai server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; cleanup' EXIT
bad() {
    echo "$mpi: $*"
    tail -n 30 err out said 2>/dev/null
    exit 1
}
serve() { # ADDRESS
    : >said
    SAIKAI_FAILURE_SERVER=$1 SAIKAI_FAILURE_DATABASE=$work/site.db "$build/src/cli/saikaid" server >said 2>&1 &
    server=$!
    for ((i = 0; i < 1000; i++)); do
        ! grep -q 'served at' said || break
        kill -0 $server 2>/dev/null || bad "the server ended"
        sleep 0.1
    done
    SAIKAI_FAILURE_SERVER=$(sed -n 's/.*served at //p' said)
    [ -n "$SAIKAI_FAILURE_SERVER" ] || bad "the server does not say where it is"
    export SAIKAI_FAILURE_SERVER
}
lose() { # NAME TIMES: a job that loses rank 0 at a candidate, so many times
    local times=$2 i said before=0
    rm -f pid.*
    SAIKAI_JOB_NAME=$1 timeout 650 "$saikai" run -v -n 2 -- "$exe" -p "$work/pid" 32 32 32 "$((times ? 8000 : 900))" >out 2>err &
    run=$!
    for ((i = 0; i < times; i++)); do
        said=$("$at_candidate" "$work/pid.0" 20 9 "$before") || bad "it was not at its candidate"
        before=${said##* }
    done
    wait "$run" || bad "exit code $?"
    run=
    grep -q verified out || bad "no result"
}
faults() { # NAME: of this program, as the server knows
    "$saikai" rates --json 2>err2 | python3 -c "
import json, sys
d = json.load(sys.stdin)
print(d['database'], sum(r['faults'] for r in d['rates'] if r['side'] == 'program' and r['name'] == '$1'))"
}
expects() { # in hours
    sed -n 's/.*failure rates: the program once in \([0-9.]*\) \([a-z]*\),.*/\1 \2/p' err | head -n 1 |
        awk '{ print $1 * ($2 == "y" ? 8766 : $2 == "d" ? 24 : $2 == "h" ? 1 : $2 == "min" ? 1 / 60 : 1 / 3600) }'
}

head -c 32 /dev/urandom >key
chmod 600 key
# It comes back at its own address, so a port that nobody else is given meanwhile: below those that the system gives to whoever asks for any.
read -r lowest _ </proc/sys/net/ipv4/ip_local_port_range
for ((i = 0; i < 20; i++)); do
    port=$((lowest / 2 + RANDOM % (lowest / 2)))
    [ -z "$(ss -Htln "sport = :$port")" ] && break
done
serve "127.0.0.1:$port"
lose first 1
! grep -q 'failure.server' err || bad "the server was missed"
[ "$(faults first)" = "$SAIKAI_FAILURE_SERVER 1.0" ] || [ "$(faults first)" = "$SAIKAI_FAILURE_SERVER 1" ] || bad "the server knows: $(faults first)"
# another user, who has seen nothing, begins with what the site knows
XDG_STATE_HOME=$work/state2 lose second 0
awk "BEGIN { exit !($(expects) < 150) }" || bad "the second user's program was expected to fail once in $(expects) h"
"$saikai" rates add n99 mtbf=1y | grep -q "is in $SAIKAI_FAILURE_SERVER" || bad "a rate was not added"
# killed: told once, and nobody is held up
kill -9 $server
wait $server || true
server=
lose third 1
[ "$(grep -c 'failure.server' err)" = 1 ] || bad "not told once"
[ -s state/saikai/failures.db.unsent ] || bad "nothing is kept for later"
"$saikai" rates >out 2>err || bad "rates without the server"
grep -q 'does not answer' err && grep -q third out || bad "rates without the server"
serve "$SAIKAI_FAILURE_SERVER"
[ "$(faults third | sed 's/.* //; s/\.0$//')" = 0 ] || bad "it knew before"
lose first 0
[ "$(faults third | sed 's/.* //; s/\.0$//')" = 1 ] || bad "it was not sent later"
[ ! -s state/saikai/failures.db.unsent ] || bad "it would be sent again"
# a stranger
head -c 32 /dev/urandom >other
chmod 600 other
SAIKAI_FAILURE_SERVER_KEY=$work/other "$saikai" rates >out 2>err || bad "rates of a stranger"
grep -q 'does not answer, or does not know the key' err || bad "a stranger was answered"
grep -q 'was refused' said || bad "the stranger was not told"
[ "$(faults first | sed 's/ .*//')" = "$SAIKAI_FAILURE_SERVER" ] || bad "the server was disturbed"
kill -TERM $server
wait $server || bad "the server ended with $?"
server=
