#!/bin/bash
# `saikai run` on a cluster: loss of a node, silent loss, outages. usage: run_test.sh CASE MPI SAIKAI VICTIM NODE_INIT
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cluster.sh"
. "$here/slurm.sh"
case_name=$1 mpi=$2 saikai=$3 victim=$4
CLUSTER_INIT=$5 CLUSTER_KEEP=${saikai%/src/cli/saikai}
cluster_enter "$@"

out=$CLUSTER_DIR/out err=$CLUSTER_DIR/err
now() { date +%s.%N; }
fail() {
    echo "FAILED: $*"
    head -n 60 "$out" | cut -c1-300 | sed 's/^/out: /'
    head -n 60 "$err" | cut -c1-300 | sed 's/^/err: /'
    exit 1
}
expect() { grep -q -- "$1" "$2" || fail "'$1' is not in $(basename "$2")"; }
wait_for() { # TEXT FILE SECONDS
    local until=$((SECONDS + $3))
    while [ $SECONDS -lt $until ]; do
        grep -q -- "$1" "$2" && return 0
        sleep 0.02
    done
    fail "'$1' did not appear in $(basename "$2") within $3 s"
}

# Start saikai run on the cluster behind our back; $pid. Status lines get the time they came.
start() { # ARGUMENTS…
    export OMPI_MCA_plm_rsh_agent=$here/rsh PRTE_MCA_plm_ssh_agent=$here/rsh OMPI_MCA_oob_tcp_if_include=10.77.0.0/24 PRTE_MCA_prte_if_include=10.77.0.0/24 PRTE_MCA_prte_local_tmpdir_base=$CLUSTER_DIR
    export OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1
    export UCX_TLS=tcp,self UCX_NET_DEVICES=eth0
    local extra=
    [ "$mpi" = openmpi ] || extra="-launcher ssh -launcher-exec $here/rsh"
    : >"$out"
    : >"$err"
    timeout --foreground -k 2 300 "$saikai" run -v --hosts "$CLUSTER_DIR/hosts" --set run.mpirun_args="$extra" \
        --set run.finish_timeout=3s "$@" </dev/null >"$out" 2> >(while read -r l; do echo "$(now) $l"; done >"$err") &
    pid=$!
}
# The same within an allocation of Slurm on all nodes; salloc is told $limit, too.
limit=
start_slurm() { # ARGUMENTS…
    export OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1
    export UCX_TLS=tcp,self UCX_NET_DEVICES=eth0
    : >"$out"
    : >"$err"
    timeout --foreground -k 2 300 salloc -Q -k $limit -N 4 -n 4 "$saikai" run -v --set run.finish_timeout=3s "$@" \
        </dev/null >"$out" 2> >(while read -r l; do echo "$(now) $l"; done >"$err") &
    pid=$!
}
finish() { # EXPECTED CODE
    wait $pid 2>/dev/null
    rc=$?
    sleep 0.2
    [ $rc = "$1" ] || fail "exit code $rc, expected $1"
}
# Seconds from time $1 until the line with $2 was written.
delay() {
    awk -v t="$1" -v text="$2" 'index($0, text) { print $1 - t; exit }' "$err"
}
no_more_than() { # VALUE LIMIT WHAT
    [ -n "$1" ] && awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }' || fail "$3: '$1' s, the limit is $2 s"
    echo "$3: $1 s"
}
nothing_left_on() {
    local n i
    for n in "$@"; do
        for i in $(seq 600); do
            node_run "$n" pgrep -f 'saikaid (rank|node)' >/dev/null || break
            sleep 0.1
        done
        node_run "$n" pgrep -f 'saikaid (rank|node)' >/dev/null && fail "keepers or services are left on $n"
    done
}

