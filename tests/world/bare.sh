#!/usr/bin/env bash
# The layer between program and MPI cannot be there: a script takes LD_PRELOAD away, or the layer's path cannot be preloaded. No job runs with twins or spares
# as further ranks. usage: bare.sh BUILD_DIR MPI
set -euo pipefail
build=$1 mpi=$2
. "$(dirname "$0")/../common.sh"
victim=$build/tests/run/victim_$mpi
need "$build/src/cli/saikaid"
need "$victim"
is_repaired || { echo "skip: this MPI has no layer"; exit 77; }
cd "$work"
fail() {
    echo "$*"
    cut -c1-300 out err
    exit 1
}
run() { # EXIT-CODE ARGUMENT…
    local want=$1 rc=0
    shift
    timeout 200 "$saikai" run -n 2 --launcher "$mpi" "$@" >out 2>err </dev/null || rc=$?
    [ "$rc" = "$want" ] || fail "exit code $rc, not $want"
}

saikai=$build/src/cli/saikai
printf '#!/bin/sh\nunset LD_PRELOAD\n"%s" "$@"\n' "$victim" >script
chmod +x script
for how in '--protocol replication' '--recovery process=in-place --warm 1'; do
    run 126 $how -- ./script seconds=100
    grep -q 'came to MPI without libsaikai-world' err || fail "$how: it is not said"
    ! grep -q 'restart 1' err || fail "$how: it is tried again"
    run 0 $how -- "$victim"
    grep -q '^end 0 2$' out || fail "$how: not two ranks"
done
run 0 --recovery process=in-place --warm 0 -- ./script # has no process beyond its ranks
grep -q '^end 0 2$' out || fail "not two ranks without spares"

mkdir 'a b'
cp "$build"/src/cli/{saikai,saikaid,libsaikai-world-openmpi.so} 'a b'
saikai="$work/a b/saikai"
for how in '--protocol replication' '--recovery process=in-place --warm 1'; do
    run 0 $how -- "$victim"
    grep -q 'cannot be preloaded, since its path has a space' err || fail "$how: it is not said"
    grep -q '^end 0 2$' out || fail "$how: not two ranks"
    ! grep -q 'ld.so' err || fail "$how: it is preloaded all the same"
done
echo "no other ranks than were asked for"
