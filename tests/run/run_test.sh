#!/bin/bash
# Tests of `saikai run` with real processes: faults and their answers, what programs get and give, signals, ends. usage: run_test.sh CASE SAIKAI VICTIM
. "$(dirname "$(realpath "$0")")/run_helpers.sh"

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
mute) # started without some of the standard streams: what would go there goes nowhere, and the job runs as it does elsewhere
    for closed in '>&-' '2>&-' '<&- >&- 2>&-'; do
        rm -f "$work"/done-*
        rc=0
        eval "timeout --foreground -k 2 200 \"$saikai\" run --launcher ${victim##*_} --set run.no_progress=1 -n 2 -- sh -c 'echo said; echo told >&2; >\"$work/done-\$\$\"' $closed" || rc=$?
        expect_rc 0
        set -- "$work"/done-*
        [ $# = 2 ] || fail "$closed: $# programs came to their end"
    done
    expect_nothing_left
    ;;
gone) # the working directory was removed: that is told, and not what MPI's launcher makes of it
    mkdir "$work/here"
    cd "$work/here" && rmdir "$work/here" || fail "no such directory"
    run -n 2 -- "$victim"
    expect_rc 125
    expect 'the directory that this was started in has been removed: go there again' err
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
sigterm_early) # before the ranks are there: it is for them all the same, whenever they come (mpirun sometimes stands still when they end so early: until the grace is over)
    mpi=${victim##*_}
    real=$(command -v mpiexec."$mpi" || command -v mpiexec)
    cat >"$work/launcher" <<END
#!/bin/sh
case "\$*" in *-version* | *-V*) exec $real "\$@" ;; esac
touch "$work/waits"
while [ ! -e "$work/go" ]; do sleep 0.1; done
exec $real "\$@"
END
    chmod +x "$work/launcher"
    run_behind -v --launcher "$mpi" --set run.mpirun="$work/launcher" --set run.grace=60s -n 2 -- "$victim" seconds=400 page=0
    for i in $(seq 2400); do [ -e "$work/waits" ] && break; sleep 0.05; done
    kill -TERM "$pid"
    wait_for 'signal 15 (TERM) came' err
    touch "$work/go"
    wait $wrapper
    rc=$?
    expect_rc 143
    refuse 'did not end within' err
    refuse restart err
    expect_nothing_left
    ;;
few_files) # too few for anybody: it is said, and nothing ends by an abort or hangs
    for n in 8 16 32; do
        (
            ulimit -n $n
            run -n 2 -- "$victim"
            exit $rc
        )
        rc=$?
        expect_rc 125
        expect "saikai run: $n files may be open at a time.*ulimit -n" err
        [ "$(wc -l <"$work/err")" = 1 ] || fail "with $n files more is said than that"
    done
    ( # enough for it, and more may be asked for
        ulimit -S -n 20
        run -n 2 -- "$victim"
        exit $rc
    )
    rc=$?
    expect_rc 0
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