cluster_more() { # FIRST LAST: further nodes
    local i
    for i in $(seq "$1" "$2"); do
        echo "10.77.0.$i n$i" >>"$CLUSTER_DIR/etc-hosts"
        _node_up "$i"
    done
}
# From LEAST to MOST services, or keepers, are connected to saikai run.
wait_for_speakers() { # LEAST MOST
    local port n until=$((SECONDS + 100))
    port=$(ss -Hltnp | sed -n "s/.*10\.77\.0\.254:\([0-9]*\) .*\"saikai\".*/\1/p" | head -n 1)
    [ -n "$port" ] || fail "saikai run listens on no port"
    while [ $SECONDS -lt $until ]; do
        n=$(ss -Htn state established "sport = :$port" | wc -l)
        [ "$n" -lt "$1" ] || [ "$n" -gt "$2" ] || return 0
        sleep 0.1
    done
    fail "$n services are connected to saikai run, not $1 to $2"
}
# So often it was said that a node speaks through another one's service; then two speak to saikai run.
wait_for_tree() { # TIMES
    local until=$((SECONDS + 200))
    while [ "$(grep -c 'speak through the service of another node' "$err")" -lt "$1" ]; do
        [ $SECONDS -lt $until ] || fail "it was not said $1 times that a node speaks through another one's service"
        sleep 0.1
    done
    wait_for_speakers 1 2
}
kill_service() { # NODE
    local service until=$((SECONDS + 100))
    while ! service=$(node_run "$1" pgrep -xf 'saikaid node'); do
        [ $SECONDS -lt $until ] || fail "$1 has no service"
        sleep 0.05
    done
    node_run "$1" kill -KILL $service || fail "$1 has not one service"
}

cluster_up 4
not_lost="--set run.node_timeout=30s" # a host that is slow to be heard, as this machine is busy, is no lost one
case $case_name in
power) # silence: noticed soon (4.3 s on a quiet machine; the limits leave room for a busy one), and the spare takes the place
    printf 'n1\nn2\nn3\nn4\n' >"$CLUSTER_DIR/hosts"
    start -n 3 --spares 1 -- "$victim" seconds=30 later=1 complete=50
    wait_for 'begin 0' "$out" 100
    sleep 1
    t=$(now)
    node_power n2
    wait_for 'restart 1' "$err" 60
    finish 0
    expect 'host n2 has been silent' "$err"
    expect 'n4 takes the place of n2' "$err"
    expect '^end 1 3$' "$out"
    no_more_than "$(delay "$t" 'has been silent')" 25 "power loss noticed after"
    no_more_than "$(delay "$t" 'restart 1')" 30 "started again after"
    nothing_left_on n1 n3 n4
    ;;
services) # the services of all nodes are killed, and that is no loss; the loss of a node is one
    printf 'n1 slots=2\nn2 slots=2\nn3 slots=2\nn4 slots=2\n' >"$CLUSTER_DIR/hosts"
    start -n 6 --spares 1 --set backbone.service=on -- "$victim" seconds=250 later=1 complete=50
    wait_for 'begin 0' "$out" 100
    for n in n1 n2 n3; do
        wait_for "the ranks of $n speak through the service of their node" "$err" 200
        node_run $n kill -KILL "$(node_run $n pgrep -xf 'saikaid node')" || fail "$n has not one service"
    done
    sleep 1
    ! grep -q 'saikai: restart' "$err" || fail "lost services were taken for a loss"
    node_power n2
    wait_for 'restart 1' "$err" 60
    finish 0
    expect 'host n2 has been silent' "$err"
    expect 'n4 takes the place of n2' "$err"
    expect '^end 1 6$' "$out"
    nothing_left_on n1 n3 n4
    ;;
