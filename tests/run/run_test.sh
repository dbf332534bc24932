#!/bin/bash
# Tests of `saikai run` with real processes. usage: run_test.sh CASE SAIKAI VICTIM
# Every process of a case carries a tag in its environment: what is left of it is found, reported and killed by its id.
set -u
case_name=$1 saikai=$2 victim=$3
work=$(mktemp -d) || exit 1
export SAIKAI_TEST_TAG="run-test-$$-$RANDOM"
unset SAIKAI_KEEPER_LINK SAIKAI_KEEPER_FD
export XDG_CONFIG_HOME=$work XDG_STATE_HOME=$work/state
# What an MPI leaves behind when its launcher is killed goes with us.
export TMPDIR=$work OMPI_MCA_btl_vader_backing_directory=$work

# Process ids that carry the tag, but this shell and its helpers.
tagged() {
    local p
    for p in $(grep -lzs -x "SAIKAI_TEST_TAG=$SAIKAI_TEST_TAG" /proc/[0-9]*/environ); do
        p=${p#/proc/}
        p=${p%/environ}
        [ "$p" = $$ ] || [ "$p" = "$BASHPID" ] && continue
        [ "$(cut -d' ' -f4 "/proc/$p/stat" 2>/dev/null)" = "$BASHPID" ] && continue
        [ -e "/proc/$p/exe" ] && echo "$p"
    done
}

cleanup() {
    local p
    for p in $(tagged); do kill -9 "$p" 2>/dev/null; done
    rm -rf "$work"
}
trap cleanup EXIT

fail() {
    echo "FAILED: $*"
    for f in "$work"/out "$work"/err; do
        [ -e "$f" ] && head -n 60 "$f" | cut -c1-300 | sed "s|^|$(basename "$f"): |"
    done
    exit 1
}

# Run saikai with a hard time limit; $rc is its exit code. Standard input from $input.
input=/dev/null
run() {
    timeout --foreground -k 2 200 "$saikai" run --set run.backoff=0.1s "$@" <"$input" >"$work/out" 2>"$work/err"
    rc=$?
}
# The same behind our back: $pid.
run_behind() {
    timeout --foreground -k 2 200 "$saikai" run --set run.backoff=0.1s "$@" <"$input" >"$work/out" 2>"$work/err" &
    wrapper=$!
    pid=
    local i
    for i in $(seq 400); do
        pid=$(pgrep -P $wrapper 2>/dev/null) && break
        sleep 0.05
    done
    [ -n "$pid" ] || fail "saikai run did not start"
}
wait_for() { # TEXT FILE
    local i
    for i in $(seq 2400); do
        grep -q -- "$1" "$work/$2" 2>/dev/null && return 0
        sleep 0.05
    done
    fail "'$1' did not appear in $2"
}
expect_rc() { [ "$rc" = "$1" ] || fail "exit code $rc, expected $1"; }
expect() { grep -q -- "$1" "$work/$2" || fail "'$1' is not in $2"; }
refuse() { ! grep -q -- "$1" "$work/$2" || fail "'$1' is in $2"; }
expect_nothing_left() {
    local i left
    for i in $(seq "${1:-300}"); do
        left=$(tagged)
        [ -z "$left" ] && return 0
        sleep 0.1
    done
    for p in $left; do tr '\0' ' ' <"/proc/$p/cmdline" && echo; done
    fail "processes are left: $left"
}

comes_back() { # HOW MESSAGE
    run -n 3 -- "$victim" die="$1" "${@:3}"
    expect_rc 0
    expect "$2" err
    expect 'saikai: restart 1' err
    expect '^begin 1$' out
    expect '^end 1 3$' out
    refuse 'restart 2' err
    expect_nothing_left
}

# The services of nodes among the processes of this case; waits until there are $1 of them.
services() { # [NUMBER]
    local p i found
    for i in $(seq 1200); do
        found=
        for p in $(tagged); do
            [ "$(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline")" = 'saikaid node ' ] && [ "$(cut -d' ' -f3 "/proc/$p/stat" 2>/dev/null)" != Z ] &&
                found="$found $p"
        done
        set -- "${1:-1}" $found
        [ $# = $(($1 + 1)) ] && echo "${@:2}" && return 0
        set -- "$1"
        sleep 0.05
    done
    echo "services are there:$found, expected $1" >&2
    return 1
}

# The name under which the keepers reach this service.
meeting() { # PID
    local inode
    inode=$(readlink "/proc/$1/fd/3" | tr -dc 0-9)
    awk -v i="$inode" '$7 == i { sub("@", "", $8); print $8 }' /proc/net/unix
}

case $case_name in
plain)
    run -n 4 -- "$victim"
    expect_rc 0
    expect '^begin 0$' out
    expect '^end 0 4$' out
    refuse saikai err
    expect_nothing_left
    ;;
kill) comes_back kill 'saikai: rank 1 on .* was killed by signal 9' ;;
abort) comes_back abort 'saikai: rank 1 on .* was killed by signal 6' ;;
exit) comes_back exit 'saikai: rank 1 on .* exited with code 3' ;;
mpiabort) comes_back mpiabort 'saikai: .* code 7' ;;
fork) comes_back fork 'saikai: rank 1 on .* was killed by signal 9' ;;
rank0) comes_back kill 'saikai: rank 0 on .* was killed by signal 9' rank=0 ;;
hang)
    run -n 3 --hang-timeout 5s -- "$victim" die=hang
    expect_rc 0
    expect 'no rank has reached another candidate' err
    expect '^end 1 3$' out
    expect_nothing_left
    ;;
