#!/usr/bin/env bash
# What programs seldom do (odd.c; rare/rare.c) comes to the same with the layer between program and MPI as without it, line by line.
# usage: odd.sh WAY BUILD_DIR MPI [rare]      SAIKAI_TEST_PARTS: some of its parts
set -euo pipefail
way=$1 build=$2 mpi=$3 program=${4:-odd}
. "$(dirname "$0")/../common.sh"
exe="$build/tests/world/${program}_$mpi" ranks=3
parts=${SAIKAI_TEST_PARTS:-errors handlers attributes trees requests chance cancelled}
case $way in
body) options="--warm 0" ;;
warm) options="--warm 1" ;;
*) options="--protocol $way"; parts=${SAIKAI_TEST_PARTS:-errors attributes trees requests chance cancelled} ;;
esac
need "$build/src/cli/saikaid"
need "$exe"
[ "$program" = odd ] || parts=${SAIKAI_TEST_PARTS:-}
is_repaired || { echo "skip: this MPI is repaired in no way, and the layer leaves it alone"; exit 77; }
cd "$work"
export SAIKAI_STORE_PREFIX=none SAIKAI_STORE_LOCAL="$work/local"
timeout 200 "${mpiexec[@]}" -n $ranks "$exe" $parts >plain 2>plain.err || { echo "it does not work without the layer"; tail -n 30 plain plain.err; exit 1; }
grep -q verified plain || { tail -n 30 plain; exit 1; }
rc=0
timeout 300 "$build/src/cli/saikai" run --recovery process=in-place $options -n $ranks -- "$exe" $parts >out 2>err || rc=$?
tr -d '\0' <out >seen # Open MPI 5 adds one when it warns of topologies (docs/recovery.md)
if [ $rc != 0 ] || ! cmp -s plain seen; then
    echo "$way: exit code $rc; without the layer (<) and with it (>):"
    diff plain seen | head -n 40 || true
    tail -n 30 err
    exit 1
fi
echo "$way: $(wc -l <seen) lines are the same"
