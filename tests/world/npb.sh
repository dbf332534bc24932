#!/usr/bin/env bash
# A kernel of the NAS Parallel Benchmarks: its published result on 1 to 8 ranks, with nothing, and with the layer between it and MPI; and the same
# bits under each protocol when a rank is killed at any moment, whether it is repaired, replaced by its twin or started again.
# usage: npb.sh KERNEL BUILD_DIR MPI      SAIKAI_TEST_KILLS: for each protocol (1)
set -euo pipefail
kernel=$1 build=$2 mpi=$3 kills=${SAIKAI_TEST_KILLS:-1}
. "$(dirname "$0")/../common.sh"
exe="$build/examples/npb_${kernel}_$mpi"
need "$exe"
need "$build/src/cli/saikaid"
cd "$work"
export SAIKAI_STORE_LOCAL="$work/local" SAIKAI_STORE_FSYNC=no SAIKAI_RUN_NO_PROGRESS=0

fail() {
    echo "$kernel, $mpi: $*"
    tail -n 40 out err
    exit 1
}

for n in 1 2 4 8; do
    SAIKAI_STORE_PREFIX=none timeout 200 "${mpiexec[@]}" -n $n "$exe" S >out 2>err || fail "$n ranks: exit code $?"
    grep -q "^$kernel class S, $n ranks: .*: verified$" out || fail "$n ranks: another result than the published one"
done
SAIKAI_STORE_PREFIX=none timeout 200 "${mpiexec[@]}" -n 4 "$exe" W >calm 2>err || fail "exit code $?"
grep -q verified calm || fail "another result than the published one: $(cat calm)"

repaired=0
for protocol in coordinated logging replication; do
    for kill in $(seq "$kills"); do
        rm -rf pid.* store
        export SAIKAI_STORE_PREFIX=$work/store
        timeout 300 "$build/src/cli/saikai" run --recovery process=in-place --protocol $protocol --set schedule.every=1 -n 4 -- "$exe" -p "$work/pid" W >out 2>err &
        run=$!
        victim=$((RANDOM % 4))
        while kill -0 $run 2>/dev/null && ! [ -s pid.$victim ]; do sleep 0.02; done
        sleep 0.$((RANDOM % 10))
        pid=$(cat pid.$victim 2>/dev/null || true) # the kernel may be at its end
        [ -z "$pid" ] || [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" != "$(readlink -f "$exe")" ] || kill -KILL "$pid" 2>/dev/null || true
        wait $run || fail "$protocol: exit code $?"
        grep -E 'verified|WRONG' out | sort -u | cmp -s calm - || fail "$protocol: not the result of the undisturbed run, $(cat calm)"
        repaired=$((repaired + $(grep -cE 'repaired in place|answer: twin' err || true)))
    done
done
echo "$kernel, $mpi: $((3 * kills)) kills, $repaired without a restart: $(cat calm)"