no_hang) # neither a long set-up nor what comes after the use of the library is one
    run -n 2 --hang-timeout 3s -- "$victim" setup=4.5 output=4.5
    expect_rc 0
    refuse restart err
    expect '^end 0 2$' out
    run -n 2 --hang-timeout 1s --set run.setup_timeout=1s --set run.no_progress=1 -- "$victim" setup=300
    expect_rc 125
    expect 'no rank has reached a first candidate' err
    expect_nothing_left
    ;;
keeps_itself) # a program without the library is started again as long as it lives for a while
    run -n 2 --set run.short_life=0.1s -- "$victim" page=0 die=kill until=5 after=0.3 seconds=0.6
    expect_rc 0
    expect 'restart 5, from whatever the program itself has kept' err
    refuse 'from the start' err
    expect '^end 5 2$' out
    run -n 2 --set run.short_life=100s -- "$victim" page=0 die=kill until=99
    expect_rc 137
    expect 'right after its start' err
    expect_nothing_left
    ;;
then) # another command from the second start on, which may know which start it is
    printf '#!/bin/sh\necho again $SAIKAI_START: "$@"\nexec "$@"\n' >"$work/again"
    chmod +x "$work/again"
    run -n 2 --then "'$work/again' $victim die=kill until=2 'x=a  b'" -- "$victim" die=kill
    expect_rc 0
    [ "$(grep -c "again 2: $victim die=kill until=2 x=a  b" "$work/out")" = 2 ] || fail "the second start was another one"
    [ "$(grep -c 'again 3: ' "$work/out")" = 2 ] || fail "the third start was another one"
    expect '^end 2 2$' out
    run -n 1 --then "'open" -- "$victim"
    expect_rc 2
    expect 'run.then: a quote is not closed' err
    expect_nothing_left
    ;;
many) # a fault with progress each time does not count as repeated
    run -n 3 -- "$victim" die=kill until=5 complete=5
    expect_rc 0
    expect 'saikai: restart 5' err
    expect '^end 5 3$' out
    expect_nothing_left
    ;;
