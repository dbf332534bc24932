#!/bin/bash
# Who may talk to a job, on a cluster: what crosses the network, shows in /proc or lies in files tells no secret, and
# another user gets nothing done. usage: secrets.sh CASE MPI SAIKAI VICTIM NODE_INIT WIRETAP
#   sniffed    the hosts share a file system, as is usual; everything is recorded, and user nobody tries what can be tried
#   unshared   they do not: the key comes by the remote shell, or is the user's own, or the job is refused
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cluster.sh"
case_name=$1 mpi=$2 saikai=$3 victim=$4
CLUSTER_INIT=$5 CLUSTER_KEEP=${saikai%/src/cli/saikai}
wiretap=$6
cluster_enter "$@"

out=$CLUSTER_DIR/out err=$CLUSTER_DIR/err seen=$CLUSTER_DIR/seen tap=$CLUSTER_DIR/tap
fail() {
    echo "FAILED: $*"
    head -n 60 "$out" | cut -c1-300 | sed 's/^/out: /'
    head -n 60 "$err" | cut -c1-300 | sed 's/^/err: /'
    exit 1
}
expect() { grep -q -- "$1" "$2" || fail "'$1' is not in $(basename "$2")"; }
refuse() { ! grep -q -- "$1" "$2" || fail "'$1' is in $(basename "$2")"; }
# Run behind our back on n1, n2, n3: $pid. (MPICH at times hangs in its own finalize, here as in the other tests.)
start() { # ARGUMENTS…
    export OMPI_MCA_plm_rsh_agent=$CLUSTER_DIR/spy PRTE_MCA_plm_ssh_agent=$CLUSTER_DIR/spy OMPI_MCA_oob_tcp_if_include=10.77.0.0/24 PRTE_MCA_prte_if_include=10.77.0.0/24 PRTE_MCA_prte_local_tmpdir_base=$CLUSTER_DIR
    export OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1
    export UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    local extra=
    [ "$mpi" = openmpi ] || extra="-launcher ssh -launcher-exec $CLUSTER_DIR/spy"
    : >"$out"
    : >"$err"
    # a host that is slow to be heard, as this machine is busy, is no lost one
    timeout --foreground -k 2 300 "$saikai" run -v --hosts "$CLUSTER_DIR/hosts" -n 3 --set run.node_timeout=30s \
        --set run.mpirun_args="$extra" --set run.finish_timeout=3s "$@" </dev/null >"$out" 2>"$err" &
    pid=$!
}
finish() { # good or bad; the launcher's own way to end a job decides how bad
    wait $pid 2>/dev/null
    rc=$?
    [ $rc != 124 ] || fail "it did not end"
    [ $((rc == 0)) = "$([ "$1" = good ] && echo 1 || echo 0)" ] || fail "exit code $rc: it should have ended $1"
}
no_key_left() { # (what is in /dev/shm of this machine may be of other tests)
    local n left f
    left=$(find "$CLUSTER_DIR" -xdev -name '.saikai-key-*' ! -path "$CLUSTER_DIR/taken/*" 2>/dev/null)
    for f in "$CLUSTER_DIR"/taken/.saikai-key-*; do
        f=${f%-*}
        left+=$(find /dev/shm /tmp -maxdepth 1 -name "$(basename "$f")*" 2>/dev/null)
    done
    for n in n1 n2 n3; do
        left+=$(node_run $n find /dev/shm /tmp -xdev -name '.saikai-key-*' 2>/dev/null)
    done
    [ -z "$left" ] || fail "key files are left: $left"
}

# The remote shell, which on its way keeps a copy of the key file for us: it is there only for a moment.
mkdir -p "$CLUSTER_DIR/taken" "$seen" "$tap"
chmod 755 "$CLUSTER_DIR" "$tap"
cat >"$CLUSTER_DIR/spy" <<END
#!/bin/bash
for f in $CLUSTER_DIR/shared/.saikai-key-* $CLUSTER_DIR/own/.saikai-key-*; do
    [ ! -e "\$f" ] || { stat -c '%a %u %n' "\$f" >>$CLUSTER_DIR/modes; cp -p "\$f" $CLUSTER_DIR/taken/; }
done
exec $here/rsh "\$@"
END
chmod +x "$CLUSTER_DIR/spy"
printf 'n1\nn2\nn3\n' >"$CLUSTER_DIR/hosts"
cluster_up 3

