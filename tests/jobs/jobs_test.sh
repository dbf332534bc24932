#!/bin/bash
# Which job goes on from what, with default settings but for the interval: a removed, moved or copied directory, another argument,
# a name, two halves of one MPI_COMM_WORLD, what stays in memory, and what is said. usage: jobs_test.sh SAIKAI WORKER MPI
set -u
saikai=$1 worker=$2 mpi=$3
. "$(dirname "$0")/../common.sh"
need "$worker"
need "$saikai"
unset SAIKAI_STORE_PREFIX SAIKAI_JOB_NAME
export SAIKAI_STORE_LOCAL=$work/local SAIKAI_SCHEDULE_EVERY=20
mkdir -p "$work/local" "$work/run"
cd "$work/run" || exit 1
log=$work/log

fail() {
    echo "FAILED: $*"
    cut -c1-900 "$log"
    exit 1
}
go() { # EXPECTED-EXIT ARGUMENT...
    local want=$1
    shift
    timeout -k 5 300 "${mpiexec[@]}" -n 2 "$worker" "$@" >"$log" 2>&1 </dev/null
    local rc=$?
    if [ "$want" = 0 ]; then [ $rc -eq 0 ] || fail "worker $* ended with $rc"; else [ $rc -ne 0 ] || fail "worker $* should fail"; fi
    ! grep -q WRONG "$log" || fail "worker $* has another job's state"
}
# The launcher may end while threads of the ranks that it killed are still dying; what they hold is in use until then.
all_dead() {
    for _ in $(seq 600); do
        "$saikai" clean --set store.local="$work/local" --dry-run --json 2>/dev/null | grep -q '"in use"' || return 0
        sleep 0.1
    done
    fail "a minute after the launcher's end its ranks live"
}
dies() { # STEP ARGUMENT...: rank 1 dies at that step
    rm -f "$work/kill"
    export WORKER_KILL=1:$1:$work/kill
    shift
    go 1 "$@"
    unset WORKER_KILL
    all_dead
}
says() { grep -q -- "$1" "$log" || fail "it does not say '$1'"; }
says_not() { ! grep -q -- "$1" "$log" || fail "it says '$1'"; }
once() { [ "$(grep -c -- "$1" "$log")" -eq 1 ] || fail "it does not say '$1' once"; }

# one line: fresh, then resumed
dies 150 1 200
once 'starting fresh in .*/saikai-store: nothing to resume from'
go 0 1 200
once 'resuming from iteration [1-9][0-9]*0 (.*copy.*), saved .* ago, in '
go 0 1 200
once 'starting fresh in .*: the last run finished'

# another argument is another job; a name goes on with other arguments
dies 150 2 200
go 0 2 300
once "generations\? of '.*worker.* 2 200' (newest: iteration [0-9]*) \(is\|are\) in .*: to go on from there set job.name=worker"
name=$(sed -n 's/.*to go on from there set job.name=\([^ ]*\).*/\1/p' "$log")
SAIKAI_JOB_NAME=$name go 0 2 250
says 'resuming from iteration [1-9][0-9]*0'

# the directory is removed: nothing comes back from memory
dies 150 3 200
rm -rf saikai-store
go 0 3 200
says 'starting fresh'
says "belongs to a store that is no more in .*saikai-store.*: not used; 'saikai clean' removes it"
says_not 'resuming'
"$saikai" clean --set store.local="$work/local" --dry-run >"$log" 2>&1 || fail "clean --dry-run"
says 'would remove *store gone'
"$saikai" clean --set store.local="$work/local" >"$log" 2>&1 || fail "clean"
says 'removed *store gone'

# … or by saikai rm, or moved away, or copied
dies 150 4 200
for _ in $(seq 600); do # rank 0 may still be dying when what it held on the node is free already
    "$saikai" rm --all --force --yes saikai-store/jobs/worker* >"$log" 2>&1 && break
    grep -q 'is in use' "$log" || fail "rm --all"
    sleep 0.1
done
[ ! -e saikai-store/jobs/worker*/job ] || fail "rm --all"
go 0 4 200
says 'starting fresh'
cd "$work" || exit 1
mkdir a && cd a || exit 1
dies 150 5 200
cd "$work" && mv a b && mkdir a && cd a || exit 1
go 0 5 200
says 'starting fresh'
cd ../b && cp -a ../b ../c || exit 1
go 0 5 200
says 'resuming from iteration [1-9][0-9]*0 (node-local copy)'
cd ../c || exit 1
go 0 5 200
says 'is a copy of .*/a/saikai-store'
says 'resuming from iteration .*copy in the prefix'

# two halves of one MPI_COMM_WORLD: refused, or each with a name
cd "$work" && mkdir halves && cd halves || exit 1
timeout -k 5 300 "${mpiexec[@]}" -n 2 "$worker" 6 60 apart >"$log" 2>&1 </dev/null && fail "two halves are one job"
says 'is running already in .*: host .*, process .*, user .*, since 20.*job.name'
go 0 6 60 named
[ -d saikai-store/jobs ] || fail "the second half has no place of its own"

# without a prefix the nodes' directories say whose they are
cd "$work" && mkdir alone && cd alone || exit 1
export SAIKAI_STORE_PREFIX=none
dies 150 7 200
go 0 8 200
says 'starting fresh'
go 0 7 200
says 'resuming from iteration [1-9][0-9]*0'
unset SAIKAI_STORE_PREFIX

# what dies right after each capture piles nothing up
cd "$work" && mkdir pile && cd pile || exit 1
for i in 1 2 3 4 5 6; do
    SAIKAI_SCHEDULE_EVERY=1 dies $((i * 3 + 30)) 9 200
    n=$(ls -d "$work"/local/saikai-*/worker*/gen-*/rank-000000.skc 2>/dev/null | wc -l)
    s=$(du -s -B 32K "$work"/local/saikai-*/ | cut -f1)
    [ "$i" -lt 2 ] || [ "$n" -le 24 ] || fail "$n files of rank 0 after $i kills ($s)"
done
echo "all is as it is said"