gives_up)
    run -n 3 -- "$victim" die=exit until=99
    expect_rc 3
    expect 'saikai: restart 2 in 0.1 s' err
    expect 'given up.*run.no_progress' err
    run -n 3 --set run.retries=1 -- "$victim" die=kill until=99
    expect_rc 137
    expect 'given up.*run.retries' err
    expect_nothing_left
    ;;
codes)
    run -n 2 --set run.retries=0 -- /bin/false && expect_rc 1
    run -n 2 -- /bin/true && expect_rc 0
    run -n 2 -- "$work/there-is-none" && expect_rc 127
    expect 'cannot be executed: No such file' err
    refuse 'saikai: restart' err
    echo data >"$work/data"
    run -n 2 -- "$work/data" && expect_rc 126
    expect 'cannot be executed: Permission denied' err
    run -n 2 --set run.retries=0 -- sh -c 'kill -SEGV $$' && expect_rc 139
    run -n 0 -- /bin/true && expect_rc 2
    run -n 2 && expect_rc 2
    run -n 2 --spares 1 -- /bin/true && expect_rc 2
    expect '--hosts' err
    printf 'a\nb slots=none\n' >"$work/hosts"
    run -n 2 --hosts "$work/hosts" -- /bin/true && expect_rc 2
    expect 'hosts:2: ' err
    run -n 2 --hosts "$work/no-hosts" -- /bin/true && expect_rc 2
    expect 'no-hosts' err
    run -n 2 --config "$work/no-config" -- /bin/true && expect_rc 2
    expect 'no-config' err
    run -n 2 --set run.mpirun="$work/no-mpirun" -- /bin/true && expect_rc 2
    expect 'no-mpirun' err
    run -n 2 --set run.keeper="$work/no-keeper" -- /bin/true && expect_rc 2
    expect 'no-keeper' err
    run -n 2 --set run.mpirun=/bin/false -- /bin/true && expect_rc 125
    expect 'could not be started at all' err
    expect_nothing_left
    ;;
localhost) # a hosts file that names this host, in whatever way
    for name in localhost 127.0.0.1 "$(hostname)"; do
        echo "$name slots=3" >"$work/hosts"
        run -n 3 --hosts "$work/hosts" -- "$victim" die=kill
        expect_rc 0
        expect '^end 1 3$' out
    done
    expect_nothing_left
    ;;
bystander) # a child that a shell left to us when it became saikai run lives on
    bash -c 'sleep 30 & echo $! >"$1/bystander"; exec "${@:2}"' bash "$work" \
        "$saikai" run -n 2 -- "$victim" die=kill >"$work/out" 2>"$work/err" </dev/null
    rc=$?
    expect_rc 0
    kill "$(cat "$work/bystander")" || fail "the bystander was killed"
    expect_nothing_left
    ;;
environment) # the key of the link stays with the keeper; settings of the command line reach the ranks
    run -n 2 --set store.keep_local=7 -- env
    expect_rc 0
    refuse SAIKAI_KEEPER_LINK out
    expect SAIKAI_KEEPER_FD= out
    expect '^SAIKAI_START=1$' out
    expect SAIKAI_STORE_KEEP_LOCAL=7 out
    ;;
keys) # the key of the run is in a file that is there only while the ranks start; the user's own stays
    touch "$work/busy"
    run_behind -n 2 -- "$victim" while="$work/busy"
    wait_for 'begin 0' out
    link=$(cat $(printf '/proc/%s/environ ' $(cat "/proc/$pid/task/$pid/children")) | tr '\0' '\n' | sed -n 's/^SAIKAI_KEEPER_LINK=//p' | head -n 1)
    file=/${link##*,/}
    case $file in */.saikai-key-*) ;; *) fail "no key file is named in '$link'" ;; esac
    for i in $(seq 1000); do
        [ -e "$file" ] || break
        sleep 0.05
    done
    [ ! -e "$file" ] || fail "$file is still there"
    rm "$work/busy"
    wait $wrapper || fail "exit code $?"
    head -c 32 /dev/urandom >"$work/mine"
    chmod 600 "$work/mine"
    run --key-file "$work/mine" -n 2 -- "$victim"
    expect_rc 0
    [ -s "$work/mine" ] || fail "the user's own key is gone"
    chmod 640 "$work/mine"
    run --key-file "$work/mine" -n 2 -- "$victim"
    expect_rc 2
    expect 'can be read by others (mode 640)' err
    expect_nothing_left
    ;;
