#!/bin/bash
# Who may read what real jobs save, and where it goes when somebody has taken the name of its place.
# usage: modes_test.sh CASE BUILD_DIR MPI
#   umask      private whatever the umask says, in files and archives, here and in the prefix
#   group      store.mode=group
#   vanished   the place is removed while the job runs
#   closed     the prefix cannot be entered
#   squatted   <store.local>/saikai-<uid> is somebody else's: the next start finds what went elsewhere
set -u
case_name=$1 build=$2 mpi=$3
. "$(dirname "$0")/../common.sh"
heat="$build/examples/heat_$mpi" probe="$build/tests/faults/probe_$mpi"
need "$heat"
need "$probe"
cd "$work" || exit 1
launch() { timeout 300 "${mpiexec[@]}" -n 2 "$@"; }
fail() {
    echo "FAILED: $*"
    head -n 40 out
    exit 1
}
only() { # DIRECTORY-MODE FILE-MODE PATH…: all that is there has these modes, and there are files
    local d=$1 f=$2 wrong
    shift 2
    wrong=$(find "$@" \( -type d ! -perm "$d" -o -type f ! -perm "$f" -o ! -type d ! -type f \) -printf '%m %p\n')
    [ -z "$wrong" ] || fail "wrong permissions: $wrong"
    [ -n "$(find "$@" -type f -name 'rank-*' -o -type f -name '*.ska' -o -name state)" ] || fail "nothing was saved in $*"
}
save_all_ways() { # DIRECTORY-MODE FILE-MODE
    launch "$probe" write >out 2>&1 || fail "probe write"
    only "$1" "$2" local/* store
    rm -rf local store
    SAIKAI_SCHEDULE_EVERY=100 SAIKAI_STORE_ARCHIVE=aggregate launch "$heat" 16 16 16 1000 >out 2>&1 || fail "aggregate"
    ls store/*/*.ska >/dev/null || fail "no archive was made"
    only "$1" "$2" local/* store
    rm -rf local store
}
export SAIKAI_STORE_LOCAL=$work/local SAIKAI_STORE_PREFIX=$work/store
export SAIKAI_LIB_ON_ERROR=return # the probe makes wrong calls, too
export SAIKAI_JOB_NAME=test # its arguments change from start to start: it is one job all the same
[ "$mpi" = openmpi ] && export OMPI_MPI_THREAD_LEVEL=3 || export MPIR_CVAR_DEFAULT_THREAD_LEVEL=MPI_THREAD_MULTIPLE

case $case_name in
umask)
    for mask in 000 022 077; do
        umask $mask
        save_all_ways 700 600
    done
    mkdir mine # the user's own directory stays as it is, what is made in it is private
    chmod 755 mine
    SAIKAI_STORE_PREFIX=$work/mine launch "$probe" write >out 2>&1 || fail "probe write"
    [ "$(stat -c %a mine)" = 755 ] || fail "the permissions of the user's directory were changed"
    only 700 600 mine/*
    ;;
group)
    export SAIKAI_STORE_MODE=group
    for mask in 000 077; do
        umask $mask
        save_all_ways 750 640
    done
    # one rank: of two that end with MPI_Abort, one may be ended before what it has said is read
    SAIKAI_STORE_MODE=0644 timeout 300 "${mpiexec[@]}" -n 1 "$probe" write >out 2>&1 && fail "nonsense was taken"
    grep -q "store.mode: '0644' is not understood" out || fail "nobody says that store.mode is wrong"
    ;;
squatted)
    mkdir -m 1777 local
    own=local/saikai-$(id -u)
    if [ "$(id -u)" = 0 ]; then
        mkdir -m 777 "$own"
        chown 65534:65534 "$own"
    else
        ln -s /tmp "$own"
    fi
    SAIKAI_STORE_PREFIX=none launch "$probe" write >out 2>&1 || fail "probe write"
    grep -q "is, or was, somebody else's: .*$own-1 is used" out || fail "nobody says where it goes"
    [ -z "$(find "$own/" -newer "$probe" -name 'gen-*' 2>/dev/null)" ] || fail "something went to the other's place"
    only 700 600 "$own-1"
    SAIKAI_STORE_PREFIX=none PROBE_AGAIN=1 launch "$probe" read >out 2>&1 || fail "the next start did not find it"
    rm -rf "$own" # free again, but what is kept lies elsewhere
    SAIKAI_STORE_PREFIX=none launch "$probe" files >out 2>&1 || fail "the start after that did not find it"
    [ ! -e "$own" ] || fail "two places are in use"
    ;;
vanished) # the whole place, while the job runs: saving goes on in a new one, as private as the old one was
    umask 022
    export SAIKAI_STORE_PREFIX=none SAIKAI_SCHEDULE_INTERVAL=200ms
    timeout 300 "${mpiexec[@]}" -n 2 "$heat" 40 40 40 1000000 >out 2>&1 &
    run=$!
    appears() {
        local i
        for i in $(seq 2400); do
            [ "$(find local/*/*/gen-* -name 'rank-00000[01].skc' 2>/dev/null | wc -l)" -ge 2 ] && return 0
            kill -0 $run 2>/dev/null || break
            sleep 0.05
        done
        fail "nothing was saved $1"
    }
    appears "at first"
    rm -rf local/*
    appears "after the place had vanished"
    wrong=$(find local/* \( -type d ! -perm 700 -o -type f ! -perm 600 \) -printf '%m %p\n' 2>/dev/null)
    [ -z "$wrong" ] || fail "wrong permissions: $wrong"
    kill -0 $run || fail "the job is over"
    ;;
closed) # a prefix of somebody else's: told once, with whose it is and what to do, and not tried again; the tools say it, too
    saikai=$build/src/cli/saikai
    unset SAIKAI_LIB_ON_ERROR
    chmod 755 .
    mkdir -m 777 home
    mkdir -m 700 closed closed/store
    export HOME=$work/home XDG_STATE_HOME=$work/home/state XDG_CONFIG_HOME=$work/home
    as= whose="belongs to $(id -un) and has mode 0700 (go there as"
    if [ "$(id -u)" = 0 ]; then
        as="setpriv --reuid 65534 --regid 65534 --clear-groups"
    else
        chmod 000 closed
        whose="is yours, but has mode 0000 (chmod"
    fi
    $as "$saikai" --version >out 2>&1 && $as test -x "$heat" || { echo "skip: nobody else can come to $build"; exit 77; }
    told() { # WHERE CODE: of that directory
        [ "$2" = 70 ] || fail "exit code $2"
        [ "$(grep -c "cannot .*$work/$1: Permission denied: $work/closed $whose.*; name a directory .* with store.prefix, or none" out)" = 1 ] || fail "it is not told once"
        grep -q "the job is given up: it would fail again for the reason said above" out || fail "it is not given up at once"
        grep -q "restart 1" out && fail "it was started again"
    }
    for store in closed/store closed; do
        [ "$store" != closed ] || [ -n "$as" ] || chmod 000 closed
        SAIKAI_STORE_LOCAL=none SAIKAI_STORE_PREFIX=$work/$store $as timeout 300 "$saikai" run -n 2 --launcher "$mpi" -- "$heat" 8 8 8 10 >out 2>&1
        told $store $?
    done
    tool() { # CODE ARGUMENT…
        local code=$1 rc
        shift
        $as "$saikai" "$@" >out 2>&1
        rc=$?
        [ $rc = "$code" ] && grep -q "$work/closed.*: Permission denied: $work/closed $whose" out || fail "saikai $*: exit code $rc"
    }
    for command in ls info verify status events history; do
        tool 1 $command "$work/closed/store"
        SAIKAI_STORE_PREFIX=$work/closed/store tool 1 $command
    done
    SAIKAI_STORE_LOCAL=$work/closed/local tool 1 clean
    SAIKAI_STORE_LOCAL=$work/closed/local tool 1 ls --local
    chmod 700 closed
    # a generation that this user may not look into: its absence is no secret, and nothing is all good
    mkdir hidden
    [ -n "$as" ] && chown 65534:65534 hidden
    export SAIKAI_STORE_LOCAL=none
    SAIKAI_SCHEDULE_EVERY=100 SAIKAI_STORE_PREFIX=$work/hidden $as timeout 300 "${mpiexec[@]}" -n 1 "$heat" 8 8 8 500 >out 2>&1 || fail "a job of one's own"
    newest=$(cd hidden && ls -d gen-* | tail -n 1)
    [ -n "$newest" ] || fail "nothing was saved"
    $as "$saikai" verify hidden >out 2>&1 || fail "verify of what is whole"
    [ -n "$as" ] && chown 0:0 "hidden/$newest"
    chmod "$([ -n "$as" ] && echo 700 || echo 000)" "hidden/$newest"
    for command in ls verify info "rm --keep 1 -y"; do
        rc=0
        $as "$saikai" $command hidden >out 2>&1 || rc=$?
        grep -q "cannot look into hidden/$newest: Permission denied: hidden/$newest .*: left out" out || fail "saikai $command does not say what it leaves out"
        ! grep -q 'all good' out || fail "saikai $command: all good"
        case $command in
        ls | verify) [ $rc = 1 ] || fail "saikai $command: exit code $rc" ;;
        esac
    done
    chmod 700 "hidden/$newest"
    # others' jobs beside one's own
    export SAIKAI_STORE_LOCAL=$work/home
    mkdir -p -m 777 shared shared/jobs
    SAIKAI_STORE_PREFIX=$work/shared $as timeout 300 "${mpiexec[@]}" -n 1 "$heat" 8 8 8 10 >out 2>&1 || fail "a job in a shared prefix"
    mkdir -m 700 shared/jobs/other
    touch shared/jobs/other/job
    [ -n "$as" ] || chmod 000 shared/jobs/other
    for command in status events ls; do
        $as "$saikai" $command "$work/shared" >out 2>&1 || fail "saikai $command: exit code $?"
        grep -q "shared/jobs/other/job: Permission denied" out || fail "saikai $command does not say that it leaves something out"
    done
    [ -n "$as" ] && chmod 700 shared/jobs || chmod 000 shared/jobs
    for command in status events ls; do
        $as "$saikai" $command "$work/shared" >out 2>&1 && fail "saikai $command: nothing is wrong"
        grep -q "cannot read directory $work/shared/jobs: Permission denied" out || fail "saikai $command does not say what it cannot read"
    done
    chmod -R u+rwX shared
    ;;
*)
    echo "there is no case '$case_name'"
    exit 2
    ;;
esac
echo "passed: $case_name $mpi"