services_cut) # a node is cut off and back in time: it is no loss, and its ranks stay with their service
    printf 'n1 slots=2\nn2 slots=2\n' >"$CLUSTER_DIR/hosts"
    touch "$CLUSTER_DIR/shared/more"
    start -n 4 --set backbone.service=on --set run.node_timeout=20s -- "$victim" while="$CLUSTER_DIR/shared/more" complete=50
    wait_for 'begin 0' "$out" 100
    for n in n1 n2; do wait_for "the ranks of $n speak through the service of their node" "$err" 200; done
    node_cut n2
    sleep 8 # more than the third of the node timeout in which a keeper leaves a service that says nothing
    node_mend n2
    sleep 1
    rm "$CLUSTER_DIR/shared/more"
    finish 0
    ! grep -q 'restart' "$err" || fail "the outage was taken for a loss"
    ! grep -q 'speaks for itself' "$err" || fail "a keeper left its service"
    expect 'through 2 services of nodes' "$err"
    expect '^end 0 4$' "$out"
    nothing_left_on n1 n2
    ;;
services_sigkill) # saikai run dies, and a service at the same time: nothing may outlive them, on no node
    printf 'n1 slots=2\nn2 slots=2\nn3 slots=2\n' >"$CLUSTER_DIR/hosts"
    start -n 6 --set backbone.service=on -- "$victim" seconds=250
    wait_for 'begin 0' "$out" 100
    for n in n1 n2 n3; do wait_for "the ranks of $n speak through the service of their node" "$err" 200; done
    node_run n2 kill -KILL "$(node_run n2 pgrep -xf 'saikaid node')" || fail "n2 has not one service"
    kill -KILL "$(pgrep -x -P $pid saikai)"
    nothing_left_on n1 n2 n3
    for n in n1 n2 n3; do
        ! node_run "$n" grep -q '@saikai-' /proc/net/unix || fail "a socket is left on $n"
    done
    ;;
tree) # services of seven nodes speak through each other, two to each; the loss of any of them, or of two, or twice in a row, is no loss
    printf 'n%d slots=2\n' 1 2 3 4 5 6 7 >"$CLUSTER_DIR/hosts"
    cluster_more 5 7
    touch "$CLUSTER_DIR/shared/more"
    start -n 14 --set backbone.service=on --set backbone.arity=2 --set run.node_timeout=20s --set run.orphan_timeout=200s -- "$victim" while="$CLUSTER_DIR/shared/more" complete=20
    wait_for 'begin 0' "$out" 100
    wait_for_tree 5
    kill_service n7 # nobody speaks through it
    wait_for_tree 6
    kill_service n1 # n2 and n3 speak through this one, n5 and n7 through the other, and n6 through n5
    kill_service n4
    wait_for_tree 10
    kill_service n1
    kill_service n4
    wait_for_tree 14
    kill_service n5
    wait_for_tree 16
    rm "$CLUSTER_DIR/shared/more"
    finish 0
    ! grep -q 'saikai: restart' "$err" || fail "lost services were taken for a loss"
    expect '^end 0 14$' "$out"
    nothing_left_on n1 n2 n3 n4 n5 n6 n7
    ;;
tree_power) # a node falls silent whose service others speak through: it is the only one that is lost
    printf 'n%d slots=2\n' 1 2 3 4 5 >"$CLUSTER_DIR/hosts"
    cluster_more 5 5
    start -n 8 --spares 1 --set backbone.service=on --set backbone.arity=2 --set run.node_timeout=12s --set run.orphan_timeout=200s -- "$victim" seconds=250 later=1 complete=50
    wait_for 'begin 0' "$out" 100
    wait_for_tree 2
    node_power n1
    wait_for 'restart 1' "$err" 200
    finish 0
    expect 'host n1 has been silent' "$err"
    expect 'n5 takes the place of n1' "$err"
    [ "$(grep -c 'saikai: restart' "$err")" = 1 ] || fail "more than the node was lost"
    expect '^end 1 8$' "$out"
    nothing_left_on n2 n3 n4 n5
    ;;