arguments) # the program gets its arguments as they are, also those that look like ours
    run -n 1 -- printf '%s\n' -n --hosts 'a  b' '*' -- -v
    expect_rc 0
    printf '%s\n' -n --hosts 'a  b' '*' -- -v | cmp -s - "$work/out" || fail "arguments were changed"
    run -n 1 -- "$victim" : -n 1 "$victim" # … but for what its launcher would make of one
    expect_rc 2
    expect "an argument ':' begins another program" err
    run -n 1 --then "$victim : $victim" -- "$victim"
    expect_rc 2
    expect "an argument ':' begins another program" err
    ;;
left) # who leaves early and well is named, and not another one that the MPI's launcher ended for that
    run -n 3 --set run.no_progress=1 -- "$victim" die=leave
    [ "$rc" != 0 ] || fail "it ended well"
    expect 'rank 1 on .* exited with code 0 before MPI_Finalize' err
    refuse 'was killed by signal' err
    expect_nothing_left
    ;;
closed) # who reads its output goes: the job ends, and is not started again to end of that once more
    timeout --foreground -k 2 200 "$saikai" run --launcher "${victim##*_}" --set run.no_progress=0 -n 2 -- sh -c 'trap "" PIPE; while echo y; do sleep 0.01; done' 2>"$work/err" </dev/null | head -n 1 >"$work/out"
    rc=${PIPESTATUS[0]}
    expect_rc 141
    expect '^y$' out
    expect 'given up: nobody reads its output any more' err
    refuse 'restart 1' err
    expect_nothing_left
    ;;
slow) # who reads its output late, when the job is over, gets all of it; who wants the end does not wait for that
    timeout --foreground -k 2 200 "$saikai" run --launcher "${victim##*_}" --set run.grace=1s -n 2 -- sh -c 'yes x | head -c 3000000' 2>"$work/err" </dev/null |
        { sleep 7; wc -c; } >"$work/out"
    rc=${PIPESTATUS[0]}
    expect_rc 0
    expect '^6000000$' out
    expect_nothing_left
    mkfifo "$work/pipe"
    exec 3<>"$work/pipe"
    timeout --foreground -k 2 200 "$saikai" run -v --launcher "${victim##*_}" --set run.grace=1s -n 2 -- sh -c 'yes x | head -c 3000000' >"$work/pipe" 2>"$work/err" 3<&- </dev/null &
    wrapper=$!
    wait_for 'all 2 ranks have been heard' err
    sleep 5
    kill -0 $wrapper || fail "it has not waited"
    kill -TERM "$(pgrep -P $wrapper)"
    wait $wrapper
    exec 3<&-
    expect_nothing_left
    ;;
unread) # nobody reads what is said, for longer than ranks wait for a launcher that is gone: the job goes on, and all is there for who reads later
    mkfifo "$work/pipe"
    exec 3<>"$work/pipe"
    touch "$work/busy"
    timeout --foreground -k 2 200 "$saikai" run -v --set run.orphan_timeout=6s -n 2 -- "$victim" while="$work/busy" >"$work/out" 2>"$work/pipe" 3<&- </dev/null &
    wrapper=$!
    wait_for 'begin 0' out
    pid=$(pgrep -P $wrapper)
    timeout 2 cat /dev/zero >"$work/pipe" # it is full
    for i in $(seq 60); do
        kill -USR1 "$pid"
        sleep 0.2
    done
    exec 4<"$work/pipe" 3<&- # somebody always has it open to read
    tr -d '\0' <&4 >"$work/err" &
    reader=$!
    exec 4<&-
    rm "$work/busy"
    wait $wrapper || fail "exit code $?"
    wait $reader
    refuse 'saikai: restart' err
    expect '^end 0 2$' out
    [ "$(grep -c 'signal 10 (USR1) came' "$work/err")" -ge 20 ] || fail "lines are lost"
    expect_nothing_left
    ;;
