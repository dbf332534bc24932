#!/bin/bash
# The tools with what is no file: a device, a FIFO, a link, a directory, a socket as output and as input, and "-". Nothing hangs,
# nothing is replaced that was no file, and what is refused is refused with a sentence. The null device is one of the test's own.
# usage: output_test.sh SAIKAI MAKE_FIELD MAKE_STORE
set -euo pipefail
saikai=$1 make_field=$2 make_store=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export TMPDIR=$work XDG_CONFIG_HOME=$work XDG_STATE_HOME=$work/state
fail() { echo "FAILED: $*" >&2; exit 1; }
tool() { timeout 240 "$saikai" "$@"; }
refused() { # PATTERN COMMAND...: fails, and says why
    local pattern=$1 rc=0
    shift
    tool "$@" >out.txt 2>&1 </dev/null || rc=$?
    [ $rc -ne 0 ] || fail "accepted: $*"
    [ $rc -ne 124 ] || fail "hung: $*"
    [ $rc -lt 126 ] || { cat out.txt; fail "exit code $rc: $*"; }
    grep -q -e "$pattern" out.txt || { cat out.txt; fail "no word of '$pattern': $*"; }
}
"$make_field" . >/dev/null
mkdir store
"$make_store" store
f64="--type f64 --dims 12x20x31"
mkdir dir
mkfifo fifo
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")' 2>/dev/null || true
null=
if mknod null c 1 3 2>/dev/null && : 2>/dev/null >null; then null=null; else echo "no device can be made here: that part is left out"; fi
tool compress -q $f64 field.f64 a.sks
tool archive create -q -o a.ska field.f64 a.sks
sum=$(sha256sum <a.sks)

# ---- as outputs ----
# each of them: a file's content goes to $out
outputs=("compress -q $f64 field.f64" "decompress -q a.sks" "archive create -q field.f64 -o")
outputs+=("export store --hdf5")
for command in "${outputs[@]}"; do
    # shellcheck disable=SC2086
    refused 'is a directory' $command dir
    if [ -S socket ]; then
        # shellcheck disable=SC2086
        refused 'is a socket' $command socket
        [ -S socket ] || fail "$command replaced a socket"
    fi
    if [ "$null" ]; then
        # shellcheck disable=SC2086
        tool $command $null >/dev/null || fail "$command to a device"
        [ -c $null ] || fail "$command replaced a device"
    fi
    rm -f plain target link
    # shellcheck disable=SC2086
    tool $command plain >/dev/null
    cp plain target # an archive takes the place of no other file
    echo old >>target
    ln -s target link
    # shellcheck disable=SC2086
    tool $command link >/dev/null || fail "$command through a link"
    [ -L link ] || fail "$command replaced a link"
    [ "$(stat -c %s target)" = "$(stat -c %s plain)" ] || fail "$command did not write the link's file"
    timeout 240 cat fifo >got &
    reader=$!
    # shellcheck disable=SC2086
    tool $command fifo >/dev/null || fail "$command to a FIFO"
    wait $reader
    [ -p fifo ] || fail "$command replaced a FIFO"
    [ "$(stat -c %s got)" = "$(stat -c %s plain)" ] || fail "$command: not all came through the FIFO"
    # shellcheck disable=SC2086
    tool $command - >got 2>said || fail "$command to standard output"
    [ "$(stat -c %s got)" = "$(stat -c %s plain)" ] || fail "$command: not all went to standard output"
    [ ! -e ./- ] || fail "$command made a file called -"
done
[ -z "$(find . -name '*.tmp*')" ] || fail "left behind: $(find . -name '*.tmp*')"
refused 'nobody reads' compress -q $f64 field.f64 fifo

# ---- standard input ----
tool compress -q $f64 - b.sks <field.f64
[ "$sum" = "$(sha256sum <b.sks)" ] || fail "compress from standard input"
tool compress -q $f64 - - <field.f64 | tool decompress -q - - | cmp - field.f64 || fail "through pipes"
cat a.ska | tool archive extract -q - -o out
cmp out/field.f64 field.f64 || fail "an archive from standard input"
cat a.ska | tool archive verify -q - || fail "verify of standard input"

# ---- among what is restored ----
for put in "mkfifo place/field.f64" "ln -s ../target place/field.f64" "mkdir place/field.f64" "mknod place/field.f64 c 1 3"; do
    rm -rf place
    mkdir place
    $put 2>/dev/null || continue
    refused 'field.f64 is not replaced' archive extract -q a.ska -o place
    [ -f place/field.f64 ] && [ ! -L place/field.f64 ] && fail "extract replaced what '$put' made"
    [ "$(find place -type f | wc -l)" = 0 ] || fail "extract left something behind"
done

# ---- as inputs ----
strange=(fifo dir)
[ -S socket ] && strange+=(socket)
[ "$null" ] && strange+=("$null")
for in in "${strange[@]}"; do
    what='is a \(FIFO\|directory\|socket\|device\)'
    refused "$what" compress -q $f64 "$in" x
    refused "$what" decompress -q "$in" x
    refused "$what" compare $f64 field.f64 "$in"
    refused "$what\|holds no whole set" archive extract -q "$in" -o out
    refused "$what" archive create -q -o x.ska field.f64 --describe "$in"
    [ "$in" = dir ] || refused "$what\|not a regular file" archive create -q -o x.ska "$in"
    refused "$what" config --config "$in"
    refused "$what" plan --nodes 10 --cost 10 --rates "$in"
    [ "$in" = dir ] && continue # an empty store
    refused "$in: neither a directory nor a file" ls "$in"
    refused "$in: neither a directory nor a file" verify "$in"
done
[ ! -e x ] && [ ! -e x.ska ] || fail "an output was made from nothing"
# what is among the files of a store is passed over or told, and never waited for
if [ -d store ]; then
    file=$(find store -name '*.skc' | head -n 1)
    rm "$file"
    mkfifo "$file"
    refused 'FIFO\|not' verify store
fi
# configuration and failure rates
export SAIKAI_CONFIG=fifo
refused "is a FIFO" config
unset SAIKAI_CONFIG
refused "is a FIFO" plan --cost 10 --hosts ./fifo
echo ok
