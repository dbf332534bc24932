# What the tests of `saikai run` with real processes have in common: expects CASE SAIKAI VICTIM as arguments, and to be read.
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