stdin) # (not more than 64 KiB: the mpiexec of MPICH breaks off when it cannot pass it on at once)
    seq 8000 >"$work/in"
    mkfifo "$work/pipe"
    for form in file pipe; do
        input=$work/in
        if [ $form = pipe ]; then
            cat "$work/in" >"$work/pipe" &
            input=$work/pipe
        fi
        run -n 2 -- "$victim" echo=1 die=kill
        expect_rc 0
        # mpiexec of MPICH mourns on standard output
        { echo 'begin 0'; cat "$work/in"; echo 'begin 1'; cat "$work/in"; echo 'end 1 2'; } >"$work/want"
        grep -E '^([0-9]+|begin .*|end .*)$' "$work/out" | cmp - "$work/want" ||
            fail "a $form as standard input did not come through twice"
    done
    expect_nothing_left
    ;;
sigterm) # without the library
    run_behind -n 3 -- "$victim" seconds=60 page=0
    wait_for 'begin 0' out
    kill -TERM "$pid"
    wait $wrapper
    rc=$?
    expect_rc 143
    refuse restart err
    expect_nothing_left
    ;;
sigterm_ignored)
    run_behind -n 3 --set run.grace=1s -- "$victim" seconds=60 die=term page=0
    wait_for 'begin 0' out
    kill -TERM "$pid"
    wait $wrapper
    rc=$?
    expect_rc 143
    expect 'it is killed' err
    expect_nothing_left
    ;;
stop_limit) # a program that does not save itself in time is killed
    run_behind -v -n 3 --set schedule.stop_grace=1s -- "$victim" seconds=60 complete=5
    wait_for 'the program reached its first candidate' err
    kill -TERM "$pid"
    wait $wrapper
    rc=$?
    expect_rc 143
    expect 'did not save itself within 1 s' err
    expect 'to go on from iteration' err
    expect "run --set run.backoff=0.1s -v -n 3 --set schedule.stop_grace=1s -- $victim seconds=60 complete=5" err
    expect_nothing_left
    ;;
nohup) # a terminal that goes does not matter to who said so
    (trap '' HUP && exec "$saikai" run -n 2 -- "$victim" seconds=2) >"$work/out" 2>"$work/err" </dev/null &
    wrapper=$!
    wait_for 'begin 0' out
    kill -HUP $wrapper
    wait $wrapper
    rc=$?
    expect_rc 0
    expect '^end 0 2$' out
    expect_nothing_left
    ;;
sigint_twice)
    run_behind -v -n 3 --set run.grace=30s --set schedule.stop_grace=30s -- "$victim" seconds=60 die=term
    wait_for 'the program reached its first candidate' err
    kill -INT "$pid"
    wait_for 'a second signal ends it at once' err
    sleep 0.6 # sooner it would be taken for an echo of the first
    kill -INT "$pid"
    wait $wrapper
    rc=$?
    expect_rc 130
    expect_nothing_left
    ;;
sigusr)
    run_behind -v -n 3 --set schedule.stop_grace=1s -- "$victim" seconds=60
    wait_for 'the program reached its first candidate' err # so that it is known that the page is used
    kill -USR1 "$pid"
    for r in 0 1 2; do wait_for "request $r" out; done
    kill -USR2 "$pid"
    for r in 0 1 2; do wait_for "signal $r" out; done
    kill -TERM "$pid"
    wait $wrapper
    expect_nothing_left
    ;;
