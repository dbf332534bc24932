#!/bin/bash
# Recovery in place on several hosts: a process is killed on one of them, and made again there while the others live on theirs; the result has the
# same bits. A lost host is a restart on the others.
# usage: in_place.sh CASE SAIKAI BUILD_DIR NODE_INIT AT_CANDIDATE
#   one      coordinated: rank 2, which is alone on its host, and then one of two on a host
#   warm     the same with a spare on each of the first two hosts: nothing is spawned
#   two      ranks of two hosts at once: each is made again on its own
#   logging  only the dead process goes back: one whose events its keeper has, and then one of two on a host
#   slurm    in an allocation, with Open MPI's own mpirun
#   power    a host loses its power: all start again with a spare host in its place
#   kill     a host dies, and its connections are reset
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cluster.sh"
. "$here/slurm.sh"
case_name=$1 saikai=$2 build=$3 at_candidate=$5
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
"$mpiexec" --version 2>/dev/null | grep -q ' [45]\.' || { echo "skip: on several hosts Open MPI 4 and 5 alone are repaired in place"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_plm_rsh_agent=$here/rsh PRTE_MCA_plm_ssh_agent=$here/rsh OMPI_MCA_oob_tcp_if_include=10.77.0.0/24 PRTE_MCA_prte_if_include=10.77.0.0/24
export PRTE_MCA_prte_local_tmpdir_base=$CLUSTER_DIR OMPI_MCA_btl_tcp_if_include=10.77.0.0/24
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1 # all nodes share this machine's cores
export SAIKAI_JOB_NAME=hosts SAIKAI_STORE_LOCAL=/dev/shm SAIKAI_STORE_FSYNC=no SAIKAI_SCHEDULE_EVERY=20 SAIKAI_RUN_NO_PROGRESS=0
export SAIKAI_RUN_REPAIR_LIMIT=100s # on a machine however busy
export SAIKAI_RUN_RESTART_SLOWER=no # and where anything may seem slower
case $case_name in power | kill) ;; *) export SAIKAI_RUN_NODE_TIMEOUT=30s ;; esac # a host that is slow to be heard is no lost one
# So many steps that on no machine it is at its end before a shell has looked around.
exe=$build/examples/heat_openmpi arguments="48 48 48 4000" protocol=coordinated warm=0 victims="2 1" spares=0
case $case_name in
warm) warm=2 ;;
logging) exe=$build/tests/world/logged_openmpi arguments="$shared/counts 700 chance" protocol=logging victims="2 0" ;;
two) victims= ;;
slurm) victims=2 ;;
power | kill) spares=1 victims= ;;
esac
# Of Open MPI 5 a process of the start has to be left on the host of the dead one.
if ! "$mpiexec" --version | grep -q ' 4\.'; then
    case $case_name in
    one) victims=1 ;;
    logging) victims=0 ;;
    two | slurm) echo "skip: this is a test of Open MPI 4"; exit 77 ;;
    esac
fi
cluster_up 4
host_of=(n1 n1 n2 n3)
printf 'n1 slots=2\nn2\nn3\n' >"$CLUSTER_DIR/hosts"
[ $spares = 0 ] || echo n4 >>"$CLUSTER_DIR/hosts"

: >"$out"
: >"$err"
(cd "$shared" && SAIKAI_STORE_PREFIX=$shared/calm timeout 300 "$mpiexec" --oversubscribe -n 4 "$exe" $arguments) >"$CLUSTER_DIR/calm" 2>"$err"
grep -q verified "$CLUSTER_DIR/calm" || fail "without faults: $(cat "$CLUSTER_DIR/calm")"
rm -f "$shared"/counts.*
export SAIKAI_STORE_PREFIX=$shared/store
pids() { cat "$shared/pid.0" "$shared/pid.1" "$shared/pid.2" "$shared/pid.3" 2>/dev/null | tr '\n' ' '; }
wait_until() { # WHAT COMMAND…
    local until=$((SECONDS + 150)) what=$1
    shift
    while ! "$@"; do
        [ $SECONDS -lt $until ] && kill -0 $pid 2>/dev/null || fail "$what, not in time"
        sleep 0.05
    done
}
are_there() { [ "$(pids | wc -w)" = 4 ] && [ "$(grep -acE 'repaired in place|answer: (restart|migration)' "$err")" -ge "$1" ]; }
first=${victims%% *}
first=${first:-2}
node_run "${host_of[first]}" "$at_candidate" "$shared/pid.$first" 1 19 0 >/dev/null & # the program is not at its end before a shell has looked around
held=$!
where=(timeout --foreground -k 2 600 "$saikai" run -v --hosts "$CLUSTER_DIR/hosts")
if [ $case_name = slurm ]; then
    slurm_up 3
    unset OMPI_MCA_plm_rsh_agent
    where=(timeout --foreground -k 2 600 salloc -Q -k -N 3 -n 4 "$saikai" run -v --launcher openmpi)