tree_powers) # two of them at once, all the others' services speak through them: these two are lost, and nobody else
    printf 'n%d\n' 1 2 3 4 5 6 7 8 9 >"$CLUSTER_DIR/hosts"
    cluster_more 5 9
    start -n 7 --spares 2 --set backbone.service=on --set backbone.arity=2 --set run.node_timeout=12s --set run.orphan_timeout=200s -- "$victim" seconds=250 later=1 complete=50
    wait_for 'begin 0' "$out" 100
    wait_for_tree 5
    node_power n1
    node_power n5
    wait_for 'restart 1' "$err" 200
    finish 0
    for n in n1 n5; do expect "takes the place of $n" "$err"; done
    ! grep 'takes the place of' "$err" | grep -qv 'of n[15]\b' || fail "more than the two nodes were lost"
    expect '^end [12] 7$' "$out"
    nothing_left_on n2 n3 n4 n6 n7 n8 n9
    ;;
tree_stopped) # a service that others speak through is stopped: they come by themselves, and it is no loss
    printf 'n%d slots=2\n' 1 2 3 4 5 >"$CLUSTER_DIR/hosts"
    cluster_more 5 5
    touch "$CLUSTER_DIR/shared/more"
    start -n 10 --set backbone.service=on --set backbone.arity=2 --set run.node_timeout=12s --set run.orphan_timeout=200s -- "$victim" while="$CLUSTER_DIR/shared/more" complete=20
    wait_for 'begin 0' "$out" 100
    wait_for_tree 3
    stopped=$(node_run n1 pgrep -xf 'saikaid node')
    node_run n1 kill -STOP "$stopped"
    wait_for_speakers 3 100 # those below it, and the ranks of n1
    node_run n1 kill -CONT "$stopped"
    rm "$CLUSTER_DIR/shared/more"
    finish 0
    ! grep -q 'saikai: restart' "$err" || fail "a stopped service was taken for a loss"
    expect '^end 0 10$' "$out"
    nothing_left_on n1 n2 n3 n4 n5
    ;;
tree_asleep) # saikai run itself is stopped for longer than the node timeout: all come to it, form the tree anew, and nobody is lost
    printf 'n%d\n' 1 2 3 4 5 >"$CLUSTER_DIR/hosts"
    cluster_more 5 5
    touch "$CLUSTER_DIR/shared/more"
    start -n 5 --set backbone.service=on --set backbone.arity=2 --set run.node_timeout=6s --set run.orphan_timeout=200s -- "$victim" while="$CLUSTER_DIR/shared/more" complete=20
    wait_for 'begin 0' "$out" 100
    wait_for_tree 3
    launcher=$(pgrep -x -P $pid saikai)
    kill -STOP "$launcher"
    sleep 10
    kill -CONT "$launcher"
    wait_for_speakers 1 2
    rm "$CLUSTER_DIR/shared/more"
    finish 0
    ! grep -q 'saikai: restart' "$err" || fail "the launcher's own sleep was taken for a loss"
    expect '^end 0 5$' "$out"
    nothing_left_on n1 n2 n3 n4 n5
    ;;
tree_sigkill) # saikai run dies, and a service that others speak through at the same time: nothing may outlive them, on no node
    printf 'n%d slots=1\n' 1 2 3 4 5 >"$CLUSTER_DIR/hosts"
    cluster_more 5 5
    start -n 5 --set backbone.service=on --set backbone.arity=2 --set run.node_timeout=20s -- "$victim" seconds=200
    wait_for 'begin 0' "$out" 100
    wait_for_tree 3
    kill_service n1
    kill -KILL "$(pgrep -x -P $pid saikai)"
    nothing_left_on n1 n2 n3 n4 n5
    for n in n1 n2 n3 n4 n5; do
        ! node_run "$n" grep -q '@saikai-' /proc/net/unix || fail "a socket is left on $n"
    done
    ;;