sigkill) # nothing is left, neither by us nor by the MPI: no process, file, socket or memory
    run_behind -n 3 -- "$victim" seconds=60
    wait_for 'begin 0' out
    kill -KILL "$pid"
    wait $wrapper
    expect_nothing_left 1200
    left=$(find "$work" ! -type d ! -path "$work/out" ! -path "$work/err" ! -path "$work/state/*")
    [ -z "$left" ] || fail "files are left: $left"
    ;;
sigkill_keys) # … while the job starts: nor is the key of the run; what is left when all die at once goes with the next run (here another test's may come first), and no living one loses its own
    touch "$work/busy" # a launcher that starts nobody and does not end with `saikai run`
    printf '#!/bin/sh\nwhile [ -e "%s" ]; do sleep 0.1; done\n' "$work/busy" >"$work/launcher"
    chmod +x "$work/launcher"
    key() { find /dev/shm /tmp "$work" -maxdepth 1 -name ".saikai-key-*.$(printf %x "$1").*" 2>/dev/null; } # PID
    starts() { # $pid, which waits for its ranks
        run_behind --set run.mpirun="$work/launcher" --set run.start_timeout=0 -n 2 -- "$victim"
        for i in $(seq 2400); do [ -n "$(key "$pid")" ] && return; sleep 0.05; done
        fail "there is no key of $pid"
    }
    starts
    living=$pid
    wrapped=$wrapper
    starts
    kill -KILL "$pid"
    for i in $(seq 1200); do [ -n "$(key "$pid")" ] || break; sleep 0.05; done
    [ -z "$(key "$pid")" ] || fail "a key is left: $(key "$pid")"
    starts
    kill -KILL "$(pgrep -P "$pid" saikai-heir)" "$pid" || fail "there is no heir"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
    run -n 2 -- "$victim"
    expect_rc 0
    [ -z "$(key "$pid")" ] || fail "the next run leaves it: $(key "$pid")"
    [ -n "$(key $living)" ] || fail "the next run took the key of a living one"
    kill -KILL $living
    wait $wrapped
    rm "$work/busy"
    expect_nothing_left
    [ -z "$(key $living)" ] || fail "a key is left: $(key $living)"
    ;;
keeper_killed | launcher_killed)
    touch "$work/busy"
    run_behind -n 3 -- "$victim" while="$work/busy"
    wait_for 'begin 0' out
    what='^[^ ]*saikaid rank --'
    [ $case_name = keeper_killed ] || what='^[^ ]*\(mpi\|prte\)[^ ]* -n 3'
    for p in $(tagged); do
        if tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -q "$what"; then
            kill -KILL "$p" && what='^none$'
        fi
    done
    [ "$what" = '^none$' ] || fail "there was none to kill"
    wait_for 'begin 1' out
    rm "$work/busy"
    wait $wrapper
    rc=$?
    expect_rc 0
    expect '^end 1 3$' out
    expect_nothing_left
    ;;
orphans) # a launcher that says nothing for too long: the ranks end; when it wakes up the job goes on
    touch "$work/busy"
    run_behind -n 2 --set run.orphan_timeout=2s --set run.no_progress=0 -- "$victim" while="$work/busy"
    wait_for 'begin 0' out
    kill -STOP "$pid"
    wait_for 'has not heard' err
    kill -CONT "$pid"
    rm "$work/busy"
    wait $wrapper
    rc=$?
    expect_rc 0
    expect '^end [1-9] 2$' out
    expect_nothing_left
    ;;