fi
"${where[@]}" --spares $spares --recovery process=in-place --protocol $protocol --warm $warm \
    --set run.finish_timeout=60s -n 4 -- "$exe" -p "$shared/pid" $arguments </dev/null >"$out" 2>"$err" &
pid=$!
wait_until "the ranks begin" are_there 0
wait $held || fail "rank $first did not get to its first candidate"

n=0
for rank in $victims; do
    before=($(pids)) n=$((n + 1)) host=${host_of[rank]}
    # in the loop: who dies while the others make communicators, as they do when they begin again, may be a restart
    node_run "$host" "$at_candidate" "${before[rank]}" +60 9 "${before[rank]}" >"$CLUSTER_DIR/killed" || fail "rank $rank did not make 60 candidates"
    wait_until "the repair of rank $rank" are_there $n
    [ "$(grep -ac 'repaired in place' "$err")" = $n ] || fail "not $n repairs"
    after=($(pids))
    for r in 0 1 2 3; do
        [ $r = "$rank" ] || [ "${before[r]}" = "${after[r]}" ] || fail "rank $r was process ${before[r]} and is ${after[r]}"
    done
    [ "${before[rank]}" != "${after[rank]}" ] || fail "rank $rank is still process ${after[rank]}"
    node_run "$host" grep -aqF "$shared/pid" "/proc/${after[rank]}/cmdline" || fail "rank $rank is not on $host"
done
case $case_name in
power | kill)
    node_run n2 "$at_candidate" "$(cat "$shared/pid.2")" 60 0 "$(cat "$shared/pid.2")" >/dev/null || fail "rank 2 did not reach candidate 60"
    node_$case_name n2
    wait_until "the restart" grep -q 'restart 1' "$err"
    ;;
two)
    before=($(pids))
    node_run n2 "$at_candidate" "${before[2]}" 60 19 "${before[2]}" >/dev/null || fail "rank 2 did not reach candidate 60"
    launcher=$(pgrep -x -P $pid saikai)
    kill -STOP "$launcher" # it hears of both at once
    node_run n3 kill -KILL "${before[3]}"
    node_run n2 kill -KILL "${before[2]}"
    sleep 1
    kill -CONT "$launcher"
    wait_until "the answer" are_there 1
    ;;
esac
wait $pid
rc=$?
[ $rc = 0 ] || fail "exit code $rc"
! grep -E '^rank [0-9]+: ' "$out" || fail "a rank has seen what must not be"
grep -aE 'verified|WRONG' "$out" | sort -u | cmp -s "$CLUSTER_DIR/calm" - || fail "not the result of the undisturbed run: $(cat "$CLUSTER_DIR/calm")"
case $case_name in
power | kill)
    grep -q 'n4 takes the place of n2' "$err" || fail "the spare host was not taken"
    ! grep -aq 'repaired in place' "$err" || fail "a lost host was repaired in place"
    ;;
two)
    grep -aq 'ranks 2, 3 are made again' "$err" || fail "not both were made again"
    grep -aq 'repaired in place' "$err" || fail "no repair"
    ;;
*)
    ! grep -aq 'answer: restart' "$err" || fail "the job was started again"
    "$saikai" history "$shared/store" >"$CLUSTER_DIR/history" 2>/dev/null
    [ "$(grep -c in-place "$CLUSTER_DIR/history")" = $n ] || fail "the history does not tell of $n repairs: $(cat "$CLUSTER_DIR/history")"
    ;;
esac
if [ $protocol = logging ]; then
    ! grep -q 'messages are not logged any more' "$err" || fail "messages were not logged"
    for r in 0 1 2 3; do
        case " $victims " in *" $r "*) ;; *) [ "$(cat "$shared/counts.$r")" = 700 ] || fail "rank $r computed $(cat "$shared/counts.$r") steps" ;; esac
    done
fi
[ $warm = 0 ] || grep -q 'spares wait on n1, n2' "$err" || fail "it is not said where spares wait"
for node in n1 n3; do
    ! node_run $node pgrep -f 'saikaid (rank|join|node)' >/dev/null || { sleep 3; ! node_run $node pgrep -f 'saikaid (rank|join|node)'; } || fail "keepers are left on $node"
done
echo "passed: $case_name, $(grep -a 'repaired in place' "$err" | sed 's/.*after/after/' | tr '\n' ' ')"