kill) # connections are reset: the launcher may notice first
    printf 'n1\nn2\nn3\nn4\n' >"$CLUSTER_DIR/hosts"
    start -n 3 --spares 1 -- "$victim" seconds=30 later=1 complete=50
    wait_for 'begin 0' "$out" 100
    sleep 1
    t=$(now)
    node_kill n3
    wait_for 'restart 1' "$err" 60
    finish 0
    expect 'n4 takes the place of n3' "$err"
    expect '^end [12] 3$' "$out"
    no_more_than "$(delay "$t" 'restart 1')" 30 "started again after"
    nothing_left_on n1 n2 n4
    ;;
outage) # a link that is back soon is not fenced (after 3 s, which a busy machine makes longer)
    printf 'n1\nn2\nn3\nn4\n' >"$CLUSTER_DIR/hosts"
    start -n 3 --spares 1 --set run.node_timeout=10s -- "$victim" seconds=14 complete=50
    wait_for 'begin 0' "$out" 100
    sleep 1
    node_cut n2
    sleep 3
    node_mend n2
    finish 0
    ! grep -q 'restart' "$err" || fail "the outage was taken for a loss"
    expect '^end 0 3$' "$out"
    nothing_left_on n1 n2 n3
    ;;
fenced) # a host that was cut off for long is replaced, and what still runs on it is ended when it is back
    printf 'n1\nn2\nn3\nn4\n' >"$CLUSTER_DIR/hosts"
    start -n 3 --spares 1 -- "$victim" seconds=30 later=12 complete=50
    wait_for 'begin 0' "$out" 100
    sleep 1
    node_cut n2
    wait_for 'begin 1' "$out" 100
    node_mend n2
    nothing_left_on n2
    finish 0
    expect 'n4 takes the place of n2' "$err"
    expect '^end 1 3$' "$out"
    nothing_left_on n1 n3 n4
    ;;
repeated) # a node whose processes die three times, while those of the others do not, is not used again; the job ends right on a spare
    printf 'n1\nn2\nn3\nn4\n' >"$CLUSTER_DIR/hosts"
    mkdir "$CLUSTER_DIR/shared/store"
    printf '#!/bin/sh\n[ "$(hostname)" != n2 ] || set -- "$@" die=kill rank=1 until=99\nexec %s "$@"\n' "$victim" >"$CLUSTER_DIR/shared/broken"
    chmod +x "$CLUSTER_DIR/shared/broken"
    start -n 3 --spares 1 $not_lost --launcher "$mpi" --set store.prefix="$CLUSTER_DIR/shared/store" -- "$CLUSTER_DIR/shared/broken" seconds=1
    finish 0
    expect 'rank 1 on n2 was killed by signal 9 (Killed); fault model: repeated; answer: migration, n4 takes the place of n2' "$err"
    expect 'restart 3' "$err"
    ! grep -q 'restart 4' "$err" || fail "the node was used again"
    expect '^end 3 3$' "$out"
    "$saikai" history --json "$CLUSTER_DIR/shared/store" >"$CLUSTER_DIR/history" || fail "saikai history"
    python3 - "$CLUSTER_DIR/history" <<'END' || fail "another history"
import json, sys
events = json.load(open(sys.argv[1]))
assert [(e["start"], e["node"], e["rank"], e["model"], e["answer"]) for e in events] == [
    (0, "n2", 1, "process", "restart"), (1, "n2", 1, "process", "restart"), (2, "n2", 1, "repeated", "migration")], events
END
    nothing_left_on n1 n2 n3 n4
    ;;
