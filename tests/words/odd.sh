#!/bin/bash
# Mistakes at the command line: every command with nothing, with files that are missing, directories, FIFOs and devices, with outputs
# that cannot be written, and with numbers that are none. Each is refused with the exit code of the manual (1: it could not be done,
# 2: the command line is wrong) and a sentence that names what is wrong; nothing hangs, and no file is touched.
# usage: odd.sh SAIKAI MAKE_FIELD MAKE_STORE
set -uo pipefail
saikai=$1 make_field=$2 make_store=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export SAIKAI_CONFIG=$work/empty.conf TMPDIR=$work/tmp
: >empty.conf
unset SAIKAI_STORE_PREFIX SAIKAI_STORE_LOCAL SAIKAI_JOB_NAME
bad=0
mkdir tmp dir store
mkfifo fifo
echo text >text
"$make_field" . >/dev/null
"$make_store" store
"$saikai" archive create -q -o a.ska text field.f64 || exit 1
"$saikai" compress -q --type f64 --dims 12x20x31 field.f64 a.sks || exit 1
everything() { find . -path ./said -o -print | sort; find . -type f ! -path './said*' -exec sha256sum {} + | sort; }
before=$(everything)

# refused CODE PATTERN ARGUMENT...
refused() {
    local code=$1 pattern=$2 got=0
    shift 2
    timeout 150 "$saikai" "$@" >said.out 2>said.err </dev/null || got=$?
    if [ $got != "$code" ] || ! grep -q -e "$pattern" said.err; then
        echo "saikai $*: exit code $got (expected $code), no '$pattern' in:"
        head -c 1000 said.err
        bad=1
    fi
    rm -f said.out said.err
    now=$(everything)
    if [ "$now" != "$before" ]; then
        echo "saikai $*: changed files:"
        diff <(echo "$before") <(echo "$now") | head
        bad=1
        before=$now
    fi
}

# ---- nothing at all
for command in run mark protect compress decompress compare archive "archive create" "archive extract" "archive ls" "archive verify"; do
    # shellcheck disable=SC2086
    refused 2 'missing' $command
done
refused 2 'how many nodes' plan
for command in ls info verify rm export; do refused 1 'there is no store saikai-store (store.prefix)' $command; done
refused 1 'start it with mpirun' rebuild
got=0
timeout 150 "$saikai" >said.out 2>said.err || got=$?
[ $got = 2 ] && grep -q Usage said.err || { echo "saikai alone: exit code $got"; bad=1; }
rm -f said.out said.err
refused 2 "unknown command 'lss'; did you mean 'ls'" lss
refused 2 "unknown command 'nothing'" help nothing

# ---- what is no file
for in in nofile dir fifo /dev/null; do
    named=$in
    refused 1 "$named" archive extract -o out $in
    refused 1 "$named" archive verify $in
    refused 1 "$named" archive ls $in
    refused 1 "$named" compress -t f64 $in out
    refused 1 "$named" decompress $in out
    refused 1 "$named" compare -t f64 field.f64 $in
    refused 1 "$named" compare -t f64 $in field.f64
    refused 1 "$named" export --hdf5 out $in
    refused 1 "$named" info $in
    refused 1 "$named" mark --bad 100 $in
    refused 1 "$named\|nothing to archive" archive create -o out -T $in
    refused 1 "$named" archive create -o out --describe $in text
    refused 2 "$named" plan -c 10s --hosts ./$in
    refused 2 "$named" config --config $in
    refused 2 "$named" run --config $in -- true
    refused 2 "$named" run --hosts $in -- true
    refused 2 "$named" run --key-file $in -- true
    refused 2 "$named" run --set run.keeper=$in -- true
    refused 2 "$named" run --set "run.mpirun=$PWD/$in" -- true
    [ $in = dir ] && continue # a store, or a folder for an archive, that is empty
    refused 1 "$named" ls $in
    refused 1 "$named" verify $in
    refused 1 "$named" rm -y -k 1 $in
    refused 1 "$named" archive create -o out $in