service) # one for the ranks of the node; it stays between the starts, tells what it passes on, and one rank alone has none
    touch "$work/busy"
    run_behind -v --set backbone.service=on -n 4 -- "$victim" die=kill while="$work/busy"
    wait_for 'begin 1' out
    one=$(services) || fail "there is not one service"
    rm "$work/busy"
    wait $wrapper || fail "exit code $?"
    expect 'speak through the service of their node' err
    expect 'through 1 services of nodes' err
    expect '^end 1 4$' out
    expect_nothing_left
    run -v --set backbone.service=on -n 1 -- "$victim"
    expect_rc 0
    expect 'through 0 services of nodes' err
    run -v --set backbone.service=off -n 4 -- "$victim" die=kill
    expect_rc 0
    expect 'through 0 services of nodes' err
    expect '^end 1 4$' out
    run --set backbone.arity=1 -n 2 -- "$victim"
    [ "$rc" != 0 ] || fail "services may form a chain"
    expect 'backbone.arity: 1 is neither 0 nor a number from 2 to 60' err
    for n in 15 16; do # where nothing is said, it is a matter of how many there are
        run -v -n $n -- "$victim"
        expect_rc 0
        expect "through $((n == 16)) services of nodes" err
        expect "^end [0-9]* $n\$" out
    done
    expect_nothing_left
    ;;
service_killed) # at any time: the ranks go on, with the next one; also when a rank dies at the same moment, and all of it at once
    touch "$work/busy"
    run_behind -v --set backbone.service=on -n 3 -- "$victim" while="$work/busy"
    before=
    for i in 1 2 3; do
        one=$(services) || fail "there is not one service"
        [ "$one" != "$before" ] || fail "it was not killed"
        kill -KILL "$one" || fail "it is gone"
        before=$one
        [ $i != 1 ] || wait_for 'begin 0' out
    done
    one=$(services) || fail "there is no service after three were killed"
    rm "$work/busy"
    wait $wrapper || fail "exit code $?"
    refuse 'saikai: restart' err
    expect '^end 0 3$' out
    expect_nothing_left
    touch "$work/busy"
    run_behind --set backbone.service=on -n 3 -- "$victim" while="$work/busy"
    wait_for 'begin 0' out
    one=$(services) || fail "there is not one service"
    for p in $(tagged); do
        [ "$(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline")" = "$victim while=$work/busy " ] && break
    done
    kill -KILL "$one" "$p"
    wait_for 'begin 1' out
    rm "$work/busy"
    wait $wrapper || fail "exit code $?"
    expect 'was killed by signal 9' err
    expect '^end 1 3$' out
    expect_nothing_left
    run_behind --set backbone.service=on -n 3 -- "$victim" seconds=60
    wait_for 'begin 0' out
    one=$(services) || fail "there is not one service"
    kill -KILL "$pid" "$one"
    wait $wrapper
    expect_nothing_left
    ;;
service_stopped) # one that hangs holds nobody up: the ranks speak for themselves, and a death is noticed
    touch "$work/busy"
    run_behind -v --set backbone.service=on -n 3 -- "$victim" while="$work/busy"
    wait_for 'begin 0' out
    wait_for 'speak through the service of their node' err
    sleep 1 # all of them
    one=$(services) || fail "there is not one service"
    kill -STOP "$one"
    for r in 0 1 2; do wait_for "rank $r speaks for itself" err; done
    refuse 'saikai: restart' err
    for p in $(tagged); do
        [ "$(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline")" = "$victim while=$work/busy " ] && break
    done
    kill -KILL "$p"
    wait_for 'begin 1' out
    rm "$work/busy"
    wait $wrapper || fail "exit code $?"
    expect '^end 1 3$' out
    expect_nothing_left
    ;;