aside) # a component sends a process that dies twice on a node to another one, alone: its neighbour stays
    printf 'n1 slots=2\nn2 slots=2\nn3 slots=2\n' >"$CLUSTER_DIR/hosts"
    folder=$(mktemp -d -p "$CLUSTER_KEEP") || exit 1 # nobody else may write there
    trap 'rm -rf "$folder"' EXIT
    ${CC:-cc} -std=c11 -fPIC -shared -I"$here/../../include" "$here/../../examples/components/recovery_protocol.c" -o "$folder/step.so" || fail "compile"
    chmod 755 "$folder" "$folder/step.so"
    printf '#!/bin/sh\n[ "$(hostname)" != n2 ] || set -- "$@" die=kill rank=3 until=99\nexec %s "$@"\n' "$victim" >"$CLUSTER_DIR/shared/broken"
    chmod +x "$CLUSTER_DIR/shared/broken"
    start -n 4 --spares 1 $not_lost --launcher "$mpi" --set components="$folder/step.so" --recovery process=step-aside -- "$CLUSTER_DIR/shared/broken" seconds=1
    finish 0
    expect 'rank 3 on n2 was killed by signal 9 (Killed); fault model: process; answer: restart, as recovery protocol step-aside says' "$err"
    expect 'rank 3 on n2 .* answer: migration, as recovery protocol step-aside says: processes die on n2; rank 3 goes to n3' "$err"
    expect 'restart 2' "$err"
    ! grep -q 'restart 3' "$err" || fail "the process was not moved"
    expect '^end 2 4$' "$out"
    nothing_left_on n1 n2 n3
    ;;
patience) # a silence that counts as the network's is no loss
    printf 'n1\nn2\nn3\nn4\n' >"$CLUSTER_DIR/hosts"
    touch "$CLUSTER_DIR/shared/more"
    start -n 3 --spares 1 --set run.network_patience=100s --set run.orphan_timeout=200s -- "$victim" while="$CLUSTER_DIR/shared/more" complete=50
    wait_for 'begin 0' "$out" 100
    sleep 1
    node_cut n2
    wait_for 'fault model: network; answer: ignore' "$err" 60
    node_mend n2
    wait_for 'all ranks are heard again' "$err" 100
    rm "$CLUSTER_DIR/shared/more"
    finish 0
    ! grep -q 'restart' "$err" || fail "the silence was taken for a loss"
    expect '^end 0 3$' "$out"
    nothing_left_on n1 n2 n3
    ;;
no_spare) # without a spare the remaining hosts take the ranks
    printf 'n1 slots=2\nn2 slots=2\n' >"$CLUSTER_DIR/hosts"
    start -n 4 -- "$victim" seconds=30 later=1 complete=50
    wait_for 'begin 0' "$out" 100
    sleep 1
    node_power n2
    finish 0
    expect 'the ranks of n2 are spread' "$err"
    expect '^end 1 4$' "$out"
    nothing_left_on n1
    ;;