done
refused 1 "nofile" plan -n 10 -c 10 --rates nofile
for in in dir fifo /dev/null; do refused 2 "$in" plan -n 10 -c 10 --rates $in; done
refused 1 'text: not an archive' archive verify text
refused 1 'text: only 5 bytes' info text
refused 1 'text: not a frame' decompress text out
refused 2 'text:1' config --config text
refused 2 'text:1' plan -n 10 -c 10 --rates text

# ---- outputs that cannot be written
f64=(--type f64 --dims 12x20x31)
for out in nodir/x /proc/x dir/ ""; do
    named=${out:-is empty}
    refused 1 "$named" compress "${f64[@]}" field.f64 "$out"
    refused 1 "$named" decompress a.sks "$out"
    code=1
    [ "$out" ] || code=2
    refused $code "$named" export store --hdf5 "$out"
    refused $code "$named" archive create text -o "$out"
    refused $code "$named" plan -n 10 -c 10 --svg "$out"
done
refused 2 'is empty' archive extract a.ska -o ""
refused 2 'is empty' compare "${f64[@]}" field.f64 field.f64 --svg ""
refused 1 'nodir/x' compare "${f64[@]}" field.f64 field.f64 --svg nodir/x
refused 1 'text' archive extract a.ska -o text
refused 1 '/dev/full: No space left' compress "${f64[@]}" field.f64 /dev/full
refused 1 '/dev/full: No space left' archive create text -o /dev/full
for command in "config" "config --json" "ls store" "ls --json store" "plan -n 3 -c 10" "archive ls a.ska" "help" "--version"; do
    # shellcheck disable=SC2086
    timeout 150 "$saikai" $command >/dev/full 2>said.err </dev/null
    [ $? = 1 ] && grep -q 'No space left' said.err || { echo "saikai $command >/dev/full: not told"; bad=1; }
    rm -f said.err
done

# ---- numbers that are none, and names of nothing
for n in -1 abc 1e400 "" nan; do
    shown="'$n' is no"
    refused 2 "$shown" plan -n "$n" -c 10s
    refused 2 "$shown" plan -n 10 -c "$n"
    refused 2 "$shown" plan -n 10 -c 10s --runs "$n" -s
    refused 2 "$shown\|'$n' is empty" plan -n 10 -c 10s --mtbf "$n"
    refused 2 "$shown" rm -k "$n" -y store
    refused 2 "$shown\|'$n' is empty" info -r "$n" store
    refused 2 "$shown" compress "${f64[@]}" -j "$n" field.f64 out
    refused 2 "$shown" compress "${f64[@]}" --piece "$n" field.f64 out
    refused 2 "'$n'" compress -t f64 -d "$n" field.f64 out
    refused 2 "'\(abs:\)\?$n'" compress "${f64[@]}" -b "abs:$n" field.f64 out
    refused 2 "$shown\|'$n' is empty" archive create --level "$n" -o out text
    refused 2 "$shown" archive extract -m "$n" -o out a.ska
    refused 2 "$shown" run -n "$n" true
    refused 2 "$shown\|'$n' is empty" run --time-limit "$n" true
    refused 2 "$shown\|'$n' is empty" run --hang-timeout "$n" true
    refused 2 "$shown\|'$n' is empty" clean -n --older-than "$n"
    refused 2 "$shown" protect -g "$n" x
done
refused 2 'ranks from 1' run -n 0 true
refused 2 'write --all' rm -k 0 -y store
refused 2 '1 to 22' archive create --level 23 -o out text
refused 2 "no codec 'nothing'" archive create --codec-f64 nothing -o out text
refused 2 "no codec is named 'nothing'" compress "${f64[@]}" -c nothing field.f64 out
refused 2 "--same '(' is no regular expression" archive create --same '(' -o out text
refused 2 "'nothing' is no generation" rm -g nothing -y store
refused 1 'holds no generation 17' info -g 17 store
refused 1 'has no file of rank 17' info -r 17 store
refused 2 "unknown key 'store.nothing'" ls --set store.nothing=1 store
refused 2 "store.keep_local: 'abc'" ls --set store.keep_local=abc store
# the program that cannot be started is named
refused 127 'nosuchprogram cannot be executed: No such file' run -- nosuchprogram
refused 126 './text cannot be executed: Permission denied' run -- ./text
exit $bad
