#!/bin/bash
# What a rank had sent, or begun to send, when it died, or when its host was given up, comes seconds later; by then the others go on, and use the memory that it
# would have come into for something else. It must not come there.
# usage: late.sh CASE SAIKAI BUILD_DIR NODE_INIT PROGRAM
#   coordinated  one rank's connections to another one come to a stand, it is killed, and they go on seconds later
#   logging      the same, and only the dead process goes back
#   never        they do not go on: all start again
#   others       another program of the host has left what nobody reads, and they do not wait for that
#   shared       ranks on one host, where messages are copied piece by piece by the sender and the receiver; one of them is killed three times
#   replication  a host falls silent, its twins go on, and then what one of its processes had sent comes, but nothing else
set -u
shopt -s extglob
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cluster.sh"
case_name=$1 saikai=$2 build=$3 program=$5
CLUSTER_INIT=$4 CLUSTER_KEEP=$build
cluster_enter "$@"

out=$CLUSTER_DIR/out err=$CLUSTER_DIR/err shared=$CLUSTER_DIR/shared
fail() {
    echo "FAILED: $*"
    tail -n 20 "$out" | cut -c1-300 | sed 's/^/out: /'
    tail -n 80 "$err" | cut -c1-400 | sed 's/^/err: /'
    exit 1
}
mpiexec=$(command -v mpiexec.openmpi || command -v mpiexec)
"$mpiexec" --version 2>/dev/null | grep -q ' [45]\.' || { echo "skip: no other rank goes on with this MPI"; exit 77; }
[ $case_name != replication ] || "$mpiexec" --version | grep -q ' 4\.' || { echo "skip: on several hosts there are twins with Open MPI 4"; exit 77; }
command -v tc >/dev/null && command -v ss >/dev/null || { echo "skip: this needs tc and ss"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_plm_rsh_agent=$here/rsh PRTE_MCA_plm_ssh_agent=$here/rsh OMPI_MCA_oob_tcp_if_include=10.77.0.0/24 PRTE_MCA_prte_if_include=10.77.0.0/24
export PRTE_MCA_prte_local_tmpdir_base=$CLUSTER_DIR OMPI_MCA_btl_tcp_if_include=10.77.0.0/24
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1 # all nodes share this machine's cores
export SAIKAI_JOB_NAME=late SAIKAI_STORE_LOCAL=/dev/shm SAIKAI_STORE_FSYNC=no SAIKAI_SCHEDULE_EVERY=20 SAIKAI_RUN_NO_PROGRESS=0
export SAIKAI_RUN_RESTART_SLOWER=no # on a busy machine anything may seem slower
export SAIKAI_STORE_PREFIX=$shared/store LATE_UNTIL=$shared/go
# a host that is slow to be heard, as this machine is busy, is no lost one
nodes=3 steps=10 options="--recovery process=in-place --warm 2 --set run.repair_limit=100s --set run.node_timeout=30s --protocol ${case_name/%@(never|others)/coordinated}"
[ $case_name != replication ] || { nodes=6 steps=300 LATE_UNTIL=/ options="--protocol replication --set run.node_timeout=6s"; } # both processes of a rank do as many

[ $case_name != shared ] || { nodes=1 options="--recovery process=in-place --warm 2 --set run.repair_limit=100s"; }
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma,knem,xpmem # in no case does one read the other's memory
cluster_up $nodes
printf 'n1 slots=2\nn2 slots=1\nn3 slots=1\nn4 slots=2\nn5 slots=1\nn6 slots=1\n' | head -n $nodes >"$CLUSTER_DIR/hosts"
: >"$out"
: >"$err"
where=(--hosts "$CLUSTER_DIR/hosts")
[ $case_name != shared ] || where=()
timeout --foreground -k 2 300 "$saikai" run -v "${where[@]}" $options --set run.finish_timeout=60s --set run.mpirun_args="-x LATE_UNTIL" \
    -n 4 -- "$program" -p "$shared/pid" $steps </dev/null >"$out" 2>"$err" &
pid=$!
wait_until() { # WHAT COMMAND…
    local until=$((SECONDS + 150)) what=$1
    shift
    while ! "$@"; do
        [ $SECONDS -lt $until ] && kill -0 $pid 2>/dev/null || fail "$what, not in time"
        sleep 0.05
    done
}

# What this process of a node sends to that address by the connections that it has by now comes to a stand, and nothing else does.
stop_connections() { # NODE PROCESS ADDRESS
    local ports p
    ports=$(node_run "$1" ss -Htnp dst "$3" | grep "pid=$2," | awk '{ sub(/.*:/, "", $4); print $4 }')
    [ -n "$ports" ] || fail "process $2 of $1 has no connection to $3"
    node_run "$1" tc qdisc add dev eth0 root handle 1: htb default 1 2>/dev/null &&
        node_run "$1" tc class add dev eth0 parent 1: classid 1:1 htb rate 10gbit quantum 60000 2>/dev/null &&
        node_run "$1" tc class add dev eth0 parent 1: classid 1:2 htb rate 8bit quantum 2000 2>/dev/null || { echo "skip: this system cannot slow a connection down"; exit 77; }
    for p in $ports; do
        node_run "$1" tc filter add dev eth0 parent 1: protocol ip pref 10 u32 match ip dst "$3" match ip sport "$p" 0xffff flowid 1:2 || fail "no filter"
    done
}

let_go_on() { # NODE    what was queued is lost, and is sent again
    node_run "$1" tc filter del dev eth0 parent 1: protocol ip pref 10 u32 && node_run "$1" tc class del dev eth0 parent 1: classid 1:2 || fail "no connection goes on"
}

steps_of() { sed -n '$p' "$shared/pid.step" 2>/dev/null || echo 0; }
is_at() { [ "$(steps_of)" -ge "$1" ] 2>/dev/null; }
answered() { grep -aqE 'repaired in place|answer: (restart|migration|twin)' "$err"; }
wait_until "the first steps" is_at 8
case $case_name in
replication)
    stop_connections n2 "$(node_run n2 pgrep -f "^$program")" 10.77.0.1
    node_run n2 tc class add dev eth0 parent 1: classid 1:3 htb rate 8bit quantum 2000 2>/dev/null
    node_run n2 tc filter add dev eth0 parent 1: protocol ip pref 20 u32 match ip dst 10.77.0.254 flowid 1:3 || fail "no filter"
    wait_until "the answer" answered
    sleep 2
    let_go_on n2
    ;;
