#!/bin/bash
# Checkpoints where there is little memory, with the kernel's own limits: a control group, a small tmpfs. Needs root.
# usage: memory_test.sh BUILD_DIR MPI
set -eu
build=$1 mpi=$2
. "$(dirname "$0")/../common.sh"
heat="$build/examples/heat_$mpi"
need "$heat"
[ "$(id -u)" = 0 ] || { echo "skip: control groups and mounts need root"; exit 77; }
shm=$(mktemp -d -p /dev/shm saikai-test-XXXXXX)
disk=$(mktemp -d -p /var/tmp saikai-test-XXXXXX) # the prefix must not be in memory
group= mounted=
remove_group() { # what ended in it may take a moment to go
    for _ in $(seq 600); do
        [ -d "$group" ] || return 0
        rmdir "$group" 2>/dev/null && return 0
        sleep 0.1
    done
    return 1
}
leave() {
    [ -z "$mounted" ] || umount -l "$mounted" || true
    [ -z "$group" ] || remove_group || true
    rm -rf "$shm" "$disk"
    cleanup
}
trap leave EXIT
fail() {
    echo "$1"
    [ -z "${2:-}" ] || tail -30 "$2"
    exit 1
}

make_group() { # a group of our own in either version; sets group, limit and peak (files)
    local top
    top=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
    if [ -n "$top" ]; then
        group=$top/saikai-test-$$ limit=memory.limit_in_bytes peak=memory.max_usage_in_bytes
    else
        top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
        grep -qw memory "$top/cgroup.subtree_control" 2>/dev/null || return 1
        group=$top/saikai-test-$$ limit=memory.max peak=memory.peak
    fi
    mkdir "$group" 2>/dev/null || { group=; return 1; }
    [ -e "$group/$limit" ] && [ -e "$group/$peak" ]
}
in_group() { # in_group COMMAND…
    bash -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$group" "$@"
}

cells="160 160 160" # 31 MiB an array
export SAIKAI_STORE_PREFIX=$disk/store SAIKAI_STORE_LOCAL=$shm SAIKAI_LOG_LEVEL=notice
export SAIKAI_JOB_NAME=test # its arguments change from start to start: it is one job all the same
if make_group; then
    # what the program takes by itself
    SAIKAI_SCHEDULE_FIRST=no SAIKAI_SCHEDULE_MODEL=young SAIKAI_SCHEDULE_EVERY=1000000 in_group timeout 300 "$heat" $cells 4 >alone.out 2>&1 ||
        fail "the program alone does not run" alone.out
    own=$(cat "$group/$peak")
    rm -rf "$disk/store" "$shm"/saikai-*
    remove_group || fail "the control group stays busy"
    mkdir "$group"
    echo $((own / 10 * 11)) >"$group/$limit"
    SAIKAI_SCHEDULE_EVERY=4 in_group timeout 600 "$heat" $cells 12 >tight.out 2>&1 ||
        fail "killed or failed with 1.1 times its own peak ($own bytes)" tight.out
    grep -q "was written to the prefix while the program waited" tight.out || fail "nobody says that there was no room" tight.out
    grep -q "is not saved" tight.out && fail "a checkpoint was not saved" tight.out
    "$build/src/cli/saikai" ls "$disk/store" >ls.out 2>&1 || true
    grep -q "12" ls.out || fail "the last checkpoint is not there" ls.out
    echo "peak alone $((own >> 20)) MiB, limit $((own / 10 * 11 >> 20)) MiB, peak with checkpoints $(($(cat "$group/$peak") >> 20)) MiB"
    # and goes on from there
    SAIKAI_RESTART_MODE=always SAIKAI_LOG_LEVEL=info SAIKAI_SCHEDULE_EVERY=4 in_group timeout 600 "$heat" $cells 16 >again.out 2>&1 ||
        fail "the restart fails" again.out
    grep -q "resuming from iteration 12" again.out || fail "it does not go on from the last checkpoint" again.out
    # 251 MB of which half is saved, where 450 MB are allowed: room for one copy and not for two; killed, and started again
    rm -rf "$disk/store" "$shm"/saikai-*
    remove_group || fail "the control group stays busy"
    mkdir "$group"
    echo $((450 << 20)) >"$group/$limit"
    SAIKAI_SCHEDULE_EVERY=2 in_group timeout 600 "$heat" 253 253 253 100000 >large.out 2>&1 &
    run=$!
    for _ in $(seq 2400); do
        "$build/src/cli/saikai" ls "$disk/store" 2>/dev/null | grep -q '^gen-0001-000000000008-0 ' && break
        kill -0 $run 2>/dev/null || fail "251 MB in 450 MB: it was killed" large.out
        sleep 0.1
    done
    for p in $(cat "$group/cgroup.procs"); do kill -9 "$p" 2>/dev/null || true; done
    wait $run 2>/dev/null || true
    run=
    grep -q "is not saved" large.out && fail "251 MB in 450 MB: a checkpoint was not saved" large.out
    newest=$("$build/src/cli/saikai" ls "$disk/store" | sed -n 's/^gen-0001-0*\([0-9]*\)-0 .*/\1/p' | sort -n | tail -n 1)
    SAIKAI_LOG_LEVEL=info SAIKAI_SCHEDULE_EVERY=2 in_group timeout 600 "$heat" 253 253 253 $((newest + 8)) >large2.out 2>&1 ||
        fail "251 MB in 450 MB: the restart fails" large2.out
    grep -Eq "resuming from iteration ([8-9]|[1-9][0-9]+) " large2.out || fail "it does not go on from the last checkpoint" large2.out
    echo "251 MB of 450 MB: peak $(($(cat "$group/$peak") >> 20)) MiB, $(grep -o 'resuming from iteration [0-9]*' large2.out)"
else
    echo "no control group for memory can be made here: that part is left out"
fi

# a node-local directory that holds a slot of each rank and not two
rm -rf "$disk/store" "$shm"/saikai-*
mount -t tmpfs -o size=6m tmpfs "$shm" 2>/dev/null || { echo "no tmpfs can be mounted here"; exit 0; }
mounted=$shm
SAIKAI_SCHEDULE_EVERY=50 timeout 300 "${mpiexec[@]}" -n 2 "$heat" 87 87 87 400 >small.out 2>&1 || fail "2 × 2.6 MB in 6 MB fails" small.out
grep -q "is not saved" small.out && fail "a rank was not saved" small.out
"$build/src/cli/saikai" ls "$disk/store" >ls.out 2>&1 || true
grep -q "400" ls.out || fail "the last generation is not there" ls.out
SAIKAI_RESTART_MODE=always SAIKAI_LOG_LEVEL=info SAIKAI_SCHEDULE_EVERY=50 timeout 300 "${mpiexec[@]}" -n 2 "$heat" 87 87 87 410 >small2.out 2>&1 ||
    fail "the restart fails" small2.out
grep -q "resuming from iteration 400" small2.out || fail "it does not go on from the last generation" small2.out
echo ok