twins | twins_power | twins_kill) # each rank on two hosts, though one has room for all: a process dies, or the power of a host fails, and twins go on; a host whose daemon mpirun misses is a restart, unless twins are through before.
    # What they send depends on where they are, and is the same
    printf 'n1 slots=8\nn2 slots=8\nn3 slots=8\n' >"$CLUSTER_DIR/hosts"
    export REPLICATED_UNTIL=$CLUSTER_DIR/shared/go OMPI_MCA_mpi_yield_when_idle=1 # the nodes share the cores of one machine
    [ $case_name = twins ] || not_lost=
    start -n 2 --spares 1 $not_lost --protocol replication --compare give-up --set run.mpirun_args="-x REPLICATED_UNTIL" --set store.prefix="$CLUSTER_DIR/shared/store" -- \
        "$victim" -p /local/at 2000 where 1000
    until=$((SECONDS + 100))
    while [ "$(grep -lE '^[2-9][0-9]|^[0-9]{3}' "$CLUSTER_DIR"/n[12]/local/at.*.* 2>/dev/null | wc -l)" != 4 ]; do
        [ $SECONDS -lt $until ] || fail "four processes did not begin in time"
        kill -0 $pid 2>/dev/null || fail "the job has ended too early"
        sleep 0.1
    done
    sleep 1
    for n in n1 n2; do [ "$(node_run $n pgrep -fc "^$victim")" = 2 ] || fail "two processes are to be on $n"; done
    for r in 0 1; do # the processes' numbers are those of their hosts, which may be the same on both
        for n in n1 n2; do
            found=$(for p in $(node_run $n pgrep -f "^$victim"); do node_run $n cat "/proc/$p/environ" | tr '\0' '\n'; done | grep -cE "^PMIX_RANK=($r|$((r + 2)))\$")
            [ "$found" = 1 ] || fail "$found processes of rank $r are on $n"
        done
    done
    if [ $case_name = twins ]; then
        node_run n1 sh -c 'kill -9 $(pgrep -f "^$0" | head -n 1)' "$victim"
        wait_for 'answer: twin, the twin of rank [01] goes on in its place' "$err" 60
        sleep 0.5
        touch "$CLUSTER_DIR/shared/go"
        finish 0
        ! grep -q 'restart' "$err" || fail "the job was started again"
    elif [ $case_name = twins_power ]; then
        node_power n1
        wait_for 'answer: twin, the twin of rank 0, 1 goes on in its place' "$err" 60
        touch "$CLUSTER_DIR/shared/go"
        finish 0
        expect 'host n1 has been silent' "$err"
        ! grep -q 'saikai: restart' "$err" || fail "the job was started again"
    else
        node_kill n1
        touch "$CLUSTER_DIR/shared/go"
        finish 0
        expect 'n3 takes the place of n[12]' "$err" # in a restart; or when the next comes, if mpirun lets the twins get through: it may end those of n2 at once, and either is missed first
    fi
    expect 'verified' "$out"
    [ "$(grep -c verified "$out")" = 1 ] || fail "the result was printed twice"
    nothing_left_on n2 n3
    ;;
sigkill) # saikai run dies: nothing may outlive it, on no node, the launcher's own host among them; nor may the MPI's files and memory
    # MPICH's ranks look for a network device that this host does not have
    ranks=$([ "$mpi" = openmpi ] && echo 4 || echo 3)
    printf 'n1\nn2\nn3\nhead\n' | head -n "$ranks" >"$CLUSTER_DIR/hosts"
    start -n "$ranks" -- "$victim" seconds=60
    wait_for 'begin 0' "$out" 100
    run=$(pgrep -x -P $pid saikai)
    session=${TMPDIR:-/tmp}/ompi.head.$(id -u)/pid.$(pgrep -P "$run" '^mpi(run|exec)')
    job=$(find "$session" -name 'smseg-*' 2>/dev/null | sed -n 's/.*smseg-\([0-9]*\)-.*/\1/p' | head -n 1) # Open MPI 4
    [ "$mpi" != openmpi ] || ! mpirun.openmpi --version | grep -q ' 4\.' || [ -n "$job" ] || fail "$session tells no job"
    kill -KILL "$run"
    nothing_left_on n1 n2 n3
    segments=$([ -z "$job" ] || printf '/dev/shm/vader_segment.head.%d.%x.*' "$(id -u)" "$job")
    for i in $(seq 600); do
        left=$(ls -d "$session" $segments 2>/dev/null)
        [ -n "$left" ] || break
        sleep 0.1
    done
    [ -z "$left" ] || fail "the MPI has left $left"
    for n in n1 n2 n3; do
        left=$(node_run "$n" sh -c 'ls -d /tmp/ompi* /dev/shm/*' 2>/dev/null)
        [ -z "$left" ] || fail "the MPI has left on $n: $left"
    done
    ;;
slurm | slurm_mpirun) # a rank is killed, then a node loses its power: srun or the MPI's mpirun is the launcher, the allocation's last host the spare
    slurm_up 4
    by=srun launcher=
    [ $case_name = slurm ] || { by=mpi launcher="--launcher $mpi"; }
    start_slurm -n 3 $launcher --spares 1 --set run.node_timeout=10s --set schedule.stop_grace=1s -- "$victim" seconds=30 later=30 after=1 die=kill complete=50
    wait_for 'begin 1' "$out" 100
    expect 'start 1: 3 ranks of .* by .*/'$by "$err"
    expect 'rank 1 on n2 was killed by signal' "$err" # by 9, or by 11 where Open MPI crashed while it connected, before its time
    sleep 1
    node_power n2
    wait_for 'n4 takes the place of n2' "$err" 60
    wait_for 'begin 2' "$out" 100
    kill -TERM "$(pgrep -x saikai)"
    finish 143
    nothing_left_on n1 n3 n4
    ;;