service_asleep) # each may be stopped for a while: launcher, service and keepers. Who does not listen takes nobody for lost, and no rank is held up
    touch "$work/busy"
    run_behind -v --set backbone.service=on --set run.node_timeout=6s -n 3 -- "$victim" while="$work/busy" complete=20
    wait_for 'begin 0' out
    wait_for 'speak through the service of their node' err
    one=$(services) || fail "there is not one service"
    keepers=
    for p in $(tagged); do
        case $(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline") in *'saikaid rank '*) [ "$(cat "/proc/$p/comm")" = saikaid ] && keepers="$keepers $p" ;; esac
    done
    set -- $keepers
    [ $# = 3 ] || fail "there are keepers $keepers"
    kill -STOP "$pid" # longer than the node timeout, shorter than the orphan timeout
    sleep 8
    kill -CONT "$pid"
    sleep 1
    [ "$(services)" = "$one" ] || fail "another service"
    refuse 'speaks for itself' err
    kill -STOP "$pid" "$one" $keepers # all of the node, as when a machine is suspended
    sleep 8
    kill -CONT "$pid"
    sleep 1
    kill -CONT "$one" $keepers
    sleep 1
    refuse 'speaks for itself' err
    kill -STOP "$1" # shorter than the node timeout
    sleep 2
    kill -CONT "$1"
    for i in 1 2; do # its keepers do not wait for it until they are lost
        kill -STOP "$one"
        sleep 8
        kill -CONT "$one"
        sleep 1
    done
    expect 'speaks for itself' err
    rm "$work/busy"
    wait $wrapper || fail "exit code $?"
    refuse 'saikai: restart' err
    expect '^end 0 3$' out
    expect_nothing_left
    ;;
service_often) # killed again and again, from the first moment to the last and while generations become complete: nothing is lost, nothing is left
    touch "$work/busy"
    run_behind --set backbone.service=on -n 3 -- "$victim" while="$work/busy" complete=20 output=1
    killed=0 names=
    while kill -0 $wrapper 2>/dev/null; do
        [ $killed -lt 10 ] || rm -f "$work/busy"
        for p in $(tagged); do
            [ "$(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline")" = 'saikaid node ' ] || continue
            names="$names $(meeting "$p")"
            kill -KILL "$p" 2>/dev/null && killed=$((killed + 1))
        done
        sleep "0.0$((RANDOM % 90 + 10))"
    done
    wait $wrapper || fail "exit code $?"
    refuse 'saikai: restart' err
    expect '^end 0 3$' out
    expect_nothing_left
    for n in $names; do ! grep -q "$n" /proc/net/unix || fail "a socket is left"; done
    ;;
service_stranger) # another user's process is refused and told, and disturbs nobody; two jobs have a service each
    [ "$(id -u)" = 0 ] || { echo "skip: needs another user"; exit 77; }
    touch "$work/busy"
    run_behind --set backbone.service=on -n 2 -- "$victim" while="$work/busy"
    wait_for 'begin 0' out
    one=$(services) || fail "there is not one service"
    cp "$work/out" "$work/out.first"
    "$saikai" run --set backbone.service=on -n 2 -- "$victim" >"$work/out.second" 2>&1 </dev/null || fail "another job beside it: exit code $?"
    grep -q '^end 0 2$' "$work/out.second" || fail "another job beside it"
    python3 - "$(meeting "$one")" <<'END' || fail "the stranger was heard"
import os, socket, sys
os.setgid(65534)
os.setuid(65534)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("\0" + sys.argv[1])
s.settimeout(60)
try:
    s.send(b"let me in")
    assert s.recv(100) == b""
except (ConnectionResetError, BrokenPipeError):
    pass
END
    wait_for 'a process of user 65534 tried to speak to the service of .* and was refused' err
    [ "$(services)" = "$one" ] || fail "the service is another one"
    rm "$work/busy"
    wait $wrapper || fail "exit code $?"
    refuse 'saikai: restart' err
    expect '^end 0 2$' out
    expect_nothing_left
    ;;
time_limit)
    run -n 2 --time-limit 1s -- "$victim" die=kill seconds=5 after=1.2
    expect_rc 137
    expect 'its time is over' err
    expect_nothing_left
    ;;
finish)
    run -n 2 --set run.finish_timeout=1s -- "$victim" die=late
    expect_rc 0
    expect 'run.finish_timeout' err
    expect_nothing_left
    ;;
*)
    echo "there is no case '$case_name'"
    exit 2
    ;;
esac
echo "passed: $case_name"