shared)
    for kills in 1 2 3; do
        kill -KILL "$(cat "$shared/pid.2")"
        for _ in $(seq 3000); do
            [ "$(grep -acE 'repaired in place|answer: restart' "$err")" -lt $kills ] || break
            sleep 0.05
        done
        sleep "1.$(shuf -i 100-900 -n 1)"
    done
    ;;
others)
    node_run n1 timeout 200 python3 -c 'import socket, sys, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096); s.bind(("10.77.0.1", 7999)); s.listen(1); open(sys.argv[1], "w").close(); c = s.accept(); time.sleep(200)' "$shared/listens" &
    wait_until "somebody who listens" test -e "$shared/listens"
    node_run n2 timeout 60 python3 -c 'import socket
s = socket.create_connection(("10.77.0.1", 7999)); s.setblocking(False); s.send(bytes(4 << 20))' || fail "nothing was sent"
    [ -n "$(node_run n2 ss -Htn state fin-wait-1 dport = :7999)" ] || fail "nothing was left behind"
    sleep 40 # the keeper has looked twice: every five seconds, and for a thousandth of the time
    node_run n2 kill -KILL "$(cat "$shared/pid.2")"
    wait_until "the answer" answered
    [ -n "$(node_run n2 ss -Htn state fin-wait-1 dport = :7999)" ] || fail "what was left behind is not there any more"
    sleep 3
    ;;
*)
    rank2=$(cat "$shared/pid.2")
    stop_connections n2 "$rank2" 10.77.0.1
    sleep 0.5
    node_run n2 kill -KILL "$rank2"
    if [ $case_name != never ]; then
        sleep 5
        let_go_on n2
    fi
    wait_until "the answer" answered
    sleep 3
    ;;
esac
touch "$shared/go"
wait $pid
rc=$?
[ $rc = 0 ] || fail "exit code $rc"
! grep -E '^rank [0-9]+: ' "$out" || fail "a rank has seen what must not be"
grep -aq 'verified' "$out" || fail "no result"
case $case_name in
shared) grep -aq 'repaired in place' "$err" || fail "no repair" ;;
never) grep -aq 'not in place: what the dead process had sent is still on its way to another host' "$err" || fail "it was not said why the job is started again" ;;
replication) grep -aq 'answer: twin' "$err" && ! grep -aq 'saikai: restart' "$err" || fail "its twin did not go on" ;;
*) grep -aq 'repaired in place' "$err" && ! grep -aq 'answer: restart' "$err" || fail "no repair" ;;
esac
echo "passed: $case_name after $(steps_of) steps $(grep -a 'repaired in place' "$err" | sed 's/.*after/after/')"
