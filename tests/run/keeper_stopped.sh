#!/bin/bash
# A keeper is stopped shortly before its job finishes, so that nobody hears of the end: the job ends well all the same, leaves nothing
# running, and when it is run again it begins anew and is right.
# usage: keeper_stopped.sh BUILD_DIR MPI
set -u
build=$1 mpi=$2
. "$(dirname "$0")/../common.sh"
need "$build/examples/heat_$mpi"
cd "$work" || exit 1
export TMPDIR=$work OMPI_MCA_btl_vader_backing_directory=$work
export SAIKAI_TEST_TAG="keeper-stopped-$$-$RANDOM"
fail() { echo "FAILED: $*"; head -n 40 out err 2>/dev/null; exit 1; }
tagged() { # the processes of this test, but this shell and its helpers
    local p
    for p in $(grep -lzs -x "SAIKAI_TEST_TAG=$SAIKAI_TEST_TAG" /proc/[0-9]*/environ); do
        p=${p#/proc/}
        p=${p%/environ}
        [ "$p" = $$ ] || [ "$p" = "$BASHPID" ] || [ "$(cut -d' ' -f4 "/proc/$p/stat" 2>/dev/null)" = "$BASHPID" ] || echo "$p"
    done
}
steps=2000
job() {
    timeout --foreground -k 2 250 "$build/src/cli/saikai" run -n 2 --set run.backoff=0.1s --set schedule.every=10 --set schedule.first=no \
        --set store.local="$work/local" -- "$build/examples/heat_$mpi" 48 48 48 $steps >out 2>err
}
rm -rf saikai-store local
job || fail "the reference did not end well"
wanted=$(grep -o 'checksum [0-9a-f]*' out)
[ -n "$wanted" ] || fail "no checksum"
rm -rf saikai-store local
job &
waits=$!
run=$waits
reached() { # PATTERN of a generation: waits for one
    for i in $(seq 15000); do
        compgen -G "local/*/*/gen-0001-$1" >/dev/null && return 0
        kill -0 $waits 2>/dev/null || return 0
        sleep 0.01
    done
}
reached '*'
keeper=
for p in $(tagged); do tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -q 'saikaid rank' && keeper=$p; done
reached '000000001[5-9]*' # most of the way
kill -STOP "${keeper:-none}" 2>/dev/null || echo "it had finished before"
wait $waits || fail "exit code $? with a keeper stopped"
run=
[ "$(grep -o 'checksum [0-9a-f]*' out | sort -u)" = "$wanted" ] || fail "another result with a keeper stopped"
for i in $(seq 300); do
    [ -z "$(tagged)" ] && break
    sleep 0.1
done
left=
for p in $(tagged); do
    [ -e "/proc/$p/exe" ] || continue # a shell of this test, gone meanwhile
    left="$left $p ($(cat "/proc/$p/comm"))"
    kill -9 "$p"
done
[ -z "$left" ] || fail "left running:$left"
job || fail "the finished job did not run again"
[ "$(grep -o 'checksum [0-9a-f]*' out | sort -u)" = "$wanted" ] || fail "another result when it was run again"
grep -q "saikai: restart [0-9]" err && fail "a finished job was restarted when it was run again"
echo ok