case $case_name in
sniffed)
    "$wiretap" record "$tap" &
    tapper=$!
    for i in $(seq 3000); do [ -e "$tap/ready" ] && break; sleep 0.02; done
    export SAIKAI_STORE_PREFIX=$CLUSTER_DIR/shared/store
    touch "$CLUSTER_DIR/busy"
    start -- "$victim" while="$CLUSTER_DIR/busy" complete=50
    # whatever a process of the job shows of itself, from the first on
    until=$((SECONDS + 100))
    while [ $SECONDS -lt $until ]; do
        cat /proc/[0-9]*/environ >>"$seen/environ" 2>/dev/null
        cat /proc/[0-9]*/cmdline >>"$seen/cmdline" 2>/dev/null
        grep -q 'begin 0' "$out" && break
        sleep 0.02
    done
    expect 'begin 0' "$out"
    key=$(ls "$CLUSTER_DIR"/taken/.saikai-key-*) || fail "there was no key file"
    nonce=${key%-*} nonce=${nonce##*-}
    grep -qv '^600 0 ' "$CLUSTER_DIR/modes" && fail "the key file was not for its owner alone"
    # another user on a node; the endpoint is what all can see
    endpoint=$(tr '\0' '\n' <"$seen/environ" | sed -n 's/^SAIKAI_KEEPER_LINK=[0-9]*,\([^,]*\),.*/\1/p' | head -n 1)
    [ -n "$endpoint" ] || fail "no endpoint was seen"
    case $endpoint in tcp://10.77.0.254:*) ;; *) fail "the hub is at $endpoint" ;; esac
    as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
    cp "$key" "$CLUSTER_DIR/shared/.saikai-key-$nonce"
    node_run n2 $as_nobody cat "$CLUSTER_DIR/shared/.saikai-key-$nonce" >/dev/null 2>&1 && fail "another user reads the key"
    rm "$CLUSTER_DIR/shared/.saikai-key-$nonce"
    node_run n2 $as_nobody "$wiretap" forge null "$endpoint" 3
    node_run n2 $as_nobody "$wiretap" forge curve "$endpoint" 3
    port=${endpoint##*:}
    until=$((SECONDS + 60)) # what the keeper of n2 said, from the first byte on
    while [ ! -s "$CLUSTER_DIR/replayed" ] && [ $SECONDS -lt $until ]; do
        for f in "$tap"/10.77.0.2.*-10.77.0.254."$port"; do
            [ -e "$f" ] && [ "$(stat -c %s "$f")" -gt 500 ] && cp "$f" "$CLUSTER_DIR/replayed"
        done
    done
    [ -s "$CLUSTER_DIR/replayed" ] || fail "nothing was recorded to be replayed"
    chmod 644 "$CLUSTER_DIR/replayed"
    told=$(grep -c 'was refused' "$err")
    sleep 10.1 # refusals are told once in ten seconds
    node_run n2 $as_nobody "$wiretap" replay 10.77.0.254 "$port" "$CLUSTER_DIR/replayed"
    until=$((SECONDS + 60))
    while [ "$(grep -c 'was refused' "$err")" -le "$told" ] && [ $SECONDS -lt $until ]; do sleep 0.2; done
    [ "$(grep -c 'was refused' "$err")" -gt "$told" ] || fail "nobody tells of the replay"
    # and not at another address of the launcher's host
    "$wiretap" replay 127.0.0.1 "$port" "$CLUSTER_DIR/replayed" && fail "the hub listens at 127.0.0.1, too"
    refuse '^end' "$out"
    kill -0 $pid || fail "the job is over"
    rm "$CLUSTER_DIR/busy"
    finish good
    expect '^end 0 3$' "$out"
    refuse 'restart' "$err"
    expect 'was refused' "$err"
    no_key_left
    kill -TERM $tapper
    wait $tapper || fail "the recording failed"
    # that nothing is found must not be because nothing was seen
    grep -q SAIKAI_KEEPER_LINK "$tap/all" || fail "the launcher's environment was not in the recording"
    grep -q SAIKAI_KEEPER_LINK "$seen/environ" || fail "the keepers' environment was not in the sample"
    ls "$tap"/10.77.0.2.*-10.77.0.254."$port" >/dev/null || fail "no keeper's connection was recorded"
    mv "$out" "$err" "$seen"
    chown 0 "$key"
    "$wiretap" search "$key" "$nonce" 3 2 "$tap"/* "$seen"/* $(find "$CLUSTER_DIR/shared" -type f) || fail "see above"
    cp "$key" "$seen/found"
    "$wiretap" search "$key" "$nonce" 3 2 "$seen/found" >/dev/null && fail "the search finds nothing"
    ;;
unshared) # what is in own/ on the head is there only
    mkdir -p "$CLUSTER_DIR/own"
    mount -t tmpfs -o size=1m own "$CLUSTER_DIR/own"
    cd "$CLUSTER_DIR/own" || exit 1
    export HOME=$CLUSTER_DIR/own SAIKAI_STORE_PREFIX=$CLUSTER_DIR/own/store
    start -- "$victim" seconds=1 # by the remote shell
    finish good
    expect 'the key of this run is brought there by' "$err"
    expect '^end 0 3$' "$out"
    no_key_left
    head -c 40 /dev/urandom >mine # the user's own
    chmod 600 mine
    for n in n1 n2 n3; do
        node_run $n mount -t tmpfs -o size=1m own "$CLUSTER_DIR/own"
        node_run $n cp --preserve=mode /dev/stdin "$CLUSTER_DIR/own/mine" <mine
        node_run $n chmod 600 "$CLUSTER_DIR/own/mine"
    done
    start --key-file mine -- "$victim" seconds=1
    finish good
    refuse 'is brought there' "$err"
    expect '^end 0 3$' "$out"
    node_run n3 chmod 644 "$CLUSTER_DIR/own/mine" # not one that others can read
    start --key-file mine --set run.retries=0 --set run.start_timeout=30s -- "$victim" seconds=30
    finish bad
    expect "the key file $CLUSTER_DIR/own/mine can be read by others (mode 644)" "$err"
    start --set run.agent=false --set run.orphan_timeout=7s --set run.retries=0 --set run.start_timeout=30s -- "$victim" seconds=30 # not at all
    finish bad
    expect 'the key of this run is not on host n' "$err"
    expect 'saikai run --key-file' "$err"
    refuse '^end' "$out"
    no_key_left
    ;;
*)
    echo "there is no case '$case_name'"
    exit 2
    ;;
esac
echo "passed: $case_name $mpi"
