#!/bin/sh
# saikai rates: show, import of every form, add, and what is refused.
# usage: rates_test.sh SAIKAI
set -eu
saikai=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CONFIG_HOME="$work" XDG_STATE_HOME="$work/state"
unset SAIKAI_FAILURE_DATABASE
cd "$work"
fail() { echo "$*"; cat said; exit 1; }
expect() { # CODE TEXT COMMAND...
    code=$1 text=$2 rc=0
    shift 2
    "$saikai" "$@" >said 2>&1 || rc=$?
    case $(cat said) in *"without SQLite"*) echo "skip: built without SQLite"; exit 77 ;; esac
    [ $rc = "$code" ] || fail "saikai $*: exit code $rc, not $code"
    grep -q -e "$text" said || fail "saikai $*: does not say '$text'"
}
expect 0 'nothing was learnt yet' rates
[ ! -e state ] || fail "to look made a file"
expect 0 'any other  *7 d' rates show
expect 0 'rate of n1 is in' rates add n1 mtbf=10d
expect 0 'failure of n1 is in' rates add n1 --source 'power supply'
expect 0 'failure of n1 is in' rates add n1 --job heat
expect 0 '^n1  *1  *0 s  *5 d' rates
expect 0 '^heat  *1 ' rates show
expect 0 '"side": "program"' rates --json
printf '# ours\na mtbf=2y\n* 3/y\n' >rates.txt
expect 0 '^2 rates from rates.txt' rates import rates.txt
expect 0 '^3 rates from state/saikai/failures.db' rates import state/saikai/failures.db
cat >log.csv <<'END'
System,nodes,nodenum,Prob Started,Prob Fixed,Facilities,Hardware,Software,Same Event
20,3,0,1/1/2005 0:00,1/1/2005 1:00,,Disk,,No
20,3,1,1/1/2005 6:00,1/1/2005 8:00,,,DST,No
20,3,0,4/11/2005 0:00,,,CPU,,No
20,3,0,,,,CPU,,No
END
for i in 1 2; do # the same again changes nothing
    expect 0 '^3 failures from log.csv.*; 1 line without' rates import log.csv
    expect 0 '^lanl-20-0  *2  *100 d' rates
    expect 0 '^lanl-20-2  *0  *100 d.*none' rates
done
expect 0 '"kind": "events"' rates import log.csv --json
printf '\3757zXZ\0' >packed.xz
expect 2 'unpack it first' rates import packed.xz
expect 2 "'a' has no rate" rates import "$(echo a >bad.txt; echo bad.txt)"
expect 1 'no-such-file' rates import no-such-file
expect 2 'is no failure rate' rates add n1 often
expect 2 "write 'show'" rates frob
expect 2 "write 'show'" rates import
expect 2 'failure.database is none' rates --set failure.database=none
head -c 3000 /dev/zero | tr '\0' x >state/saikai/failures.db
expect 1 'not a database' rates
expect 1 'not a database' rates add n1
# a whole site's: anybody who may write the file
expect 0 'rate of n1 is in .*site.db' rates add n1 1/y --set failure.database="$work/site.db"
# no file
expect 1 '/dev/full is no file' rates add n1 --set failure.database=/dev/full
echo "rates: all as it is to be"
