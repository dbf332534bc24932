#!/usr/bin/env bash
# Generations beyond the prefix: those of a job are carried to an output; prefix and nodes are lost; the same command goes on from there. Damage
# there costs one generation and is said, an output that fails costs the job nothing, and nothing is ever brought where something is.
# usage: output.sh BUILD_DIR MPI SOURCE_DIR
set -euo pipefail
build=$1 mpi=$2 source=$3
. "$(dirname "$0")/../common.sh"
exe=$build/examples/heat_$mpi
need "$exe"
need "$build/src/cli/saikaid"
cd "$work"
saikai=$build/src/cli/saikai
export SAIKAI_STORE_LOCAL=$work/local SAIKAI_JOB_NAME=heat
bad() {
    echo "$mpi: $*"
    tail -n 30 out err 2>/dev/null
    exit 1
}
job() { # STEPS OPTION…
    local steps=$1
    shift
    timeout 300 "$saikai" run -v -n 2 "$@" -- "$exe" -p "$work/pid" 24 24 24 "$steps" >out 2>err
}
lose() { rm -rf local "${1:-saikai-store}"; }
whole() { "$saikai" output ls --json "$@" | python3 -c "
import json, sys
print(*(g['generation'] for g in json.load(sys.stdin)['generations'] if g['whole'] and g['newest_store']))"; }
first() { echo "${1%% *}"; }

mkdir archive
export SAIKAI_OUTPUT_TO=directory:$work/archive SAIKAI_OUTPUT_EVERY=100ms
# ended from outside, after something was carried
timeout 300 "$saikai" run -v -n 2 --set schedule.every=20 -- "$exe" -p "$work/pid" 24 24 24 100000000 >out 2>err &
run=$!
n=0
for ((i = 0; i < 1000 && n < 2; i++)); do
    n=$(whole | wc -w)
    sleep 0.1
done
[ "$n" -ge 2 ] || bad "two generations were not carried while the job ran"
grep -q 'is at the output' err || bad "that it was carried is not said"
kill -TERM $run
wait $run && bad "it ended by itself" || true
run=
[ "$(find archive -name '*.skc' | wc -l)" -ge 2 ] || bad "what was carried is not there"
open=$(find archive -mindepth 1 -perm /077)
[ -z "$open" ] || bad "others may read or write there: $open"
[ "$(find archive -name '.*' -o -name '*.tmp' | wc -l)" = 0 ] || bad "something unfinished is left at the output"
kept=$(whole)
[ "$(wc -w <<<"$kept")" = 2 ] || bad "kept there: $kept"
newest=$(first "$kept")
iteration=$((10#$(cut -d - -f 3 <<<"$newest")))
[ "$iteration" -gt 20 ] || bad "the newest that was carried is $newest"
"$saikai" ls --json | grep -q "$newest" || bad "the newest in the prefix is not carried"

# nothing is brought where something is
job "$((iteration + 1))" || bad "exit code $?"
! grep -q 'brought back' err || bad "it was brought back over the prefix"
grep -q "resuming from iteration" err || bad "it did not resume"
# … nor of a run that has finished, nor with restart.mode=never
lose
job 30 || bad "exit code $?"
! grep -q 'brought back' err && grep -q 'starting fresh' err || bad "a finished run was brought back"
lose
"$saikai" output get >got || bad "get"
grep -q "job heat" got || bad "get said: $(cat got)"
"$saikai" output get >got 2>&1 && bad "get into what is not empty" || grep -q 'not empty' got || bad "get said: $(cat got)"
lose
job 30 --set restart.mode=never || bad "exit code $?"
! grep -q 'brought back' err || bad "it was brought back with restart.mode=never"

# lost, and damaged at the output: the generation before it, and that is said. The store that began anew above does not touch what was there.
lose
rm -rf archive
mkdir archive
job 200 --set schedule.every=50 || bad "exit code $?"
job 400 --set schedule.every=50 --set restart.mode=always || bad "exit code $?"
kept=$(whole)
[ "$(wc -w <<<"$kept")" = 2 ] || bad "kept there: $kept"
newest=$(first "$kept") older=${kept##* }
lose
"$source/tests/flip.sh" "$(find archive -path "*$newest/rank-000001.skc")" 5000
job 500 --set restart.mode=always --set schedule.every=50 || bad "exit code $?"
grep -q "generation $newest at .* is passed over, and does not count any more: .*rank-000001.skc is damaged there" err || bad "damage is not said"
grep -q "generation $older .* was brought back from the output" err || bad "the older one was not brought back"
grep -q "resuming from iteration $((10#$(cut -d - -f 3 <<<"$older")))" err || bad "it did not go on from there"
grep -q verified out || bad "no result"
[ "$(whole | wc -w)" = 2 ] && ! whole | grep -q "$newest" || bad "what is damaged there is kept in place of what is not: $(whole)"
# a file is missing there
lose
newest=$(first "$(whole)")
rm "$(find archive -path "*$newest/rank-000000.skc")"
"$saikai" output get >got 2>err || bad "get"
grep -q 'newer ones are damaged there' got || bad "get said: $(cat got)"
"$saikai" output put >put || bad "put"
lose

# two jobs in one prefix, each with what is its own
rm -rf archive
mkdir archive
job 60 --set schedule.every=20 --set job.name=one || bad "exit code $?"
job 80 --set schedule.every=20 --set job.name=two || bad "exit code $?"
[ -d saikai-store/jobs/two ] || bad "where is the second job?"
lose
"$saikai" output get >got || bad "get"
[ "$(grep -c ' of job one\| of job two' got)" = 2 ] || bad "get said: $(cat got)"
job 90 --set job.name=two --set restart.mode=always || bad "exit code $?"
grep -q 'resuming from iteration 80' err || bad "the second job did not resume"
job 90 --set job.name=one --set restart.mode=always || bad "exit code $?"
grep -q 'resuming from iteration 60' err || bad "the first job did not resume"

# an output that fails, or hangs, costs the job nothing but words
lose
printf '#!/bin/sh\necho "the bucket is gone" >&2\nexit 1\n' >gone
printf '#!/bin/sh\n[ "$1" = list ] && exit 0\nsleep 300\n' >hangs
chmod +x gone hangs
SAIKAI_OUTPUT_TO="command:$work/gone" job 50 --set output.back=no || bad "exit code $?"
grep -q 'is not carried further: .*the bucket is gone' err || bad "that is not said"
lose
SAIKAI_OUTPUT_TO="command:$work/gone" job 50 && bad "it began anew although nobody knows what is there" || grep -q 'the bucket is gone.*output.back=no' err || bad "that is not said"
lose
SAIKAI_OUTPUT_TO="command:$work/hangs" job 50 --set output.final_wait=2s || bad "exit code $?"
grep -q 'not all was carried' err || bad "that is not said"
for ((i = 0; i < 100; i++)); do
    pgrep -f "$work/hangs" >/dev/null || break
    sleep 0.1
done
! pgrep -f "$work/hangs" >/dev/null || bad "something is left"
SAIKAI_OUTPUT_TO=nowhere:x job 50 && bad "a method that is none" || grep -q 'output.to' err || bad "that is not said"

# a method of a component, which ranks have no use for
cc -std=c11 -Wall -Wextra -Werror -O2 -fPIC -shared -I"$source/include" "$source/examples/components/output_method.c" -o flat.so
export SAIKAI_COMPONENTS_LOAD=$work/flat.so SAIKAI_OUTPUT_TO=flat:$work/flat
mkdir flat
lose
job 70 --set schedule.every=10 || bad "exit code $?"
[ "$(whole | wc -w)" -ge 1 ] || bad "nothing was carried by the component"
lose
job 100 --set restart.mode=always || bad "exit code $?"
grep -q 'brought back from the output flat:' err && grep -q 'resuming from iteration 70' err || bad "the component did not bring it back"
