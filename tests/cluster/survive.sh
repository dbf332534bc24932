#!/bin/bash
# `saikai run` without a copy in the prefix: six nodes, each with a part of the heat equation, four parts of data and two of
# parity. Nodes lose their power, silently and with all they had in memory; the job goes on from the protected copies, with
# spare nodes in their places, and ends with the same bits as without faults.
#
# usage: survive.sh CASE MPI SAIKAI HEAT NODE_INIT (HEAT with gate.c in it, so that the nodes are lost while it runs)
#   two    a few sets of one or two lost nodes; with SAIKAI_TEST_LOSSES=all all 21, with others (as "00 25": the first; the
#          third and the last) these
#   three  three lost nodes: back to the copy in the prefix, and without one to the beginning, and it is said why
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cluster.sh"
case_name=$1 mpi=$2 saikai=$3 heat=$4
CLUSTER_INIT=$5 CLUSTER_KEEP=${saikai%/src/cli/saikai}
cluster_enter "$@"

out=$CLUSTER_DIR/out err=$CLUSTER_DIR/err
fail() {
    echo "FAILED: $*"
    head -n 20 "$out" | cut -c1-300 | sed 's/^/out: /'
    grep -v 'is complete$\|checkpoint every\|committed' "$err" | head -n 80 | cut -c1-400 | sed 's/^/err: /'
    exit 1
}
expect() { grep -q -- "$1" "$err" || fail "'$1' is not said"; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_plm_rsh_agent=$here/rsh PRTE_MCA_plm_ssh_agent=$here/rsh OMPI_MCA_oob_tcp_if_include=10.77.0.0/24 PRTE_MCA_prte_if_include=10.77.0.0/24 PRTE_MCA_prte_local_tmpdir_base=$CLUSTER_DIR
export OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1
export UCX_TLS=tcp,self UCX_NET_DEVICES=eth0
export OMPI_MCA_mpi_yield_when_idle=1 # all nodes share this machine's cores
yield=${saikai%/*}/libsaikai-yield.so
export SAIKAI_STORE_PREFIX=$CLUSTER_DIR/shared/store SAIKAI_STORE_LOCAL=/dev/shm SAIKAI_STORE_ARCHIVE_EVERY=0
export SAIKAI_STORE_ARCHIVE_LAST=no SAIKAI_LOG_LEVEL=debug SAIKAI_SCHEDULE_INTERVAL=500ms SAIKAI_SCHEDULE_POLL=50ms SAIKAI_RUN_NODE_TIMEOUT=10s
export SAIKAI_REDUNDANCY_FORM=pipeline # on a busy machine measuring the messages takes seconds

# What MPI gives a program that does not ask: none, or all threads. Without, the program's own thread codes, in slices.
arguments() { # THREADS
    case $mpi-$1 in
    openmpi-yes) echo "-x OMPI_MPI_THREAD_LEVEL=3" ;;
    openmpi-no) ;;
    mpich-yes) echo "-launcher ssh -launcher-exec $here/rsh -genv LD_PRELOAD $yield -genv MPIR_CVAR_DEFAULT_THREAD_LEVEL MPI_THREAD_MULTIPLE" ;;
    *) echo "-launcher ssh -launcher-exec $here/rsh -genv LD_PRELOAD $yield" ;;
    esac
}
gate=$CLUSTER_DIR/shared/gate
start() { # THREADS; $pid
    rm -rf "$CLUSTER_DIR/shared/store"
    touch "$gate"
    : >"$out"
    : >"$err"
    timeout --foreground -k 2 500 "$saikai" run -v --hosts "$CLUSTER_DIR/hosts" -n 6 --spares 3 \
        --set run.mpirun_args="$(arguments "$1")" --set run.finish_timeout=3s -- "$heat" $grid \
        </dev/null >"$out" 2>"$err" &
    pid=$!
}
wait_for() { # TEXT
    local until=$((SECONDS + 200))
    while [ $SECONDS -lt $until ]; do
        grep -q -- "$1" "$err" && return 0
        kill -0 $pid 2>/dev/null || break
        sleep 0.02
    done
    fail "'$1' is not said in time"
}
finish() {
    wait $pid
    local rc=$?
    sleep 0.1
    [ $rc = 0 ] || fail "exit code $rc"
    [ "$(grep -o 'checksum [0-9a-f]*' "$out" | sort -u)" = "$sum" ] || fail "another result than $sum without faults"
}
# What lies on the nodes, data and parity, is for its owner alone.
private_everywhere() {
    local n wrong parity until
    for n in n1 n2 n3 n4 n5 n6; do
        wrong=$(node_run $n find /dev/shm/saikai-0 \( -type d ! -perm 700 -o -type f ! -perm 600 \) -printf '%m %p\n' 2>/dev/null)
        [ -z "$wrong" ] || fail "others may read on $n: $wrong"
        until=$((SECONDS + 60))
        while [ $SECONDS -lt $until ]; do # while it looks, the parity may move on to the next generation
            parity=$(node_run $n find /dev/shm/saikai-0 -name 'parity-*' 2>/dev/null)
            [ -z "$parity" ] || break
            sleep 0.02
        done
        [ -n "$parity" ] || fail "there is no parity on $n"
    done
}
power_off() { # POSITION…
    local p
    for p in "$@"; do node_power "n$((p + 1))"; done
    rm "$gate"
}
repair() { # POSITION…: empty, with another hardware address
    local p n
    for p in "$@"; do
        n=n$((p + 1))
        rm -f "$CLUSTER_DIR/$n/powerless"
        ip link del "v${n#n}" 2>/dev/null
        _node_up "${n#n}"
    done
    ip neigh flush all
    for n in n1 n2 n3 n4 n5 n6 n7 n8 n9; do
        node_run $n ip neigh flush all
        node_run $n sh -c 'rm -rf /dev/shm/saikai-*'
    done
}

cluster_up 9
umask 0 # it must not matter
for n in 1 2 3 4 5 6 7 8 9; do echo "n$n"; done >"$CLUSTER_DIR/hosts"
# what 160 steps give without faults (however many ranks take them)
grid="48 48 48 160"
SAIKAI_STORE_PREFIX=$CLUSTER_DIR/shared/calm "$heat" $grid >"$out" 2>"$err" || fail "alone: exit code $?"
sum=$(grep -o 'checksum [0-9a-f]*' "$out")
[ -n "$sum" ] || fail "no result without faults"
echo "heat $grid: $sum"

survive_two() { # THREADS POSITION…
    local threads=$1
    shift
    start "$threads"
    wait_for 'is protected'
    expect 'checkpoints are protected by rs with 2 parities in 1 group'
    private_everywhere
    power_off "$@"
    finish
    expect "resuming from iteration [0-9]* (protected copy)"
    expect "whole again: files of $# ranks"
    ls "$CLUSTER_DIR/shared/store" | grep -q gen && fail "there are copies in the prefix"
    echo "lost n$(($1 + 1))${2:+ n$(($2 + 1))} ($threads threads): $(grep -o 'resuming from iteration [0-9]*' "$err")"
    repair "$@"
}

case $case_name in
two)
    sets=0 wanted=${SAIKAI_TEST_LOSSES:-00 14}
    for a in 0 1 2 3 4 5; do
        for b in $(seq $a 5); do
            case " $wanted " in " all " | *" $a$b "*) ;; *) continue ;; esac
            [ $a = $b ] && lost=$a || lost="$a $b"
            survive_two "$( ((sets % 2)) && echo yes || echo no)" $lost
            sets=$((sets + 1))
        done
    done
    echo "$sets of 21 sets of lost nodes survived"
    [ "$wanted" != all ] || [ $sets = 21 ] || fail "$sets sets instead of 21"
    [ $sets -gt 0 ] || fail "no set was tried"
    ;;
three)
    lost_three='cannot be given back: 3 of 6 members of group 0 are lost and rs can give back 2: n1 rank 0, n3 rank 2, n4 rank 3'
    start no
    wait_for 'is protected'
    power_off 0 2 3
    finish
    expect "$lost_three"
    expect 'starting fresh'
    repair 0 2 3
    export SAIKAI_STORE_ARCHIVE_EVERY=1 SAIKAI_STORE_ARCHIVE_INTERVAL=1s
    start yes
    wait_for 'is archived'
    wait_for 'is protected'
    power_off 0 2 3
    finish
    expect "resuming from iteration [1-9][0-9]* (.*copy in the prefix)" # of the lost ones, or of all
    ;;
*)
    echo "there is no case '$case_name'"
    exit 2
    ;;
esac
echo "passed: $case_name $mpi"