slurm_sigkill | slurm_mpirun_sigkill) # saikai run dies in an allocation: the steps end, and nothing of the job is left on any node
    slurm_up 4
    launcher=
    [ $case_name = slurm_sigkill ] || launcher="--launcher $mpi"
    start_slurm -n 3 $launcher -- "$victim" seconds=200
    wait_for 'begin 0' "$out" 100
    run=$(pgrep -x saikai)
    session=${TMPDIR:-/tmp}/ompi.head.$(id -u)/pid.$(pgrep -P "$run" '^mpi(run|exec)') # Open MPI 4
    [ "$mpi$launcher" != "openmpi--launcher openmpi" ] || ! mpirun.openmpi --version | grep -q ' 4\.' || [ -d "$session" ] || fail "there is no $session"
    kill -KILL "$run"
    nothing_left_on n1 n2 n3
    for i in $(seq 600); do
        [ -e "$session" ] || break
        sleep 0.1
    done
    [ ! -e "$session" ] || fail "the MPI has left $session"
    for n in n1 n2 n3; do
        ! node_run "$n" grep -q '@saikai-' /proc/net/unix || fail "a socket is left on $n"
        for i in $(seq 600); do
            left=$(node_run "$n" sh -c 'ls -d /tmp/ompi* /tmp/prte* /tmp/pmix* /dev/shm/*' 2>/dev/null)
            [ -n "$left" ] || break
            sleep 0.1
        done
        [ -z "$left" ] || fail "the MPI has left on $n: $left"
    done
    for i in $(seq 600); do
        [ -n "$(squeue -h -s -o %i 2>/dev/null | grep -v -e extern -e batch -e interactive)" ] || break
        sleep 0.1
    done
    [ $i -lt 600 ] || fail "a step is left: $(squeue -s)"
    ;;
slurm_limit) # an allocation that ends: what is saved before that is where the next one goes on
    # (with default settings a minute's allocation is about to end as soon as it begins; Slurm itself is told to be patient)
    slurm_up 4
    export SAIKAI_LOG_LEVEL=debug SAIKAI_STORE_PREFIX=$CLUSTER_DIR/shared/store WORKER_END=$CLUSTER_DIR/shared/end
    limit="-t 1"
    start_slurm -n 3 --set run.node_timeout=15s -- "$victim" 1 1000000
    wait_for 'its time slot ends in' "$err" 60
    # not the one of the first candidate
    wait_for 'generation of iteration \([2-9]\|[0-9][0-9][0-9]*\) is archived' "$err" 60
    last=$(sed -n 's/.*generation of iteration \([0-9]*\) is archived.*/\1/p' "$err" | tail -n 1)
    scancel -u root # as at the limit: SIGTERM, later SIGKILL
    wait $pid
    nothing_left_on n1 n2 n3 n4
    ! grep -q verified "$out" || fail "the job ended in its first allocation"
    touch "$WORKER_END"
    start_slurm -n 3 --set run.node_timeout=15s -- "$victim" 1 1000000
    finish 0
    from=$(sed -n 's/.*: resuming from iteration \([0-9]*\) .*/\1/p' "$err")
    [ -n "$from" ] && [ "$from" -ge "$last" ] || fail "the second allocation went on from iteration '$from', not from $last"
    expect verified "$out"
    nothing_left_on n1 n2 n3 n4
    ;;
*)
    echo "there is no case '$case_name'"
    exit 2
    ;;
esac
echo "passed: $case_name $mpi"
